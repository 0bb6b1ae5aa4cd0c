//! Paths of znodes.
//!
//! Invariants: a [`ZnodePath`] is one that ZooKeeper takes, so that no store sees another. Threading: plain data.
//! Errors: reported to whoever made the path.

use std::fmt;

use ringstorm_records::znode::{Node, NodeName, Root};

/// The absolute path of a node: `/`, or `/` and names between slashes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZnodePath(String);

/// A text that is no path of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no path of a znode; one is / or starts with / and holds names that ZooKeeper takes, without a final /"
)]
pub struct InvalidPath(pub String);

impl ZnodePath {
    /// Checks a path by ZooKeeper's rule (`PathUtils.validatePath`).
    ///
    /// # Errors
    /// The path is not absolute, ends in `/`, or has a part that ZooKeeper refuses.
    pub fn new(path: &str) -> Result<Self, InvalidPath> {
        let names = path.strip_prefix('/');
        let is_path = path == "/" || names.is_some_and(|names| names.split('/').all(NodeName::is_name));
        if is_path { Ok(Self(path.to_owned())) } else { Err(InvalidPath(path.to_owned())) }
    }

    /// The path of a node of the tree.
    pub fn of(root: &Root, node: &Node) -> Self {
        // Paths of nodes are such that ZooKeeper takes them; `ringstorm-records` tests that.
        Self(root.path(node))
    }

    /// The path to make a numbered node with: that of the node without its number.
    ///
    /// # Panics
    /// The node is of a kind that is not numbered.
    pub fn numbered(root: &Root, node: &Node) -> Self {
        Self(root.sequential_prefix(node).expect("only kinds of nodes that are numbered are asked for"))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path of the node above; `None` for `/`.
    pub fn parent(&self) -> Option<Self> {
        let (parent, name) = self.0.rsplit_once('/')?;
        match (parent, name) {
            (_, "") => None,
            ("", _) => Some(Self("/".to_owned())),
            (parent, _) => Some(Self(parent.to_owned())),
        }
    }

    /// The last name in it; empty for `/`.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(_, name)| name)
    }

    /// The path of a node below.
    pub fn child(&self, name: &NodeName) -> Self {
        self.joined(name.as_str())
    }

    /// As [`Self::child`], for a name that a server gave.
    pub(crate) fn joined(&self, name: &str) -> Self {
        if self.0 == "/" { Self(format!("/{name}")) } else { Self(format!("{}/{name}", self.0)) }
    }

    /// The path with ZooKeeper's ten digits behind it.
    pub(crate) fn with_number(&self, number: i32) -> Self {
        Self(format!("{}{number:010}", self.0))
    }
}

impl fmt::Display for ZnodePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for ZnodePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_that_zookeeper_takes() {
        for good in ["/", "/storm", "/storm/storms/words-1-2", "/a/..b/c.", "/a/b c"] {
            assert_eq!(ZnodePath::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "storm", "/storm/", "//storm", "/a//b", "/a/./b", "/..", "/a/\u{0}", "/a/\u{e000}"] {
            assert_eq!(ZnodePath::new(bad), Err(InvalidPath(bad.into())));
        }
    }

    #[test]
    fn parents_and_names_are_taken_apart_and_put_together() {
        let path = ZnodePath::new("/storm/storms").unwrap();
        let parent = path.parent().unwrap();
        assert_eq!((parent.as_str(), path.name()), ("/storm", "storms"));
        assert_eq!(parent.child(&NodeName::new("storms").unwrap()), path);
        let top = parent.parent().unwrap();
        assert_eq!((top.as_str(), top.name(), top.parent()), ("/", "", None));
        assert_eq!(top.joined("storm"), parent);
        assert_eq!(path.with_number(7).as_str(), "/storm/storms0000000007");
    }
}
