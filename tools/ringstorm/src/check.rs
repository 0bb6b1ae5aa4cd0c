//! `check`: what this host and its configuration need, what would fail, and how to mend it.
//!
//! Facts are gathered at the edge (what the kernel says, whether a port can be had) and judged by pure functions, so that a
//! broken host can be tried in a test. Nothing is changed; a folder that a daemon would make is not made.
//!
//! Threading: one thread, but for the look-up of a name. Errors: none; whatever is wrong is a [`Finding`].

mod cluster;
mod host;
mod network;
mod storage;

use ringstorm_conf::{Conf, ConfError, ConfSources, Role};
use serde_json::{Value, json};

pub(crate) use cluster::session;

use crate::command_line::{CheckRole, Common};
use crate::commands::supervisors_of_dev;
use crate::failure::{Failure, Status};
use crate::output;
use crate::table::one_line;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As it should be.
    Good,
    /// It works, and something is worth knowing.
    Warning,
    /// Something will fail.
    Bad,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Warning => "warning",
            Self::Bad => "fails",
        }
    }
}

/// What was found about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) what: String,
    pub(crate) verdict: Verdict,
    /// What it is.
    pub(crate) said: String,
    /// What to do; empty if nothing is.
    pub(crate) mend: String,
}

impl Finding {
    pub(crate) fn good(what: impl Into<String>, said: impl Into<String>) -> Self {
        Self { what: what.into(), verdict: Verdict::Good, said: said.into(), mend: String::new() }
    }

    pub(crate) fn warning(what: impl Into<String>, said: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), verdict: Verdict::Warning, said: said.into(), mend: mend.into() }
    }

    pub(crate) fn bad(what: impl Into<String>, said: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { what: what.into(), verdict: Verdict::Bad, said: said.into(), mend: mend.into() }
    }
}

/// What a host is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) nimbus: bool,
    pub(crate) supervisor: bool,
}

impl Wanted {
    fn of(role: Option<CheckRole>) -> Self {
        let is = |wanted| role.is_none() || role == Some(wanted);
        Self { nimbus: is(CheckRole::Nimbus), supervisor: is(CheckRole::Supervisor) }
    }
}

/// Checks everything, and says it. Something that fails makes the exit code 1.
pub(crate) fn check(common: &Common, role: Option<CheckRole>, json: bool) -> Result<Status, Failure> {
    let wanted = Wanted::of(role);
    let conf_role = if role == Some(CheckRole::Client) { Role::Client } else { Role::Daemon };
    let sources = ConfSources::of_process(conf_role, common.config.clone(), common.settings.clone());
    let found = Conf::find(&sources).and_then(|conf| {
        let supervisors = Supervisors::of(&conf, &sources, wanted)?;
        let mut findings = configuration(&conf);
        findings.extend(host::findings(&supervisors));
        findings.extend(storage::findings(&conf, wanted, &supervisors));
        findings.extend(network::findings(&conf, wanted, &supervisors));
        findings.extend(cluster::findings(&conf, wanted));
        Ok(findings)
    });
    let findings = found.unwrap_or_else(|error| unusable(&error));
    if json {
        output::print_json(&json_of(&findings))?;
    } else {
        output::print(&text(&findings))?;
    }
    let fails = findings.iter().any(|finding| finding.verdict == Verdict::Bad);
    Ok(if fails { Status::Failed } else { Status::Done })
}

/// The supervisors that this host is to run.
pub(crate) struct Supervisors {
    /// The configuration of each; none where none is wanted.
    confs: Vec<Conf>,
    /// Whether they are those of `dev`, which shares the host among them.
    are_of_dev: bool,
}

impl Supervisors {
    /// In the folder of `dev` each of its supervisors has a configuration of its own; elsewhere there is one of both.
    fn of(conf: &Conf, sources: &ConfSources, wanted: Wanted) -> Result<Self, ConfError> {
        if !wanted.supervisor {
            return Ok(Self { confs: Vec::new(), are_of_dev: false });
        }
        let of_dev = supervisors_of_dev(&conf.local_dir());
        if of_dev.is_empty() {
            return Ok(Self { confs: vec![conf.clone()], are_of_dev: false });
        }
        let confs = of_dev.into_iter().map(|file| Conf::find(&ConfSources { file: Some(file), ..sources.clone() }));
        Ok(Self { confs: confs.collect::<Result<_, _>>()?, are_of_dev: true })
    }
}

/// Each thing that is wrong with the configuration.
fn unusable(error: &ConfError) -> Vec<Finding> {
    let text = error.to_string();
    let mend = "correct it; nothing else was looked at";
    text.lines().map(|line| Finding::bad("configuration", line, mend)).collect()
}

fn configuration(conf: &Conf) -> Vec<Finding> {
    let said = match conf.file() {
        Some(path) => format!("read from {}", path.display()),
        None => "there is no storm.yaml; Storm's defaults hold".to_owned(),
    };
    let mut findings = vec![Finding::good("configuration", said)];
    findings.extend(conf.notes().iter().map(|note| {
        Finding::warning("configuration", note.to_string(), "remove it, or leave it for daemons of Apache Storm")
    }));
    findings
}

fn json_of(findings: &[Finding]) -> Value {
    let findings: Vec<Value> = findings
        .iter()
        .map(|it| json!({ "what": it.what, "verdict": it.verdict.word(), "said": it.said, "mend": it.mend }))
        .collect();
    json!({ "findings": findings })
}

/// One line for each finding, and one below it that says what to do.
pub(crate) fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format!("{:<8} {}: {}\n", finding.verdict.word(), finding.what, one_line(&finding.said)));
        if !finding.mend.is_empty() {
            text.push_str(&format!("         -> {}\n", one_line(&finding.mend)));
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (bad, warnings) = (count(Verdict::Bad), count(Verdict::Warning));
    let warnings = match warnings {
        0 => String::new(),
        1 => "; 1 warning".to_owned(),
        _ => format!("; {warnings} warnings"),
    };
    text.push_str(&match bad {
        0 if warnings.is_empty() => "Everything is as it should be.\n".to_owned(),
        0 => format!("Nothing fails{warnings}.\n"),
        1 => format!("1 thing fails{warnings}.\n"),
        _ => format!("{bad} things fail{warnings}.\n"),
    });
    text
}

#[cfg(test)]
mod tests;
