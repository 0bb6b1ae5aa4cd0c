//! `logs`: what the workers of a topology wrote on this host.
//!
//! A worker's log is `<storm.workers.artifacts.dir>/<topology id>/<port>/worker.log`, with older parts beside it. Files are
//! looked at a few times a second when they are followed: one that was rotated is read to its end and then from the
//! beginning of the new one, and one that comes later is taken up.
//!
//! Invariants: memory is bounded, however long a file or a line is. Threading: one thread. Errors: a folder that is not
//! there is a [`Failure`]; a file that cannot be read is named, and passed over until it can.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ringstorm_conf::Conf;
use ringstorm_file::open_regular;
use serde_json::json;

use crate::command_line::Logs;
use crate::failure::{Failure, Status};
use crate::output;

/// Between two looks at files that are followed.
const LOOK_PERIOD: Duration = Duration::from_millis(250);
/// The most of the end of a file that is looked through for its last lines.
const TAIL_BYTES_MAX: u64 = 4 << 20;
/// How many topologies are named in place of one that is not there.
const NAMES_SHOWN: usize = 10;
/// How much is read at once.
const READ_BYTES: usize = 64 << 10;

/// Shows the last lines, and goes on if that is asked for.
pub(crate) fn logs(conf: &Conf, arguments: &Logs, json: bool) -> Result<Status, Failure> {
    let root = conf.workers_artifacts_dir();
    let id = newest_id(&root, &arguments.name)?;
    let mut shown = Shown::new(root.join(&id), arguments.port, json);
    let mut text = shown.begin(arguments.lines);
    if shown.files.is_empty() && !shown.unreadable.is_empty() && !arguments.follow {
        return Err(Failure::new(format!(
            "{}; move what is there out of the way, and the worker's log goes on there",
            shown.unreadable.join("; ")
        )));
    }
    shown.unreadable.iter().for_each(|why| output::say(&format!("note: {why}; it is left out")));
    if shown.files.is_empty() && !arguments.follow {
        return Err(Failure::new(format!(
            "no worker of {id} has written on this host{}; `ringstorm status {}` shows where its workers are",
            arguments.port.map_or_else(String::new, |port| format!(" for port {port}")),
            arguments.name,
        )));
    }
    if !arguments.follow {
        text.push_str(&shown.rest());
    }
    let print = if json { output::print_json_on } else { output::pass_on };
    let mut is_read = print(&text)?;
    while arguments.follow && is_read {
        std::thread::sleep(LOOK_PERIOD);
        let news = shown.look();
        if !news.is_empty() {
            is_read = print(&news)?;
        }
    }
    Ok(Status::Done)
}

/// The newest topology of a name that has logs here: ids are `NAME-NUMBER-SECOND`. An id names itself.
pub(crate) fn newest_id(root: &Path, name: &str) -> Result<String, Failure> {
    let entries = fs::read_dir(root).map_err(|error| {
        Failure::new(format!(
            "{} cannot be read: {error}; no worker has run on this host, or storm.log.dir or storm.workers.artifacts.dir \
             says another place (`ringstorm config show`)",
            root.display()
        ))
    })?;
    let ids: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let newest = ids.iter().filter_map(|id| Some((number_of(id, name)?, id))).max();
    let named = ids.iter().find(|id| *id == name);
    newest.map(|(_, id)| id).or(named).cloned().ok_or_else(|| {
        Failure::new(format!(
            "no worker of a topology {name} has run on this host: {} has nothing of it{}; `ringstorm status {name}` shows \
             where its workers are, if there is such a topology",
            root.display(),
            others(&ids)
        ))
    })
}

/// The topologies that do have logs here, in words.
fn others(ids: &[String]) -> String {
    let names: BTreeSet<&str> = ids.iter().filter_map(|id| name_of(id)).collect();
    if names.is_empty() {
        return String::new();
    }
    let more = names.len().saturating_sub(NAMES_SHOWN);
    let names: Vec<&str> = names.into_iter().take(NAMES_SHOWN).collect();
    let more = if more > 0 { format!(" and of {more} more") } else { String::new() };
    format!(", but of {}{more}", names.join(", "))
}

/// The name of the topology that has this id.
fn name_of(id: &str) -> Option<&str> {
    let (rest, second) = id.rsplit_once('-')?;
    let (name, number) = rest.rsplit_once('-')?;
    (number.parse::<u64>().is_ok() && second.parse::<u64>().is_ok()).then_some(name)
}

/// The second and the number of an id, if it is one of this name.
fn number_of(id: &str, name: &str) -> Option<(u64, u64)> {
    let (number, second) = id.strip_prefix(name)?.strip_prefix('-')?.split_once('-')?;
    Some((second.parse().ok()?, number.parse().ok()?))
}

/// Files that are shown, and how far.
struct Shown {
    folder: PathBuf,
    port: Option<u16>,
    files: BTreeMap<u16, Followed>,
    /// What was there at the beginning and cannot be read, with why.
    unreadable: Vec<String>,
    /// Whose lines were shown last, so that a head is shown only when that changes.
    last: Option<u16>,
    /// For programs: one object for each line.
    json: bool,
    /// The beginnings of lines whose end was not written yet, for programs.
    begun: BTreeMap<u16, Vec<u8>>,
}

struct Followed {
    file: File,
    inode: u64,
    offset: u64,
}

impl Shown {
    fn new(folder: PathBuf, port: Option<u16>, json: bool) -> Self {
        Self { folder, port, files: BTreeMap::new(), unreadable: Vec::new(), last: None, json, begun: BTreeMap::new() }
    }

    fn path(&self, port: u16) -> PathBuf {
        self.folder.join(port.to_string()).join("worker.log")
    }

    fn ports(&self) -> Vec<u16> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let ports = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut ports: Vec<u16> = ports.filter(|port| self.port.is_none_or(|only| only == *port)).collect();
        ports.sort_unstable();
        ports
    }

    /// The last lines of every file.
    fn begin(&mut self, lines: usize) -> String {
        let mut text = String::new();
        for port in self.ports() {
            let path = self.path(port);
            let opened = open(&path).and_then(|mut followed| Ok((followed.tail(lines)?, followed)));
            match opened {
                Ok((tail, followed)) => {
                    self.append(&mut text, port, &tail);
                    self.files.insert(port, followed);
                }
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => self.unreadable.push(format!("{} cannot be read: {error}", path.display())),
            }
        }
        text
    }

    /// What was written since the last look.
    fn look(&mut self) -> String {
        let mut text = String::new();
        for port in self.ports() {
            let mut news = Vec::new();
            if let Some(followed) = self.files.get_mut(&port) {
                let _ = followed.read_on(&mut news);
            }
            let path = self.path(port);
            let current = fs::metadata(&path).ok().map(|data| (data.ino(), data.len()));
            let is_other = match (self.files.get(&port), current) {
                (None, Some(_)) => true,
                (Some(followed), Some((inode, bytes))) => followed.inode != inode || bytes < followed.offset,
                (_, None) => false,
            };
            if is_other && let Ok(mut followed) = open(&path) {
                let _ = followed.read_on(&mut news);
                self.files.insert(port, followed);
            }
            self.append(&mut text, port, &news);
        }
        text
    }

    /// Lines that were begun and have no end yet.
    fn rest(&mut self) -> String {
        let begun = std::mem::take(&mut self.begun);
        begun.iter().filter(|(_, line)| !line.is_empty()).map(|(port, line)| line_json(*port, line)).collect()
    }

    fn append(&mut self, text: &mut String, port: u16, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.json {
            let begun = self.begun.entry(port).or_default();
            begun.extend_from_slice(bytes);
            let end = begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let left = begun.split_off(end.max(begun.len().saturating_sub(TAIL_BYTES_MAX as usize)));
            let whole = std::mem::replace(begun, left);
            whole.split_inclusive(|byte| *byte == b'\n').for_each(|line| text.push_str(&line_json(port, line)));
            return;
        }
        if self.last != Some(port) {
            let before = if self.last.is_some() { "\n" } else { "" };
            text.push_str(&format!("{before}==> {} <==\n", self.path(port).display()));
            self.last = Some(port);
        }
        text.push_str(&String::from_utf8_lossy(bytes));
    }
}

fn open(path: &Path) -> io::Result<Followed> {
    let file = open_regular(path)?;
    let inode = file.metadata()?.ino();
    Ok(Followed { file, inode, offset: 0 })
}

impl Followed {
    /// The last lines; what follows goes on behind them.
    fn tail(&mut self, lines: usize) -> io::Result<Vec<u8>> {
        let bytes = self.file.metadata()?.len();
        let start = bytes.saturating_sub(TAIL_BYTES_MAX);
        self.file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        (&self.file).take(TAIL_BYTES_MAX).read_to_end(&mut text)?;
        self.offset = start + text.len() as u64;
        let end = text.len() - usize::from(text.ends_with(b"\n"));
        let begin = match lines {
            0 => text.len(),
            _ => {
                let ends = text[..end].iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
                ends.map(|(at, _)| at + 1).nth(lines - 1).unwrap_or(0)
            }
        };
        Ok(text.split_off(begin))
    }

    /// What was written since then, up to a bound; the rest is for the next look.
    fn read_on(&mut self, news: &mut Vec<u8>) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut buffer = vec![0; READ_BYTES];
        let limit = TAIL_BYTES_MAX as usize;
        while news.len() < limit {
            let count = self.file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            self.offset += count as u64;
            news.extend_from_slice(&buffer[..count]);
        }
        Ok(())
    }
}

/// A line for programs.
fn line_json(port: u16, line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    format!("{}\n", json!({ "port": port, "line": line.trim_end_matches('\n') }))
}

#[cfg(test)]
mod tests;
