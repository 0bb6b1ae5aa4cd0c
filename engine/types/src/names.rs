//! Help for messages: the nearest existing name to a missing one, and short lists of names.

use std::fmt::Write;

/// How many names a message lists before it says how many more there are.
const LISTED: usize = 20;

/// Texts longer than this are not compared: the time would grow with the square of the length.
const COMPARED_BYTES: usize = 256;

/// The candidate that a mistyped name most likely stands for, if one is near: equal but for case and separators, or
/// at most one edit for every three characters away, three at most.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(name);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = if !folded.is_empty() && fold(candidate) == folded {
            0
        } else if name.len() <= COMPARED_BYTES && candidate.len() <= COMPARED_BYTES {
            strsim::osa_distance(name, candidate)
        } else {
            continue;
        };
        let allowed = (candidate.chars().count() / 3).min(3);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// A name without what people mix up: case and separators.
pub(crate) fn fold(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// `Did you mean "x"? ` when something is near, and what exists: the tail of every "does not exist" message.
pub(crate) fn hint<'a>(name: &str, what: &str, existing: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let mut text = String::new();
    if let Some(near) = nearest(name, existing.clone()) {
        let _ = write!(text, "Did you mean {near:?}? ");
    }
    let listed = list(existing);
    if listed.is_empty() {
        let _ = write!(text, "There are no {what}.");
    } else {
        let _ = write!(text, "Existing {what}: {listed}.");
    }
    text
}

/// Names in quotes, separated by commas; after twenty only how many more there are.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut count = 0_usize;
    for name in names {
        if count < LISTED {
            let separator = if count == 0 { "" } else { ", " };
            let _ = write!(text, "{separator}{name:?}");
        }
        count += 1;
    }
    if count > LISTED {
        let _ = write!(text, " and {} more", count - LISTED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not() {
        let existing = ["words", "count", "report"];
        assert_eq!(nearest("wrods", existing), Some("words"));
        assert_eq!(nearest("Count", existing), Some("count"));
        assert_eq!(nearest("ghost", existing), None);
        assert_eq!(nearest("word_count", ["wordCount"]), Some("wordCount"));
        assert_eq!(nearest(&"x".repeat(100_000), existing), None);
        assert_eq!(nearest("--", ["__"]), None);
    }

    #[test]
    fn lists_are_short() {
        assert_eq!(list(["a", "b"]), "\"a\", \"b\"");
        let names: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        assert!(list(names.iter().map(String::as_str)).ends_with("\"19\" and 10 more"));
        assert_eq!(hint("a", "streams", []), "There are no streams.");
    }
}
