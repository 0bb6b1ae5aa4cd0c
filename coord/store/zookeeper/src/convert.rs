//! Between this project's words and those of the crate.
//!
//! The heart of it is [`failed_or_unknown`]: which errors say that nothing was done, and which leave it open. Threading:
//! pure functions.

use ringstorm_store::acl::{Acl, Acls, Rights};
use ringstorm_store::operation::{CreateMode, Stat};
use ringstorm_store::outcome::{Condition, Doubt, Failure, Outcome, Part};
use ringstorm_store::store::{Change, SessionId};
use zookeeper_client as client;

/// The owner of a container node, which goes with no session (`EphemeralType.CONTAINER_EPHEMERAL_OWNER`).
const CONTAINER_OWNER: i64 = i64::MIN;

/// The outcome of an operation, or of a part of it, that ended with an error.
///
/// An error of the ensemble says that nothing was done. An error of the connection leaves it open, in whichever form it
/// comes: the crate reports a lost connection as `ConnectionLoss`, as an error of the system, or as an unreadable answer.
/// A session that is over never did what it says it did not: the ensemble answers in order, and does nothing for a
/// session after it was ended; what waited at the client was never sent.
pub(crate) fn failed_or_unknown(error: &client::Error, part: Part) -> Outcome {
    use client::Error;
    let condition = match error {
        Error::NoNode => Condition::NoNode,
        Error::NodeExists => Condition::NodeExists,
        Error::BadVersion => Condition::BadVersion,
        Error::NotEmpty => Condition::NotEmpty,
        Error::NoChildrenForEphemerals => Condition::EphemeralParent,
        Error::NoAuth => Condition::NoAuth,
        Error::InvalidAcl => Condition::InvalidAcl,
        Error::SessionExpired | Error::AuthFailed | Error::ClientClosed => Condition::SessionOver,
        Error::SessionMoved => Condition::NotConnected,
        Error::BadArguments(_)
        | Error::Unimplemented
        | Error::MarshallingError
        | Error::NotReadOnly
        | Error::QuotaExceeded
        | Error::Throttled
        | Error::NoWatcher
        | Error::ReconfigDisabled => Condition::Refused(error.to_string()),
        // Errors about a request start at -101; those above are the server's own trouble.
        Error::UnexpectedErrorCode(code) if *code <= -100 => Condition::Refused(error.to_string()),
        Error::ConnectionLoss | Error::Timeout | Error::NoHosts | Error::Custom(_) => {
            return Outcome::Unknown(Doubt::ConnectionLost);
        }
        other => return Outcome::Unknown(Doubt::Unreadable(other.to_string())),
    };
    Outcome::Failed(Failure { condition, part })
}

pub(crate) fn stat(stat: &client::Stat) -> Stat {
    let count = |number: i32| usize::try_from(number).unwrap_or(0);
    let owner = stat.ephemeral_owner;
    Stat {
        created: stat.czxid,
        changed: stat.mzxid,
        children_changed: stat.pzxid,
        created_ms: stat.ctime,
        changed_ms: stat.mtime,
        version: stat.version,
        children_version: stat.cversion,
        acl_version: stat.aversion,
        owner: (owner != 0 && owner != CONTAINER_OWNER).then_some(SessionId(owner)),
        data_bytes: count(stat.data_length),
        child_count: count(stat.num_children),
    }
}

pub(crate) fn create_mode(mode: CreateMode) -> client::CreateMode {
    match mode {
        CreateMode::Persistent => client::CreateMode::Persistent,
        CreateMode::PersistentSequential => client::CreateMode::PersistentSequential,
        CreateMode::Ephemeral => client::CreateMode::Ephemeral,
        CreateMode::EphemeralSequential => client::CreateMode::EphemeralSequential,
    }
}

/// Each of the rights, in both words.
const RIGHTS: [(Rights, client::Permission); 5] = [
    (Rights::READ, client::Permission::READ),
    (Rights::WRITE, client::Permission::WRITE),
    (Rights::CREATE, client::Permission::CREATE),
    (Rights::DELETE, client::Permission::DELETE),
    (Rights::ADMIN, client::Permission::ADMIN),
];

pub(crate) fn to_acls(acls: &Acls) -> Vec<client::Acl> {
    let converted = acls.iter().map(|acl| {
        let included = RIGHTS.iter().filter(|(ours, _)| acl.rights.include(*ours)).map(|(_, theirs)| *theirs);
        let permission = included.fold(client::Permission::NONE, |all, one| all | one);
        client::Acl::new(permission, client::AuthId::new(&acl.scheme, &acl.id))
    });
    converted.collect()
}

pub(crate) fn from_acls(acls: &[client::Acl]) -> Vec<Acl> {
    let converted = acls.iter().map(|acl| {
        let included = RIGHTS.iter().filter(|(_, theirs)| acl.permission().has(*theirs)).map(|(ours, _)| ours.0);
        Acl { rights: Rights(included.sum()), scheme: acl.scheme().to_owned(), id: acl.id().to_owned() }
    });
    converted.collect()
}

/// What a watch saw; `None` when it saw nothing but the end of the session.
pub(crate) fn change(event: &client::WatchedEvent) -> Option<Change> {
    match event.event_type {
        client::EventType::NodeCreated => Some(Change::Created),
        client::EventType::NodeDeleted => Some(Change::Deleted),
        client::EventType::NodeDataChanged => Some(Change::Data),
        client::EventType::NodeChildrenChanged => Some(Change::Children),
        client::EventType::Session => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_ensemble_are_failures_and_errors_of_the_connection_leave_it_open() {
        use client::Error;
        let of = |error| failed_or_unknown(&error, Part::Whole);
        for failed in [Error::NoNode, Error::BadVersion, Error::SessionExpired, Error::UnexpectedErrorCode(-122)] {
            assert!(matches!(of(failed.clone()), Outcome::Failed(_)), "{failed}");
        }
        for open in [Error::ConnectionLoss, Error::Timeout, Error::UnexpectedErrorCode(-1), Error::RuntimeInconsistent]
        {
            assert!(matches!(of(open.clone()), Outcome::Unknown(_)), "{open}");
        }
    }

    #[test]
    fn rights_survive_both_ways() {
        for bits in 0..=31 {
            let acls: Acls = [Acl { rights: Rights(bits), scheme: "digest".into(), id: "a:b".into() }].into();
            assert_eq!(from_acls(&to_acls(&acls)), acls.to_vec());
        }
    }
}
