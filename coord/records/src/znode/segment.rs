//! The variable parts of paths.

use std::borrow::Cow;
use std::fmt;

use crate::payload::NimbusAddress;
use crate::records::{ProfileAction, WorkerTokenServiceType};

/// How many digits ZooKeeper appends to the path of a sequential node.
pub(super) const SEQUENCE_DIGITS: usize = 10;

const LAST_ERROR: &str = "-last-error";
const CANDIDATE: &str = "_c_";
const LATCH: &str = "-latch-";

/// What stands between two slashes. Reading is strict: what is read is written again as it was.
pub(super) trait Segment: Sized {
    fn to_segment(&self) -> String;
    fn from_segment(segment: &str) -> Option<Self>;
}

/// A text that cannot be the name of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} cannot be the name of a znode; one is not empty, not . or .., and holds no /, no control or private character, \
     and none beyond U+FFFF"
)]
pub struct InvalidName(pub String);

/// The name of a node, as ZooKeeper takes it: an id of a topology or supervisor, a host, a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(String);

impl NodeName {
    /// Checks a name by ZooKeeper's rule (`PathUtils.validatePath`).
    ///
    /// # Errors
    /// The name is empty, `.` or `..`, or holds `/` or a character that ZooKeeper refuses.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        if Self::is_name(name) { Ok(Self(name.to_owned())) } else { Err(InvalidName(name.to_owned())) }
    }

    /// Whether [`Self::new`] takes a text.
    pub fn is_name(name: &str) -> bool {
        // The last range is Java's surrogates, of which characters above it are made, and what Unicode keeps for itself.
        let is_refused = |character: char| {
            let number = u32::from(character);
            character == '/' || matches!(number, 0..=0x1f | 0x7f..=0x9f | 0xd800..=0xf8ff | 0xfff0..)
        };
        let is_plain = |byte: u8| matches!(byte, 0x20..=0x7e if byte != b'/');
        // Almost all names are plain, which is quickly seen.
        let is_taken = name.bytes().all(is_plain) || !name.contains(is_refused);
        is_taken && !name.is_empty() && name != "." && name != ".."
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Segment for NodeName {
    fn to_segment(&self) -> String {
        self.0.clone()
    }

    fn from_segment(segment: &str) -> Option<Self> {
        Self::new(segment).ok()
    }
}

/// The name of a component, which is URL-encoded in paths as Java's `URLEncoder` does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentName(String);

impl ComponentName {
    /// Any text but those whose encoded form is no name of a node: the empty one, `.` and `..`.
    ///
    /// # Errors
    /// It is one of these.
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        NodeName::new(&encoded(name))?;
        Ok(Self(name.to_owned()))
    }

    /// The name, not encoded.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Segment for ComponentName {
    fn to_segment(&self) -> String {
        encoded(&self.0)
    }

    fn from_segment(segment: &str) -> Option<Self> {
        let spaced: Cow<'_, str> = segment.replace('+', " ").into();
        let name = percent_encoding::percent_decode_str(&spaced).decode_utf8().ok()?;
        Self::new(&name).ok().filter(|component| component.to_segment() == segment)
    }
}

/// The rules of `application/x-www-form-urlencoded`, which are those of `URLEncoder`.
fn encoded(name: &str) -> String {
    form_urlencoded::byte_serialize(name.as_bytes()).collect()
}

/// The component whose last error it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LastError(pub ComponentName);

impl Segment for LastError {
    fn to_segment(&self) -> String {
        self.0.to_segment() + LAST_ERROR
    }

    fn from_segment(segment: &str) -> Option<Self> {
        ComponentName::from_segment(segment.strip_suffix(LAST_ERROR)?).map(Self)
    }
}

/// The number of an error, given by ZooKeeper: `e` and ten digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorNumber(pub i32);

impl Segment for ErrorNumber {
    fn to_segment(&self) -> String {
        format!("e{}", sequence_text(self.0))
    }

    fn from_segment(segment: &str) -> Option<Self> {
        sequence(segment.strip_prefix('e')?).map(Self)
    }
}

/// A candidate for leadership: what Curator names it, and the number that ZooKeeper gave it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    /// A unique id: Curator takes a UUID, to find its node again when it does not know whether it was made.
    pub id: NodeName,
    /// The lowest leads.
    pub number: i32,
}

impl Segment for Candidate {
    fn to_segment(&self) -> String {
        format!("{CANDIDATE}{}{LATCH}{}", self.id, sequence_text(self.number))
    }

    fn from_segment(segment: &str) -> Option<Self> {
        let (id, number) = segment.strip_prefix(CANDIDATE)?.rsplit_once(LATCH)?;
        Some(Self { id: NodeName::new(id).ok()?, number: sequence(number)? })
    }
}

/// A slot: a supervisor and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The supervisor's id.
    pub supervisor: NodeName,
    /// The worker's port.
    pub port: u16,
}

impl Segment for Slot {
    fn to_segment(&self) -> String {
        format!("{}-{}", self.supervisor, self.port)
    }

    fn from_segment(segment: &str) -> Option<Self> {
        let (supervisor, port) = segment.rsplit_once('-')?;
        Some(Self { supervisor: NodeName::new(supervisor).ok()?, port: canonical(port)? })
    }
}

/// A nimbus that holds a blob, and the number of the content that it holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobHolder {
    /// The nimbus.
    pub nimbus: NimbusAddress,
    /// The number of the content; 0 when it must fetch it anew.
    pub version: u32,
}

impl Segment for BlobHolder {
    fn to_segment(&self) -> String {
        format!("{}-{}", self.nimbus, self.version)
    }

    fn from_segment(segment: &str) -> Option<Self> {
        let (nimbus, version) = segment.rsplit_once('-')?;
        let holder = Self { nimbus: nimbus.parse().ok()?, version: canonical(version)? };
        (holder.to_segment() == segment).then_some(holder)
    }
}

/// A worker that should be profiled, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileTarget {
    /// The worker's host.
    pub host: NodeName,
    /// The worker's port.
    pub port: u16,
    /// What its profiler should do; one that has a name.
    pub action: ProfileAction,
}

impl Segment for ProfileTarget {
    fn to_segment(&self) -> String {
        format!("{}_{}_{}", self.host, self.port, self.action)
    }

    fn from_segment(segment: &str) -> Option<Self> {
        // Names of actions hold the separator too, and some end as others do.
        ProfileAction::SCHEMA.values.iter().find_map(|(number, name)| {
            let (host, port) = segment.strip_suffix(name)?.strip_suffix('_')?.rsplit_once('_')?;
            let action = ProfileAction::from_number(*number);
            Some(Self { host: NodeName::new(host).ok()?, port: canonical(port)?, action })
        })
    }
}

impl Segment for WorkerTokenServiceType {
    fn to_segment(&self) -> String {
        self.to_string()
    }

    fn from_segment(segment: &str) -> Option<Self> {
        let (number, _) = Self::SCHEMA.values.iter().find(|(_, name)| *name == segment)?;
        Some(Self::from_number(*number))
    }
}

impl Segment for i64 {
    fn to_segment(&self) -> String {
        self.to_string()
    }

    fn from_segment(segment: &str) -> Option<Self> {
        canonical(segment)
    }
}

/// As ZooKeeper writes it: ten digits, or a minus and ten digits after two thousand million nodes.
fn sequence_text(number: i32) -> String {
    format!("{number:010}")
}

fn sequence(text: &str) -> Option<i32> {
    text.parse().ok().filter(|number| sequence_text(*number) == text)
}

/// A number that is written as it is here: no sign in front, no zeros.
fn canonical<T: std::str::FromStr + ToString>(text: &str) -> Option<T> {
    text.parse().ok().filter(|number: &T| number.to_string() == text)
}
