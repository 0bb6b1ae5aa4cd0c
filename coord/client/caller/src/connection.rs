//! One connection to a nimbus.
//!
//! A call is written whole before its answer is read, so that at most one is under way. The frame of a call that was not
//! handed over to its last byte is never whole at the other end either: such a call was not done, and is
//! [`CallFailure::NotSent`]. From the last byte on, whatever goes wrong is [`CallFailure::Unknown`].
//!
//! Invariants: after an unknown outcome nothing more is sent on the connection, since an answer of the past may still
//! come. Memory grows only by what came, up to [`ANSWER_BYTES_MAX`]. Threading: one caller at a time, who waits.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ringstorm_client::Timeouts;
use ringstorm_records::nimbus::{CallError, GetLeader, Method, NimbusException, call, read_reply};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::thrift::frame::{FrameReader, frame};
use ringstorm_records::thrift::message::ApplicationException;

use crate::deadline::Deadline;
use crate::resolve::resolve;

/// The longest answer that is taken, in bytes.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The longest call that is sent, in bytes: whatever a nimbus takes, it is less.
const CALL_BYTES_MAX: usize = 1 << 30;

/// How many bytes are read at once.
const READ_BYTES: usize = 64 << 10;

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallFailure {
    /// It was never sent whole, so nothing was done. With a reason.
    #[error("{0}")]
    NotSent(String),
    /// It was sent, and no answer came, or one that cannot be read: it may have been done. With a reason.
    #[error("{0}")]
    Unknown(String),
    /// Nimbus refused, with an exception that the method declares.
    #[error("{0}")]
    Refused(NimbusException),
    /// Nimbus failed, or could not do it as it is: [`refusals`](crate::refusals) says which.
    #[error("nimbus answered: {0}")]
    Failed(ApplicationException),
}

impl From<CallError> for CallFailure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(exception) => Self::Refused(exception),
            CallError::Failed(exception) => Self::Failed(exception),
            CallError::Undecodable(_) => Self::Unknown(error.to_string()),
        }
    }
}

/// A connection to a nimbus.
#[derive(Debug)]
pub struct Connection {
    address: NimbusAddress,
    timeouts: Timeouts,
    stream: TcpStream,
    frames: FrameReader,
    sequence: i32,
    /// Why nothing more can be called.
    fault: Option<String>,
}

impl Connection {
    /// Connects to the Thrift port of a nimbus. Each address of its host is tried, all within one limit.
    ///
    /// # Errors
    /// [`CallFailure::NotSent`]: the host is not known, or nobody answers there in time.
    pub fn open(address: &NimbusAddress, timeouts: Timeouts) -> Result<Self, CallFailure> {
        let not_sent = |why: String| CallFailure::NotSent(format!("nimbus {} is not reached: {why}", shown(address)));
        let stream = connect(address, timeouts).map_err(not_sent)?;
        let frames = FrameReader::new(ANSWER_BYTES_MAX);
        Ok(Self { address: address.clone(), timeouts, stream, frames, sequence: 0, fault: None })
    }

    /// To whom.
    pub fn address(&self) -> &NimbusAddress {
        &self.address
    }

    /// Calls a method and waits for its answer, each within its limit.
    ///
    /// # Errors
    /// See [`CallFailure`]. After [`CallFailure::Unknown`] and [`CallFailure::NotSent`] every further call is
    /// [`CallFailure::NotSent`].
    pub fn call<M: Method>(&mut self, arguments: &M) -> Result<M::Success, CallFailure> {
        if let Some(fault) = &self.fault {
            return Err(CallFailure::NotSent(format!("the connection cannot be used any more: {fault}")));
        }
        self.sequence = self.sequence.wrapping_add(1);
        let message = call(self.sequence, arguments);
        if message.len() > CALL_BYTES_MAX {
            let why = format!("a call of {} bytes is longer than any nimbus takes", message.len());
            return Err(CallFailure::NotSent(why));
        }
        let what = format!("{} to nimbus {}", M::NAME, shown(&self.address));
        self.send(&frame(&message)).map_err(|why| CallFailure::NotSent(self.broken(format!("{what}: {why}"))))?;
        let Timeouts { answer, leader, .. } = self.timeouts;
        let limit = if M::NAME == GetLeader::NAME { answer.min(leader) } else { answer };
        let answer = self.receive(limit).map_err(|why| CallFailure::Unknown(self.broken(format!("{what}: {why}"))))?;
        read_reply::<M>(self.sequence, &answer).map_err(|error| match CallFailure::from(error) {
            CallFailure::Unknown(why) => CallFailure::Unknown(self.broken(format!("{what}: {why}"))),
            answered => answered,
        })
    }

    /// Whether nothing more can be called: a call got no answer.
    pub(crate) fn is_broken(&self) -> bool {
        self.fault.is_some()
    }

    fn broken(&mut self, why: String) -> String {
        self.fault = Some(why.clone());
        why
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let deadline = Deadline::after(self.timeouts.send);
        while !bytes.is_empty() {
            let limit = deadline.of_socket().ok_or("the call could not be sent in time")?;
            self.stream.set_write_timeout(limit).map_err(|error| error.to_string())?;
            match self.stream.write(bytes) {
                Ok(0) => return Err("nothing more can be sent".into()),
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if is_to_be_tried_again(error.kind()) => {}
                Err(error) => return Err(format!("the call could not be sent: {error}")),
            }
        }
        Ok(())
    }

    fn receive(&mut self, limit: Duration) -> Result<Vec<u8>, String> {
        let deadline = Deadline::after(limit);
        let mut bytes = vec![0; READ_BYTES];
        loop {
            if let Some(message) = self.frames.next_message().map_err(|error| error.to_string())? {
                return Ok(message.to_vec());
            }
            let left =
                deadline.of_socket().ok_or_else(|| format!("no answer came within {} s", limit.as_secs_f64()))?;
            self.stream.set_read_timeout(left).map_err(|error| error.to_string())?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err("the connection was closed before an answer came".into()),
                Ok(read) => self.frames.push(&bytes[..read]),
                Err(error) if is_to_be_tried_again(error.kind()) => {}
                Err(error) => return Err(format!("the connection was lost before an answer came: {error}")),
            }
        }
    }
}

/// An interrupted call, or a limit of the socket: the deadline is asked again.
fn is_to_be_tried_again(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn connect(address: &NimbusAddress, timeouts: Timeouts) -> Result<TcpStream, String> {
    let deadline = Deadline::after(timeouts.connect);
    let found = resolve(address.host(), address.port(), deadline)?;
    let mut why = "there was no time left to connect".to_owned();
    for (index, address) in found.iter().enumerate() {
        let Some(left) = deadline.left() else { break };
        // So that one address that swallows everything leaves time for the others.
        let share = u32::try_from(found.len() - index).map_or(left, |others| left / others);
        let connected = TcpStream::connect_timeout(address, share.max(Duration::from_millis(1)));
        match connected.and_then(|stream| stream.set_nodelay(true).map(|()| stream)) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = format!("{address}: {error}"),
        }
    }
    Err(why)
}

/// The address as people write it.
pub(crate) fn shown(address: &NimbusAddress) -> String {
    format!("{}:{}", address.host(), address.port())
}
