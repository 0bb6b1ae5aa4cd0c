//! Messages: calls, answers and refusals, each a head and one struct.
//!
//! Written strictly (version, kind, name, sequence number), read strictly or in the older form (name, kind, sequence
//! number), as Storm's servers do.

use super::{DecodeError, Decoder, Encoder, Problem, Record, enumerations, records};

/// The first two bytes of a strict message.
const VERSION_1: u32 = 0x8001_0000;
const VERSION_MASK: u32 = 0xffff_0000;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A call that wants an answer.
    Call = 1,
    /// The answer: a result or an exception that the call declares.
    Reply = 2,
    /// A refusal that no call declares: an [`ApplicationException`].
    Exception = 3,
    /// A call that wants no answer. Storm has none.
    Oneway = 4,
}

impl MessageKind {
    fn from_code(code: u8) -> Option<Self> {
        [Self::Call, Self::Reply, Self::Exception, Self::Oneway].into_iter().find(|kind| *kind as u8 == code)
    }
}

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// What the message is.
    pub kind: MessageKind,
    /// The method. An answer repeats that of its call.
    pub method: &'a str,
    /// Chosen by the caller. An answer repeats it.
    pub sequence: i32,
}

impl<'a> Head<'a> {
    /// Reads the head of a message; the rest is its struct.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn read(message: &'a [u8]) -> Result<(Self, Decoder<'a>), DecodeError> {
        let mut input = Decoder::new(message);
        let first = input.i32()?.cast_unsigned();
        if first & VERSION_MASK == VERSION_1 {
            let kind = Self::kind(&input, first.to_be_bytes()[3])?;
            let method = input.text()?;
            return Ok((Self { kind, method, sequence: input.i32()? }, input));
        }
        if first.cast_signed() < 0 {
            return Err(input.error(Problem::Version(first)));
        }
        // The older form starts with the name.
        let mut input = Decoder::new(message);
        let method = input.text()?;
        let code = input.byte()?;
        let kind = Self::kind(&input, code)?;
        Ok((Self { kind, method, sequence: input.i32()? }, input))
    }

    fn kind(input: &Decoder<'_>, code: u8) -> Result<MessageKind, DecodeError> {
        MessageKind::from_code(code).ok_or_else(|| input.error(Problem::MessageKind(code)))
    }

    /// The bytes of the head, strict.
    pub fn write(self) -> Encoder {
        let mut output = Encoder::default();
        output.i32((VERSION_1 | self.kind as u32).cast_signed());
        output.binary(self.method.as_bytes());
        output.i32(self.sequence);
        output
    }
}

/// A whole message of a bare record.
pub fn message<R: Record>(head: Head<'_>, record: &R) -> Vec<u8> {
    let mut output = head.write();
    record.encode(&mut output);
    output.into_bytes()
}

/// Reads the record of a message after its head.
///
/// # Errors
/// The rest is not one such record.
pub fn body<R: Record>(mut input: Decoder<'_>) -> Result<R, DecodeError> {
    let record = R::decode(&mut input)?;
    input.finish()?;
    Ok(record)
}

enumerations! {
    /// Why a call was refused, by Thrift's numbers.
    ApplicationExceptionKind {
        0: Unknown as "UNKNOWN",
        /// There is no such method.
        1: UnknownMethod as "UNKNOWN_METHOD",
        2: InvalidMessageType as "INVALID_MESSAGE_TYPE",
        3: WrongMethodName as "WRONG_METHOD_NAME",
        4: BadSequenceId as "BAD_SEQUENCE_ID",
        /// The server had no result to send.
        5: MissingResult as "MISSING_RESULT",
        /// The server failed in a way that the method does not declare. Storm's nimbus that is not leader answers so.
        6: InternalError as "INTERNAL_ERROR",
        /// The arguments cannot be read.
        7: ProtocolError as "PROTOCOL_ERROR",
        8: InvalidTransform as "INVALID_TRANSFORM",
        9: InvalidProtocol as "INVALID_PROTOCOL",
        10: UnsupportedClientType as "UNSUPPORTED_CLIENT_TYPE",
    }
}

records! {
    /// A refusal that no method declares.
    #[derive(Eq)]
    exception ApplicationException {
        /// What happened, in words.
        1: message: Option<String>,
        2: kind as "type": Option<ApplicationExceptionKind>,
    }
}

impl std::fmt::Display for ApplicationException {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.kind.unwrap_or(ApplicationExceptionKind::Unknown);
        write!(formatter, "{kind}: {}", self.message.as_deref().unwrap_or("the server gave no reason"))
    }
}
