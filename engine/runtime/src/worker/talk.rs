//! What a worker process and the process that leads it say to each other, over a Unix socket: JSON behind a length.
//!
//! Both are the same executable, so that nothing of this is a format for others.
//!
//! Invariants: a message is at most [`MESSAGE_BYTES_MAX`]; the end of the stream is the end of the other process.
//!
//! Threading: one reads, others write, a message at a time. Errors: of the socket; who gets one treats the other as gone.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use ringstorm_types::assignment::Assignment;

use crate::metrics::CoreSnapshot;
use crate::worker::members::{Order, Received, Sent};

/// Counters of hundreds of executors with their histograms fit by far.
const MESSAGE_BYTES_MAX: u32 = 256 << 20;

/// From whoever leads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// The first message, and again whenever something changes. Whether spouts are active is not for it to say here, but
    /// for orders.
    Assignment(Box<Assignment>),
    Order(Order),
    /// A question, with a number that its answer bears.
    Read {
        question: u64,
        wanted: Wanted,
    },
}

/// What a worker is asked for.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Wanted {
    Received,
    Sent,
    Snapshots,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Received(Received),
    Sent(Sent),
    Snapshots(Vec<CoreSnapshot>),
}

/// From a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The first message: who it is and where it listens.
    Hello { worker: usize, address: String },
    /// Every core and every connection is ready.
    Ready,
    /// User code asks for a stop of the run.
    StopAsked,
    /// A core has nothing to do.
    Idle,
    /// All of its cores have carried out the order for this component.
    Finished { component: u32 },
    /// User code failed.
    Failed { component: String, task: i32, text: String, fatal: bool },
    /// User code reported an error.
    Reported { component: String, task: u32, text: String },
    /// So many more, whose texts were not kept.
    MoreReported { count: u64 },
    /// A line of `topology.debug`.
    Debug { line: String },
    /// Something about connections that whoever runs this should know.
    Note { text: String },
    /// It is over: in order, or why not.
    Ended { panic: Option<String> },
    /// To the question with this number.
    Answer { question: u64, answer: Answer },
}

/// Writes a message.
pub(crate) fn write(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_le_bytes(), body.as_slice()].concat())
}

/// Reads the next message; `None` at the end of the stream.
pub(crate) fn read<M: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length);
    if length > MESSAGE_BYTES_MAX {
        return Err(io::Error::other(format!("a message claims {length} bytes; both ends must be one executable")));
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}
