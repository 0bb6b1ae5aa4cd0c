//! What the machine wants of the code directory of its host, and what that says.
//!
//! The directory holds the blobs of topologies under Storm's keys, each with the number of its content. A number belongs
//! to one content: it is given in the tree before the content is stored under it.

use std::sync::Arc;

use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::StormTopology;
use ringstorm_records::znode::NodeName;
use serde_json::{Map, Value};

use super::Upload;

/// A configuration.
pub type Conf = Map<String, Value>;

/// What a blob holds, as far as a nimbus reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The file of the topology, or a blob of a user's. Nobody reads it here.
    Opaque,
    /// What the topology is (`-stormcode.ser`).
    Code(Arc<StormTopology>),
    /// Its configuration (`-stormconf.ser`).
    Conf(Arc<Conf>),
}

/// A blob in the directory.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldBlob {
    /// Its key.
    pub key: NodeName,
    /// The number of its content, from 1.
    pub number: u32,
    /// What it holds.
    pub content: Content,
}

/// The numbers of the first contents of a topology's blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BlobNumbers {
    /// Of the file.
    pub jar: u32,
    /// Of the topology.
    pub code: u32,
    /// Of the configuration.
    pub conf: u32,
}

/// Something for the code directory. Each request gets one event: its success, or [`CodeEvent::Failed`].
#[derive(Clone, Debug)]
pub enum CodeRequest {
    /// To store the blobs of a new topology, all of them or none; those that are there already are overwritten. The upload
    /// stays for a repetition.
    Store {
        /// Its id.
        topology: NodeName,
        /// Its file.
        upload: Upload,
        /// What it is.
        code: Arc<StormTopology>,
        /// Its configuration.
        conf: Arc<Conf>,
        /// The numbers of the contents.
        numbers: BlobNumbers,
    },
    /// To store another content of a blob, whatever was there.
    Replace(HeldBlob),
    /// To fetch a content from another nimbus, and store it.
    Fetch {
        /// The blob.
        key: NodeName,
        /// The number of the content. A nimbus that has another one by now gives that, with its number.
        number: u32,
        /// Who holds it.
        from: NimbusAddress,
    },
    /// To remove a blob. One that is not there is fine.
    Remove {
        /// It.
        key: NodeName,
    },
}

/// What the code directory says.
#[derive(Clone, Debug)]
pub enum CodeEvent {
    /// All that was there at the start and can be read.
    Held(Vec<HeldBlob>),
    /// Of [`CodeRequest::Store`].
    Stored {
        /// The topology.
        topology: NodeName,
    },
    /// Of [`CodeRequest::Replace`].
    Replaced {
        /// The blob.
        key: NodeName,
        /// The number of its content.
        number: u32,
    },
    /// Of [`CodeRequest::Fetch`]: it is stored.
    Fetched(HeldBlob),
    /// Of [`CodeRequest::Remove`].
    Removed {
        /// The blob.
        key: NodeName,
    },
    /// A request was not done.
    Failed {
        /// Which.
        task: CodeTask,
        /// Why.
        why: CodeFailure,
    },
}

/// By what a request to the code directory is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeTask {
    /// [`CodeRequest::Store`] of this topology.
    Store(NodeName),
    /// [`CodeRequest::Replace`] of this blob.
    Replace(NodeName),
    /// [`CodeRequest::Fetch`] of this blob.
    Fetch(NodeName),
    /// [`CodeRequest::Remove`] of this blob.
    Remove(NodeName),
}

/// Why a request to the code directory was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeFailure {
    /// The upload is not here, or is not what its checksum says. To ask again brings nothing.
    #[error("the uploaded file cannot be used: {0}")]
    Upload(String),
    /// Something that may go better when it is tried again.
    #[error("{0}")]
    Other(String),
}
