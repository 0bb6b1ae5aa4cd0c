//! What the suite runs as processes: a supervisor, a log writer, and a worker that speaks the launch contract and has
//! whatever manners its topology's configuration says.
//!
//! Threading: one thread, but for a worker that does two things at once. Errors: panics, with what was seen.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::ffi::OsString;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, ExitCode, exit};
use std::time::Duration;

use ringstorm_conf::Conf;
use ringstorm_launch::{Datagram, Launch, SlotTrouble, WORKER_COMMAND, WorkerSays};
use ringstorm_supervisor_daemon::{DaemonSettings, log_writer, run};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let command = words.next().unwrap();
    match command.to_str().unwrap() {
        "supervisor" => return supervisor(&words.collect::<Vec<_>>()),
        "log-writer" => {
            let (file, rotation) = log_writer::parse(words).unwrap();
            log_writer::run(&file, rotation).unwrap();
        }
        WORKER_COMMAND => worker(Path::new(&words.next().unwrap())),
        other => panic!("{other}"),
    }
    ExitCode::SUCCESS
}

/// `supervisor CONF [MARK]`: with the configuration in a file of JSON, on a host that has that mark.
fn supervisor(words: &[OsString]) -> ExitCode {
    let conf = serde_json::from_slice(&std::fs::read(&words[0]).unwrap()).unwrap();
    let conf = Conf::from_json(conf).unwrap();
    let mut settings = DaemonSettings::of(&conf, vec!["/proc/self/exe".into(), "log-writer".into()]).unwrap();
    if let Some(mark) = words.get(1) {
        settings.host.mark = mark.to_str().unwrap().to_owned();
    }
    match run(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

struct Worker {
    launch: Launch,
    socket: UnixDatagram,
}

impl Worker {
    fn say(&self, says: WorkerSays) {
        // A supervisor that is not there hears nothing.
        let _ = self.socket.send_to(&Datagram::from(says).to_bytes(), &self.launch.control_socket);
    }

    fn beat_for_ever(&self, is_talkative: bool) -> ! {
        let (port, incarnation) = (self.launch.port, self.launch.incarnation);
        loop {
            self.say(WorkerSays::Beat { port, incarnation });
            if is_talkative {
                println!("beat");
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn worker(launch: &Path) {
    let launch = Launch::from_bytes(&std::fs::read(launch).unwrap()).unwrap();
    let manner = launch.conf["test.manner"].as_str().unwrap().to_owned();
    let (port, incarnation) = (launch.port, launch.incarnation);
    println!("worker {incarnation} in slot {port} with CPUs {:?}", launch.cpus);
    let worker = Worker { socket: UnixDatagram::unbound().unwrap(), launch };
    match manner.as_str() {
        "crashes" => {
            eprintln!("there is no such broker\nnote: nobody reads remarks");
            exit(3);
        }
        "never comes up" => sleep(),
        "cannot use its slot" => {
            let why = "somebody else was faster".to_owned();
            worker.say(WorkerSays::CannotUseSlot { port, incarnation, kind: SlotTrouble::PortTaken, why });
            exit(1);
        }
        _ => worker.say(WorkerSays::Ready { port, incarnation }),
    }
    match manner.as_str() {
        "is fine" => {}
        "leaves" => {
            worker.say(WorkerSays::Leaves { port, incarnation, why: "the assignment has nothing for it".to_owned() });
            exit(0);
        }
        "hangs" => sleep(),
        "leaks" => drop(std::thread::spawn(leak)),
        "fills its folder" => drop(std::thread::spawn(fill)),
        "starts others" => start_others(),
        "floods its output" => drop(std::thread::spawn(flood)),
        "floods the socket" => drop(std::thread::spawn({
            let path = worker.launch.control_socket.clone();
            move || {
                let socket = UnixDatagram::unbound().unwrap();
                let beat = Datagram::from(WorkerSays::Beat { port, incarnation }).to_bytes();
                let stranger = Datagram::from(WorkerSays::Beat { port: 1, incarnation: 1 }).to_bytes();
                loop {
                    for words in [&b"garbage"[..], &beat, &stranger, &[0; 100]] {
                        let _ = socket.send_to(words, &path);
                    }
                }
            }
        })),
        other => panic!("{other}"),
    }
    // Whoever floods its output has no room for another word.
    worker.beat_for_ever(manner == "is fine")
}

fn sleep() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn leak() {
    let mut kept = Vec::new();
    loop {
        kept.push(vec![1_u8; 8 << 20]);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// File after file, in its working folder and below it.
fn fill() {
    std::fs::create_dir("below").unwrap();
    for number in 0.. {
        let folder = if number % 2 == 0 { "." } else { "below" };
        std::fs::write(format!("{folder}/{number}"), vec![1_u8; 4 << 20]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One stays in the group, one leaves it and its session; both go on after this process.
fn start_others() {
    let script = "sleep 300 & echo started $!; setsid sleep 300 & echo started $!";
    Command::new("sh").args(["-c", script]).status().unwrap();
}

fn flood() {
    let line = "x".repeat(99);
    loop {
        println!("{line}");
    }
}
