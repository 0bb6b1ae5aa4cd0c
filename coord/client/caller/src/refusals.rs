//! How a refusal of nimbus travels.
//!
//! `AlreadyAlive`, `NotAlive` and `InvalidTopology` are Storm's exceptions where the method declares them. Everything else
//! is an [`ApplicationException`] of kind `INTERNAL_ERROR`, as in Storm, and its text says what it is:
//!
//! | refusal | text |
//! | --- | --- |
//! | `NotLeader` | Storm's: "not a leader, current leader is HOST:PORT:TLSPORT" or "... is not known" |
//! | `IllegalState` with Storm's text | "No transition for event: ..." |
//! | `TryAgain`, `NoUpload`, `Unknown` | the ending that their display has |
//! | all others | "...; nothing was done" |
//!
//! A text without any of these says nothing about whether something was done: it is read as `Unknown`. So is whatever
//! Apache Storm's own nimbus says when it fails.
//!
//! Invariants: what [`to_wire`] writes, [`from_wire`] reads as the same refusal, text by text; one that the method cannot
//! declare comes back as `IllegalState` with its text. Threading: pure functions. Errors: none; any text is some refusal.

use ringstorm_nimbus::interface::Refusal;
use ringstorm_records::nimbus::{Method, NimbusException, failure, reply};
use ringstorm_records::records::{AlreadyAliveException, InvalidTopologyException, NotAliveException};
use ringstorm_records::thrift::message::{ApplicationException, ApplicationExceptionKind};

const NOT_LEADER: &str = "not a leader, current leader is ";
const NO_TRANSITION: &str = "No transition for event: ";
const NOT_KNOWN: &str = "not known";
const TRY_AGAIN: &str = "; nothing was done, try again";
const NO_UPLOAD: &str = "; upload the file again, to the leader, and submit again";
const UNKNOWN: &str = "; whether it was done is not known: look, or ask for the same again";
const NOTHING_DONE: &str = "; nothing was done";

/// A refusal of a text.
type OfText = fn(String) -> Refusal;

/// The endings that say what a text means.
const ENDINGS: [(&str, OfText); 4] = [
    (TRY_AGAIN, Refusal::TryAgain),
    (NO_UPLOAD, Refusal::NoUpload),
    (UNKNOWN, Refusal::Unknown),
    (NOTHING_DONE, Refusal::IllegalState),
];

/// How a refusal travels.
#[derive(Clone, Debug, PartialEq)]
pub enum WireRefusal {
    /// As an exception that the method declares.
    Exception(NimbusException),
    /// As a failure that no method declares.
    Failure(ApplicationException),
}

/// The form in which a method refuses.
pub fn to_wire<M: Method>(refusal: &Refusal) -> WireRefusal {
    let exception: Option<NimbusException> = match refusal {
        Refusal::AlreadyAlive(msg) => Some(AlreadyAliveException { msg: msg.clone() }.into()),
        Refusal::NotAlive(msg) => Some(NotAliveException { msg: msg.clone() }.into()),
        Refusal::InvalidTopology(msg) => Some(InvalidTopologyException { msg: msg.clone() }.into()),
        _ => None,
    };
    match exception.filter(|exception| M::exception_id(exception).is_some()) {
        Some(exception) => WireRefusal::Exception(exception),
        None => WireRefusal::Failure(ApplicationException {
            message: Some(text_of(refusal)),
            kind: Some(ApplicationExceptionKind::InternalError),
        }),
    }
}

/// What a nimbus means.
pub fn from_wire(refusal: WireRefusal) -> Refusal {
    match refusal {
        WireRefusal::Exception(exception) => of_exception(exception),
        WireRefusal::Failure(exception) => of_failure(exception),
    }
}

/// The whole message of an answer.
pub fn answer<M: Method>(sequence: i32, result: Result<M::Success, Refusal>) -> Vec<u8> {
    let refusal = match result {
        Ok(success) => return reply::<M>(sequence, &Ok(success)),
        Err(refusal) => refusal,
    };
    match to_wire::<M>(&refusal) {
        WireRefusal::Exception(exception) => reply::<M>(sequence, &Err(exception)),
        WireRefusal::Failure(exception) => {
            let kind = exception.kind.unwrap_or(ApplicationExceptionKind::InternalError);
            failure(M::NAME, sequence, kind, exception.message.unwrap_or_default())
        }
    }
}

/// A text that is read as this refusal again.
fn text_of(refusal: &Refusal) -> String {
    let text = refusal.to_string();
    if of_text(&text) == *refusal { text } else { text + NOTHING_DONE }
}

fn of_text(text: &str) -> Refusal {
    let ended = ENDINGS.iter().find_map(|(ending, refusal)| Some(refusal(text.strip_suffix(ending)?.to_owned())));
    if let Some(refusal) = ended {
        return refusal;
    }
    if let Some(leader) = text.strip_prefix(NOT_LEADER) {
        // Storm's own nimbus writes the leader in the manner of Java; a seed says who it is.
        return Refusal::NotLeader { leader: leader.parse().ok().filter(|_| leader != NOT_KNOWN) };
    }
    match text.starts_with(NO_TRANSITION) {
        true => Refusal::IllegalState(text.to_owned()),
        false => Refusal::Unknown(text.to_owned()),
    }
}

fn of_exception(exception: NimbusException) -> Refusal {
    match exception {
        NimbusException::AlreadyAlive(exception) => Refusal::AlreadyAlive(exception.msg),
        NimbusException::NotAlive(exception) => Refusal::NotAlive(exception.msg),
        NimbusException::InvalidTopology(exception) => Refusal::InvalidTopology(exception.msg),
        NimbusException::Authorization(exception) => {
            Refusal::IllegalState(format!("nimbus does not allow it: {}", exception.msg))
        }
        other => Refusal::IllegalState(other.to_string()),
    }
}

fn of_failure(exception: ApplicationException) -> Refusal {
    use ApplicationExceptionKind as Kind;
    match exception.kind {
        None | Some(Kind::InternalError | Kind::Unknown | Kind::Unrecognized(_)) => {
            of_text(exception.message.as_deref().unwrap_or("nimbus gave no reason"))
        }
        Some(Kind::MissingResult | Kind::BadSequenceId) => Refusal::Unknown(exception.to_string()),
        // It did not get as far as doing something.
        Some(_) => Refusal::IllegalState(exception.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ringstorm_records::nimbus::{
        Activate, Deactivate, GetLeader, GetTopologySummaries, IsTopologyNameAllowed, KillTopology,
        KillTopologyWithOpts, Rebalance, SendSupervisorWorkerHeartbeat, SubmitTopology, SubmitTopologyWithOpts,
        read_reply,
    };
    use ringstorm_records::payload::NimbusAddress;

    use super::*;
    use crate::connection::CallFailure;
    use crate::requests::refusal_of;

    fn refusals() -> impl Strategy<Value = Refusal> {
        const ALL_ENDINGS: &[&str] = &[TRY_AGAIN, NO_UPLOAD, UNKNOWN, NOTHING_DONE, "."];
        const BEGINNINGS: &[&str] = &[NOT_LEADER, NO_TRANSITION, "", "not a leader, current leader is a:1:0"];
        let texts = (prop::sample::select(BEGINNINGS), any::<String>(), prop::sample::select(ALL_ENDINGS));
        let texts = prop_oneof![
            any::<String>(),
            Just(String::new()),
            texts.prop_map(|(beginning, text, ending)| format!("{beginning}{text}{ending}")),
        ];
        let address = ("[a-z:][a-z0-9:.-]{0,20}", any::<u16>(), any::<u16>());
        let address = address.prop_map(|(host, port, tls)| NimbusAddress::new(&host, port, tls).ok());
        let kinds: [OfText; 7] = [
            Refusal::AlreadyAlive,
            Refusal::NotAlive,
            Refusal::InvalidTopology,
            Refusal::IllegalState,
            Refusal::NoUpload,
            Refusal::TryAgain,
            Refusal::Unknown,
        ];
        prop_oneof![
            7 => (prop::sample::select(kinds.to_vec()), texts).prop_map(|(kind, text)| kind(text)),
            1 => address.prop_map(|leader| Refusal::NotLeader { leader }),
        ]
    }

    /// What arrives, through the bytes of a whole answer.
    fn travelled<M: Method>(refusal: &Refusal) -> Refusal {
        let message = answer::<M>(7, Err(refusal.clone()));
        let failure = match read_reply::<M>(7, &message) {
            Ok(_) => panic!("it was answered"),
            Err(error) => CallFailure::from(error),
        };
        refusal_of(failure).expect("an answer came")
    }

    fn check<M: Method>(refusal: &Refusal) -> Result<(), TestCaseError> {
        let is_declared = matches!(to_wire::<M>(refusal), WireRefusal::Exception(_));
        let expected = match refusal {
            Refusal::AlreadyAlive(text) | Refusal::NotAlive(text) | Refusal::InvalidTopology(text) if !is_declared => {
                Refusal::IllegalState(text.clone())
            }
            other => other.clone(),
        };
        prop_assert_eq!(travelled::<M>(refusal), expected, "{}", M::NAME);
        Ok(())
    }

    proptest! {
        #[test]
        fn each_refusal_arrives_as_it_was_meant_through_every_method_that_carries_it(refusal in refusals()) {
            check::<SubmitTopology>(&refusal)?;
            check::<SubmitTopologyWithOpts>(&refusal)?;
            check::<KillTopology>(&refusal)?;
            check::<KillTopologyWithOpts>(&refusal)?;
            check::<Activate>(&refusal)?;
            check::<Deactivate>(&refusal)?;
            check::<Rebalance>(&refusal)?;
            check::<IsTopologyNameAllowed>(&refusal)?;
            check::<GetTopologySummaries>(&refusal)?;
            check::<GetLeader>(&refusal)?;
            check::<SendSupervisorWorkerHeartbeat>(&refusal)?;
        }
    }

    #[test]
    fn what_storm_says_travels_in_storms_words() {
        let text = "No transition for event: kill, status: KILLED storm-id: words-1-1795972824";
        let WireRefusal::Failure(failure) = to_wire::<KillTopology>(&Refusal::IllegalState(text.into())) else {
            panic!("no exception is declared for that")
        };
        assert_eq!(failure.message.as_deref(), Some(text));
        assert_eq!(failure.kind, Some(ApplicationExceptionKind::InternalError));
        let refusal = Refusal::NotLeader { leader: Some(NimbusAddress::new("n1.example", 6627, 0).unwrap()) };
        let WireRefusal::Failure(failure) = to_wire::<KillTopology>(&refusal) else { panic!("it is a failure") };
        assert_eq!(failure.message.as_deref(), Some("not a leader, current leader is n1.example:6627:0"));
    }

    #[test]
    fn what_apache_storms_nimbus_says_is_taken_for_no_more_than_it_says() {
        let failed = |kind, text: &str| {
            from_wire(WireRefusal::Failure(ApplicationException { message: Some(text.into()), kind: Some(kind) }))
        };
        let internal = |text| failed(ApplicationExceptionKind::InternalError, text);
        assert!(matches!(internal("Internal error processing killTopology"), Refusal::Unknown(_)));
        let java = "not a leader, current leader is NimbusInfo{host='n1', port=6627, tlsPort=0, isLeader=true}";
        assert_eq!(internal(java), Refusal::NotLeader { leader: None });
        let missing = failed(ApplicationExceptionKind::MissingResult, "getLeader failed: unknown result");
        assert!(matches!(missing, Refusal::Unknown(_)));
        let unknown = failed(ApplicationExceptionKind::UnknownMethod, "Invalid method name: 'x'");
        assert!(matches!(unknown, Refusal::IllegalState(_)));
    }
}
