//! Whether a submission is taken, and what is made of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use ringstorm_lifecycle::conf;
use ringstorm_lifecycle::id::{TopologyBlob, name_is_taken, name_of, topology_id};
use ringstorm_lifecycle::submission::{self, Accepted, accept};
use ringstorm_records::records::TopologyStatus;
use ringstorm_records::znode::NodeName;

use super::talks::Names;
use super::{Step, Taken};
use crate::interface::{Conf, Refusal, Reply, SUBMISSION_TOKEN, Submission};
use crate::nimbus::Nimbus;

impl Nimbus {
    /// What was sent, as it is looked at.
    pub(super) fn submission<'a>(&'a self, sent: &'a Submission, number: u64) -> submission::Submission<'a> {
        submission::Submission {
            name: &sent.name,
            json_conf: &sent.conf,
            topology: &sent.topology,
            initial_status: sent.options.initial_status,
            principal: None,
            nimbus_user: &self.settings.user,
            number,
            now_secs: self.now.wall_secs().into(),
            worker_secret: &sent.worker_secret,
        }
    }

    /// Answers a submission whose name is taken; goes on with one whose name is free.
    pub(super) fn take_names(&mut self, names: &Names) {
        let Some(current) = self.term().and_then(|term| term.submissions.current.as_ref()) else { return };
        let sent = current.submission.clone();
        if let Some((topology, base)) = names.bases.iter().find(|(_, base)| base.name == sent.name) {
            let reply = if self.is_the_same(topology, &sent) {
                Ok(Reply::Submitted { topology: topology.clone() })
            } else {
                Err(Refusal::AlreadyAlive(name_is_taken(&sent.name, base.status == TopologyStatus::Killed)))
            };
            self.finish_submission(reply);
            return;
        }
        if names.unreadable.iter().any(|id| name_of(id) == Some(&sent.name)) {
            let why = format!("{} is already alive, and its record cannot be read", sent.name);
            self.finish_submission(Err(Refusal::AlreadyAlive(why)));
            return;
        }
        let first = self.submission_count() + 1;
        let held: BTreeSet<&str> =
            self.code.held_keys().filter_map(|key| Some(TopologyBlob::of_key(key.as_str())?.0)).collect();
        let now_secs = i64::from(self.now.wall_secs());
        let is_free = |number: &u64| {
            let id = topology_id(&sent.name, *number, now_secs);
            !names.ids.contains(&id) && !held.contains(id.as_str())
        };
        // There are finitely many of them.
        let number = (first..).find(is_free).unwrap_or(first);
        let accepted = accept(&self.settings.conf, &self.submission(&sent, number));
        if let Some(term) = self.term() {
            term.submissions.count = number;
        }
        match accepted.map_err(Refusal::from).and_then(taken) {
            Ok(taken) => self.go_to(Step::Number(Arc::new(taken))),
            Err(refusal) => self.finish_submission(Err(refusal)),
        }
    }

    fn submission_count(&mut self) -> u64 {
        self.term().map_or(0, |term| term.submissions.count)
    }

    /// Whether a topology came of this very submission.
    fn is_the_same(&self, topology: &NodeName, sent: &Submission) -> bool {
        let of_topology = self.code.conf(topology).and_then(|conf| token_in(conf));
        token_of(sent).is_some_and(|token| Some(token) == of_topology)
    }
}

/// The token of a submission, if the client may ask again.
pub(super) fn token_of(sent: &Submission) -> Option<String> {
    conf::parse(&sent.conf, "The configuration of the topology").ok().and_then(|conf| token_in(&conf))
}

fn token_in(conf: &Conf) -> Option<String> {
    let token = conf.get(SUBMISSION_TOKEN)?.as_str()?;
    (!token.is_empty()).then(|| token.to_owned())
}

fn taken(accepted: Accepted) -> Result<Taken, Refusal> {
    let topology = NodeName::new(&accepted.id).map_err(|error| Refusal::InvalidTopology(error.to_string()))?;
    Ok(Taken { topology, conf: Arc::new(accepted.conf), code: Arc::new(accepted.topology), base: accepted.base })
}
