//! Which peers a worker talks to: those that run the same topology from the same executable, in their newest incarnation.
//!
//! Threading: used by the keeper's thread.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringstorm_net::{Admission, Route};
use ringstorm_protocol::handshake::{Claims, CorePair, HandshakeError, NONCE_BYTES, Nonce, StreamLayout};

use ringstorm_tuple::Schema;

use crate::worker::blueprint::Blueprint;
use crate::worker::talk::Setup;

/// How tuples are archived, as `engine/frame/FORMAT.md` says. Another value is another wire format.
const PAYLOAD_FORMAT: &str = "rkyv 0.8.18 unaligned little_endian pointer_width_32";

pub(crate) struct WorkerAdmission {
    blueprint: Arc<Blueprint>,
    own: Claims,
    /// By worker: the newest incarnation known.
    incarnations: BTreeMap<u32, u64>,
}

impl WorkerAdmission {
    pub(crate) fn new(blueprint: &Arc<Blueprint>, setup: &Setup) -> Self {
        let worker = blueprint.share.worker;
        let mut streams: Vec<StreamLayout> = Vec::new();
        for (component, part) in &blueprint.built.parts {
            for (stream, declared) in &part.streams {
                let (component, stream) = (component.to_string(), stream.to_string());
                streams.push(StreamLayout { component, stream, layout: layout(&declared.schema) });
            }
        }
        streams.sort();
        let own = Claims {
            payload_format: PAYLOAD_FORMAT.into(),
            topology: setup.topology_id.clone(),
            worker: worker as u32,
            incarnation: setup.incarnations[worker],
            to_worker: 0,
            assignment_version: setup.assignment_version,
            cores: CorePair { dialer: 0, acceptor: 0 },
            streams,
        };
        let incarnations = setup.incarnations.iter().zip(0..).map(|(incarnation, worker)| (worker, *incarnation));
        Self { blueprint: Arc::clone(blueprint), own, incarnations: incarnations.collect() }
    }

    fn check_address(&self, theirs: &Claims) -> Result<(), HandshakeError> {
        let own = self.blueprint.share.worker as u32;
        if theirs.to_worker != own {
            return Err(HandshakeError::Address { what: format!("worker {}", theirs.to_worker) });
        }
        Ok(())
    }

    /// Whether there is a link between these cores, one of the peer's and one here.
    fn check_cores(&self, theirs: &Claims) -> Result<(), HandshakeError> {
        let CorePair { dialer, acceptor } = theirs.cores;
        let is_linked = self.blueprint.own_threads().contains(&(acceptor as usize))
            && self.blueprint.peers_of(acceptor as usize).contains(&(dialer as usize))
            && self.blueprint.threads[dialer as usize].worker == theirs.worker as usize;
        if is_linked {
            return Ok(());
        }
        let what = format!("a connection between its core {dialer} and core {acceptor}");
        Err(HandshakeError::Address { what })
    }
}

impl Admission for WorkerAdmission {
    fn claims(&self, route: Route) -> Claims {
        let cores = CorePair { dialer: route.own_core, acceptor: route.their_core };
        Claims { to_worker: route.worker, cores, ..self.own.clone() }
    }

    fn admit(&mut self, theirs: &Claims, dialed: Option<Route>) -> Result<Claims, HandshakeError> {
        self.own.check_same_program(theirs)?;
        self.check_address(theirs)?;
        match dialed {
            Some(route) if theirs.worker != route.worker => {
                return Err(HandshakeError::Address { what: format!("to be worker {}", theirs.worker) });
            }
            Some(_) => {}
            None => self.check_cores(theirs)?,
        }
        let newest = self.incarnations.entry(theirs.worker).or_insert(theirs.incarnation);
        if theirs.incarnation < *newest {
            let (worker, found, newest) = (theirs.worker, theirs.incarnation, *newest);
            return Err(HandshakeError::StaleIncarnation { worker, found, newest });
        }
        *newest = theirs.incarnation;
        Ok(Claims { to_worker: theirs.worker, cores: theirs.cores, ..self.own.clone() })
    }

    fn renew(&mut self, worker: u32, incarnation: u64) {
        let newest = self.incarnations.entry(worker).or_default();
        *newest = incarnation.max(*newest);
    }
}

/// A number for the layout of a stream's tuples and the names of their fields (FNV-1a over both).
fn layout(schema: &Schema) -> u64 {
    let names = schema.fields().iter().flat_map(|name| name.as_bytes().iter().chain(&[0]));
    let bytes = schema.layout().0.to_le_bytes();
    bytes
        .iter()
        .chain(names)
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3))
}

/// Random bytes of the operating system, for nonces and secrets.
pub(crate) fn random_bytes() -> Nonce {
    let mut bytes = [0; NONCE_BYTES];
    let mut filled = 0;
    while filled < NONCE_BYTES {
        // The call fails only for a signal, before the system has gathered enough.
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()).unwrap_or(0);
    }
    bytes
}
