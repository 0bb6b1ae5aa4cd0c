//! The machine: one request to a cluster.
//!
//! What changes something goes to the leader: one of the seeds says who that is, whoever does not lead any more says who
//! does. What only reads goes to the seeds themselves, since any nimbus answers it. A submission is preceded by the
//! upload of its file to the same nimbus; anything else that changes a topology by a look at it, so that after a call
//! without an answer it is known which topology was meant.
//!
//! Invariants: one call at a time. Between two pauses each seed is asked once, and the leader is followed from one to
//! the next a few times, so that the whole is bounded. Threading: one caller at a time. Errors: in the result.

mod named;

use ringstorm_control::machine::Machine;
use ringstorm_control::time::{Moment, Now};
use ringstorm_nimbus::interface::{Refusal, Reply, Request, SUBMISSION_TOKEN, Submission, Upload};
use ringstorm_records::payload::NimbusAddress;
use ringstorm_records::records::NimbusSummary;
use serde_json::Value;

use crate::interface::{CallId, CallOutcome, ClientEffect, ClientError, ClientInput, Finding, FoundState, Success};
use crate::settings::ClientSettings;
use named::{After, Target, after_a_look, named};

/// How often in a row one nimbus names another as the leader before there is a pause.
const HOPS_MAX: u32 = 4;

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Who leads.
    Leader,
    /// The request, of any nimbus.
    Read,
    /// The file of a submission.
    Upload,
    /// What the topology is.
    Look,
    /// The request, of the leader.
    Act,
}

/// What it does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// It goes on then.
    Due(Moment),
    /// It waits for an outcome.
    Waits(CallId, Purpose),
    /// There is a result.
    Over,
}

/// A request under way.
#[derive(Debug)]
pub struct Client {
    request: Request,
    settings: ClientSettings,
    step: Step,
    next_call: u64,
    /// How many pauses there were.
    pauses: u32,
    /// How many seeds were asked since the last one.
    seeds_asked: usize,
    /// The seed that is asked next.
    seed: usize,
    hops: u32,
    leader: Option<NimbusAddress>,
    /// Where the file of the submission is.
    upload: Option<(NimbusAddress, Upload)>,
    /// The topology that is meant.
    target: Target,
    /// A call for the request itself got no answer. With the reason.
    doubt: Option<String>,
    /// What nimbus refused with while there was doubt.
    refusal: Option<Refusal>,
    /// Why it could not be done the last time.
    trouble: String,
    /// Why it cannot be done at all.
    fault: Option<ClientError>,
}

impl Client {
    /// A request, which begins with the first [`Machine::wake`]. `token` is a random text that no other request has: by
    /// it nimbus knows a submission that is made again. One that the configuration holds already stays.
    pub fn new(now: Now, request: Request, settings: ClientSettings, token: &str) -> Self {
        let mut fault = settings.seeds.is_empty().then_some(ClientError::NoSeeds);
        let request = match request {
            Request::Submit(mut submission) => {
                match with_token(&submission.conf, token) {
                    Ok(conf) => submission.conf = conf,
                    Err(why) => fault = Some(ClientError::Conf(why)),
                }
                Request::Submit(submission)
            }
            other => other,
        };
        Self {
            request,
            settings,
            step: Step::Due(now.moment),
            next_call: 0,
            pauses: 0,
            seeds_asked: 0,
            seed: 0,
            hops: 0,
            leader: None,
            upload: None,
            target: Target::default(),
            doubt: None,
            refusal: None,
            trouble: "nobody was asked".into(),
            fault,
        }
    }

    /// Ends the request, since the file of the submission cannot be sent, now or later; `why` says so. What the request
    /// has come to: nothing, unless an earlier call is in doubt. Nothing follows.
    pub fn end_without_file(&mut self, why: String) -> ClientError {
        self.step = Step::Over;
        match self.doubt.take() {
            Some(doubt) => ClientError::InDoubt(format!("{doubt}; then {why}")),
            None => ClientError::File(why),
        }
    }

    /// The next call: who is asked, what for.
    fn next(&self) -> (NimbusAddress, Purpose) {
        let seed = self.settings.seeds[self.seed % self.settings.seeds.len()].clone();
        if !is_for_the_leader(&self.request) {
            return (seed, Purpose::Read);
        }
        let Some(leader) = self.leader.clone() else { return (seed, Purpose::Leader) };
        let has_file = self.upload.as_ref().is_some_and(|(at, _)| *at == leader);
        let purpose = match &self.request {
            Request::Submit(_) if !has_file => Purpose::Upload,
            _ if named(&self.request).is_some() && !self.target.is_looked_at => Purpose::Look,
            _ => Purpose::Act,
        };
        (leader, purpose)
    }

    /// Does what is next.
    fn go_on(&mut self) -> Vec<ClientEffect> {
        if let Some(fault) = self.fault.take() {
            return vec![self.finish(Err(fault))];
        }
        let (address, purpose) = self.next();
        let call = CallId(self.next_call);
        self.next_call += 1;
        self.step = Step::Waits(call, purpose);
        let request = match purpose {
            Purpose::Upload => return vec![ClientEffect::Upload { call, address }],
            Purpose::Leader => Request::Leader,
            Purpose::Look => Request::Topologies,
            Purpose::Read | Purpose::Act => self.whole_request(),
        };
        vec![ClientEffect::Call { call, address, request: Box::new(request) }]
    }

    /// The request, a submission with the file that was uploaded.
    fn whole_request(&self) -> Request {
        match (&self.request, &self.upload) {
            (Request::Submit(submission), Some((_, upload))) => {
                Request::Submit(Box::new(Submission { upload: upload.clone(), ..(**submission).clone() }))
            }
            (request, _) => request.clone(),
        }
    }

    fn finish(&mut self, result: Result<Success, ClientError>) -> ClientEffect {
        self.step = Step::Over;
        ClientEffect::Done(result)
    }

    fn finish_found(&mut self, state: FoundState) -> Vec<ClientEffect> {
        let name = named(&self.request).unwrap_or_default().to_owned();
        vec![self.finish(Ok(Success::Found(Finding { name, state })))]
    }

    /// Tries again after a pause, from the question who leads, or gives up.
    fn pause(&mut self, now: Now, why: String) -> Vec<ClientEffect> {
        self.trouble = why;
        self.leader = None;
        (self.seeds_asked, self.hops) = (0, 0);
        if self.pauses == self.settings.retry_times {
            let result = match self.doubt.take() {
                Some(doubt) => Err(ClientError::InDoubt(format!("{doubt}; then {}", self.trouble))),
                None => Err(ClientError::GivenUp(self.trouble.clone())),
            };
            return vec![self.finish(result)];
        }
        let pause = self.settings.pause(self.pauses);
        self.pauses += 1;
        self.step = Step::Due(now.moment + pause);
        vec![ClientEffect::Note(format!("{}; trying again in {} s", self.trouble, pause.as_secs_f64()))]
    }

    /// A seed was of no use: the next one, or a pause when each was asked.
    fn next_seed(&mut self, now: Now, why: String) -> Vec<ClientEffect> {
        self.seed = (self.seed + 1) % self.settings.seeds.len();
        self.seeds_asked += 1;
        if self.seeds_asked >= self.settings.seeds.len() {
            return self.pause(now, why);
        }
        self.trouble = why;
        self.go_on()
    }

    /// Another nimbus leads, or nobody knows who.
    fn follow(&mut self, now: Now, leader: Option<NimbusAddress>) -> Vec<ClientEffect> {
        self.hops += 1;
        match leader {
            Some(leader) if self.hops <= HOPS_MAX => {
                self.leader = Some(leader);
                self.go_on()
            }
            _ => self.pause(now, "no nimbus says that it leads".into()),
        }
    }

    fn heard(&mut self, now: Now, purpose: Purpose, outcome: CallOutcome) -> Vec<ClientEffect> {
        match purpose {
            Purpose::Leader => match outcome {
                CallOutcome::Answered(Ok(Reply::Leader(summary))) => match address_of(&summary) {
                    Ok(leader) => {
                        self.leader = Some(leader);
                        self.go_on()
                    }
                    Err(why) => self.next_seed(now, why),
                },
                outcome => self.next_seed(now, trouble_of(outcome)),
            },
            Purpose::Read => match outcome {
                CallOutcome::Answered(Ok(reply)) => vec![self.finish(Ok(Success::Answered(reply)))],
                CallOutcome::Answered(Err(refusal)) if is_final(&refusal) => {
                    vec![self.finish(Err(ClientError::Refused(refusal)))]
                }
                outcome => self.next_seed(now, trouble_of(outcome)),
            },
            Purpose::Look => match outcome {
                CallOutcome::Answered(Ok(Reply::Topologies(topologies))) => {
                    match after_a_look(&self.request, &mut self.target, &topologies, self.doubt.is_some()) {
                        After::Act => match self.refusal.take() {
                            Some(refusal) => vec![self.finish(Err(ClientError::Refused(refusal)))],
                            None => self.go_on(),
                        },
                        After::Found(state) => self.finish_found(state),
                        After::Refused(refusal) => vec![self.finish(Err(ClientError::Refused(refusal)))],
                    }
                }
                CallOutcome::Answered(Err(Refusal::NotLeader { leader })) => self.follow(now, leader),
                outcome => self.pause(now, trouble_of(outcome)),
            },
            Purpose::Act => self.acted(now, outcome),
            // Its outcome is another input.
            Purpose::Upload => self.pause(now, "the upload got an answer of another kind".into()),
        }
    }

    /// What became of the request itself.
    fn acted(&mut self, now: Now, outcome: CallOutcome) -> Vec<ClientEffect> {
        let refusal = match outcome {
            CallOutcome::Answered(Ok(reply)) => return vec![self.finish(Ok(Success::Answered(reply)))],
            CallOutcome::NotSent(why) => return self.pause(now, why),
            CallOutcome::Unknown(why) => return self.doubted(now, why),
            CallOutcome::Answered(Err(refusal)) => refusal,
        };
        match refusal {
            Refusal::NotLeader { leader } => self.follow(now, leader),
            Refusal::TryAgain(why) => self.pause(now, why),
            Refusal::Unknown(why) => self.doubted(now, why),
            Refusal::NoUpload(why) => {
                self.upload = None;
                self.pause(now, why)
            }
            // It was alive when it was looked up.
            Refusal::NotAlive(_)
                if self.doubt.is_some() && self.target.is_known() && matches!(self.request, Request::Kill { .. }) =>
            {
                self.finish_found(FoundState::WasKilled)
            }
            // It may be in no state for it because it was done.
            refusal @ Refusal::IllegalState(_) if self.doubt.is_some() && self.refusal.is_none() => {
                self.refusal = Some(refusal);
                self.target.is_looked_at = false;
                self.go_on()
            }
            // A name that is alive by another submission says nothing of what this one made, and somebody has killed
            // since.
            refusal => {
                let error = match (refusal, self.doubt.take()) {
                    (Refusal::AlreadyAlive(why), Some(doubt)) => {
                        ClientError::InDoubt(format!("{doubt}; then {why}, by another submission"))
                    }
                    (refusal, _) => ClientError::Refused(refusal),
                };
                vec![self.finish(Err(error))]
            }
        }
    }

    /// Nobody knows whether it was done.
    fn doubted(&mut self, now: Now, why: String) -> Vec<ClientEffect> {
        self.doubt = Some(why.clone());
        self.refusal = None;
        self.target.is_looked_at = false;
        self.pause(now, why)
    }
}

impl Machine for Client {
    type Input = ClientInput;
    type Effect = ClientEffect;

    /// An outcome of another call than the one under way is passed over.
    fn handle(&mut self, now: Now, input: ClientInput) -> Vec<ClientEffect> {
        match (&self.step, input) {
            (Step::Waits(due, purpose), ClientInput::Called { call, outcome }) if *due == call => {
                let purpose = *purpose;
                self.heard(now, purpose, outcome)
            }
            (Step::Waits(due, Purpose::Upload), ClientInput::Uploaded { call, outcome }) if *due == call => {
                match (outcome, self.leader.clone()) {
                    (Ok(upload), Some(leader)) => {
                        self.upload = Some((leader, upload));
                        self.go_on()
                    }
                    (Ok(_), None) => self.pause(now, "nobody leads".into()),
                    (Err(why), _) => self.pause(now, format!("the file was not uploaded: {why}")),
                }
            }
            _ => Vec::new(),
        }
    }

    fn wake(&mut self, now: Now) -> Vec<ClientEffect> {
        match self.step {
            Step::Due(due) if due <= now.moment => self.go_on(),
            _ => Vec::new(),
        }
    }

    fn wake_at(&self) -> Option<Moment> {
        match self.step {
            Step::Due(due) => Some(due),
            Step::Waits(..) | Step::Over => None,
        }
    }
}

fn is_for_the_leader(request: &Request) -> bool {
    // What is only set comes to the same when it is set again: no look is needed.
    let is_set = matches!(request, Request::SetLogConfig { .. } | Request::SetCredentials { .. });
    matches!(request, Request::Submit(_)) || is_set || named(request).is_some()
}

/// Whether asking somebody else brings nothing else.
fn is_final(refusal: &Refusal) -> bool {
    !matches!(refusal, Refusal::NotLeader { .. } | Refusal::TryAgain(_) | Refusal::Unknown(_))
}

fn address_of(summary: &NimbusSummary) -> Result<NimbusAddress, String> {
    let port = |port: i32| u16::try_from(port).map_err(|_| format!("{port} is no port"));
    let (thrift, tls) = (port(summary.port)?, port(summary.tls_port.unwrap_or(0))?);
    NimbusAddress::new(&summary.host, thrift, tls).map_err(|error| error.to_string())
}

/// Why a call brought nothing.
fn trouble_of(outcome: CallOutcome) -> String {
    match outcome {
        CallOutcome::Answered(Ok(reply)) => format!("an answer of another kind came: {reply:?}"),
        CallOutcome::Answered(Err(refusal)) => refusal.to_string(),
        CallOutcome::NotSent(why) | CallOutcome::Unknown(why) => why,
    }
}

/// A configuration with a token.
fn with_token(conf: &str, token: &str) -> Result<String, String> {
    let mut conf: Value = serde_json::from_str(conf).map_err(|error| error.to_string())?;
    let object = conf.as_object_mut().ok_or("it is another kind of value")?;
    object.entry(SUBMISSION_TOKEN).or_insert_with(|| token.into());
    Ok(conf.to_string())
}
