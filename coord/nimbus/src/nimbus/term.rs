//! What a leader has, and how its term ends.
//!
//! Invariant: each request that a term took is answered by it, at its end at the latest: as unknown where a write was
//! under way.

use std::future::Future;

use ringstorm_control::time::Moment;
use ringstorm_store::cluster::{Leadership, Tree, Trouble};

use super::Nimbus;
use super::acts::Acts;
use super::clean_up::CleanUps;
use super::leadership::{Gaining, Survey};
use super::rounds::Rounds;
use super::said::{Said, TermSaid};
use super::submission::Submissions;
use super::transitions::Delays;

/// Whether this nimbus leads.
#[derive(Debug, Default)]
pub(super) enum Lead {
    /// It does not.
    #[default]
    No,
    /// It is first in the queue, and sees whether it can.
    Gaining(Gaining),
    /// It does.
    Leads(Box<Term>),
}

/// What a leader has.
#[derive(Debug)]
pub(super) struct Term {
    /// No two terms of a process have the same.
    pub(super) number: u64,
    /// Since when this nimbus is first in the queue.
    pub(super) since: Moment,
    pub(super) leadership: Leadership,
    pub(super) submissions: Submissions,
    pub(super) acts: Acts,
    pub(super) delays: Delays,
    pub(super) rounds: Rounds,
    pub(super) clean_ups: CleanUps,
}

impl Lead {
    pub(super) fn leadership(&self) -> Option<&Leadership> {
        match self {
            Self::No => None,
            Self::Gaining(gaining) => Some(&gaining.leadership),
            Self::Leads(term) => Some(&term.leadership),
        }
    }

    pub(super) fn due(&self) -> Option<Moment> {
        match self {
            Self::No => None,
            Self::Gaining(gaining) => gaining.due(),
            Self::Leads(term) => {
                let parts = [
                    term.submissions.due(),
                    term.acts.due(),
                    term.delays.due(),
                    term.rounds.due(term.acts.is_free()),
                    term.clean_ups.due(term.acts.is_free()),
                ];
                parts.into_iter().flatten().min()
            }
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Self::No => None,
            Self::Gaining(gaining) => Some(gaining.term),
            Self::Leads(term) => Some(term.number),
        }
    }
}

impl Nimbus {
    /// The term, while it lasts.
    pub(super) fn term(&mut self) -> Option<&mut Term> {
        match &mut self.lead {
            Lead::Leads(term) => Some(term),
            Lead::No | Lead::Gaining(_) => None,
        }
    }

    /// Begins a conversation of the term that lasts now.
    pub(super) fn say_in_term<B>(&mut self, body: impl FnOnce(Tree) -> B)
    where
        B: Future<Output = TermSaid> + Send + 'static,
    {
        let Some(term) = self.lead.number() else { return };
        self.say(|tree| {
            let body = body(tree);
            async move { Said::Term { term, said: body.await } }
        });
    }

    pub(super) fn hear_term(&mut self, term: u64, said: TermSaid) {
        if self.lead.number() != Some(term) {
            return;
        }
        match said {
            TermSaid::Surveyed(survey) => self.hear_survey(survey),
            TermSaid::Submission(said) => self.hear_submission(said),
            TermSaid::Act(said) => self.hear_act(said),
            TermSaid::Beats(beats) => self.hear_beats(*beats),
        }
    }

    /// Whether every nimbus has had its time to say which code it holds.
    pub(super) fn is_known_who_holds_code(&self) -> bool {
        let wait = self.settings.lost_code_wait;
        matches!(&self.lead, Lead::Leads(term) if self.now.moment.since(term.since) >= wait)
    }

    pub(super) fn begin_term(&mut self, survey: &Survey) {
        self.recover_delays(&survey.bases);
        self.tell_who_leads();
    }

    pub(super) fn wake_term(&mut self) {
        if let Lead::Gaining(gaining) = &mut self.lead {
            if gaining.due().is_some_and(|at| at <= self.now.moment) {
                self.survey();
            }
            return;
        }
        self.wake_submission();
        self.wake_delays();
        self.wake_beats();
        self.wake_acts();
    }

    /// Ends the term, if there is one: stops to act, and answers everybody.
    pub(super) fn end_term(&mut self, why: &str) {
        match std::mem::take(&mut self.lead) {
            Lead::No => {}
            Lead::Gaining(_) => self.note(format_args!("this nimbus does not lead: {why}")),
            Lead::Leads(term) => {
                self.note(format_args!("this nimbus leads no longer: {why}"));
                self.end_submissions(term.submissions, why);
                self.end_acts(term.acts, why);
            }
        }
    }

    /// What a trouble of a leader means for its term: when it was deposed, it looks where it stands now.
    pub(super) fn heed(&mut self, trouble: &Trouble) {
        if *trouble == Trouble::Deposed {
            self.look_at_standing();
        }
    }
}
