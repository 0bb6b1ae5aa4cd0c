//! Operations, outcomes and events of the tree in a few words, for traces.
//!
//! Threading: pure functions.

use ringstorm_control::talks::{FromStore, ToStore};
use ringstorm_store::operation::{Answer, Operation, Write};
use ringstorm_store::outcome::{Doubt, Outcome};
use ringstorm_store::store::SessionEvent;

/// What a machine asks of the tree.
pub fn brief_to_store(asked: &ToStore) -> String {
    format!("asks {} in {}", brief_operation(&asked.operation), asked.session)
}

/// An operation.
pub fn brief_operation(operation: &Operation) -> String {
    let watching = |watch: bool| if watch { " and watches" } else { "" };
    match operation {
        Operation::Write(write) => brief_write(write),
        Operation::Multi { checks, writes } => {
            let checks: Vec<_> = checks.iter().map(|check| check.path.name()).collect();
            let writes: Vec<_> = writes.iter().map(brief_write).collect();
            format!("if {}: {}", checks.join(" and "), writes.join(" and "))
        }
        Operation::Get { path, watch } => format!("get {path}{}", watching(*watch)),
        Operation::Children { path, watch } => format!("list {path}{}", watching(*watch)),
        Operation::Exists { path, watch } => format!("exists {path}{}", watching(*watch)),
        Operation::Acl { path } => format!("acl of {path}"),
        Operation::SetAcl { path, .. } => format!("set acl of {path}"),
        Operation::Sync { .. } => "sync".to_owned(),
    }
}

fn brief_write(write: &Write) -> String {
    match write {
        Write::Create { path, data, mode, .. } if mode.is_ephemeral() => {
            format!("create ephemeral {path} ({} B)", data.len())
        }
        Write::Create { path, data, .. } => format!("create {path} ({} B)", data.len()),
        Write::Set { path, data, .. } => format!("set {path} ({} B)", data.len()),
        Write::Delete { path, .. } => format!("delete {path}"),
    }
}

/// How an operation ended.
pub fn brief_outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(answer) => brief_answer(answer),
        Outcome::Failed(failure) => format!("failed: {failure}"),
        Outcome::Unknown(Doubt::ConnectionLost) => "unknown: connection lost".to_owned(),
        Outcome::Unknown(doubt) => format!("unknown: {doubt}"),
    }
}

fn brief_answer(answer: &Answer) -> String {
    match answer {
        Answer::Created { path } => format!("created {path}"),
        Answer::Set { stat } => format!("set, version {}", stat.version),
        Answer::Deleted => "deleted".to_owned(),
        Answer::Multi(answers) => answers.iter().map(brief_answer).collect::<Vec<_>>().join(", "),
        Answer::Data { data, stat } => format!("{} B of version {}", data.len(), stat.version),
        Answer::Children { names, .. } => format!("[{}]", names.join(" ")),
        Answer::Exists(Some(stat)) => format!("is there, version {}", stat.version),
        Answer::Exists(None) => "is not there".to_owned(),
        Answer::Acl { .. } => "acl".to_owned(),
        Answer::AclSet { .. } => "acl set".to_owned(),
        Answer::Synced => "synced".to_owned(),
    }
}

/// What the tree says.
pub fn brief_from_store(said: &FromStore) -> String {
    match said {
        FromStore::Outcome { outcome, .. } => format!("<- {}", brief_outcome(outcome)),
        FromStore::Watch(event) => format!("<- watch {} {:?}", event.path, event.change),
        FromStore::Session(event) => match event {
            SessionEvent::Opened { session, .. } => format!("<- session {session} opened"),
            SessionEvent::Suspended { session } => format!("<- session {session} suspended"),
            SessionEvent::Resumed { session } => format!("<- session {session} resumed"),
            SessionEvent::Expired { session } => format!("<- session {session} expired"),
            SessionEvent::Unreachable { .. } => "<- tree unreachable".to_owned(),
        },
    }
}

/// Anything else, cut where it gets long.
pub fn brief_debug(value: &impl std::fmt::Debug) -> String {
    const CHARACTERS_MAX: usize = 240;
    let text = format!("{value:?}");
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
