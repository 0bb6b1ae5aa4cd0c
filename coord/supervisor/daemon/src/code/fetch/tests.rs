//! Fetches from a nimbus that breaks off, lies, and has what others have.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringstorm_caller::{CODE_SHA256, DownloadError};
use ringstorm_lifecycle::conf;
use ringstorm_records::payload;
use ringstorm_records::records::StormTopology;
use ringstorm_supervisor::events::{CodeEvent, FetchFailure, WorkerTimeouts};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::code::{Codes, Local, Source, hex_of, looks};
use crate::layout::Layout;

/// A nimbus that has blobs, and gives so many bytes of each executable before it breaks off.
#[derive(Default)]
struct Nimbus {
    blobs: Mutex<BTreeMap<String, Vec<u8>>>,
    breaks_after: Mutex<Option<usize>>,
    /// What was asked for, with the first byte.
    asked: Mutex<Vec<(String, u64)>>,
}

impl Source for Arc<Nimbus> {
    fn download(&self, key: &str, offset: u64, writer: &mut dyn Write) -> Result<(), DownloadError> {
        self.asked.lock().unwrap().push((key.to_owned(), offset));
        let blobs = self.blobs.lock().unwrap();
        let blob = blobs.get(key).ok_or_else(|| DownloadError::NotFound(key.to_owned()))?;
        let rest =
            blob.get(usize::try_from(offset).unwrap()..).ok_or_else(|| DownloadError::Changed(key.to_owned()))?;
        let limit = self.breaks_after.lock().unwrap().filter(|_| key.ends_with(".jar")).unwrap_or(usize::MAX);
        let count = limit.min(rest.len());
        writer.write_all(&rest[..count]).map_err(|error| DownloadError::Write { key: key.to_owned(), error })?;
        if count < rest.len() {
            return Err(DownloadError::GivenUp { key: key.to_owned(), why: "it broke off".to_owned() });
        }
        Ok(())
    }
}

struct World {
    folder: tempfile::TempDir,
    nimbus: Arc<Nimbus>,
    codes: Codes,
    told: Arc<Mutex<Vec<CodeEvent>>>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (nimbus, told) = (Arc::new(Nimbus::default()), Arc::new(Mutex::new(Vec::new())));
        let telling = Arc::clone(&told);
        let tell = Arc::new(move |event| telling.lock().unwrap().push(event));
        let local = local(folder.path());
        local.found(Duration::from_secs(600)).unwrap();
        let codes = Codes::new(local, Box::new(Arc::clone(&nimbus)), Duration::from_secs(600), tell);
        Self { folder, nimbus, codes, told }
    }

    fn has(&self, topology: &str, code: &[u8]) {
        let settings = json!({ CODE_SHA256: sha256(code), "topology.worker.timeout.secs": 700 });
        let mut blobs = self.nimbus.blobs.lock().unwrap();
        blobs.insert(format!("{topology}-stormjar.jar"), code.to_vec());
        blobs.insert(format!("{topology}-stormconf.ser"), conf::encode(settings.as_object().unwrap()));
        blobs.insert(format!("{topology}-stormcode.ser"), payload::encode(&StormTopology::default()));
    }

    fn fetch(&self, topology: &str) -> Result<WorkerTimeouts, String> {
        self.codes.shared.fetch(topology).map_err(|failure| failure.why)
    }

    fn asked(&self, ending: &str) -> Vec<u64> {
        let asked = self.nimbus.asked.lock().unwrap();
        asked.iter().filter(|(key, _)| key.ends_with(ending)).map(|(_, offset)| *offset).collect()
    }

    /// What is found by a supervisor that starts.
    fn found(&self) -> Vec<String> {
        local(self.folder.path()).found(Duration::from_secs(600)).unwrap().0.into_keys().collect()
    }

    fn executables(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("supervisor/code")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn local(folder: &Path) -> Local {
    Local::new(Layout::new(folder, &folder.join("logs")))
}

fn sha256(bytes: &[u8]) -> String {
    hex_of(Sha256::new_with_prefix(bytes))
}

#[test]
fn topologies_with_the_same_executable_share_it_and_the_last_one_removes_it() {
    let world = World::new();
    world.has("a-1-1", b"code");
    world.has("b-2-1", b"code");
    let timeouts = world.fetch("a-1-1").unwrap();
    assert_eq!(timeouts.worker, Some(Duration::from_secs(600)), "the supervisor's own limit counts");
    world.fetch("b-2-1").unwrap();
    assert_eq!(world.asked("-stormjar.jar"), [0]);
    assert_eq!(world.executables(), [sha256(b"code")]);
    let executable = local(world.folder.path()).executable("b-2-1").unwrap();
    assert_eq!(std::fs::read(executable).unwrap(), b"code");
    assert_eq!(world.found(), ["a-1-1", "b-2-1"]);
    world.codes.shared.remove("a-1-1").unwrap();
    assert_eq!(world.executables().len(), 1);
    world.codes.shared.remove("b-2-1").unwrap();
    assert!(world.executables().is_empty() && world.found().is_empty());
}

#[test]
fn a_fetch_goes_on_where_one_broke_off() {
    let world = World::new();
    let code: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    world.has("a-1-1", &code);
    *world.nimbus.breaks_after.lock().unwrap() = Some(1500);
    assert!(world.fetch("a-1-1").unwrap_err().contains("broke off"));
    // As after a restart: what is there so far stays.
    assert_eq!(world.found(), Vec::<String>::new());
    assert!(world.fetch("a-1-1").is_err());
    world.fetch("a-1-1").unwrap();
    assert_eq!(world.asked("-stormjar.jar"), [0, 1500, 3000]);
    assert_eq!(world.found(), ["a-1-1"]);
}

#[test]
fn a_failure_says_whether_another_host_would_be_better_off() {
    let world = World::new();
    let cause = || world.codes.shared.fetch("a-1-1").unwrap_err().cause;
    assert_eq!(cause(), FetchFailure::Passing, "a new leader may not hold it yet");
    world.has("a-1-1", b"code");
    *world.nimbus.breaks_after.lock().unwrap() = Some(2);
    assert_eq!(cause(), FetchFailure::Unreachable);
    *world.nimbus.breaks_after.lock().unwrap() = None;
    let part = world.folder.path().join(format!("supervisor/code/{}.part", sha256(b"code")));
    // What lay there before may have been to blame; the whole of it is.
    std::fs::write(&part, b"xx").unwrap();
    assert_eq!(cause(), FetchFailure::Passing);
    world.nimbus.blobs.lock().unwrap().insert("a-1-1-stormjar.jar".into(), b"other".to_vec());
    assert_eq!(cause(), FetchFailure::Lasting);
    // A disk on which no file can be made there.
    std::fs::create_dir(&part).unwrap();
    assert_eq!(cause(), FetchFailure::Host);
}

#[test]
fn a_pipe_in_the_place_of_a_part_holds_nobody_up() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let world = World::new();
    world.has("a-1-1", b"code");
    let part = world.folder.path().join(format!("supervisor/code/{}.part", sha256(b"code")));
    mknodat(CWD, &part, FileType::Fifo, Mode::RWXU, 0).unwrap();
    world.fetch("a-1-1").unwrap();
}

#[test]
fn what_was_changed_after_it_was_checked_is_not_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    world.has("a-1-1", b"code");
    world.fetch("a-1-1").unwrap();
    let local = local(world.folder.path());
    let path = local.executable("a-1-1").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    // Checked, and remembered as such once its times tell.
    std::thread::sleep(Duration::from_millis(2100));
    assert_eq!(local.executable("a-1-1").unwrap(), path);
    assert_eq!(local.checked_count(), 1);
    let times = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, b"evil").unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(times).unwrap();
    assert!(local.executable("a-1-1").unwrap_err().contains("does not have the content"));
    assert!(!path.exists());
    world.fetch("a-1-1").unwrap();
    assert_eq!(std::fs::read(local.executable("a-1-1").unwrap()).unwrap(), b"code");
}

#[test]
fn what_is_not_what_it_should_be_is_not_kept() {
    let world = World::new();
    world.has("a-1-1", b"code");
    let right = world.nimbus.blobs.lock().unwrap().insert("a-1-1-stormjar.jar".into(), b"other".to_vec());
    assert!(world.fetch("a-1-1").unwrap_err().contains("does not have the content"));
    assert!(world.executables().is_empty());
    world.nimbus.blobs.lock().unwrap().insert("a-1-1-stormjar.jar".into(), right.unwrap());
    world.fetch("a-1-1").unwrap();
    // A disk that decays.
    let executable = local(world.folder.path()).executable("a-1-1").unwrap();
    std::fs::remove_file(&executable).unwrap();
    std::fs::write(&executable, b"cod").unwrap();
    assert!(world.found().is_empty() && world.executables().is_empty());
    world.fetch("a-1-1").unwrap();
    for file in ["stormconf.ser", "stormcode.ser"] {
        let path = world.folder.path().join("supervisor/stormdist/a-1-1").join(file);
        let whole = std::fs::read(&path).unwrap();
        for damaged in [&[][..], &whole[..whole.len() / 2], &vec![0xA5; whole.len()]] {
            std::fs::write(&path, damaged).unwrap();
            assert!(world.found().is_empty(), "{file}: {damaged:?}");
            world.fetch("a-1-1").unwrap();
        }
        std::fs::remove_file(&path).unwrap();
        assert!(world.found().is_empty(), "{file}");
        world.fetch("a-1-1").unwrap();
    }
    for bad in [json!({}), json!({ CODE_SHA256: "../../etc/passwd" }), json!({ CODE_SHA256: 7 })] {
        let conf = conf::encode(bad.as_object().unwrap());
        world.nimbus.blobs.lock().unwrap().insert("a-1-1-stormconf.ser".into(), conf);
        assert!(world.fetch("a-1-1").unwrap_err().contains(CODE_SHA256));
    }
    world.nimbus.blobs.lock().unwrap().clear();
    assert!(world.fetch("a-1-1").unwrap_err().contains("no blob"));
}

#[test]
fn a_configuration_that_changed_is_told_and_fetched_in_place_of_the_old_one() {
    let world = World::new();
    world.has("a-1-1", b"code");
    world.fetch("a-1-1").unwrap();
    looks::look(&world.codes.shared, Duration::ZERO);
    assert_eq!(*world.told.lock().unwrap(), []);
    let settings = json!({ CODE_SHA256: sha256(b"code"), "topology.debug": true });
    let blob = conf::encode(settings.as_object().unwrap());
    world.nimbus.blobs.lock().unwrap().insert("a-1-1-stormconf.ser".into(), blob);
    looks::look(&world.codes.shared, Duration::ZERO);
    assert_eq!(*world.told.lock().unwrap(), [CodeEvent::Changed { topology: "a-1-1".to_owned() }]);
    world.fetch("a-1-1").unwrap();
    assert_eq!(local(world.folder.path()).conf("a-1-1").unwrap()["topology.debug"], true);
    world.nimbus.blobs.lock().unwrap().insert("a-1-1-stormconf.ser".into(), b"garbage".to_vec());
    looks::look(&world.codes.shared, Duration::ZERO);
    assert_eq!(world.told.lock().unwrap().len(), 1);
}

#[test]
fn many_fetches_of_one_executable_at_once_are_one() {
    let world = World::new();
    let names: Vec<String> = (0..8).map(|number| format!("a-{number}-1")).collect();
    names.iter().for_each(|name| world.has(name, b"code"));
    std::thread::scope(|scope| names.iter().for_each(|name| drop(scope.spawn(|| world.fetch(name).unwrap()))));
    assert_eq!(world.asked("-stormjar.jar"), [0]);
    assert_eq!(world.found().len(), 8);
}
