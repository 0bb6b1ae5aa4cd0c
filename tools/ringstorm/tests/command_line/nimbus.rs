//! A nimbus that answers each method with what Storm's answered when it was recorded, or with what a test says.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use ringstorm_records::nimbus::{Method, NimbusCall, NimbusException, reply};
use ringstorm_records::thrift::frame::{FrameReader, frame};
use ringstorm_records::thrift::message::Head;

/// An answer without its head: all that stands behind the sequence number.
#[derive(Clone)]
struct Answer {
    /// Kind and method.
    front: Vec<u8>,
    rest: Vec<u8>,
}

/// Where the sequence number stands behind the name of the method: version and kind, length, name.
fn split(message: &[u8]) -> Answer {
    let name = u32::from_be_bytes(message[4..8].try_into().unwrap()) as usize;
    Answer { front: message[..8 + name].to_vec(), rest: message[8 + name + 4..].to_vec() }
}

impl Answer {
    fn message(&self, sequence: i32) -> Vec<u8> {
        [self.front.as_slice(), &sequence.to_be_bytes(), &self.rest].concat()
    }
}

/// A script: what is answered, by method. Any other call is its end: it answers nothing any more, to anybody.
#[derive(Clone, Default)]
pub(crate) struct Script(BTreeMap<String, Answer>);

impl Script {
    /// What Storm answered in a recording, the first time each method was called.
    pub(crate) fn recorded(file: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../coord/records/tests/golden");
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let mut script = Self::default();
        for line in text.lines() {
            let exchange: serde_json::Value = serde_json::from_str(line).unwrap();
            let (Some(method), Some(reply)) = (exchange["method"].as_str(), exchange["reply_hex"].as_str()) else {
                continue;
            };
            script.0.entry(method.to_owned()).or_insert_with(|| split(&bytes(reply)));
        }
        script
    }

    /// What is answered to a method.
    pub(crate) fn answer<M: Method>(mut self, result: &Result<M::Success, NimbusException>) -> Self {
        self.0.insert(M::NAME.to_owned(), split(&reply::<M>(0, result)));
        self
    }

    /// A message, with any sequence number, that is answered to a method.
    pub(crate) fn answer_with<M: Method>(mut self, message: &[u8]) -> Self {
        self.0.insert(M::NAME.to_owned(), split(message));
        self
    }

    /// A call of this method is its end.
    pub(crate) fn dies_at<M: Method>(mut self) -> Self {
        self.0.remove(M::NAME);
        self
    }

    pub(crate) fn start(self) -> Nimbus {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::<Mutex<Vec<NimbusCall>>>::default();
        let all = heard.clone();
        let is_dead = Arc::<AtomicBool>::default();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, all, is_dead) = (self.clone(), all.clone(), is_dead.clone());
                thread::spawn(move || script.serve(stream, port, &all, &is_dead));
            }
        });
        Nimbus { port, heard }
    }

    fn serve(&self, mut stream: TcpStream, port: u16, all: &Mutex<Vec<NimbusCall>>, is_dead: &AtomicBool) {
        let mut frames = FrameReader::new(1 << 20);
        let mut received = vec![0; 64 << 10];
        loop {
            while let Some(message) = frames.next_message().unwrap().map(<[u8]>::to_vec) {
                let (head, input) = Head::read(&message).unwrap();
                let (method, sequence) = (head.method.to_owned(), head.sequence);
                let call = NimbusCall::read(&method, input).unwrap().unwrap();
                all.lock().unwrap().push(call);
                let answer = match method.as_str() {
                    "getLeader" => Some(leader(port, sequence)),
                    method => self.0.get(method).map(|answer| answer.message(sequence)),
                };
                let Some(answer) = answer.filter(|_| !is_dead.load(Ordering::SeqCst)) else {
                    is_dead.store(true, Ordering::SeqCst);
                    return;
                };
                if stream.write_all(&frame(&answer)).is_err() {
                    return;
                }
            }
            match stream.read(&mut received) {
                Ok(0) | Err(_) => return,
                Ok(count) => frames.push(&received[..count]),
            }
        }
    }
}

/// It leads itself, at its own port.
fn leader(port: u16, sequence: i32) -> Vec<u8> {
    let summary = ringstorm_records::records::NimbusSummary {
        host: "127.0.0.1".into(),
        port: port.into(),
        is_leader: true,
        version: "2.8.2".into(),
        ..Default::default()
    };
    reply::<ringstorm_records::nimbus::GetLeader>(sequence, &Ok(summary))
}

/// A nimbus that runs as long as the test does.
pub(crate) struct Nimbus {
    port: u16,
    heard: Arc<Mutex<Vec<NimbusCall>>>,
}

impl Nimbus {
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Everything that it was asked, but who leads.
    pub(crate) fn heard(&self) -> Vec<NimbusCall> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|call| !matches!(call, NimbusCall::GetLeader(_))).cloned().collect()
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().map(|digit| (digit as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
