//! A server on a port of this machine that does with each call what a test says.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ringstorm_caller::{ClientSettings, Timeouts};
use ringstorm_records::nimbus::NimbusCall;
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::thrift::frame::{FrameReader, frame};
use ringstorm_records::thrift::message::Head;

/// What is done with a call.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// This message is sent, in a frame.
    Answers(Vec<u8>),
    /// These bytes are sent, and the connection is closed.
    Sends(Vec<u8>),
    /// So too, but byte by byte, with a pause before each.
    Trickles(Vec<u8>, Duration),
    /// Nothing is sent for so long, then the connection is closed.
    Waits(Duration),
}

/// A call, and how it is answered: the number of its connection, its sequence number, and itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) connection: usize,
    pub(crate) sequence: i32,
    pub(crate) call: NimbusCall,
}

/// A server. It ends when it is dropped.
pub(crate) struct Server {
    address: NimbusAddress,
    heard: Arc<Mutex<Vec<Heard>>>,
    is_over: Arc<AtomicBool>,
}

type Serve = Arc<Mutex<dyn FnMut(&Heard) -> Does + Send>>;

impl Server {
    pub(crate) fn start(serve: impl FnMut(&Heard) -> Does + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = address_of(&listener);
        let (heard, is_over) = (Arc::<Mutex<Vec<Heard>>>::default(), Arc::<AtomicBool>::default());
        let serve: Serve = Arc::new(Mutex::new(serve));
        let (all, over) = (Arc::clone(&heard), Arc::clone(&is_over));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let (stream, serve, all) = (stream.unwrap(), Arc::clone(&serve), Arc::clone(&all));
                thread::spawn(move || connection(stream, number, &serve, &all));
            }
        });
        Self { address, heard, is_over }
    }

    pub(crate) fn address(&self) -> NimbusAddress {
        self.address.clone()
    }

    /// All calls so far.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// The methods of all calls so far.
    pub(crate) fn methods(&self) -> Vec<&'static str> {
        self.heard().iter().map(|heard| heard.call.method()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect((self.address.host(), self.address.port()));
    }
}

fn connection(mut stream: TcpStream, number: usize, serve: &Serve, all: &Mutex<Vec<Heard>>) {
    let mut frames = FrameReader::new(64 << 20);
    let mut bytes = vec![0; 64 << 10];
    loop {
        while let Some(message) = frames.next_message().unwrap().map(<[u8]>::to_vec) {
            let (head, input) = Head::read(&message).unwrap();
            let call = NimbusCall::read(head.method, input).unwrap().unwrap();
            let heard = Heard { connection: number, sequence: head.sequence, call };
            all.lock().unwrap().push(heard.clone());
            let does = (serve.lock().unwrap_or_else(PoisonError::into_inner))(&heard);
            if !does.done_on(&mut stream) {
                return;
            }
        }
        match stream.read(&mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(read) => frames.push(&bytes[..read]),
        }
    }
}

impl Does {
    /// Whether the connection goes on.
    fn done_on(self, stream: &mut TcpStream) -> bool {
        match self {
            Self::Answers(message) => stream.write_all(&frame(&message)).is_ok(),
            Self::Sends(bytes) => {
                let _ = stream.write_all(&bytes);
                false
            }
            Self::Trickles(bytes, pause) => {
                for byte in bytes {
                    thread::sleep(pause);
                    if stream.write_all(&[byte]).is_err() {
                        break;
                    }
                }
                false
            }
            Self::Waits(limit) => {
                thread::sleep(limit);
                false
            }
        }
    }
}

pub(crate) fn address_of(listener: &TcpListener) -> NimbusAddress {
    NimbusAddress::new("127.0.0.1", listener.local_addr().unwrap().port(), 0).unwrap()
}

/// An address where nobody listens: a port that no test is given.
pub(crate) fn nobody() -> NimbusAddress {
    NimbusAddress::new("127.0.0.1", 1, 0).unwrap()
}

pub(crate) fn timeouts() -> Timeouts {
    let limit = Duration::from_secs(20);
    Timeouts { connect: limit, send: limit, answer: limit, leader: limit }
}

/// Three pauses of a moment.
pub(crate) fn settings(seeds: Vec<NimbusAddress>) -> ClientSettings {
    ClientSettings {
        seeds,
        retry_times: 3,
        retry_interval: Duration::from_millis(1),
        retry_interval_max: Duration::from_millis(4),
        timeouts: timeouts(),
        ..ClientSettings::default()
    }
}
