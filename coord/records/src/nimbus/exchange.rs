//! Calls and answers as messages.

use crate::records::{
    AlreadyAliveException, AuthorizationException, IllegalStateException, InvalidTopologyException,
    KeyAlreadyExistsException, KeyNotFoundException, NotAliveException,
};
use crate::thrift::message::{
    ApplicationException, ApplicationExceptionKind, Head, MessageKind, body, message as whole,
};
use crate::thrift::{DecodeError, Decoder, Encoder, Field, Kind, Problem, Record, Schema, Type, Wire};

macro_rules! exceptions {
    ($($(#[$attribute:meta])* $name:ident($record:ident),)*) => {
        /// What a method of nimbus may be refused with. Which one may be with which stands with the methods.
        #[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
        pub enum NimbusException {
            $($(#[$attribute])* #[error("{}", .0.msg)] $name($record),)*
        }

        $(impl From<$record> for NimbusException {
            fn from(exception: $record) -> Self {
                Self::$name(exception)
            }
        })*

        impl NimbusException {
            fn encode(&self, id: i16, output: &mut Encoder) {
                match self {
                    $(Self::$name(exception) => Field::write(exception, id, output),)*
                }
            }
        }
    };
}

exceptions! {
    /// A topology of that name exists.
    AlreadyAlive(AlreadyAliveException),
    /// There is no such topology.
    NotAlive(NotAliveException),
    /// The topology, its configuration or what is asked of it is not valid.
    InvalidTopology(InvalidTopologyException),
    /// The caller may not do that.
    Authorization(AuthorizationException),
    /// There is no such blob.
    KeyNotFound(KeyNotFoundException),
    /// A blob of that key exists.
    KeyAlreadyExists(KeyAlreadyExistsException),
    /// The blob is in use.
    IllegalState(IllegalStateException),
}

/// What a method answers: a value, or nothing.
pub trait Success: Sized {
    /// What it is; `None` for nothing.
    const TYPE: Option<Type>;

    /// Appends the field of the result, if any.
    fn write(&self, output: &mut Encoder);

    /// Reads the field of the result.
    ///
    /// # Errors
    /// The bytes are no such value.
    fn read(input: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// What a result without a field stands for; `None` where there must be one.
    fn absent() -> Option<Self>;
}

impl Success for () {
    const TYPE: Option<Type> = None;

    fn write(&self, _: &mut Encoder) {}

    fn read(_: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }

    fn absent() -> Option<Self> {
        Some(())
    }
}

impl<T: Wire> Success for T {
    const TYPE: Option<Type> = Some(T::TYPE);

    fn write(&self, output: &mut Encoder) {
        Field::write(self, 0, output);
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::decode(input)
    }

    fn absent() -> Option<Self> {
        None
    }
}

/// A method of nimbus. The type is the record of its arguments.
pub trait Method: Record {
    /// Storm's name.
    const NAME: &'static str;
    /// What it answers.
    type Success: Success;

    /// The number under which the method declares an exception, if it does.
    fn exception_id(exception: &NimbusException) -> Option<i16>;

    /// Reads the exception that the method declares under a number, if it does.
    ///
    /// # Errors
    /// The bytes are no such exception.
    fn read_exception(id: i16, input: &mut Decoder<'_>) -> Result<Option<NimbusException>, DecodeError>;
}

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// Nimbus refused, with an exception that the method declares.
    #[error("{0}")]
    Refused(NimbusException),
    /// Nimbus failed, or could not do it as it is: one that is not the leader says so here.
    #[error("nimbus answered: {0}")]
    Failed(ApplicationException),
    /// The answer cannot be read. What was called may have been done.
    #[error("the answer cannot be read: {0}")]
    Undecodable(#[from] DecodeError),
}

/// The message of a call.
pub fn call<M: Method>(sequence: i32, arguments: &M) -> Vec<u8> {
    whole(Head { kind: MessageKind::Call, method: M::NAME, sequence }, arguments)
}

/// The message of an answer. An exception that the method does not declare goes as an internal error, as in Storm.
pub fn reply<M: Method>(sequence: i32, result: &Result<M::Success, NimbusException>) -> Vec<u8> {
    let mut output = Head { kind: MessageKind::Reply, method: M::NAME, sequence }.write();
    match result {
        Ok(success) => success.write(&mut output),
        Err(exception) => match M::exception_id(exception) {
            Some(id) => exception.encode(id, &mut output),
            None => {
                let kind = ApplicationExceptionKind::InternalError;
                return failure(M::NAME, sequence, kind, exception.to_string());
            }
        },
    }
    output.stop();
    output.into_bytes()
}

/// The message of a refusal that no method declares. `method` is what the call said, known or not.
pub fn failure(method: &str, sequence: i32, kind: ApplicationExceptionKind, words: String) -> Vec<u8> {
    let exception = ApplicationException { message: Some(words), kind: Some(kind) };
    whole(Head { kind: MessageKind::Exception, method, sequence }, &exception)
}

/// Reads the answer to a call.
///
/// # Errors
/// It is a refusal, or is no answer to that call.
pub fn read_reply<M: Method>(sequence: i32, message: &[u8]) -> Result<M::Success, CallError> {
    let (head, input) = Head::read(message)?;
    if head.method != M::NAME || head.sequence != sequence {
        let words = format!(
            "it answers call {} of {:?}, but call {sequence} of {:?} was asked",
            head.sequence,
            head.method,
            M::NAME
        );
        return Err(input.error(Problem::Unexpected(words)).into());
    }
    match head.kind {
        MessageKind::Reply => read_result::<M>(input)?.map_err(CallError::Refused),
        MessageKind::Exception => Err(CallError::Failed(body(input)?)),
        MessageKind::Call | MessageKind::Oneway => {
            Err(input.error(Problem::Unexpected("a call came where an answer was due".into())).into())
        }
    }
}

fn read_result<M: Method>(mut input: Decoder<'_>) -> Result<Result<M::Success, NimbusException>, DecodeError> {
    let mut success = None;
    let mut exception = None;
    input.enter()?;
    while let Some((kind, id)) = input.field()? {
        if id == 0 && M::Success::TYPE.is_some_and(|success| success.kind() == kind) {
            success = Some(M::Success::read(&mut input).map_err(|error| error.within(M::NAME, "success"))?);
            continue;
        }
        let declared = if kind == Kind::Struct { M::read_exception(id, &mut input)? } else { None };
        match declared {
            Some(declared) => exception = Some(declared),
            None => input.skip(kind)?,
        }
    }
    input.leave();
    let nothing = input.error(Problem::NoResult(M::NAME));
    input.finish()?;
    match (success, exception) {
        (Some(success), _) => Ok(Ok(success)),
        (None, Some(exception)) => Ok(Err(exception)),
        (None, None) => M::Success::absent().map(Ok).ok_or(nothing),
    }
}

/// A method among others, for whoever goes through all of them.
#[derive(Clone, Copy, Debug)]
pub struct MethodType {
    /// Storm's name.
    pub name: &'static str,
    /// The record of its arguments.
    pub arguments: &'static Schema,
    /// What it answers; `None` for nothing.
    pub success: Option<Type>,
    /// The exceptions that it declares: numbers and Storm's names.
    pub exceptions: &'static [(i16, &'static str)],
    /// Reads the answer of a message and writes the message again.
    pub rewrite_reply: fn(i32, &[u8]) -> Result<Vec<u8>, CallError>,
}

impl MethodType {
    /// The entry of a method.
    pub(super) const fn of<M: Method>(exceptions: &'static [(i16, &'static str)]) -> Self {
        Self {
            name: M::NAME,
            arguments: M::SCHEMA,
            success: M::Success::TYPE,
            exceptions,
            rewrite_reply: |sequence, message| {
                let result = match read_reply::<M>(sequence, message) {
                    Ok(success) => Ok(success),
                    Err(CallError::Refused(exception)) => Err(exception),
                    Err(error) => return Err(error),
                };
                Ok(reply::<M>(sequence, &result))
            },
        }
    }
}
