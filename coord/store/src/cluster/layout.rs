//! The folders that are there from the start, and whose tree it is.

use ringstorm_records::payload::{self, PayloadError};
use ringstorm_records::records::{NimbusSummary, SupervisorInfo};
use ringstorm_records::thrift::Record;
use ringstorm_records::znode::Node;

use super::reading::data;
use super::trouble::{Trouble, answer};
use super::{Skipped, Tree};
use crate::operation::Operation;
use crate::path::ZnodePath;

/// The folders that every daemon and worker of Storm makes when it starts, in its order.
pub const FOLDERS: [Node; 9] = [
    Node::Assignments {},
    Node::Storms {},
    Node::Supervisors {},
    Node::WorkerBeats {},
    Node::Errors {},
    Node::Blobs {},
    Node::Nimbuses {},
    Node::LogConfigs {},
    Node::Backpressure {},
];

/// What every version of Ringstorm has in its text, and no version of Apache Storm.
const OURS: &str = "ringstorm";

/// Who uses the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootUse {
    /// Nobody who lives, or daemons of Ringstorm. Nodes that could not be read are named.
    Ours {
        /// They stay where they are.
        skipped: Vec<Skipped>,
    },
    /// A daemon of Apache Storm that lives. Nothing may be written here.
    ApacheStorm {
        /// The node by which it is known.
        path: ZnodePath,
        /// How it is known: its version, or how its node is written.
        sign: String,
    },
}

impl Tree {
    /// Makes the root and the folders of [`FOLDERS`], where they are not there.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn prepare(&self) -> Result<(), Trouble> {
        self.make_folder(None, &self.path(&Node::Root {}), &self.acls.daemons).await?;
        for folder in FOLDERS {
            self.make_folder(None, &self.path(&folder), &self.acls.daemons).await?;
        }
        Ok(())
    }

    /// Looks, without writing anything, whether a daemon of Apache Storm lives in the root: a version without
    /// `ringstorm` in it, or a record as only Storm writes them. Whoever starts looks first.
    ///
    /// # Errors
    /// [`Trouble`].
    pub async fn root_use(&self) -> Result<RootUse, Trouble> {
        let mut skipped = Vec::new();
        for folder in [Node::Nimbuses {}, Node::Supervisors {}] {
            let nodes = self.nodes(&folder, false).await?;
            skipped.extend(nodes.skipped);
            let paths: Vec<_> = nodes.found.iter().map(|node| self.path(node)).collect();
            let gets = paths.iter().map(|path| Operation::Get { path: path.clone(), watch: false }).collect();
            for (path, outcome) in paths.iter().zip(self.ask_many(gets).await) {
                let Some((bytes, _)) = data(path, answer(path, outcome))? else { continue };
                let version = match folder {
                    Node::Nimbuses {} => version_of(&bytes, |nimbus: NimbusSummary| Some(nimbus.version)),
                    _ => version_of(&bytes, |supervisor: SupervisorInfo| supervisor.version),
                };
                match version {
                    Ok(version) if version.contains(OURS) => {}
                    Ok(version) => {
                        let sign = format!("its version is {version:?}");
                        return Ok(RootUse::ApacheStorm { path: path.clone(), sign });
                    }
                    Err(why @ (PayloadError::Zstd | PayloadError::JavaObject)) => {
                        return Ok(RootUse::ApacheStorm { path: path.clone(), sign: why.to_string() });
                    }
                    Err(why) => skipped.push(Skipped { path: path.clone(), why: why.to_string() }),
                }
            }
        }
        Ok(RootUse::Ours { skipped })
    }
}

/// The version in a record. One without, as very old versions of Storm write, is not ours.
fn version_of<R: Record>(bytes: &[u8], version: impl FnOnce(R) -> Option<String>) -> Result<String, PayloadError> {
    Ok(version(payload::decode(bytes)?).unwrap_or_else(|| "not set".into()))
}
