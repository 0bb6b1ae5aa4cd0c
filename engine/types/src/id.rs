//! Ids: components, streams, tasks, executors, cores, messages; and the names that Storm reserves for its own.
//!
//! Component and stream ids are short texts that are cloned by reference count and compared as bytes. They are checked
//! when they are made, so that whoever holds one may print it, log it or put it in a path without a second look.
//! Whether a *user* may use an id (those that start with `__` are reserved) is a rule of
//! [`validate`](crate::validate), because the system's own components have such ids.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The stream that a component emits to when it names none, as in Storm.
pub const DEFAULT_STREAM: &str = "default";

/// Ids of components and streams that start with this are reserved for the system, as in Storm.
pub const RESERVED_PREFIX: &str = "__";

/// The component that tracks tuple trees.
pub const ACKER_COMPONENT: &str = "__acker";
/// The component that stands for the worker itself: one task, [`TaskId::SYSTEM`], in every worker.
pub const SYSTEM_COMPONENT: &str = "__system";
/// The component that writes sampled tuples for debugging.
pub const EVENTLOGGER_COMPONENT: &str = "__eventlogger";
/// What the ids of metrics consumers start with; the name of the consumer follows.
pub const METRICS_COMPONENT_PREFIX: &str = "__metrics_";

/// Spout to acker: a new root, its first ack value and the task that wants to know.
pub const ACK_INIT_STREAM: &str = "__ack_init";
/// Bolt to acker: a tuple is done; acker to spout: a tree is complete.
pub const ACK_ACK_STREAM: &str = "__ack_ack";
/// Bolt to acker, acker to spout: a tree has failed.
pub const ACK_FAIL_STREAM: &str = "__ack_fail";
/// Bolt to acker, acker to spout: a tree's time-out starts anew.
pub const ACK_RESET_TIMEOUT_STREAM: &str = "__ack_reset_timeout";
/// System to every task that asked for ticks: the tick frequency in seconds.
pub const TICK_STREAM: &str = "__tick";
/// System to tasks: it is time to report metrics.
pub const METRICS_TICK_STREAM: &str = "__metrics_tick";
/// System to tasks: flush what is batched. Ringstorm never batches by waiting and so never emits it.
pub const FLUSH_STREAM: &str = "__flush";
/// Tasks to metrics consumers: data points.
pub const METRICS_STREAM: &str = "__metrics";
/// Tasks to the system: events of the task itself.
pub const SYSTEM_STREAM: &str = "__system";
/// Tasks to the event logger: sampled tuples.
pub const EVENTLOG_STREAM: &str = "__eventlog";

/// The longest component or stream id, in bytes. Ids travel in handshakes and become parts of znode paths; a bound
/// keeps both small, and no sensible name comes near it.
pub const MAX_ID_BYTES: usize = 1024;

/// Why a text cannot be a component or stream id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// The text is empty or consists of white space.
    #[error("a {what} id is {text:?}, which is blank; give it a name with at least one visible character")]
    Blank {
        /// `component` or `stream`.
        what: &'static str,
        /// The text as given.
        text: String,
    },
    /// The text holds a control character such as a line end.
    #[error("the {what} id {text:?} holds the control character {character:?}; remove it")]
    ControlCharacter {
        /// `component` or `stream`.
        what: &'static str,
        /// The text as given.
        text: String,
        /// The first such character.
        character: char,
    },
    /// The text is longer than [`MAX_ID_BYTES`].
    #[error("a {what} id is {length_bytes} bytes long, starting with {start:?}; use at most {MAX_ID_BYTES} bytes")]
    TooLong {
        /// `component` or `stream`.
        what: &'static str,
        /// The first characters of the text.
        start: String,
        /// The length of the text.
        length_bytes: usize,
    },
}

fn check_id(what: &'static str, text: &str) -> Result<(), InvalidId> {
    if text.len() > MAX_ID_BYTES {
        let start = text.chars().take(40).collect();
        return Err(InvalidId::TooLong { what, start, length_bytes: text.len() });
    }
    if text.trim().is_empty() {
        return Err(InvalidId::Blank { what, text: text.to_owned() });
    }
    match text.chars().find(|character| character.is_control()) {
        Some(character) => Err(InvalidId::ControlCharacter { what, text: text.to_owned(), character }),
        None => Ok(()),
    }
}

macro_rules! text_id {
    ($(#[$documentation:meta])* $name:ident, $what:literal) => {
        $(#[$documentation])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the text and makes it an id.
            ///
            /// # Errors
            /// [`InvalidId`] when the text is blank, longer than [`MAX_ID_BYTES`] or holds a control character.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidId> {
                let text = text.as_ref();
                check_id($what, text)?;
                Ok(Self(Arc::from(text)))
            }

            /// An id from a text that is written in the program, such as the constants of this module.
            ///
            /// # Panics
            /// When the text is not a valid id: a mistake of the program, not of its input.
            pub fn from_static(text: &'static str) -> Self {
                match Self::new(text) {
                    Ok(id) => id,
                    Err(error) => panic!("{error}"),
                }
            }

            /// The text of the id.
            #[inline]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether the id starts with [`RESERVED_PREFIX`] and so belongs to the system.
            pub fn is_reserved(&self) -> bool {
                self.0.starts_with(RESERVED_PREFIX)
            }
        }

        impl Deref for $name {
            type Target = str;
            #[inline]
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            #[inline]
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            #[inline]
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, formatter)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = InvalidId;
            fn try_from(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The id of a spout or bolt, unique in its topology.
    ///
    /// ```
    /// use ringstorm_types::id::ComponentId;
    ///
    /// let words = ComponentId::new("words")?;
    /// assert_eq!(words, "words");
    /// assert!(ComponentId::new(" ").is_err());
    /// # Ok::<(), ringstorm_types::id::InvalidId>(())
    /// ```
    ComponentId, "component"
}

text_id! {
    /// The id of a stream, unique among the streams of the component that declares it.
    StreamId, "stream"
}

impl Default for StreamId {
    /// [`DEFAULT_STREAM`].
    fn default() -> Self {
        Self::from_static(DEFAULT_STREAM)
    }
}

/// The id of a task: from 1 upwards over the whole topology, as in Storm; [`TaskId::SYSTEM`] for the worker itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub i32);

impl TaskId {
    /// The task of [`SYSTEM_COMPONENT`]: the source of ticks, one in every worker.
    pub const SYSTEM: Self = Self(-1);

    /// The position of the task in a table of all tasks, counted from 0; none for the system's task.
    #[inline]
    pub fn index(self) -> Option<usize> {
        usize::try_from(self.0).ok()?.checked_sub(1)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

/// The id of an executor: its first and its last task. Displayed as Storm's tools show it, `[first,last]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ExecutorId {
    /// The executor's lowest task.
    pub first: TaskId,
    /// The executor's highest task; the same as `first` when it runs one task.
    pub last: TaskId,
}

impl ExecutorId {
    /// The number of tasks that the executor runs; 0 for an id whose last task lies before its first.
    #[inline]
    pub fn task_count(self) -> usize {
        usize::try_from(i64::from(self.last.0) - i64::from(self.first.0) + 1).unwrap_or(0)
    }

    /// The executor's tasks in ascending order.
    pub fn tasks(self) -> impl DoubleEndedIterator<Item = TaskId> + Clone {
        (self.first.0..=self.last.0).map(TaskId)
    }

    /// Whether the executor runs this task.
    #[inline]
    pub fn contains(self, task: TaskId) -> bool {
        self.first <= task && task <= self.last
    }
}

impl fmt::Display for ExecutorId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{},{}]", self.first, self.last)
    }
}

/// The number of a core within its worker, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CoreIndex(pub usize);

impl fmt::Display for CoreIndex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

/// What a spout calls one of its messages: handed back to the same spout task by `ack` and `fail`, never looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub u64);

impl From<u64> for MessageId {
    fn from(id: u64) -> Self {
        Self(id)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_refuse_what_cannot_be_shown() {
        assert!(matches!(ComponentId::new(""), Err(InvalidId::Blank { .. })));
        assert!(matches!(StreamId::new(" \t "), Err(InvalidId::Blank { .. })));
        assert!(matches!(StreamId::new("a\nb"), Err(InvalidId::ControlCharacter { character: '\n', .. })));
        let long = "x".repeat(MAX_ID_BYTES + 1);
        assert!(matches!(ComponentId::new(&long), Err(InvalidId::TooLong { length_bytes: 1025, .. })));
        assert!(ComponentId::new(&long[1..]).is_ok());
        assert!(ComponentId::new("日本 \"words\"").is_ok());
    }

    #[test]
    fn a_bad_id_in_json_is_an_error() {
        assert_eq!(serde_json::from_str::<ComponentId>("\"words\"").unwrap(), "words");
        assert!(serde_json::from_str::<ComponentId>("\"\"").unwrap_err().to_string().contains("blank"));
    }

    #[test]
    fn an_executor_shows_its_tasks_as_storm_does() {
        let executor = ExecutorId { first: TaskId(1), last: TaskId(2) };
        assert_eq!(executor.to_string(), "[1,2]");
        assert_eq!(executor.task_count(), 2);
        assert!(executor.contains(TaskId(2)) && !executor.contains(TaskId(3)));
        assert_eq!(executor.tasks().collect::<Vec<_>>(), [TaskId(1), TaskId(2)]);
        assert_eq!(ExecutorId { first: TaskId::SYSTEM, last: TaskId::SYSTEM }.to_string(), "[-1,-1]");
        assert_eq!(ExecutorId { first: TaskId(2), last: TaskId(1) }.task_count(), 0);
    }

    #[test]
    fn the_index_of_a_task_counts_from_zero() {
        assert_eq!(TaskId(1).index(), Some(0));
        assert_eq!(TaskId(0).index(), None);
        assert_eq!(TaskId::SYSTEM.index(), None);
    }
}
