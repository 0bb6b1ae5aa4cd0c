//! Runs other programs: shows the command line, bounds its time, and keeps what it printed.

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::descendants::kill_tree;

/// Where and whether commands run.
#[derive(Debug, Clone)]
pub(crate) struct Shell {
    /// The root of the workspace, where every command runs.
    pub(crate) root: PathBuf,
    /// Only show the commands.
    pub(crate) dry_run: bool,
}

/// Why a step or a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The program is missing or may not be run.
    #[error("could not run `{line}`: {source}")]
    NotRun { line: String, source: io::Error },
    /// It ran and did not succeed.
    #[error("`{line}` ended with {status}")]
    Failed { line: String, status: ExitStatus },
    /// It ran for too long and was ended with everything it had started.
    #[error("`{line}` was ended after {} s without a result", limit.as_secs())]
    TooLong { line: String, limit: Duration },
    /// Something that it started lives on.
    #[error("`{line}` ended, but a process that it started still holds its output; end that process")]
    OutputHeld { line: String },
    /// What a check found, in words.
    #[error("{0}")]
    Found(String),
}

/// A program with its arguments, not started yet.
#[derive(Debug, Clone)]
pub(crate) struct Run<'a> {
    shell: &'a Shell,
    environment: Vec<(&'static str, String)>,
    words: Vec<String>,
    limit: Duration,
}

/// Time for a command that has no limit of its own.
const LIMIT: Duration = Duration::from_secs(20 * 60);
/// How often a running command is looked at.
const LOOK_PERIOD: Duration = Duration::from_millis(20);
/// Time for the last output to arrive after a command has ended.
const OUTPUT_TIME: Duration = Duration::from_secs(10);

impl Shell {
    /// Cargo, with these arguments.
    pub(crate) fn cargo<W: Into<String>>(&self, arguments: impl IntoIterator<Item = W>) -> Run<'_> {
        self.program("cargo", arguments)
    }

    /// Any program, with these arguments.
    pub(crate) fn program<W: Into<String>>(&self, name: &str, arguments: impl IntoIterator<Item = W>) -> Run<'_> {
        let words = std::iter::once(name.to_owned()).chain(arguments.into_iter().map(Into::into)).collect();
        Run { shell: self, environment: Vec::new(), words, limit: LIMIT }
    }
}

impl Run<'_> {
    /// Sets a variable for it.
    pub(crate) fn environment(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Ends it after this time.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Whether it is only shown.
    pub(crate) fn is_dry(&self) -> bool {
        self.shell.dry_run
    }

    /// Runs it and shows what it prints.
    ///
    /// # Errors
    /// [`CommandError`] unless it succeeded.
    pub(crate) fn run(&self) -> Result<(), CommandError> {
        self.show();
        if self.shell.dry_run {
            return Ok(());
        }
        let child = self.command().spawn().map_err(|source| self.not_run(source))?;
        self.wait(child)
    }

    /// Runs it, shows what it prints, and returns its standard output. Empty in a dry run.
    ///
    /// # Errors
    /// [`CommandError`] unless it succeeded.
    pub(crate) fn run_and_keep(&self) -> Result<String, CommandError> {
        self.show();
        if self.shell.dry_run {
            return Ok(String::new());
        }
        let mut child = self.command().stdout(Stdio::piped()).spawn().map_err(|source| self.not_run(source))?;
        let output = copy_lines(child.stdout.take().expect("standard output was asked for"));
        let result = self.wait(child);
        let text = output.recv_timeout(OUTPUT_TIME).map_err(|_| CommandError::OutputHeld { line: self.to_string() });
        result.and(text)
    }

    /// Runs it in silence, also in a dry run: for questions. Returns standard output, or nothing when it fails.
    pub(crate) fn ask(&self) -> Option<String> {
        let output = self.command().stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(&self.shell.root).stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn wait(&self, mut child: Child) -> Result<(), CommandError> {
        let start = Instant::now();
        loop {
            match child.try_wait().map_err(|source| self.not_run(source))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(CommandError::Failed { line: self.to_string(), status }),
                None if start.elapsed() > self.limit => {
                    kill_tree(child.id());
                    let _ = child.wait();
                    return Err(CommandError::TooLong { line: self.to_string(), limit: self.limit });
                }
                None => thread::sleep(LOOK_PERIOD),
            }
        }
    }

    fn show(&self) {
        println!("$ {self}");
        // The command writes to the same place; its lines belong behind this one.
        let _ = io::stdout().flush();
    }

    fn not_run(&self, source: io::Error) -> CommandError {
        CommandError::NotRun { line: self.to_string(), source }
    }
}

impl fmt::Display for Run<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        for (index, word) in self.words.iter().enumerate() {
            write!(formatter, "{}{}", if index > 0 { " " } else { "" }, quoted(word))?;
        }
        Ok(())
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Copies what is printed, line by line; the whole text comes when its writers are gone.
fn copy_lines(from: impl io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(from);
        let (mut line, mut text) = (Vec::new(), String::new());
        while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            let mut out = io::stdout().lock();
            // Nobody may be reading; the text is kept all the same.
            let _ = out.write_all(&line).and_then(|()| out.flush());
            text.push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
        // Nobody waits for the text of a command that was given up.
        let _ = sender.send(text);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell() -> Shell {
        Shell { root: PathBuf::from("."), dry_run: false }
    }

    #[test]
    fn a_command_is_shown_as_it_can_be_typed() {
        let shell = shell();
        let run = shell.cargo(["test", "--test", "loom_*"]).environment("RUSTFLAGS", "--cfg loom");
        assert_eq!(run.to_string(), "RUSTFLAGS='--cfg loom' cargo test --test 'loom_*'");
    }

    #[test]
    fn output_is_kept_and_a_failure_is_told() {
        let shell = shell();
        assert_eq!(shell.program("echo", ["one"]).run_and_keep().unwrap(), "one\n");
        assert!(matches!(shell.program("false", [""]).run(), Err(CommandError::Failed { .. })));
        assert!(matches!(shell.program("/no/such/program", [""]).run(), Err(CommandError::NotRun { .. })));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let shell = shell();
        let run = shell.program("sh", ["-c", "sleep 600; true"]).limit(Duration::from_millis(200));
        let start = Instant::now();
        assert!(matches!(run.run_and_keep(), Err(CommandError::TooLong { .. })));
        assert!(start.elapsed() < Duration::from_secs(60), "the sleep was not ended");
    }

    #[test]
    fn a_dry_run_runs_nothing() {
        let shell = Shell { dry_run: true, ..shell() };
        shell.program("/no/such/program", [""]).run().unwrap();
    }
}
