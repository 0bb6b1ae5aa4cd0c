//! The port over real sockets, with answers that are made up.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use ringstorm_records::nimbus::{GetTopologyConf, GetUserTopology, call, read_reply, reply};
use ringstorm_records::thrift::frame::FrameReader;

use super::*;

/// Answers `getTopologyConf` with its argument, and everything else never.
struct Echo;

impl Answers for Echo {
    async fn answer(&self, sequence: i32, call: NimbusCall) -> Vec<u8> {
        match call {
            NimbusCall::GetTopologyConf(GetTopologyConf { id }) => {
                reply::<GetTopologyConf>(sequence, &Ok(id.unwrap_or_default()))
            }
            _ => future::pending().await,
        }
    }
}

struct Served {
    address: SocketAddr,
    lines: Arc<Mutex<Vec<String>>>,
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn with(limits: PortLimits) -> Self {
        let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = async_channel::bounded(1);
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let of_port = Arc::clone(&lines);
        let log = move |line: &str| of_port.lock().unwrap().push(line.to_owned());
        let thread = std::thread::spawn(move || serve(listener, limits, Echo, log, &stopped).unwrap());
        Self { address, lines, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.close();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn asks(stream: &mut TcpStream, sequence: i32, text: &str) -> String {
    stream.write_all(&frame(&call(sequence, &GetTopologyConf { id: Some(text.into()) }))).unwrap();
    let message = answer(stream);
    read_reply::<GetTopologyConf>(sequence, &message).unwrap()
}

fn answer(stream: &mut TcpStream) -> Vec<u8> {
    let mut frames = FrameReader::new(1 << 24);
    let mut bytes = [0; 4096];
    loop {
        if let Some(message) = frames.next_message().unwrap() {
            return message.to_vec();
        }
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "it was closed");
        frames.push(&bytes[..count]);
    }
}

fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_))
}

#[test]
fn calls_are_answered_one_after_another_large_ones_too() {
    let port = Served::with(PortLimits::default());
    let mut stream = port.connect();
    assert_eq!(asks(&mut stream, 1, "one"), "one");
    let large = "x".repeat(900_000);
    assert_eq!(asks(&mut stream, 2, &large), large);
    let both = [1, 2].map(|sequence| frame(&call(sequence, &GetTopologyConf { id: Some("a".into()) }))).concat();
    stream.write_all(&both).unwrap();
    answer(&mut stream);
    assert_eq!(port.lines(), Vec::<String>::new());
}

#[test]
fn broken_peers_have_one_line_each_and_others_do_not_notice() {
    let port = Served::with(PortLimits::default());
    let mut good = port.connect();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[0, 0, 0, 4, 0x80, 2, 0, 1], &[0x7f, 0xff, 0xff, 0xff]]
    {
        let mut bad = port.connect();
        bad.write_all(bytes).unwrap();
        assert!(is_closed(&mut bad));
    }
    let mut unknown = port.connect();
    for _ in 0..3 {
        unknown.write_all(&frame(&[0x80, 1, 0, 1, 0, 0, 0, 1, b'x', 0, 0, 0, 1, 0])).unwrap();
        answer(&mut unknown);
    }
    assert_eq!(asks(&mut good, 1, "still"), "still");
    assert_eq!(port.lines().len(), 5, "{:#?}", port.lines());
}

#[test]
fn silence_and_frames_that_do_not_end_are_closed() {
    let limits =
        PortLimits { idle: Duration::from_millis(600), frame: Duration::from_millis(200), ..PortLimits::default() };
    let port = Served::with(limits);
    let (mut silent, mut half, mut slow) = (port.connect(), port.connect(), port.connect());
    assert_eq!(asks(&mut silent, 1, "a"), "a");
    half.write_all(&[0, 0, 1, 0, 1, 2, 3]).unwrap();
    let begins = Instant::now();
    assert!(is_closed(&mut half));
    assert!(begins.elapsed() < Duration::from_millis(600));
    // A byte now and then does not help.
    slow.write_all(&1000_u32.to_be_bytes()).unwrap();
    let begins = Instant::now();
    while begins.elapsed() < Duration::from_secs(10) && slow.write_all(&[1]).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(begins.elapsed() < Duration::from_secs(5));
    assert!(is_closed(&mut silent));
    assert_eq!(port.lines().len(), 2, "{:#?}", port.lines());
}

#[test]
fn an_answer_that_nobody_reads_does_not_wait_for_ever() {
    let limits = PortLimits { frame: Duration::from_millis(300), frame_bytes_max: 16 << 20, ..PortLimits::default() };
    let port = Served::with(limits);
    let mut deaf = port.connect();
    let large = frame(&call(1, &GetTopologyConf { id: Some("x".repeat(12 << 20)) }));
    deaf.write_all(&large).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while port.lines().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(port.lines().iter().any(|line| line.contains("an answer is not read")), "{:#?}", port.lines());
}

#[test]
fn when_there_are_too_many_the_most_silent_gives_way() {
    let port = Served::with(PortLimits { connections_max: 3, ..PortLimits::default() });
    let mut busy = port.connect();
    busy.write_all(&frame(&call(1, &GetUserTopology { id: None }))).unwrap();
    let mut silent = port.connect();
    asks(&mut silent, 1, "a");
    let mut late = port.connect();
    asks(&mut late, 1, "a");
    let mut last = port.connect();
    assert_eq!(asks(&mut last, 1, "b"), "b");
    assert!(is_closed(&mut silent));
    assert_eq!(asks(&mut late, 2, "c"), "c");
    busy.set_nonblocking(true).unwrap();
    assert_eq!(busy.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn few_large_frames_are_under_way_at_once_and_the_others_wait() {
    let limits = PortLimits { large_frames_max: 1, frame: Duration::from_secs(2), ..PortLimits::default() };
    let port = Served::with(limits);
    let large = frame(&call(1, &GetTopologyConf { id: Some("x".repeat(500_000)) }));
    let mut first = port.connect();
    first.write_all(&large[..100_000]).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    // Small calls go on meanwhile.
    let mut small = port.connect();
    assert_eq!(asks(&mut small, 1, "a"), "a");
    let mut second = port.connect();
    let sender = second.try_clone().unwrap();
    let of_second = large.clone();
    let writes = std::thread::spawn(move || {
        let mut sender = sender;
        sender.write_all(&of_second).unwrap();
    });
    std::thread::sleep(Duration::from_millis(200));
    first.write_all(&large[100_000..]).unwrap();
    answer(&mut first);
    answer(&mut second);
    writes.join().unwrap();
    assert_eq!(port.lines(), Vec::<String>::new());
}
