//! The rule for topology names, apart from the topology itself: a client checks it before it uploads anything.

/// The characters that a name may not hold, as in Storm: it becomes a part of paths.
const FORBIDDEN: [char; 4] = ['/', '.', ':', '\\'];

/// Why a text cannot be the name of a topology. Not the error for a name that is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is not a legal topology name, because {problem}; a name has at least one visible character, and none of \
     / . : \\ and no control characters"
)]
pub struct InvalidTopologyName {
    /// The name as given.
    pub name: String,
    /// The part of the rule that it breaks.
    pub problem: String,
}

/// Checks the name of a topology by Storm's rule: one or more characters, none of them `/`, `.`, `:` or `\`. Blank
/// names and control characters are refused too: no tool could show such a topology, or kill it.
///
/// # Errors
/// [`InvalidTopologyName`], which quotes the rule.
pub fn validate_topology_name(name: &str) -> Result<(), InvalidTopologyName> {
    let problem = if name.is_empty() {
        "it is empty".to_owned()
    } else if name.trim().is_empty() {
        "it is blank".to_owned()
    } else if let Some(forbidden) = name.chars().find(|character| FORBIDDEN.contains(character)) {
        format!("it holds {:?}", forbidden.to_string())
    } else if name.chars().any(char::is_control) {
        "it holds a control character".to_owned()
    } else {
        return Ok(());
    };
    Err(InvalidTopologyName { name: name.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn illegal_names_are_refused_with_the_rule() {
        for name in ["", " ", "\t", "a/b", "a:b", "a.b", "a\\b", "..", "a\0b", "a\nb"] {
            let error = validate_topology_name(name).unwrap_err().to_string();
            assert!(error.contains("/ . : \\"), "{error}");
            assert!(error.contains(&format!("{name:?}")), "{error}");
        }
    }

    #[test]
    fn other_names_are_legal() {
        for name in ["word-count", "Wörter zählen", "a b", "__x", "-", "日本"] {
            assert_eq!(validate_topology_name(name), Ok(()));
        }
    }
}
