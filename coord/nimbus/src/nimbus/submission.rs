//! Topologies that come.
//!
//! One after another, in Storm's order: the name is free; credentials; the code is stored, and held by as many nimbuses as
//! it should be; the folders of its workers; and last its base, by which it lives. Until the base is written there is no
//! topology, only something for the clean-up; after it there is one, whoever leads. A client that asks again with the same
//! token, since nobody could tell it, is told that its topology lives.
//!
//! Invariants: a base is written once, behind its code, and only while no other has its name: this is the only place that
//! makes one, and there is one leader. Errors: troubles with the tree are tried again from the same step, up to a limit.

mod check;
mod talks;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ringstorm_control::time::Moment;
use ringstorm_lifecycle::id::TopologyBlob;
use ringstorm_lifecycle::submission::accept;
use ringstorm_records::records::{StormBase, StormTopology};
use ringstorm_records::znode::{BlobHolder, NodeName};
use ringstorm_store::cluster::Trouble;
use ringstorm_store::outcome::Condition;

use super::Nimbus;
use super::code::{blob_key, topology_keys};
use super::said::TermSaid;
use crate::interface::{
    BlobNumbers, CodeFailure, CodeRequest, Conf, Content, HeldBlob, NimbusEffect, Refusal, Reply, RequestId, Submission,
};

use check::token_of;
use talks::{Names, names, number};
pub(super) use talks::{Replication, replication, wanted_replication};

/// How many may wait. Each holds a topology in memory.
const WAITING_MAX: usize = 100;

/// Submissions of a term.
#[derive(Debug, Default)]
pub(super) struct Submissions {
    waiting: VecDeque<(RequestId, Box<Submission>)>,
    current: Option<Box<Current>>,
    /// How many were numbered in this term.
    count: u64,
}

#[derive(Debug)]
struct Current {
    request: RequestId,
    submission: Box<Submission>,
    step: Step,
    is_asking: bool,
    /// Whether the base may have been written already.
    is_in_doubt: bool,
    /// Whose copies were said to be waited for.
    waits_for: Option<String>,
    troubles: u32,
    trouble_since: Option<Moment>,
    at: Option<Moment>,
}

#[derive(Clone, Debug)]
enum Step {
    /// Whether the name is free.
    Check,
    /// Credentials and numbers.
    Number(Arc<Taken>),
    /// The code directory stores it.
    Store(Arc<Taken>, BlobNumbers),
    /// The tree is told who holds it, and gets folders.
    Hold(Arc<Taken>, BlobNumbers),
    /// Others hold it, too.
    Replicate { taken: Arc<Taken>, since: Moment },
    /// The base.
    Base(Arc<Taken>),
}

/// What is stored.
#[derive(Debug)]
pub(super) struct Taken {
    topology: NodeName,
    conf: Arc<Conf>,
    code: Arc<StormTopology>,
    base: StormBase,
}

/// What a conversation has come to.
#[derive(Debug)]
pub(super) enum SubmissionSaid {
    Checked(Result<Names, Trouble>),
    Numbered(Result<BlobNumbers, Trouble>),
    Held(Result<(), Trouble>),
    Replicated(Result<Replication, Trouble>),
    Based(Result<(), Trouble>),
}

impl Submissions {
    /// The ids of topologies that do not live yet, and of which there may be something.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.current.iter().filter_map(|current| Some(current.step.taken()?.topology.to_string())).collect()
    }

    pub(super) fn due(&self) -> Option<Moment> {
        match &self.current {
            Some(current) => current.at,
            None if self.waiting.is_empty() => None,
            None => Some(Moment::default()),
        }
    }
}

impl Step {
    fn taken(&self) -> Option<&Arc<Taken>> {
        match self {
            Self::Check => None,
            Self::Number(taken)
            | Self::Store(taken, _)
            | Self::Hold(taken, _)
            | Self::Replicate { taken, .. }
            | Self::Base(taken) => Some(taken),
        }
    }
}

impl Nimbus {
    pub(super) fn take_submission(&mut self, id: RequestId, submission: Box<Submission>) {
        // What can be seen at once need not wait.
        if let Err(refusal) = accept(&self.settings.conf, &self.submission(&submission, 1)) {
            self.reply(id, Err(refusal.into()));
            return;
        }
        let Some(term) = self.term() else { return };
        if term.submissions.waiting.len() >= WAITING_MAX {
            self.reply(id, Err(Refusal::TryAgain(format!("{WAITING_MAX} submissions are waiting"))));
            return;
        }
        term.submissions.waiting.push_back((id, submission));
    }

    pub(super) fn wake_submission(&mut self) {
        let now = self.now.moment;
        let Some(term) = self.term() else { return };
        let submissions = &mut term.submissions;
        if submissions.current.is_none() {
            let Some((request, submission)) = submissions.waiting.pop_front() else { return };
            submissions.current = Some(Box::new(Current {
                request,
                submission,
                step: Step::Check,
                is_asking: false,
                is_in_doubt: false,
                waits_for: None,
                troubles: 0,
                trouble_since: None,
                at: Some(now),
            }));
        }
        let Some(current) = &mut submissions.current else { return };
        if !current.is_asking && current.at.is_some_and(|at| at <= now) {
            current.at = None;
            self.do_step();
        }
    }

    /// Does the step of the current submission, for the first time or again.
    fn do_step(&mut self) {
        let Some(term) = self.term() else { return };
        let leader = term.leadership.clone();
        let Some(current) = &mut term.submissions.current else { return };
        current.is_asking = true;
        match current.step.clone() {
            Step::Check => self
                .say_in_term(|tree| async move { TermSaid::Submission(SubmissionSaid::Checked(names(&tree).await)) }),
            Step::Number(taken) => {
                let credentials = current.submission.options.creds.clone();
                let own = self.address().clone();
                self.say_in_term(|tree| async move {
                    let numbers = number(&tree, &leader, &taken, credentials, &own).await;
                    TermSaid::Submission(SubmissionSaid::Numbered(numbers))
                });
            }
            Step::Store(taken, numbers) => {
                let upload = current.submission.upload.clone();
                self.effects.push(NimbusEffect::Code(CodeRequest::Store {
                    topology: taken.topology.clone(),
                    upload,
                    code: Arc::clone(&taken.code),
                    conf: Arc::clone(&taken.conf),
                    numbers,
                }));
            }
            Step::Hold(taken, numbers) => {
                let Some(session) = self.usable() else { return };
                let own = self.address().clone();
                self.say_in_term(|tree| async move {
                    let mut result = Ok(());
                    for (blob, number) in numbered(numbers) {
                        let holder = BlobHolder { nimbus: own.clone(), version: number };
                        let key = blob_key(&taken.topology, blob);
                        result = result.and(tree.hold_blob(session, &key, &holder).await);
                    }
                    if result.is_ok() {
                        result = tree.set_up_workers(&leader, &taken.topology).await;
                    }
                    TermSaid::Submission(SubmissionSaid::Held(result))
                });
            }
            Step::Replicate { taken, .. } => self.say_in_term(|tree| async move {
                let keys = topology_keys(&taken.topology);
                TermSaid::Submission(SubmissionSaid::Replicated(replication(&tree, &keys).await))
            }),
            Step::Base(taken) => self.say_in_term(|tree| async move {
                let result = tree.create_storm_base(&leader, &taken.topology, &taken.base).await;
                TermSaid::Submission(SubmissionSaid::Based(result))
            }),
        }
    }

    fn go_to(&mut self, step: Step) {
        let Some(current) = self.term().and_then(|term| term.submissions.current.as_mut()) else { return };
        current.step = step;
        current.is_asking = false;
        current.troubles = 0;
        current.trouble_since = None;
        self.do_step();
    }

    pub(super) fn hear_submission(&mut self, said: SubmissionSaid) {
        let now = self.now.moment;
        let look_again = now + self.settings.replication_period;
        let Some(current) = self.term().and_then(|term| term.submissions.current.as_mut()) else { return };
        match (said, current.step.clone()) {
            (SubmissionSaid::Checked(Ok(names)), _) => self.take_names(&names),
            (SubmissionSaid::Numbered(Ok(numbers)), Step::Number(taken)) => self.go_to(Step::Store(taken, numbers)),
            (SubmissionSaid::Held(Ok(())), Step::Hold(taken, numbers)) => {
                for (blob, number) in numbered(numbers) {
                    self.code.is_listed(&blob_key(&taken.topology, blob), number);
                }
                self.go_to(Step::Replicate { taken, since: now });
            }
            (SubmissionSaid::Replicated(Ok(replication)), Step::Replicate { taken, since }) => {
                let (wanted, limit) = wanted_replication(&taken.conf);
                let missing = (!replication.is_enough(wanted)).then(|| replication.missing(wanted));
                let is_over = missing.is_none() || limit.is_some_and(|limit| now.since(since) >= limit);
                // Who has just been asked for it needs a moment, and has nothing to say of it.
                let is_long = now.since(since) >= LACK_IS_SAID_AFTER;
                let is_new = !is_over && is_long && current.waits_for != missing;
                if !is_over {
                    current.is_asking = false;
                    current.troubles = 0;
                    current.trouble_since = None;
                    current.at = Some(look_again);
                    if is_new {
                        current.waits_for.clone_from(&missing);
                    }
                }
                self.note_skipped(replication.skipped);
                let topology = &taken.topology;
                match missing {
                    Some(missing) if is_over => {
                        self.note(format_args!("topology {topology} waits no longer for others, although {missing}"));
                    }
                    Some(missing) if is_new => self.note(format_args!(
                        "the submission of {topology} waits{}, since {missing}",
                        limit.map(|limit| format!(" for {} s at most", limit.as_secs())).unwrap_or_default()
                    )),
                    _ => {}
                }
                if is_over {
                    self.go_to(Step::Base(taken));
                }
            }
            (SubmissionSaid::Based(Ok(())), Step::Base(taken)) => self.submission_is_done(&taken.topology),
            (SubmissionSaid::Based(Err(trouble)), _) => {
                current.is_in_doubt |= matches!(trouble, Trouble::Unknown { .. });
                let is_in_doubt = current.is_in_doubt;
                if is_in_doubt && self.plants.unknown_is_failed() {
                    self.finish_submission(Err(Refusal::TryAgain(trouble.to_string())));
                } else {
                    self.submission_trouble(trouble);
                }
            }
            (
                SubmissionSaid::Checked(Err(trouble))
                | SubmissionSaid::Numbered(Err(trouble))
                | SubmissionSaid::Held(Err(trouble))
                | SubmissionSaid::Replicated(Err(trouble)),
                _,
            ) => self.submission_trouble(trouble),
            // Of a step that is over.
            (_, _) => {}
        }
    }

    fn submission_is_done(&mut self, topology: &NodeName) {
        self.note(format_args!("topology {topology} is there"));
        self.finish_submission(Ok(Reply::Submitted { topology: topology.clone() }));
        self.want_round();
    }

    /// Somebody has found the topology in the tree. If its submission did not know whether it was made, it does now, and
    /// does not make it once more. A write that is under way arrives before whatever becomes of the topology.
    pub(super) fn submission_is_seen(&mut self, topology: &NodeName) {
        let current = self.term().and_then(|term| term.submissions.current.as_ref());
        let is_open = current.is_some_and(|current| {
            !current.is_asking && matches!(&current.step, Step::Base(taken) if taken.topology == *topology)
        });
        if is_open {
            self.submission_is_done(topology);
        }
    }

    fn submission_trouble(&mut self, trouble: Trouble) {
        let (now, limit) = (self.now.moment, self.settings.give_up_after);
        let Some(current) = self.term().and_then(|term| term.submissions.current.as_mut()) else { return };
        current.is_asking = false;
        current.troubles += 1;
        let (troubles, name) = (current.troubles, current.submission.name.clone());
        let since = *current.trouble_since.get_or_insert(now);
        if let Some(Condition::TooLarge { .. }) = trouble.condition() {
            let why = format!("the topology is too large for ZooKeeper: {trouble}");
            self.finish_submission(Err(Refusal::InvalidTopology(why)));
        } else if now.since(since) >= limit {
            let why = format!("the submission of {name} does not succeed: {trouble}");
            let refusal = if current.is_in_doubt { Refusal::Unknown(why) } else { Refusal::TryAgain(why) };
            self.finish_submission(Err(refusal));
        } else {
            let at = now + self.settings.pause(troubles);
            if let Some(current) = self.term().and_then(|term| term.submissions.current.as_mut()) {
                current.at = Some(at);
            }
            self.note(format_args!("the submission of {name} is held up: {trouble}"));
        }
        self.heed(&trouble);
    }

    pub(super) fn submission_stored(&mut self, topology: &NodeName, result: Result<(), CodeFailure>) {
        let at = self.now.moment + self.settings.retry_pause_max;
        let current = self.term().and_then(|term| term.submissions.current.as_mut());
        let step = current.as_ref().map(|current| current.step.clone());
        let Some(Step::Store(taken, numbers)) =
            step.filter(|step| step.taken().is_some_and(|taken| taken.topology == *topology))
        else {
            // Of a term that is over. There is no such topology, and will be none.
            if result.is_ok() {
                for key in topology_keys(topology) {
                    self.effects.push(NimbusEffect::Code(CodeRequest::Remove { key }));
                }
            }
            return;
        };
        match result {
            Ok(()) => {
                for (blob, number) in numbered(numbers) {
                    let content = match blob {
                        TopologyBlob::Jar => Content::Opaque,
                        TopologyBlob::Code => Content::Code(Arc::clone(&taken.code)),
                        TopologyBlob::Conf => Content::Conf(Arc::clone(&taken.conf)),
                    };
                    self.take_own_content(HeldBlob { key: blob_key(&taken.topology, blob), number, content });
                }
                self.go_to(Step::Hold(taken, numbers));
            }
            Err(why @ CodeFailure::Upload(_)) => self.finish_submission(Err(Refusal::NoUpload(why.to_string()))),
            Err(why) => {
                let is_over = current.is_some_and(|current| {
                    current.is_asking = false;
                    current.troubles += 1;
                    current.at = Some(at);
                    current.troubles > STORE_TRIES
                });
                self.note(format_args!("the code of {topology} cannot be stored: {why}"));
                if is_over {
                    self.finish_submission(Err(Refusal::TryAgain(format!("the code cannot be stored: {why}"))));
                }
            }
        }
    }

    fn finish_submission(&mut self, reply: Result<Reply, Refusal>) {
        let Some(current) = self.term().and_then(|term| term.submissions.current.take()) else { return };
        self.reply(current.request, reply);
    }

    pub(super) fn end_submissions(&mut self, submissions: Submissions, why: &str) {
        let why = format!("this nimbus leads no longer: {why}");
        let refusal = |is_in_doubt| {
            if is_in_doubt { Refusal::Unknown(why.clone()) } else { Refusal::TryAgain(why.clone()) }
        };
        let mut in_doubt = None;
        if let Some(current) = submissions.current {
            let is_in_doubt = current.is_in_doubt || (current.is_asking && matches!(current.step, Step::Base(_)));
            in_doubt = token_of(&current.submission).filter(|_| is_in_doubt);
            self.reply(current.request, Err(refusal(is_in_doubt)));
        }
        for (id, submission) in submissions.waiting {
            // It may be the same one, asked for again by a client that has not heard.
            let is_in_doubt = in_doubt.is_some() && token_of(&submission) == in_doubt;
            self.reply(id, Err(refusal(is_in_doubt)));
        }
    }
}

/// How long others may take to fetch the code of a submission before it is said that they lack it.
const LACK_IS_SAID_AFTER: Duration = Duration::from_secs(5);

/// How often the code directory may fail before a submission is refused.
const STORE_TRIES: u32 = 3;

fn numbered(numbers: BlobNumbers) -> [(TopologyBlob, u32); 3] {
    [(TopologyBlob::Jar, numbers.jar), (TopologyBlob::Code, numbers.code), (TopologyBlob::Conf, numbers.conf)]
}
