//! One process of the cluster: started, looked at, started again, ended.
//!
//! Each has a process group of its own, so that a Ctrl-C of the terminal reaches this process alone. Threading: belongs to
//! one thread, which never waits for a child that lives, but at the end. Errors: those of the start; afterwards a child that
//! cannot be started again is tried later.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ringstorm_file::read_end;
use rustix::process::{Pid, Signal, kill_process};

use super::plan::Plan;
use crate::failure::Failure;

/// The first pause before a child that ended is started again; it doubles with each further one.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// A child that ran for so long ran well.
const RAN_WELL: Duration = Duration::from_secs(60);
/// Between two looks at a child that is to end.
const END_LOOK_PERIOD: Duration = Duration::from_millis(20);
/// How many of the last lines of a child are shown.
const LINES_SHOWN: usize = 10;

/// A child.
pub(super) struct Child {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, String)>,
    output: PathBuf,
    process: Option<std::process::Child>,
    started: Instant,
    /// How often in a row it ended soon.
    ended_soon: u32,
    start_at: Option<Instant>,
}

impl Child {
    pub(super) fn new(name: &str, program: PathBuf, arguments: Vec<OsString>, output: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            program,
            arguments,
            environment: Vec::new(),
            output,
            process: None,
            started: Instant::now(),
            ended_soon: 0,
            start_at: None,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Sets a variable of its environment.
    pub(super) fn set(&mut self, name: &'static str, value: String) {
        self.environment.push((name, value));
    }

    pub(super) fn start(&mut self) -> io::Result<()> {
        let output = File::options().create(true).append(true).open(&self.output)?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(self.environment.iter().cloned()).process_group(0);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        self.process = Some(command.spawn()?);
        self.started = Instant::now();
        self.start_at = None;
        Ok(())
    }

    /// Looks whether it ended, and starts it again when it is time. What is to be said.
    pub(super) fn look(&mut self, now: Instant) -> Option<String> {
        if let Some(process) = &mut self.process {
            let status = process.try_wait().ok().flatten()?;
            self.process = None;
            self.ended_soon = if now.duration_since(self.started) < RAN_WELL { self.ended_soon + 1 } else { 0 };
            let pause = pause(self.ended_soon);
            self.start_at = Some(now + pause);
            return Some(format!(
                "{} ended by itself ({status}); it is started again in {pause:?}. {}",
                self.name,
                self.last_lines()
            ));
        }
        self.start_at.filter(|at| *at <= now)?;
        match self.start() {
            Ok(()) => Some(format!("{} is started again", self.name)),
            Err(error) => {
                self.start_at = Some(now + PAUSE_MAX);
                Some(format!("{} cannot be started again: {error}; it is tried again in {PAUSE_MAX:?}", self.name))
            }
        }
    }

    /// The end of what it wrote.
    pub(super) fn last_lines(&self) -> String {
        let text = read_end(&self.output, 8192).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n  ");
        format!("The end of {}:\n  {last}\n", self.output.display())
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            // It may have ended; its number is its own until it is waited for.
            let _ = kill_process(Pid::from_child(process), signal);
        }
    }

    fn has_ended(&mut self) -> bool {
        let ended = |process: &mut std::process::Child| matches!(process.try_wait(), Ok(Some(_)) | Err(_));
        let is_over = self.process.as_mut().is_none_or(ended);
        if is_over {
            self.process = None;
        }
        is_over
    }
}

/// The pause after so many ends that came soon.
fn pause(ended_soon: u32) -> Duration {
    let doubled = PAUSE.saturating_mul(1 << ended_soon.saturating_sub(1).min(10));
    doubled.min(PAUSE_MAX)
}

/// Asks children to end, and kills those that do not within a limit. `say` hears of those that take longer than `slow`.
pub(super) fn stop_all(mut children: Vec<&mut Child>, limit: Duration, slow: Duration, say: impl Fn(&str)) {
    children.iter().for_each(|child| child.signal(Signal::TERM));
    let since = Instant::now();
    let (deadline, mut is_said) = (since + limit, false);
    loop {
        let left: Vec<String> =
            children.iter_mut().filter_map(|child| (!child.has_ended()).then(|| child.name.clone())).collect();
        if left.is_empty() {
            return;
        }
        if !is_said && since.elapsed() >= slow {
            is_said = true;
            say(&format!("still waiting for {} to end, up to {limit:?} before it is killed", left.join(", ")));
        }
        if Instant::now() >= deadline {
            for child in &mut children {
                child.signal(Signal::KILL);
                if let Some(mut process) = child.process.take() {
                    let _: io::Result<ExitStatus> = process.wait();
                }
            }
            return;
        }
        std::thread::sleep(END_LOOK_PERIOD);
    }
}

/// Kills workers, and removes a temporary folder, should this process be killed itself: a shell that reads from a pipe
/// which only this process holds.
pub(super) struct Sweeper(std::process::Child);

impl Sweeper {
    /// Starts it.
    pub(super) fn start(plan: &Plan, is_temporary: bool) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(format!("a shell cannot be started: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        // Supervisors have heard of the end by then, and start nothing any more.
        let script = r#"cat >/dev/null; sleep 2; program=$1; folder=$2; shift 2
for conf; do "$program" --config "$conf" kill_workers >/dev/null 2>&1; done; [ -z "$folder" ] || rm -rf -- "$folder""#;
        let folder = if is_temporary { plan.folder() } else { Path::new("") };
        let confs = plan.supervisors().iter().map(|supervisor| &supervisor.conf);
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(program).arg(folder).args(confs);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map(Self).map_err(failed)
    }

    /// It is not needed any more. Its `cat` ends with the pipe.
    pub(super) fn dismiss(mut self) {
        let _ = self.0.kill();
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let pauses = [0, 1, 2, 3, 6, u32::MAX].map(|ended| pause(ended).as_secs());
        assert_eq!(pauses, [1, 1, 2, 4, 30, 30]);
    }

    fn child(script: &str, folder: &Path) -> Child {
        Child::new("it", "sh".into(), vec!["-c".into(), script.into()], folder.join("out"))
    }

    #[test]
    fn a_child_that_ends_is_named_and_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = child("echo so much; exit 3", folder.path());
        child.start().unwrap();
        let news = loop {
            if let Some(news) = child.look(Instant::now()) {
                break news;
            }
        };
        assert!(news.contains("it ended by itself (exit status: 3); it is started again in 1s"), "{news}");
        assert!(news.contains("  so much\n"), "{news}");
        assert_eq!(child.look(Instant::now()), None);
        assert_eq!(child.look(Instant::now() + PAUSE).as_deref(), Some("it is started again"));
        stop_all(vec![&mut child], Duration::from_secs(10), Duration::from_secs(10), |_| ());
    }

    #[test]
    fn a_child_that_does_not_end_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut stubborn, mut good) =
            (child("trap '' TERM; while :; do sleep 0.05; done", folder.path()), child("exec sleep 60", folder.path()));
        stubborn.start().unwrap();
        good.start().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let said = std::cell::RefCell::new(Vec::new());
        let say = |text: &str| said.borrow_mut().push(text.to_owned());
        stop_all(vec![&mut stubborn, &mut good], Duration::from_millis(300), Duration::from_millis(100), say);
        // Both have one name here, and one of them has ended by then.
        assert_eq!(said.into_inner(), ["still waiting for it to end, up to 300ms before it is killed"]);
        assert!(stubborn.process.is_none() && good.process.is_none());
    }
}
