//! A request, until it is known what became of it.
//!
//! What is to be done next the pure machine [`Client`] decides; this module does it: one call after another, each on a
//! connection of its own, and the pauses between them. A submission is looked at before anything of it is sent: its name,
//! its file, whether a nimbus takes so long a call, and whether the name is free.
//!
//! Threading: one caller, who waits. Errors: those of the machine.

use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ringstorm_client::{CallOutcome, Client, ClientEffect, ClientError, ClientInput, ClientSettings, Success};
use ringstorm_control::machine::Machine as _;
use ringstorm_control::time::{Moment, Now};
use ringstorm_lifecycle::id::{check_name, name_is_taken};
use ringstorm_nimbus::interface::{Refusal, Reply, Request, Submission};
use ringstorm_records::nimbus::{GetNimbusConf, GetTopologySummaryByName};
use ringstorm_records::payload::NimbusAddress;

use crate::connection::{Connection, shown};
use crate::file::{UploadFailure, UploadFile};
use crate::read::read;
use crate::requests::{ask, message_bytes};

/// After so long without an answer whoever submits is told so, and what may be the reason.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// The key of the longest call.
const CALL_BYTES: &str = "nimbus.thrift.max_buffer_size";

/// Whether nimbus takes a definition that is not longer than this is not asked: nobody sets less.
const SHORT_BYTES: usize = 16 << 10;

/// The status of a topology that was killed, as Storm names it.
const KILLED: &str = "KILLED";

/// What is told to whoever waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So much of the file has been taken by nimbus. It begins at 0 again when the file is uploaded again.
    Uploading {
        /// Bytes so far.
        sent_bytes: u64,
        /// Bytes in all.
        file_bytes: u64,
    },
    /// A line: what went wrong, and what follows.
    Note(String),
}

/// Does a request for real. A submission has a `file`, the executable of its topology; the upload that it names is of no
/// account. That a submission was done is answered with [`Reply::Submitted`], or [`Reply::Done`] when nimbus could not be
/// asked for the id any more.
///
/// It takes as long as the settings say: every call has its limits, and there are as many pauses as they name.
///
/// # Errors
/// See [`ClientError`].
pub fn perform(
    settings: &ClientSettings,
    request: Request,
    file: Option<&Path>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Success, ClientError> {
    let mut file = match &request {
        Request::Submit(submission) => {
            let file = open(file)?;
            check(settings, submission, progress)?;
            Some(file)
        }
        _ => None,
    };
    let is_submission = file.is_some();
    run(settings, request, file.as_mut(), is_submission, progress)
}

fn open(file: Option<&Path>) -> Result<UploadFile, ClientError> {
    let path = file.ok_or_else(|| ClientError::File("no file of the topology is given".into()))?;
    UploadFile::open(path).map_err(ClientError::File)
}

/// Looks at a submission before its file is sent, which may take a while. Nimbus looks again.
fn check(
    settings: &ClientSettings,
    submission: &Submission,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ClientError> {
    let name = &submission.name;
    check_name(name).map_err(|refusal| ClientError::Refused(refusal.into()))?;
    let (bytes, mut bytes_max) = (message_bytes(submission), settings.call_bytes_max);
    if bytes > SHORT_BYTES && bytes <= bytes_max {
        // A nimbus that is sent more than it takes breaks the connection off, and that explains nothing.
        bytes_max = bytes_max_of_nimbus(settings).unwrap_or(bytes_max);
    }
    if bytes > bytes_max {
        return Err(ClientError::Refused(Refusal::InvalidTopology(format!(
            "the definition of {name} takes {bytes} bytes, and nimbus takes {bytes_max} at most; raise \
             {CALL_BYTES}, for nimbus and for this client, or make the topology or its configuration \
             smaller"
        ))));
    }
    let allowed = run(settings, Request::IsTopologyNameAllowed { name: name.clone() }, None, true, progress)?;
    match allowed {
        Success::Answered(Reply::Allowed(false)) => {
            // Whoever cannot say more than that it is taken need not be asked for long.
            let once = ClientSettings { retry_times: 0, ..settings.clone() };
            let taken_by = read(&once, &GetTopologySummaryByName { name: Some(name.clone()) });
            let was_killed = taken_by.is_ok_and(|topology| topology.status == KILLED);
            Err(ClientError::Refused(Refusal::AlreadyAlive(name_is_taken(name, was_killed))))
        }
        _ => Ok(()),
    }
}

/// The longest call that nimbus takes by its own settings, if it says so at once.
fn bytes_max_of_nimbus(settings: &ClientSettings) -> Option<usize> {
    let once = ClientSettings { retry_times: 0, ..settings.clone() };
    let text = read(&once, &GetNimbusConf {}).ok()?;
    let conf: serde_json::Value = serde_json::from_str(&text).ok()?;
    usize::try_from(conf.get(CALL_BYTES)?.as_u64()?).ok()
}

fn run(
    settings: &ClientSettings,
    request: Request,
    mut file: Option<&mut UploadFile>,
    is_submission: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Success, ClientError> {
    let start = Instant::now();
    let mut client = Client::new(now(start), request, settings.clone(), &token());
    loop {
        let at =
            client.wake_at().expect("a client without a result, each of whose calls is answered, waits for a moment");
        thread::sleep(at.since(now(start).moment));
        let mut effects = client.wake(now(start));
        while !effects.is_empty() {
            let mut next = Vec::new();
            for effect in effects {
                let input = match effect {
                    ClientEffect::Done(result) => return result,
                    ClientEffect::Note(text) => {
                        progress(Progress::Note(text));
                        continue;
                    }
                    ClientEffect::Call { call, address, request } => {
                        let outcome = if is_submission {
                            patient_call_of(settings, &address, &request, progress)
                        } else {
                            call_of(settings, &address, &request)
                        };
                        ClientInput::Called { call, outcome }
                    }
                    ClientEffect::Upload { call, address } => {
                        let uploaded = match file.as_deref_mut() {
                            Some(file) => upload(settings, &address, file, progress),
                            None => Err(UploadFailure::File("no file of the topology is given".into())),
                        };
                        let outcome = match uploaded {
                            Ok(upload) => Ok(upload),
                            Err(UploadFailure::Nimbus(why)) => Err(why),
                            Err(UploadFailure::File(why)) => return Err(client.end_without_file(why)),
                        };
                        ClientInput::Uploaded { call, outcome }
                    }
                };
                next.extend(client.handle(now(start), input));
            }
            effects = next;
        }
    }
}

fn call_of(settings: &ClientSettings, address: &NimbusAddress, request: &Request) -> CallOutcome {
    match Connection::open(address, settings.timeouts) {
        Ok(mut connection) => ask(&mut connection, request),
        Err(failure) => CallOutcome::NotSent(failure.to_string()),
    }
}

/// Calls for a submission, and says so when it takes long.
fn patient_call_of(
    settings: &ClientSettings,
    address: &NimbusAddress,
    request: &Request,
    progress: &mut dyn FnMut(Progress),
) -> CallOutcome {
    thread::scope(|scope| {
        let (done, outcome) = channel();
        scope.spawn(move || done.send(call_of(settings, address, request)));
        outcome.recv_timeout(SILENCE_MAX).or_else(|_| {
            let (address, secs) = (shown(address), SILENCE_MAX.as_secs());
            progress(Progress::Note(if matches!(request, Request::Submit(_)) {
                format!(
                    "nimbus {address} has the file and has not answered for {secs} s; it waits until as many nimbuses hold \
                     the file as should, for topology.max.replication.wait.time.sec (60 s) at most; its nimbus.log says \
                     which one it waits for"
                )
            } else {
                format!("nimbus {address} has not answered for {secs} s; it is waited for a while longer; Ctrl-C ends it")
            }));
            outcome.recv()
        })
    })
    .unwrap_or_else(|_| CallOutcome::NotSent("the call has failed in this client".into()))
}

fn upload(
    settings: &ClientSettings,
    address: &NimbusAddress,
    file: &mut UploadFile,
    progress: &mut dyn FnMut(Progress),
) -> Result<ringstorm_nimbus::interface::Upload, UploadFailure> {
    let opened = Connection::open(address, settings.timeouts);
    let mut connection = opened.map_err(|failure| UploadFailure::Nimbus(failure.to_string()))?;
    let file_bytes = file.bytes();
    let mut tell = |sent_bytes| progress(Progress::Uploading { sent_bytes, file_bytes });
    tell(0);
    file.upload(&mut connection, &mut tell)
}

fn now(start: Instant) -> Now {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now { moment: Moment(start.elapsed()), wall }
}

/// A text that no other request has. Without random bytes, which every kernel of today has, there is none.
fn token() -> String {
    let mut bytes = [0; 16];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    assert!(filled.is_ok_and(|count| count == bytes.len()), "getrandom fills 16 bytes once the kernel is up");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
