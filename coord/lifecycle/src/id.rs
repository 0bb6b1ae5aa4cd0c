//! Names and ids of topologies, and the keys of their blobs.
//!
//! An id is the name, the number of the submission in this nimbus process, and the second of it: `words-1-1795972824`. It
//! is never used twice, so that whatever carries it belongs to that one submission. Source: `Nimbus.submitTopologyWithOpts`
//! and `ConfigUtils.getIdFromBlobKey` of Storm 2.8.2.

use ringstorm_records::records::StormBase;
use ringstorm_records::znode::NodeName;
use ringstorm_types::validate::validate_topology_name;

use crate::Refusal;

/// The longest name, in bytes. The name of a file that holds a topology's blob begins with it, and ends at 255 bytes in
/// most file systems. Unlike Storm, which fails when it writes that file.
pub const NAME_BYTES_MAX: usize = 200;

/// The three blobs of each topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopologyBlob {
    /// The file that the client uploaded.
    Jar,
    /// The `StormTopology`.
    Code,
    /// The configuration.
    Conf,
}

impl TopologyBlob {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Jar, Self::Code, Self::Conf];

    const fn suffix(self) -> &'static str {
        match self {
            Self::Jar => "-stormjar.jar",
            Self::Code => "-stormcode.ser",
            Self::Conf => "-stormconf.ser",
        }
    }

    /// The key of this blob of a topology.
    pub fn key(self, topology: &str) -> String {
        format!("{topology}{}", self.suffix())
    }

    /// The topology whose blob has this key, and which of its blobs it is; `None` for the blobs of users.
    pub fn of_key(key: &str) -> Option<(&str, Self)> {
        Self::ALL.into_iter().find_map(|blob| Some((key.strip_suffix(blob.suffix())?, blob)))
    }
}

/// The id of a submission: the `number`th of this process of nimbus, from 1, at this second since 1970.
pub fn topology_id(name: &str, number: u64, now_secs: i64) -> String {
    format!("{name}-{number}-{now_secs}")
}

/// The name of the topology with this id; `None` when the text is no such id.
pub fn name_of(topology: &str) -> Option<&str> {
    let (rest, second) = topology.rsplit_once('-')?;
    let (name, number) = rest.rsplit_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(second) && is_number(number) && !name.is_empty()).then_some(name)
}

/// The second of the submission of the topology with this id; `None` when the text is no such id.
pub fn second_of(topology: &str) -> Option<i32> {
    name_of(topology)?;
    topology.rsplit_once('-')?.1.parse().ok()
}

/// Checks the name of a topology: Storm's rule for names, its rule for the keys of the blobs that the name becomes a part
/// of (as far as ASCII goes), and the rule of znodes. In Storm a name that only the first of these allows fails halfway
/// through its submission.
///
/// # Errors
/// [`Refusal::Invalid`], in Storm's words and with what is wrong.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    let is_of_keys =
        |character: &char| !character.is_ascii() || character.is_ascii_alphanumeric() || " _-".contains(*character);
    let problem = if let Err(error) = validate_topology_name(name) {
        error.problem
    } else if name.len() > NAME_BYTES_MAX {
        format!("it is longer than {NAME_BYTES_MAX} bytes")
    } else if let Some(other) = name.chars().find(|character| !is_of_keys(character)) {
        format!("it holds {other:?}, and the key of a blob cannot")
    } else if NodeName::new(&topology_id(name, 1, 1)).is_err() {
        "it holds a character that ZooKeeper does not allow".to_owned()
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(NAME_BYTES_MAX).collect();
    Err(is_no_name(&shown, &problem))
}

/// What is said of a submission without a name, which is null to Storm's clients.
pub fn name_is_null() -> Refusal {
    is_no_name("null", "there is no name")
}

fn is_no_name(shown: &str, problem: &str) -> Refusal {
    Refusal::invalid(format!(
        "Topology name '{shown}' is not valid. It can't be null and it must match ^[^/.:\\\\]+$: {problem}"
    ))
}

/// Why nothing can be submitted under a name that is fine by itself.
pub fn name_is_taken(name: &str, by_one_that_was_killed: bool) -> String {
    if by_one_that_was_killed {
        format!("{name} was killed and is not gone yet (its status is KILLED); its name is free when it is")
    } else {
        format!("{name} is already alive")
    }
}

/// The id of the topology that has this name, whatever it is doing.
///
/// # Errors
/// [`Refusal::NotAlive`].
pub fn find<'a>(name: &str, bases: impl IntoIterator<Item = (&'a str, &'a StormBase)>) -> Result<&'a str, Refusal> {
    let found = bases.into_iter().find(|(_, base)| base.name == name);
    found.map(|(id, _)| id).ok_or_else(|| Refusal::NotAlive(format!("{name} is not alive")))
}

/// Whether this is the id of a topology of this name, for one whose base cannot be read.
pub fn is_of_name(topology: &str, name: &str) -> bool {
    name_of(topology) == Some(name)
}

/// Checks that no topology has this name; one that is being killed still has its own.
///
/// # Errors
/// [`Refusal::AlreadyAlive`].
pub fn check_free<'a>(name: &str, bases: impl IntoIterator<Item = (&'a str, &'a StormBase)>) -> Result<(), Refusal> {
    match find(name, bases) {
        Ok(_) => Err(Refusal::AlreadyAlive(format!("{name} is already alive"))),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_and_keys_are_storms() {
        let id = topology_id("words", 1, 1_795_972_824);
        assert_eq!(id, "words-1-1795972824");
        assert_eq!(TopologyBlob::Jar.key(&id), "words-1-1795972824-stormjar.jar");
        assert_eq!(TopologyBlob::of_key("words-1-1795972824-stormconf.ser"), Some((&*id, TopologyBlob::Conf)));
        assert_eq!(TopologyBlob::of_key("dep-something.jar"), None);
    }

    #[test]
    fn what_is_no_id_has_no_name() {
        for text in ["", "words", "words-1", "words-1-", "words-x-1", "-1-2", "words--2"] {
            assert_eq!(name_of(text), None, "{text}");
        }
        assert_eq!(name_of("a-1-2-3-4"), Some("a-1-2"));
    }

    #[test]
    fn names_are_refused_in_storms_words_with_the_reason() {
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for name in ["", " ", "a/b", "a.b", "a:b", "a\\b", "a\tb", "a#b", "a\u{fffe}b", &long] {
            let refusal = check_name(name).unwrap_err();
            let text = refusal.to_string();
            assert!(matches!(refusal, Refusal::Invalid(_)), "{name:?}");
            assert!(text.starts_with("Topology name '") && text.contains(r"it must match ^[^/.:\\]+$: it "), "{text}");
        }
        for name in ["words", "Wörter zählen", "a_b-c", "日本"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
    }

    proptest! {
        #[test]
        fn the_name_of_an_id_is_the_name_it_was_made_of(name in ".{1,40}", number in any::<u64>(), now in 0..i64::MAX) {
            let id = topology_id(&name, number, now);
            prop_assert_eq!(name_of(&id), Some(&*name));
            for blob in TopologyBlob::ALL {
                let key = blob.key(&id);
                prop_assert_eq!(TopologyBlob::of_key(&key), Some((&*id, blob)));
            }
        }
    }
}
