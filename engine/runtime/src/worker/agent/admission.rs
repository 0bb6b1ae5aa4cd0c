//! Which peers a worker talks to: those that run the same topology from the same executable, in their newest incarnation.
//!
//! What is known of the others is shared by the keeper's thread, which judges by it and learns newer incarnations from
//! handshakes, and the agent's, which learns from assignments.
//!
//! Invariants: those of [`Generations`].

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ringstorm_net::{Admission, Route};
use ringstorm_protocol::handshake::{Claims, CorePair, HandshakeError, StreamLayout};

use ringstorm_tuple::Schema;
use ringstorm_types::fnv::fnv;
use ringstorm_types::generations::{Generations, StaleIncarnation};
use ringstorm_types::wire_format::PAYLOAD_FORMAT;

use crate::worker::blueprint::Blueprint;

/// What a worker knows of the others.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The assignment that it runs.
    pub(crate) version: i64,
    /// What is current.
    pub(crate) generations: Generations,
    /// The connections that there are to be.
    pub(crate) routes: BTreeSet<Route>,
}

/// What is known, for both threads.
#[derive(Debug, Default, Clone)]
pub(crate) struct SharedKnown(Arc<Mutex<Known>>);

impl SharedKnown {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct WorkerAdmission {
    own: Claims,
    known: SharedKnown,
}

impl WorkerAdmission {
    pub(crate) fn new(blueprint: &Blueprint, known: &SharedKnown) -> Self {
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
            topology: blueprint.assignment.topology_id.clone(),
            worker: blueprint.own_number(),
            incarnation: blueprint.incarnation(),
            to_worker: 0,
            assignment_version: 0,
            cores: CorePair { dialer: 0, acceptor: 0 },
            streams,
        };
        Self { own, known: known.clone() }
    }
}

impl Admission for WorkerAdmission {
    fn claims(&self, route: Route) -> Claims {
        let cores = CorePair { dialer: route.own_core, acceptor: route.their_core };
        let assignment_version = self.known.lock().version;
        Claims { to_worker: route.worker, cores, assignment_version, ..self.own.clone() }
    }

    fn admit(&mut self, theirs: &Claims, dialed: Option<Route>) -> Result<Claims, HandshakeError> {
        self.own.check_same_program(theirs)?;
        if theirs.to_worker != self.own.worker {
            return Err(HandshakeError::Address { what: format!("worker {}", theirs.to_worker) });
        }
        let mut known = self.known.lock();
        let CorePair { dialer, acceptor } = theirs.cores;
        let came = Route { worker: theirs.worker, own_core: acceptor, their_core: dialer };
        match dialed {
            Some(route) if theirs.worker != route.worker => {
                return Err(HandshakeError::Address { what: format!("to be worker {}", theirs.worker) });
            }
            None if !known.routes.contains(&came) => {
                let what = format!("a connection from core {dialer} of worker {} to core {acceptor}", theirs.worker);
                return Err(HandshakeError::Address { what });
            }
            _ => {}
        }
        known.generations.meet(theirs.worker, theirs.incarnation, theirs.assignment_version).map_err(
            |StaleIncarnation { worker, found, newest }| HandshakeError::StaleIncarnation { worker, found, newest },
        )?;
        let assignment_version = known.version;
        Ok(Claims { to_worker: theirs.worker, cores: theirs.cores, assignment_version, ..self.own.clone() })
    }
}

/// A number for the layout of a stream's tuples and the names of their fields.
fn layout(schema: &Schema) -> u64 {
    let names = schema.fields().iter().flat_map(|name| name.as_bytes().iter().chain(&[0]));
    fnv(schema.layout().0.to_le_bytes().into_iter().chain(names.copied()))
}

#[cfg(test)]
mod tests {
    use ringstorm_frame::FRAME_VERSION;
    use ringstorm_protocol::unit::LAYOUT_VERSION;
    use ringstorm_types::wire_format::WIRE_FORMAT;

    use super::PAYLOAD_FORMAT;

    #[test]
    fn the_wire_format_is_that_of_frames_units_and_payloads() {
        assert_eq!(WIRE_FORMAT, format!("frame {FRAME_VERSION}, protocol {LAYOUT_VERSION}, {PAYLOAD_FORMAT}"));
    }
}
