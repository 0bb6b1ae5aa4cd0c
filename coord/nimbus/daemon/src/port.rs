//! The nimbus port: framed Thrift over TCP, as Storm's clients, supervisors and tools speak it.
//!
//! One thread serves every connection. A connection has one call under way at a time, as Thrift's clients do; what it
//! sends meanwhile waits in its socket.
//!
//! What keeps hostile peers from doing harm: a frame's bytes are held only as they come; few connections may hold a large
//! unfinished one at a time; a frame that does not end within its limit, an answer that is not read, and a connection that
//! says nothing for long are closed; there are at most so many connections, and when there are more the one whose last
//! call is longest ago gives way.
//!
//! - `conversation`: from bytes to calls, pure.
//! - `places`: which connection gives way, pure.
//! - `pacing`: which lines are written about broken peers, pure.
//!
//! Threading: everything belongs to the thread that `serve` runs on. Errors: a broken peer costs one line of the log; of many
//! it is said how many there were.

mod conversation;
mod pacing;
mod places;

use std::cell::RefCell;
use std::future::Future;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use async_executor::LocalExecutor;
use async_io::{Async, Timer};
use futures_lite::future;
use ringstorm_records::nimbus::NimbusCall;
use ringstorm_records::thrift::frame::{SERVER_BYTES_MAX, frame};

use conversation::{Conversation, Step};
use pacing::{Kind, Pacing};
use places::{Place, Places};

/// How much is read at a time, in bytes. One buffer serves all connections.
const READ_BYTES: usize = 64 << 10;

/// How much of an unfinished frame a connection may hold without being one of [`PortLimits::large_frames_max`], in bytes.
const SMALL_BYTES_MAX: usize = 16 << 10;

/// The pause after a connection could not be accepted: there are no files or no memory left for it.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Between two looks whether lines were not written.
const LOOK_PERIOD: Duration = Duration::from_secs(5);

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

/// What peers may cost.
#[derive(Clone, Copy, Debug)]
pub struct PortLimits {
    /// The longest frame, in bytes (`nimbus.thrift.max_buffer_size`).
    pub frame_bytes_max: usize,
    /// How many connections there may be.
    pub connections_max: usize,
    /// How many of them may hold a large unfinished frame at a time.
    pub large_frames_max: usize,
    /// After how long a silence between two calls a connection is closed.
    pub idle: Duration,
    /// How long a frame may take from its first byte to its last, and an answer until it is read.
    pub frame: Duration,
}

impl Default for PortLimits {
    fn default() -> Self {
        Self {
            frame_bytes_max: SERVER_BYTES_MAX,
            connections_max: 16_384,
            large_frames_max: 64,
            idle: Duration::from_secs(600),
            frame: Duration::from_secs(30),
        }
    }
}

/// Who answers calls.
pub(crate) trait Answers {
    /// The message of the answer.
    fn answer(&self, sequence: i32, call: NimbusCall) -> impl Future<Output = Vec<u8>>;
}

/// What connections share.
struct Port<A> {
    answers: A,
    limits: PortLimits,
    places: RefCell<Places<Rc<Async<TcpStream>>>>,
    /// As many as large frames may be under way at once.
    large: (Sender<()>, Receiver<()>),
    buffer: RefCell<Vec<u8>>,
    pacing: RefCell<Pacing>,
    log: Box<dyn Fn(&str)>,
}

/// Binds the port, with room for many who connect at once.
///
/// # Errors
/// The address cannot be used: somebody else has it, or it is not of this host.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    // The standard library asks for a queue of 128 only.
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// Serves until `stop` is closed. Connections end with it.
///
/// # Errors
/// The listener cannot be used.
pub(crate) fn serve(
    listener: TcpListener,
    limits: PortLimits,
    answers: impl Answers + 'static,
    log: impl Fn(&str) + 'static,
    stop: &Receiver<()>,
) -> io::Result<()> {
    let listener = Async::new(listener)?;
    let large = async_channel::bounded(limits.large_frames_max.max(1));
    while large.0.try_send(()).is_ok() {}
    let port = Rc::new(Port {
        answers,
        limits,
        places: RefCell::new(Places::new(limits.connections_max)),
        large,
        buffer: RefCell::new(vec![0; READ_BYTES]),
        pacing: RefCell::default(),
        log: Box::new(log),
    });
    let executor = Rc::new(LocalExecutor::new());
    let accepting = accept(&listener, &port, &executor);
    let stopped = async {
        // Nothing is ever sent.
        let _ = stop.recv().await;
    };
    async_io::block_on(executor.run(future::or(stopped, future::or(accepting, port.count()))));
    Ok(())
}

async fn accept<A: Answers + 'static>(listener: &Async<TcpListener>, port: &Rc<Port<A>>, executor: &LocalExecutor<'_>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let stream = Rc::new(stream);
                let (place, gives_way) = port.places.borrow_mut().take(Rc::clone(&stream));
                if let Some(silent) = gives_way {
                    let count = port.limits.connections_max;
                    port.say(
                        Kind::GivesWay,
                        format!("there are {count} connections: the one that was silent for longest is closed"),
                    );
                    close(&silent);
                }
                let port = Rc::clone(port);
                executor.spawn(async move { port.converse(&stream, peer, place).await }).detach();
            }
            Err(error) => {
                port.say(Kind::NotAccepted, format!("a connection cannot be accepted: {error}"));
                // What the most silent one has may be what is missing.
                let gives_way = port.places.borrow_mut().give_way();
                if let Some(silent) = gives_way {
                    close(&silent);
                }
                Timer::after(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn close(stream: &Async<TcpStream>) {
    // One that is closed already needs no closing.
    let _ = stream.get_ref().shutdown(Shutdown::Both);
}

impl<A: Answers> Port<A> {
    fn say(&self, kind: Kind, line: String) {
        let written = self.pacing.borrow_mut().pace(Instant::now(), kind, line);
        if let Some(line) = written {
            (self.log)(&line);
        }
    }

    /// Says from time to time how many lines were not written.
    async fn count(&self) {
        loop {
            let due = self.pacing.borrow().due();
            match due {
                Some(due) => drop(Timer::at(due).await),
                None => drop(Timer::after(LOOK_PERIOD).await),
            }
            let lines = self.pacing.borrow_mut().counts(Instant::now());
            lines.iter().for_each(|line| (self.log)(line));
        }
    }

    /// Serves one connection until it ends.
    async fn converse(&self, stream: &Async<TcpStream>, peer: SocketAddr, place: Place) {
        // Calls are small and waited for.
        let _ = stream.get_ref().set_nodelay(true);
        let mut is_named = false;
        let mut name = |why: &str| {
            if !is_named {
                is_named = true;
                self.say(Kind::Broken, format!("the connection of {peer} is broken: {why}"));
            }
        };
        let ended = self.calls(stream, place, &mut name).await;
        self.places.borrow_mut().leave(place);
        if let Err(why) = ended {
            name(&why);
        }
    }

    async fn calls(&self, stream: &Async<TcpStream>, place: Place, name: &mut impl FnMut(&str)) -> Result<(), String> {
        let mut conversation = Conversation::new(self.limits.frame_bytes_max);
        let mut frame_under_way = FrameUnderWay::default();
        loop {
            let message = match conversation.next() {
                Step::Read => {
                    if !self.read(stream, &mut conversation, &mut frame_under_way).await? {
                        return Ok(());
                    }
                    continue;
                }
                Step::Call { sequence, call } => {
                    self.places.borrow_mut().is_busy(place);
                    // In a place of its own: what an answer needs is kept by no connection that waits.
                    Box::pin(self.answers.answer(sequence, *call)).await
                }
                Step::Answer { message, why } => {
                    name(&why);
                    message
                }
                Step::Broken(why) => return Err(why),
            };
            frame_under_way = FrameUnderWay::default();
            let written = within(self.limits.frame, write(stream, &frame(&message))).await;
            written.ok_or("an answer is not read")?.map_err(|error| format!("an answer cannot be sent: {error}"))?;
            self.places.borrow_mut().is_silent(place);
        }
    }

    /// Reads something; false when the peer has left between two frames, or was silent for long.
    async fn read<'a>(
        &'a self,
        stream: &Async<TcpStream>,
        conversation: &mut Conversation,
        under_way: &mut FrameUnderWay<'a>,
    ) -> Result<bool, String> {
        if !conversation.is_in_the_middle() {
            return match within(self.limits.idle, self.receive(stream, conversation)).await {
                None | Some(Ok(0)) => Ok(false),
                Some(Ok(_)) => Ok(true),
                // Between two calls a reset is how some clients leave.
                Some(Err(error)) if error.kind() == ErrorKind::ConnectionReset => Ok(false),
                Some(Err(error)) => Err(error.to_string()),
            };
        }
        let ends_at = *under_way.ends_at.get_or_insert_with(|| Instant::now() + self.limits.frame);
        let received = async {
            if conversation.memory_bytes() > SMALL_BYTES_MAX && under_way.permit.is_none() {
                under_way.permit = Some(self.permit().await);
            }
            self.receive(stream, conversation).await
        };
        match within(ends_at.saturating_duration_since(Instant::now()), received).await {
            Some(Ok(0)) => Err("it ended in the middle of a frame".into()),
            Some(Ok(_)) => Ok(true),
            Some(Err(error)) => Err(format!("{error}, in the middle of a frame")),
            None => Err(format!("a frame did not end within {:?}", self.limits.frame)),
        }
    }

    /// The right to hold a large unfinished frame.
    async fn permit(&self) -> Permit<'_> {
        // The channel is never closed: its other end is here, too.
        let _ = self.large.1.recv().await;
        Permit(&self.large.0)
    }

    /// Takes what has come; 0 when nothing will any more.
    async fn receive(&self, stream: &Async<TcpStream>, conversation: &mut Conversation) -> io::Result<usize> {
        stream
            .read_with(|mut stream| {
                let mut buffer = self.buffer.borrow_mut();
                let count = stream.read(&mut buffer)?;
                conversation.push(&buffer[..count]);
                Ok(count)
            })
            .await
    }
}

/// What comes of something, if it comes in time.
async fn within<T>(limit: Duration, wanted: impl Future<Output = T>) -> Option<T> {
    let late = async {
        Timer::after(limit).await;
        None
    };
    future::or(async { Some(wanted.await) }, late).await
}

/// A frame that is not whole.
#[derive(Default)]
struct FrameUnderWay<'a> {
    /// When it has to be; `None` before its first bytes.
    ends_at: Option<Instant>,
    /// Once it is large.
    permit: Option<Permit<'a>>,
}

/// The right to hold a large unfinished frame. Goes back when it is dropped.
struct Permit<'a>(&'a Sender<()>);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        // There is room: it was taken from there.
        let _ = self.0.try_send(());
    }
}

async fn write(stream: &Async<TcpStream>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = stream.write_with(|mut stream| stream.write(bytes)).await?;
        if count == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        bytes = &bytes[count..];
    }
    Ok(())
}

#[cfg(test)]
mod tests;
