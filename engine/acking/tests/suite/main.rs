//! The acking state machines against naive models, and exhaustively for small trees.

mod exhaustive;
mod folder;
mod pending;
mod random;
mod tree_model;
mod trees;
