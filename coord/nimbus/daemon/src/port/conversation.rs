//! What one connection says, from bytes to calls: pure, without a socket and without a clock.
//!
//! Bytes go in, in whatever pieces they come; out come calls, answers that need nobody's work, and the end of a
//! conversation with a peer that cannot be understood. A frame that is whole keeps the place, so that a call which cannot
//! be read costs its caller one answer; only what has no head, and a length out of bounds, ends the conversation.
//!
//! Invariants: nothing is allocated by what a length claims, only by what came; after a frame was taken nothing is kept of
//! it. Threading: plain data. Errors: in [`Step`].

use ringstorm_records::nimbus::{NimbusCall, failure};
use ringstorm_records::thrift::frame::FrameReader;
use ringstorm_records::thrift::message::{ApplicationExceptionKind, Head, MessageKind};

/// The longest method name that is repeated to whoever called it, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// What follows from what came so far.
#[derive(Debug)]
pub(crate) enum Step {
    /// More bytes are needed.
    Read,
    /// Somebody is to be asked.
    Call {
        /// To be repeated in the answer.
        sequence: i32,
        /// What is asked for.
        call: Box<NimbusCall>,
    },
    /// This message is the answer.
    Answer {
        /// It.
        message: Vec<u8>,
        /// What the peer did wrong, for the log.
        why: String,
    },
    /// The peer cannot be understood, and nothing that follows could be.
    Broken(String),
}

/// What one connection has said.
#[derive(Debug)]
pub(crate) struct Conversation {
    frames: FrameReader,
    frame_bytes_max: usize,
}

impl Conversation {
    /// A connection that has said nothing yet, with frames of at most so many bytes.
    pub(crate) fn new(frame_bytes_max: usize) -> Self {
        Self { frames: FrameReader::new(frame_bytes_max), frame_bytes_max }
    }

    /// Adds what came.
    pub(crate) fn push(&mut self, received: &[u8]) {
        self.frames.push(received);
    }

    /// Whether bytes of a frame that is not whole are at hand.
    pub(crate) fn is_in_the_middle(&self) -> bool {
        self.frames.is_in_the_middle()
    }

    /// Bytes of memory held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.frames.memory_bytes()
    }

    /// What is next.
    pub(crate) fn next(&mut self) -> Step {
        let step = match self.frames.next_message() {
            Ok(Some(message)) => read(message),
            Ok(None) => Step::Read,
            Err(error) => return Step::Broken(error.to_string()),
        };
        if !self.frames.is_in_the_middle() {
            // Between two calls a connection costs nothing, however large the last one was.
            self.frames = FrameReader::new(self.frame_bytes_max);
        }
        step
    }
}

fn read(message: &[u8]) -> Step {
    let (head, input) = match Head::read(message) {
        Ok(read) => read,
        // Whom an answer is for cannot be known.
        Err(error) => return Step::Broken(format!("a message without a head that can be read: {error}")),
    };
    let refuse = |kind, why: String| Step::Answer {
        message: failure(shown(head.method), head.sequence, kind, why.clone()),
        why,
    };
    if head.kind != MessageKind::Call {
        let why = format!("a message of kind {:?} came where a call was due", head.kind);
        return refuse(ApplicationExceptionKind::InvalidMessageType, why);
    }
    match NimbusCall::read(head.method, input) {
        Ok(Some(call)) => Step::Call { sequence: head.sequence, call: Box::new(call) },
        Ok(None) => {
            let why = format!("Invalid method name: '{}'", shown(head.method));
            refuse(ApplicationExceptionKind::UnknownMethod, why)
        }
        Err(error) => {
            let why = format!("the arguments of {} cannot be read: {error}", head.method);
            refuse(ApplicationExceptionKind::ProtocolError, why)
        }
    }
}

/// As much of a name as is repeated.
fn shown(name: &str) -> &str {
    let end = (0..=NAME_BYTES_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    &name[..end]
}

#[cfg(test)]
mod tests;
