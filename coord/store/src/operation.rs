//! What can be asked of the tree, and what it answers, as data.
//!
//! Versions count the changes of a node's data from 0; `None` stands for whichever. Invariants: an [`Operation`] is
//! plain data, so that a simulator can hold it back, lose it, or do it later. Threading: plain data.

use ringstorm_records::znode::Mode;

use crate::acl::{Acl, Acls};
use crate::outcome::Condition;
use crate::path::ZnodePath;
use crate::store::SessionId;

/// The most bytes that one operation may take. ZooKeeper refuses a packet of more than 1,048,575 bytes by closing the
/// connection, which looks like a lost one, so that it would be tried again for ever.
pub const OPERATION_BYTES_MAX: usize = 1_000_000;

/// What a part of an operation takes besides texts and data: heads, lengths, versions.
const PART_BYTES: usize = 64;

/// How a node is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CreateMode {
    /// It stays until it is deleted.
    Persistent,
    /// As persistent, with ten digits appended to its path.
    PersistentSequential,
    /// It goes with the session that made it.
    Ephemeral,
    /// As ephemeral, with ten digits appended to its path.
    EphemeralSequential,
}

impl CreateMode {
    /// Whether the node goes with its session.
    pub fn is_ephemeral(self) -> bool {
        matches!(self, Self::Ephemeral | Self::EphemeralSequential)
    }

    /// Whether the store numbers the node.
    pub fn is_sequential(self) -> bool {
        matches!(self, Self::PersistentSequential | Self::EphemeralSequential)
    }
}

impl From<Mode> for CreateMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Persistent => Self::Persistent,
            Mode::Ephemeral => Self::Ephemeral,
            Mode::EphemeralSequential => Self::EphemeralSequential,
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Makes a node.
    Create {
        /// Where; of a sequential node all but its number.
        path: ZnodePath,
        /// What it holds.
        data: Vec<u8>,
        /// How it is made.
        mode: CreateMode,
        /// Who may do what with it.
        acl: Acls,
    },
    /// Sets what a node holds.
    Set {
        /// The node.
        path: ZnodePath,
        /// What it will hold.
        data: Vec<u8>,
        /// The version that it must have.
        version: Option<i32>,
    },
    /// Deletes a node without children.
    Delete {
        /// The node.
        path: ZnodePath,
        /// The version that it must have.
        version: Option<i32>,
    },
}

/// A condition of a [`Operation::Multi`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// A node that must be there.
    pub path: ZnodePath,
    /// The version that it must have.
    pub version: Option<i32>,
}

/// One request.
///
/// A read may arm a *watch*: one event ([`Event::Watch`](crate::store::Event::Watch)) after the next change, then none
/// until a read arms it again. The watch belongs to the read, so that nothing can happen between the two unnoticed.
/// Arming a watch that is armed already changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// One change.
    Write(Write),
    /// All of `writes` if all of `checks` hold, or nothing. Later writes see earlier ones.
    Multi {
        /// What must hold before the first write.
        checks: Vec<Check>,
        /// What is done then.
        writes: Vec<Write>,
    },
    /// What a node holds. Of a node that is not there no watch is armed; [`Self::Exists`] arms one there.
    Get {
        /// The node.
        path: ZnodePath,
        /// Whether the next change of its data, or its end, is told.
        watch: bool,
    },
    /// The names of a node's children.
    Children {
        /// The node.
        path: ZnodePath,
        /// Whether the next child that comes or goes, or the node's end, is told.
        watch: bool,
    },
    /// Whether a node is there.
    Exists {
        /// The node.
        path: ZnodePath,
        /// Whether its beginning, the next change of its data, or its end is told.
        watch: bool,
    },
    /// Who may do what with a node.
    Acl {
        /// The node.
        path: ZnodePath,
    },
    /// Sets who may do what with a node.
    SetAcl {
        /// The node.
        path: ZnodePath,
        /// The new list.
        acl: Acls,
        /// The version that its list must have.
        version: Option<i32>,
    },
    /// Later reads of this session see all that was written before.
    Sync {
        /// Any path; ZooKeeper synchronises the whole tree.
        path: ZnodePath,
    },
}

impl Operation {
    /// Makes a node.
    pub fn create(path: ZnodePath, data: impl Into<Vec<u8>>, mode: CreateMode, acl: Acls) -> Self {
        Self::Write(Write::Create { path, data: data.into(), mode, acl })
    }

    /// Sets a node's data, whatever its version.
    pub fn set(path: ZnodePath, data: impl Into<Vec<u8>>) -> Self {
        Self::Write(Write::Set { path, data: data.into(), version: None })
    }

    /// Deletes a node, whatever its version.
    pub fn delete(path: ZnodePath) -> Self {
        Self::Write(Write::Delete { path, version: None })
    }

    /// Whether it can change the tree, so that an unknown outcome leaves something open.
    pub fn is_write(&self) -> bool {
        matches!(self, Self::Write(_) | Self::Multi { .. } | Self::SetAcl { .. })
    }

    /// Refuses what ZooKeeper would refuse in a way that cannot be told from a lost connection. Each store asks before
    /// it does anything.
    ///
    /// # Errors
    /// [`Condition::TooLarge`].
    pub fn check(&self) -> Result<(), Condition> {
        let bytes = self.bytes();
        if bytes > OPERATION_BYTES_MAX { Err(Condition::TooLarge { bytes }) } else { Ok(()) }
    }

    /// About how many bytes it takes.
    fn bytes(&self) -> usize {
        match self {
            Self::Write(write) => write.bytes(),
            Self::Multi { checks, writes } => {
                let checks = checks.iter().map(|check| PART_BYTES + check.path.as_str().len());
                checks.chain(writes.iter().map(Write::bytes)).sum()
            }
            Self::SetAcl { path, acl, .. } => PART_BYTES + path.as_str().len() + acl_bytes(acl),
            Self::Get { path, .. }
            | Self::Children { path, .. }
            | Self::Exists { path, .. }
            | Self::Acl { path }
            | Self::Sync { path } => PART_BYTES + path.as_str().len(),
        }
    }
}

impl Write {
    /// The node that it changes; of a sequential one all but its number.
    pub fn path(&self) -> &ZnodePath {
        match self {
            Self::Create { path, .. } | Self::Set { path, .. } | Self::Delete { path, .. } => path,
        }
    }

    fn bytes(&self) -> usize {
        let rest = match self {
            Self::Create { data, acl, .. } => data.len() + acl_bytes(acl),
            Self::Set { data, .. } => data.len(),
            Self::Delete { .. } => 0,
        };
        PART_BYTES + self.path().as_str().len() + rest
    }
}

fn acl_bytes(acl: &Acls) -> usize {
    acl.iter().map(|entry| 12 + entry.scheme.len() + entry.id.len()).sum()
}

/// What the store knows of a node besides its data. Numbers of transactions grow with every change of the whole tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stat {
    /// The transaction that made the node (`czxid`).
    pub created: i64,
    /// The transaction that last changed its data (`mzxid`).
    pub changed: i64,
    /// The transaction that last made or deleted a child (`pzxid`).
    pub children_changed: i64,
    /// When it was made, in milliseconds since 1970 by the clock of the store.
    pub created_ms: i64,
    /// When its data last changed, by the same clock.
    pub changed_ms: i64,
    /// How often its data changed.
    pub version: i32,
    /// How often children came and went.
    pub children_version: i32,
    /// How often its list of rights changed.
    pub acl_version: i32,
    /// The session that it goes with; `None` for a persistent node.
    pub owner: Option<SessionId>,
    /// How many bytes it holds.
    pub data_bytes: usize,
    /// How many children it has.
    pub child_count: usize,
}

/// What comes of an operation that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Of [`Write::Create`].
    Created {
        /// Where, with the number of a sequential node.
        path: ZnodePath,
    },
    /// Of [`Write::Set`].
    Set {
        /// The node afterwards.
        stat: Stat,
    },
    /// Of [`Write::Delete`].
    Deleted,
    /// Of [`Operation::Multi`]: one for each write.
    Multi(Vec<Answer>),
    /// Of [`Operation::Get`].
    Data {
        /// What the node holds.
        data: Vec<u8>,
        /// The node.
        stat: Stat,
    },
    /// Of [`Operation::Children`].
    Children {
        /// Their names, in order.
        names: Vec<String>,
        /// The node above.
        stat: Stat,
    },
    /// Of [`Operation::Exists`]: the node, if it is there.
    Exists(Option<Stat>),
    /// Of [`Operation::Acl`].
    Acl {
        /// The list. To a reader who may not change it, ZooKeeper hides the secret part of digests.
        acl: Vec<Acl>,
        /// The node.
        stat: Stat,
    },
    /// Of [`Operation::SetAcl`].
    AclSet {
        /// The node afterwards.
        stat: Stat,
    },
    /// Of [`Operation::Sync`].
    Synced,
}
