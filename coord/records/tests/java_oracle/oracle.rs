//! Runs a program of `tests/java`, such as `StormOracle.java`, with Storm's classes beside it.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Set where a skip is a failure.
const REQUIRED: &str = "RINGSTORM_REQUIRE_JAVA";

/// For Maven, which may have to fetch some thirty megabytes, and for Java.
const LIMIT: Duration = Duration::from_secs(300);

/// The oracle's answers, one for each request; `None` when it cannot be asked here, which was said.
///
/// # Panics
/// When it must be asked and cannot, and when Storm's classes refuse something.
pub(crate) fn oracle(requests: &[String]) -> Option<Vec<String>> {
    oracle_of("StormOracle.java", requests)
}

/// As [`oracle`], by another program in the same folder.
///
/// # Panics
/// As [`oracle`].
pub(crate) fn oracle_of(program: &str, requests: &[String]) -> Option<Vec<String>> {
    let class_path = class_path()?;
    let program = folder().join(program);
    let mut command = Command::new("java");
    command.arg("-Xmx256m").arg("-cp").arg(class_path).arg(program);
    let input = requests.iter().map(|request| format!("{request}\n")).collect();
    let (output, errors) = match run(command, input) {
        Ok(output) => output,
        // Storm's classes are there, so Java is; what fails now is an answer.
        Err(why) => panic!("{why}"),
    };
    let answers: Vec<String> = output.lines().map(str::to_owned).collect();
    assert_eq!(
        answers.len(),
        requests.len(),
        "Storm's classes stopped at {:?}:\n{errors}",
        requests.get(answers.len())
    );
    Some(answers)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(super::ORACLE)
}

/// Where Storm's classes lie, asked of Maven once.
fn class_path() -> Option<&'static str> {
    static CLASS_PATH: OnceLock<Result<String, String>> = OnceLock::new();
    let found = CLASS_PATH.get_or_init(|| {
        let found = find_class_path();
        if let Err(why) = &found {
            // Not by a macro, whose output the test harness keeps to itself when tests pass.
            let _ = writeln!(std::io::stderr(), "SKIPPED: Storm's own classes were not asked: {why}");
        }
        found
    });
    match found {
        Ok(class_path) => Some(class_path),
        Err(why) => {
            assert!(std::env::var_os(REQUIRED).is_none(), "{REQUIRED} is set, but {why}");
            None
        }
    }
}

fn find_class_path() -> Result<String, String> {
    let mut version = Command::new("java");
    version.arg("--list-modules");
    let (modules, _) = run(version, String::new())?;
    if !modules.contains("jdk.compiler") {
        return Err("java is there without its compiler; install a development kit of Java 17 or later".into());
    }
    // A former run may have found out already.
    let oracle: String = super::ORACLE.chars().filter(|letter| letter.is_alphanumeric()).collect();
    let cache = format!("{}-{oracle}-storm-2.8.2-class-path", env!("CARGO_PKG_NAME"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join(cache);
    let is_whole = |found: &str| !found.is_empty() && found.split(':').all(|jar| Path::new(jar).is_file());
    if let Some(found) = fs::read_to_string(&cache).ok().filter(|found| is_whole(found.trim())) {
        return Ok(found.trim().to_owned());
    }
    let mut maven = Command::new("mvn");
    maven.arg("--quiet").arg("--batch-mode").arg("--file").arg(folder().join("pom.xml"));
    maven.arg("dependency:build-classpath").arg(format!("-Dmdep.outputFile={}", cache.display()));
    run(maven, String::new())?;
    let found = fs::read_to_string(&cache).map_err(|error| format!("Maven wrote no class path: {error}"))?;
    Ok(found.trim().to_owned())
}

/// Runs a program to its end: what it printed, and what it complained of.
fn run(mut command: Command, input: String) -> Result<(String, String), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().map_err(|error| format!("{name} cannot be run: {error}; install it"))?;
    let mut stdin = child.stdin.take().expect("it was asked for");
    // It may end before it has read everything; then its status says so.
    let writer = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = reader(child.stdout.take().expect("it was asked for"));
    let errors = reader(child.stderr.take().expect("it was asked for"));
    let is_done = wait(&mut child, &name)?;
    writer.join().unwrap();
    let (output, errors) = (output.join().unwrap(), errors.join().unwrap());
    if is_done || !output.is_empty() {
        return Ok((output, errors));
    }
    Err(format!("{name} failed:\n{errors}"))
}

fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Whether it ended well.
fn wait(child: &mut Child, name: &str) -> Result<bool, String> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("{name} was lost: {error}"))? {
            return Ok(status.success());
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("{name} took more than {} s", LIMIT.as_secs()));
        }
        thread::sleep(Duration::from_millis(20));
    }
}
