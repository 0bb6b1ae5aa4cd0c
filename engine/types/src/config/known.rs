//! The keys that are known, and the check that refuses a slip of one of them.
//!
//! A key that nobody knows is passed through to the components, as in Storm: topologies keep settings of their own in
//! the same map. So a misspelled key would go unnoticed, and with it the setting; a key that nearly is a known one is
//! therefore an error. The keys stand in `known_keys.txt`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use super::{Config, ConfigError, ConfigErrors, Origin};
use crate::names;

/// What becomes of a known key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyClass {
    /// Ringstorm reads it.
    Supported,
    /// Accepted without effect: the design leaves nothing to set.
    NotNeeded,
    /// Accepted without effect: it means nothing outside Java.
    JavaOnly,
    /// Accepted without effect: Ringstorm does not have the feature.
    Unsupported,
    /// It acts in a cluster and not in a local run.
    Cluster,
}

/// A known key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownKey {
    /// The key.
    pub key: &'static str,
    /// What becomes of it.
    pub class: KeyClass,
    /// Why it has no effect, in words that fit behind "because"; empty for a supported key.
    pub reason: &'static str,
}

/// Keys that were set and have no effect, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The keys, in string order.
    pub keys: Vec<&'static str>,
    /// Their class, never [`KeyClass::Supported`].
    pub class: KeyClass,
    /// The reason, in words that fit behind "because".
    pub reason: &'static str,
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, it) = if self.keys.len() == 1 { ("has", "it") } else { ("have", "them") };
        let place = if self.class == KeyClass::Cluster { " in a local run" } else { "" };
        let (keys, reason) = (self.keys.join(", "), self.reason);
        write!(formatter, "{keys} {verb} no effect{place}, because {reason}; nothing changes if you remove {it}")
    }
}

/// The prefix of keys that only Ringstorm has: an unknown one is always a mistake.
const OWN_PREFIX: &str = "ringstorm.";

/// A key of this length may be one edit away from what was meant, of twice the length two. In shorter keys, two
/// edits make another word, unless nothing of what was meant is missing.
const CHARACTERS_FOR_AN_EDIT: usize = 8;
/// The most edits that make a slip.
const EDITS_MAX: usize = 2;

static KNOWN: LazyLock<BTreeMap<&'static str, KnownKey>> = LazyLock::new(|| parse(include_str!("known_keys.txt")));

/// The known keys by their text without separators and case.
static FOLDED: LazyLock<BTreeMap<String, &'static str>> =
    LazyLock::new(|| KNOWN.keys().map(|key| (names::fold(key), *key)).collect());

fn parse(table: &'static str) -> BTreeMap<&'static str, KnownKey> {
    let (mut class, mut reason) = (KeyClass::Supported, "");
    let mut known = BTreeMap::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some((name, words)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            reason = words.trim();
            class = match name {
                "supported" => KeyClass::Supported,
                "not-needed" => KeyClass::NotNeeded,
                "java-only" => KeyClass::JavaOnly,
                "unsupported" => KeyClass::Unsupported,
                "cluster" => KeyClass::Cluster,
                _ => unreachable!("known_keys.txt has no other sections, which a test checks"),
            };
        } else {
            known.insert(line, KnownKey { key: line, class, reason });
        }
    }
    known
}

/// What is known of a key; `None` for a key of the user's own, or a misspelled one.
pub fn known_key(key: &str) -> Option<KnownKey> {
    KNOWN.get(key).copied()
}

/// Every known key, in string order: Storm's and Ringstorm's.
pub fn known_keys() -> impl Iterator<Item = KnownKey> {
    KNOWN.values().copied()
}

/// Checks the keys of a configuration, not their values.
///
/// Returns a note for each reason for which known keys are without effect; keys that nobody set (their origin is
/// [`Origin::DEFAULT`]) are not worth one. Unknown keys that resemble no known one are left for the components.
///
/// # Errors
/// [`ConfigErrors`] with every key that nearly is a known one, or that starts with `ringstorm.` and does not exist.
pub fn check_keys(config: &Config) -> Result<Vec<Note>, ConfigErrors> {
    let mut notes: BTreeMap<(KeyClass, &'static str), Vec<&'static str>> = BTreeMap::new();
    let mut errors = Vec::new();
    for (key, _, origin) in config.iter() {
        match known_key(key) {
            Some(known) => {
                if known.class != KeyClass::Supported && *origin != Origin::DEFAULT {
                    notes.entry((known.class, known.reason)).or_default().push(known.key);
                }
            }
            None => errors.extend(check_unknown(key, origin)),
        }
    }
    if !errors.is_empty() {
        return Err(ConfigErrors(errors));
    }
    Ok(notes.into_iter().map(|((class, reason), keys)| Note { keys, class, reason }).collect())
}

fn check_unknown(key: &str, origin: &Origin) -> Option<ConfigError> {
    let (key, origin) = (key.to_owned(), origin.clone());
    if let Some(known) = near_miss(&key) {
        return Some(ConfigError::Misspelled { key, origin, known });
    }
    let own = || KNOWN.keys().copied().filter(|known| known.starts_with(OWN_PREFIX));
    key.starts_with(OWN_PREFIX).then(|| {
        let hint = names::hint(&key, "keys", own());
        ConfigError::Unknown { key, origin, hint }
    })
}

/// The known key that an unknown one is a slip of, if any.
fn near_miss(key: &str) -> Option<&'static str> {
    if let Some(known) = FOLDED.get(&names::fold(key)) {
        return Some(known);
    }
    let mut nearest: Option<(usize, &'static str)> = None;
    for known in KNOWN.keys() {
        let sure = (known.len() / CHARACTERS_FOR_AN_EDIT).min(EDITS_MAX);
        if sure == 0 || known.len().abs_diff(key.len()) > EDITS_MAX {
            continue;
        }
        let distance = strsim::osa_distance(key, known);
        let is_slip = distance <= sure || (distance <= EDITS_MAX && is_stirred(key, known));
        if is_slip && nearest.is_none_or(|(least, _)| distance < least) {
            nearest = Some((distance, known));
        }
    }
    nearest.map(|(_, known)| known)
}

/// Whether a key has each character of a known one at least as often: they changed places, or others came between them.
/// What only comes behind makes another word.
fn is_stirred(key: &str, known: &str) -> bool {
    let mut left: Vec<char> = key.chars().collect();
    !key.starts_with(known)
        && known
            .chars()
            .all(|character| left.iter().position(|it| *it == character).map(|at| left.swap_remove(at)).is_some())
}

#[cfg(test)]
mod tests;
