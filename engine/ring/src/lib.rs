//! Single-producer rings between cores, the doorbell that wakes a parked core, and the idle policy.
//!
//! * [`ring()`] makes a ring whose cells are *swapped*: a producer gives a full item and gets back one that was read a
//!   lap ago, so that buffers recycle themselves without a return channel.
//! * [`Doorbell`] and [`Parker`] let a core sleep until any other thread has something for it. Ringing a core that is
//!   awake costs one fence and one load.
//! * [`IdlePolicy`] decides between spinning and parking from the recent idle times.
//!
//! A core uses them together like this:
//!
//! ```
//! use ringstorm_ring::{Doorbell, Parker, ring};
//!
//! let (mut producer, mut consumer) = ring::<Vec<u8>>(64)?;
//! let doorbell = Doorbell::new()?;
//! let bell = doorbell.clone();
//! let core = std::thread::spawn(move || {
//!     let mut parker = Parker::new(&bell).expect("the first parker of its doorbell");
//!     let mut bytes = 0;
//!     while !consumer.producer_is_gone() {
//!         if consumer.poll(16, |item| bytes += item.len()) > 0 {
//!             continue;
//!         }
//!         if parker.prepare_park() {
//!             // Look once more: what is published after this look will ring.
//!             if consumer.has_available() || consumer.producer_is_gone() {
//!                 parker.cancel_park();
//!             } else {
//!                 parker.park(None);
//!             }
//!         }
//!     }
//!     bytes
//! });
//! let mut item = b"hello".to_vec();
//! producer.try_publish(&mut item)?;
//! doorbell.ring();
//! assert!(item.is_empty(), "the producer got an unused cell's item back");
//! drop(producer);
//! doorbell.ring();
//! assert_eq!(core.join().expect("no panic"), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here knows what an item is. Under `--cfg loom` only the protocols remain (the close flags, the bell and the wish for room), as
//! the model checker cannot look into the disruptor crate or the kernel.

mod sync;

// These protocols are public for the model checker's tests only.
#[doc(hidden)]
pub mod bell;
#[doc(hidden)]
pub mod ends;
mod idle;
#[doc(hidden)]
pub mod room;

#[cfg(not(loom))]
mod doorbell;
#[cfg(not(loom))]
mod park;
#[cfg(not(loom))]
mod ring;

#[cfg(not(loom))]
pub use doorbell::Doorbell;
pub use idle::{Idle, IdlePolicy, IdleSettings};
#[cfg(not(loom))]
pub use park::{Completion, ParkKind, Parker, ParkerError};
#[cfg(not(loom))]
pub use ring::{Consumer, MAX_CELLS, Producer, PublishError, RingError, ring};
pub use room::RoomWanted;
