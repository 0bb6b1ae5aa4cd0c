//! The control plane under one seed: every machine, the tree, the network, disks and clocks in one thread.
//!
//! A seed decides everything: who runs where, who asks for what, how long things take, what goes wrong and when. So a
//! run that found a fault can be run again, step by step, with every step written down.
//!
//! - [`world`]: what runs, and what it runs on.
//! - [`actor`]: a machine in the words of the world.
//! - [`daemons`]: each of the machines.
//! - [`scenario`]: what a seed makes, and the run of it; [`many`]: many of them.
//! - [`stage`]: a world that is driven by hand.
//! - [`checks`]: the laws that hold at every step; [`liveness`]: what comes true at the end.
//! - [`enumeration`]: the leader dies after each single write.
//! - [`plants`]: rules that are broken on purpose.
//! - [`random`], [`clock`], [`trace`], [`coverage`], [`brief`], [`topology`]: what they stand on.
//!
//! Invariants: no I/O, no real clock, no chance but that of the seed. Threading: a run belongs to one thread; many may
//! go side by side. Errors: a [`Violation`](checks::Violation) names the law that was broken.
#![forbid(unsafe_code)]

pub mod actor;
pub mod brief;
pub mod checks;
pub mod clock;
pub mod coverage;
pub mod daemons;
pub mod enumeration;
pub mod liveness;
pub mod many;
pub mod plants;
pub mod random;
pub mod scenario;
pub mod stage;
pub mod topology;
pub mod trace;
pub mod world;
