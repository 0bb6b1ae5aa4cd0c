//! The macro that turns the table of methods into types.
//!
//! ```text
//! methods! {
//!     "killTopology" KillTopology { 1: name: Option<String> } -> (), refused with { 1: NotAlive, 2: Authorization };
//! }
//! ```
//!
//! The arguments are a record like any other; all of them are optional, since Storm's clients leave out what is null.

/// Defines methods: see the module.
macro_rules! methods {
    ($(
        $(#[$attribute:meta])*
        $method:literal $name:ident { $($arguments:tt)* } -> $success:ty,
        refused with { $($exception_id:literal: $exception:ident),* };
    )*) => {
        $(
            records! { @struct [$(#[$attribute])* #[derive(Default)]] $name { $($arguments)* } }

            impl Method for $name {
                const NAME: &'static str = $method;
                type Success = $success;

                fn exception_id(exception: &NimbusException) -> Option<i16> {
                    match exception {
                        $(NimbusException::$exception(_) => Some($exception_id),)*
                        #[allow(unreachable_patterns, reason = "a method may declare all of them")]
                        _ => None,
                    }
                }

                fn read_exception(id: i16, input: &mut Decoder<'_>) -> Result<Option<NimbusException>, DecodeError> {
                    let _ = &input;
                    Ok(match id {
                        $($exception_id => Some(NimbusException::$exception(Wire::decode(input)?)),)*
                        _ => None,
                    })
                }
            }
        )*

        /// A call on the nimbus port.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::large_enum_variant, reason = "a call is made once and handed on; the large ones are not rare")]
        pub enum NimbusCall {
            $(#[doc = concat!("`", $method, "`.")] $name($name),)*
        }

        impl NimbusCall {
            /// Reads the arguments of a call whose head was read; `None` when there is no such method.
            ///
            /// # Errors
            /// The rest of the message is not the arguments of that method.
            pub fn read(method: &str, input: Decoder<'_>) -> Result<Option<Self>, DecodeError> {
                Ok(Some(match method {
                    $($method => Self::$name(message::body(input)?),)*
                    _ => return Ok(None),
                }))
            }

            /// The name of the method.
            pub fn method(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $method,)*
                }
            }

            /// The whole message.
            pub fn to_message(&self, sequence: i32) -> Vec<u8> {
                match self {
                    $(Self::$name(arguments) => call(sequence, arguments),)*
                }
            }
        }

        /// Every method.
        pub const METHODS: &[MethodType] = &[
            $(MethodType::of::<$name>(&[$(($exception_id, concat!(stringify!($exception), "Exception"))),*]),)*
        ];
    };
}

pub(super) use methods;
