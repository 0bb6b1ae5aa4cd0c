//! The root of the tree, and paths.

use super::Node;
use super::segment::{NodeName, SEQUENCE_DIGITS};

/// Where the tree lies in ZooKeeper: `storm.zookeeper.root`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Starts with `/` and does not end with it.
    path: String,
}

/// A text that is no path of a root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be storm.zookeeper.root; give a path such as \"/storm\", without an empty part and a final /")]
pub struct InvalidRoot(pub String);

impl Root {
    /// A root at an absolute path.
    ///
    /// # Errors
    /// The path is not absolute, is `/` alone, ends in `/`, or has a part that ZooKeeper refuses.
    pub fn new(path: &str) -> Result<Self, InvalidRoot> {
        let names = path.strip_prefix('/').map(|rest| rest.split('/'));
        let is_path = names.is_some_and(|mut names| names.all(NodeName::is_name));
        if is_path { Ok(Self { path: path.to_owned() }) } else { Err(InvalidRoot(path.to_owned())) }
    }

    /// Its own path.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').skip(1)
    }

    /// The absolute path of a node.
    pub fn path(&self, node: &Node) -> String {
        let mut path = self.path.clone();
        node.write(self, &mut path);
        path
    }

    /// The path to give ZooKeeper to make a sequential node: that of the node without its number; `None` for nodes that
    /// are not numbered.
    pub fn sequential_prefix(&self, node: &Node) -> Option<String> {
        let mut path = self.path(node);
        let length = path.len().checked_sub(SEQUENCE_DIGITS)?;
        node.mode().is_sequential().then(|| {
            path.truncate(length);
            path
        })
    }

    /// The node at an absolute path; `None` when the path is not below the root, or when the tree has no such node.
    pub fn node(&self, path: &str) -> Option<Node> {
        let below = path.strip_prefix(&self.path)?;
        let segments: Vec<&str> = match below.strip_prefix('/') {
            Some(below) => below.split('/').collect(),
            None if below.is_empty() => Vec::new(),
            None => return None,
        };
        Node::read(self, &segments)
    }
}
