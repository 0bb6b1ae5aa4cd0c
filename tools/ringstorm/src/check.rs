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

use ringstorm_conf::{Conf, ConfSources, Role};
use serde_json::{Value, json};

pub(crate) use cluster::session;

use crate::command_line::{CheckRole, Common};
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
    let findings = match Conf::find(&sources) {
        Ok(conf) => {
            let mut findings = configuration(&conf);
            findings.extend(host::findings(&conf, wanted));
            findings.extend(storage::findings(&conf, wanted));
            findings.extend(network::findings(&conf, wanted));
            findings.extend(cluster::findings(&conf, wanted));
            findings
        }
        Err(error) => vec![Finding::bad("configuration", error.to_string(), "correct it; nothing else was looked at")],
    };
    if json {
        output::print_json(&json_of(&findings))?;
    } else {
        output::print(&text(&findings))?;
    }
    let fails = findings.iter().any(|finding| finding.verdict == Verdict::Bad);
    Ok(if fails { Status::Failed } else { Status::Done })
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
