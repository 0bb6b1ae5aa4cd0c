//! The anchors of one tuple: which roots it belongs to and under which edges.
//!
//! Invariants: a root of 0 means "not tracked" and never appears in an anchor.

use crate::layout::read_u64;

/// What ties a tuple to the trees it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchors<'a> {
    /// The tuple is not tracked.
    None,
    /// One root; the edge is derived from (root, position), as for every tuple that a spout emits.
    Derived {
        /// Root id.
        root: u64,
        /// Which of the copies of one emit this is, from 0.
        position: u16,
    },
    /// One root under a given edge.
    Pair {
        /// Root id.
        root: u64,
        /// Edge id, never 0.
        edge: u64,
    },
    /// Several roots (joins).
    Many(ManyAnchors<'a>),
}

/// Several (root, edge) pairs, as they lie in a frame: 16 bytes each, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManyAnchors<'a>(pub(crate) &'a [u8]);

impl<'a> ManyAnchors<'a> {
    /// Takes bytes laid out as in a frame: (root, edge) pairs of 16 bytes. A trailing part of a pair is ignored.
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(&bytes[..bytes.len() / 16 * 16])
    }

    /// Appends one pair in the layout that [`ManyAnchors::from_bytes`] reads.
    pub fn push_pair(bytes: &mut Vec<u8>, root: u64, edge: u64) {
        bytes.extend_from_slice(&root.to_le_bytes());
        bytes.extend_from_slice(&edge.to_le_bytes());
    }

    /// How many roots.
    pub fn len(&self) -> usize {
        self.0.len() / 16
    }

    /// Whether there is no root at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The (root, edge) pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        self.0.chunks_exact(16).map(|pair| (read_u64(pair, 0), read_u64(pair, 8)))
    }
}
