//! What a bolt may anchor an emit to: one input, a handle, a kept tuple, several of them, or nothing.
//!
//! The rule is Storm's: each copy of the new tuple gets one fresh edge for each anchor; the edge is XORed into the
//! anchor's ack value and into the new tuple's value for every root of that anchor.

use ringstorm_acking::EdgeGenerator;
use ringstorm_frame::{Anchors, ManyAnchors};

use crate::api::input::{AckHandle, Input, OwnedTuple};

/// Something that belongs to trees.
pub trait Anchor {
    /// The trees, and where edges of children are folded in.
    #[doc(hidden)]
    fn tree(&self) -> TreeRef<'_>;
}

/// A borrowed tree state.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct TreeRef<'a> {
    pub(crate) anchors: Anchors<'a>,
    pub(crate) children: &'a std::cell::Cell<u64>,
}

impl Anchor for Input<'_> {
    #[inline]
    fn tree(&self) -> TreeRef<'_> {
        TreeRef { anchors: self.tree.anchors, children: &self.tree.fate().children }
    }
}

impl Anchor for AckHandle {
    fn tree(&self) -> TreeRef<'_> {
        TreeRef { anchors: self.tree.anchors(), children: &self.tree.fate.children }
    }
}

impl Anchor for OwnedTuple {
    fn tree(&self) -> TreeRef<'_> {
        self.handle.tree()
    }
}

/// Emits with this are not tracked: their loss fails nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanchored;

/// One anchor, several, or [`Unanchored`].
pub trait Anchoring {
    /// The anchors of the next copy; a fresh edge for each anchor.
    #[doc(hidden)]
    fn next_copy<'s>(&self, edges: &mut EdgeGenerator, scratch: &'s mut Vec<u8>) -> Anchors<'s>;
    /// The roots of the anchors, for people; one may come twice.
    #[doc(hidden)]
    fn roots(&self) -> Vec<u64>;
}

impl Anchoring for Unanchored {
    #[inline]
    fn next_copy<'s>(&self, _: &mut EdgeGenerator, _: &'s mut Vec<u8>) -> Anchors<'s> {
        Anchors::None
    }
    fn roots(&self) -> Vec<u64> {
        Vec::new()
    }
}

impl<A: Anchor> Anchoring for &A {
    #[inline]
    fn next_copy<'s>(&self, edges: &mut EdgeGenerator, scratch: &'s mut Vec<u8>) -> Anchors<'s> {
        let tree = self.tree();
        match tree.anchors {
            Anchors::None => Anchors::None,
            Anchors::Derived { root, .. } | Anchors::Pair { root, .. } => {
                let edge = edges.next();
                tree.children.set(tree.children.get() ^ edge);
                Anchors::Pair { root, edge }
            }
            Anchors::Many(_) => join(&[*self], edges, scratch),
        }
    }
    fn roots(&self) -> Vec<u64> {
        roots(&[*self])
    }
}

impl Anchoring for &[&dyn Anchor] {
    fn next_copy<'s>(&self, edges: &mut EdgeGenerator, scratch: &'s mut Vec<u8>) -> Anchors<'s> {
        join(self, edges, scratch)
    }
    fn roots(&self) -> Vec<u64> {
        roots(self)
    }
}

impl<const N: usize> Anchoring for [&dyn Anchor; N] {
    fn next_copy<'s>(&self, edges: &mut EdgeGenerator, scratch: &'s mut Vec<u8>) -> Anchors<'s> {
        join(self, edges, scratch)
    }
    fn roots(&self) -> Vec<u64> {
        roots(self)
    }
}

fn roots(anchors: &[&(impl Anchor + ?Sized)]) -> Vec<u64> {
    let mut roots = Vec::new();
    for anchor in anchors {
        match anchor.tree().anchors {
            Anchors::None => {}
            Anchors::Derived { root, .. } | Anchors::Pair { root, .. } => roots.push(root),
            Anchors::Many(many) => roots.extend(many.iter().map(|(root, _)| root)),
        }
    }
    roots
}

/// The union of the roots of several anchors; edges of anchors that share a root are XORed together.
fn join<'s>(anchors: &[&(impl Anchor + ?Sized)], edges: &mut EdgeGenerator, scratch: &'s mut Vec<u8>) -> Anchors<'s> {
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    for anchor in anchors {
        let tree = anchor.tree();
        if tree.anchors == Anchors::None {
            continue;
        }
        let edge = edges.next();
        tree.children.set(tree.children.get() ^ edge);
        match tree.anchors {
            Anchors::None => {}
            Anchors::Derived { root, .. } | Anchors::Pair { root, .. } => pairs.push((root, edge)),
            Anchors::Many(many) => pairs.extend(many.iter().map(|(root, _)| (root, edge))),
        }
    }
    // Sorted, as a batch may well be anchored to tens of thousands of tuples.
    pairs.sort_unstable_by_key(|(root, _)| *root);
    pairs.dedup_by(|(root, edge), (known, value)| {
        let same = root == known;
        if same {
            *value ^= *edge;
        }
        same
    });
    match pairs[..] {
        [] => Anchors::None,
        [(root, edge)] => Anchors::Pair { root, edge },
        _ => {
            scratch.clear();
            for (root, edge) in pairs {
                ManyAnchors::push_pair(scratch, root, edge);
            }
            Anchors::Many(ManyAnchors::from_bytes(scratch))
        }
    }
}
