//! ZooKeeper's rules: which change is taken, and on which condition it fails.
//!
//! Source: `PrepRequestProcessor` and `FinalRequestProcessor` of ZooKeeper 3.8, also for the order of the checks.
//! Threading: pure functions.

use std::sync::Arc;

use super::tree::{Change, Stamp, Tree, Undo, Znode};
use crate::acl::{Acl, Acls, Credential, Rights};
use crate::operation::{Answer, Check, Operation, Write};
use crate::outcome::{Condition, Failure, Part};
use crate::path::ZnodePath;
use crate::store::SessionId;

/// Whoever asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    pub(super) session: SessionId,
    pub(super) credentials: &'a [Credential],
}

/// What an operation does to the tree that was asked: the changes, already applied, and the answer.
pub(super) struct Taken {
    pub(super) changes: Vec<Change>,
    pub(super) answer: Answer,
}

/// Applies an operation that writes, all of it or nothing.
pub(super) fn write(
    tree: &mut Tree,
    stamp: Stamp,
    caller: Caller<'_>,
    operation: &Operation,
) -> Result<Taken, Failure> {
    let whole = |condition| Failure { condition, part: Part::Whole };
    match operation {
        Operation::Write(write) => {
            let (change, answer, _) = one(tree, stamp, caller, write).map_err(whole)?;
            Ok(Taken { changes: vec![change], answer })
        }
        Operation::SetAcl { path, acl, version } => {
            let acl = fixed(acl, caller).map_err(whole)?;
            let node = found(tree, path).map_err(whole)?;
            may(node, Rights::ADMIN, caller).map_err(whole)?;
            has_version(node.marks.acl_version, *version).map_err(whole)?;
            let change = Change::SetAcl { path: path.clone(), acl };
            tree.apply(stamp, &change, &mut Vec::new());
            let stat = found(tree, path).map_err(whole)?.stat();
            Ok(Taken { changes: vec![change], answer: Answer::AclSet { stat } })
        }
        Operation::Multi { checks, writes } => multi(tree, stamp, caller, checks, writes),
        Operation::Get { .. }
        | Operation::Children { .. }
        | Operation::Exists { .. }
        | Operation::Acl { .. }
        | Operation::Sync { .. } => unreachable!("reads are answered by `read`"),
    }
}

fn multi(
    tree: &mut Tree,
    stamp: Stamp,
    caller: Caller<'_>,
    checks: &[Check],
    writes: &[Write],
) -> Result<Taken, Failure> {
    for (index, check) in checks.iter().enumerate() {
        let checked = found(tree, &check.path).and_then(|node| {
            may(node, Rights::READ, caller)?;
            has_version(node.marks.version, check.version)
        });
        checked.map_err(|condition| Failure { condition, part: Part::Check(index) })?;
    }
    let (mut changes, mut answers, mut undo) = (Vec::new(), Vec::new(), Vec::new());
    for (index, write) in writes.iter().enumerate() {
        match one(tree, stamp, caller, write) {
            Ok((change, answer, step)) => {
                changes.push(change);
                answers.push(answer);
                undo.push(step);
            }
            Err(condition) => {
                undo.into_iter().rev().for_each(|step| tree.undo(step));
                return Err(Failure { condition, part: Part::Write(index) });
            }
        }
    }
    Ok(Taken { changes, answer: Answer::Multi(answers) })
}

fn one(tree: &mut Tree, stamp: Stamp, caller: Caller<'_>, write: &Write) -> Result<(Change, Answer, Undo), Condition> {
    let change = match write {
        Write::Create { path, data, mode, acl } => {
            let acl = fixed(acl, caller)?;
            let parent = found(tree, &path.parent().ok_or(Condition::NodeExists)?)?;
            may(parent, Rights::CREATE, caller)?;
            let number = parent.marks.children_made;
            let path = if mode.is_sequential() { path.with_number(number) } else { path.clone() };
            if tree.get(&path).is_some() {
                return Err(Condition::NodeExists);
            }
            if parent.marks.owner.is_some() {
                return Err(Condition::EphemeralParent);
            }
            let owner = mode.is_ephemeral().then_some(caller.session);
            Change::Create { path, data: Arc::from(data.as_slice()), acl, owner }
        }
        Write::Set { path, data, version } => {
            let node = found(tree, path)?;
            may(node, Rights::WRITE, caller)?;
            has_version(node.marks.version, *version)?;
            Change::Set { path: path.clone(), data: Arc::from(data.as_slice()) }
        }
        Write::Delete { path, version } => {
            let refused = || Condition::Refused("the root cannot be deleted".into());
            let parent = found(tree, &path.parent().ok_or_else(refused)?)?;
            may(parent, Rights::DELETE, caller)?;
            let node = found(tree, path)?;
            has_version(node.marks.version, *version)?;
            if !node.children.is_empty() {
                return Err(Condition::NotEmpty);
            }
            Change::Delete { path: path.clone() }
        }
    };
    let undo = tree.apply(stamp, &change, &mut Vec::new());
    let answer = match &change {
        Change::Create { path, .. } => Answer::Created { path: path.clone() },
        Change::Set { path, .. } => Answer::Set { stat: found(tree, path)?.stat() },
        Change::Delete { .. } | Change::SetAcl { .. } => Answer::Deleted,
    };
    Ok((change, answer, undo))
}

/// Answers an operation that reads.
pub(super) fn read(tree: &Tree, caller: Caller<'_>, operation: &Operation) -> Result<Answer, Condition> {
    match operation {
        Operation::Get { path, .. } => {
            let node = found(tree, path)?;
            may(node, Rights::READ, caller)?;
            Ok(Answer::Data { data: node.data.to_vec(), stat: node.stat() })
        }
        Operation::Children { path, .. } => {
            let node = found(tree, path)?;
            may(node, Rights::READ, caller)?;
            Ok(Answer::Children { names: node.children.iter().cloned().collect(), stat: node.stat() })
        }
        Operation::Exists { path, .. } => Ok(Answer::Exists(tree.get(path).map(Znode::stat))),
        Operation::Acl { path } => {
            let node = found(tree, path)?;
            may(node, Rights::READ, caller).or_else(|_| may(node, Rights::ADMIN, caller))?;
            let is_admin = may(node, Rights::ADMIN, caller).is_ok();
            let shown = |entry: &Acl| if is_admin { entry.clone() } else { hidden(entry) };
            Ok(Answer::Acl { acl: node.acl.iter().map(shown).collect(), stat: node.stat() })
        }
        Operation::Sync { .. } => Ok(Answer::Synced),
        Operation::Write(_) | Operation::Multi { .. } | Operation::SetAcl { .. } => {
            unreachable!("writes are done by `write`")
        }
    }
}

fn found<'a>(tree: &'a Tree, path: &ZnodePath) -> Result<&'a Znode, Condition> {
    tree.get(path).ok_or(Condition::NoNode)
}

fn has_version(found: i32, expected: Option<i32>) -> Result<(), Condition> {
    if expected.is_none_or(|expected| expected == found) { Ok(()) } else { Err(Condition::BadVersion) }
}

fn may(node: &Znode, wanted: Rights, caller: Caller<'_>) -> Result<(), Condition> {
    if allows(&node.acl, wanted, caller.credentials) { Ok(()) } else { Err(Condition::NoAuth) }
}

/// Whether a list gives a right to who has these credentials.
pub(super) fn allows(acl: &Acls, wanted: Rights, credentials: &[Credential]) -> bool {
    let is_meant = |entry: &Acl| match (entry.scheme.as_str(), entry.id.as_str()) {
        ("world", "anyone") => true,
        ("digest", id) => credentials.iter().any(|credential| credential.digest_id() == id),
        _ => false,
    };
    acl.iter().any(|entry| entry.rights.include(wanted) && is_meant(entry))
}

/// The list as it is stored: the creator by all of its identities.
fn fixed(acl: &Acls, caller: Caller<'_>) -> Result<Acls, Condition> {
    if acl.iter().all(|entry| entry.scheme != "auth") {
        return if acl.is_empty() { Err(Condition::InvalidAcl) } else { Ok(acl.clone()) };
    }
    let mut fixed: Vec<Acl> = Vec::new();
    for entry in acl.iter() {
        let entries = match entry.scheme.as_str() {
            "auth" if caller.credentials.is_empty() => return Err(Condition::InvalidAcl),
            "auth" => caller.credentials.iter().map(|credential| Acl::digest(credential, entry.rights)).collect(),
            _ => vec![entry.clone()],
        };
        for entry in entries {
            if !fixed.contains(&entry) {
                fixed.push(entry);
            }
        }
    }
    Ok(fixed.into())
}

fn hidden(entry: &Acl) -> Acl {
    let id = match entry.id.split_once(':') {
        Some((user, _)) if entry.scheme == "digest" => format!("{user}:x"),
        _ => entry.id.clone(),
    };
    Acl { id, ..entry.clone() }
}
