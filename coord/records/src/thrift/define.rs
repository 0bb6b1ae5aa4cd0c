//! The macros that turn a definition into Rust types, their encoding, their decoding and their schema.
//!
//! A definition reads as Storm's interface definition does, in Rust types:
//!
//! ```text
//! records! {
//!     in OPTIONS;                       // the constant that lists them, if wanted
//!     struct KillOptions {              // also `exception`
//!         1: wait_secs: Option<i32>,    // an `Option` is optional, all else required
//!         2: kind as "type": String,    // Storm's name, where Rust's differs
//!         3: port: i32 = 6627,          // read as this when it did not come; always written
//!         ..unknown                     // keeps fields that are not known
//!     }
//!     union Grouping {
//!         1: Fields as "fields"(Vec<String>),
//!     }
//! }
//! enumerations! {
//!     TopologyStatus { 1: Active as "ACTIVE", 2: Inactive as "INACTIVE" }
//! }
//! ```
//!
//! How definitions are read, whatever is in them: a field that is not known, or has another wire type than here, is
//! passed over (or kept); of a field that comes twice the last counts; a number that an enumeration lacks is kept as
//! `Unrecognized`, and so is an unknown member of a union. All of that is Storm's way, but for the last two: Storm's
//! readers lose such values.

/// Defines enumerations: see the module.
macro_rules! enumerations {
    ($(
        $(#[$attribute:meta])*
        $name:ident { $($(#[$value_attribute:meta])* $number:literal: $value:ident as $storm:literal,)* }
    )*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$value_attribute])* #[doc = concat!("`", $storm, "`, ", $number, ".")] $value,)*
            /// A number that this version does not know; never one that it knows.
            Unrecognized(i32),
        }

        impl $name {
            /// Storm's name and all of its values.
            pub const SCHEMA: &'static $crate::thrift::EnumSchema =
                &$crate::thrift::EnumSchema { name: stringify!($name), values: &[$(($number, $storm),)*] };

            /// The value that a number stands for.
            pub const fn from_number(number: i32) -> Self {
                match number {
                    $($number => Self::$value,)*
                    other => Self::Unrecognized(other),
                }
            }

            /// The number that stands for the value.
            pub const fn number(self) -> i32 {
                match self {
                    $(Self::$value => $number,)*
                    Self::Unrecognized(number) => number,
                }
            }
        }

        impl std::fmt::Display for $name {
            /// Storm's name of the value.
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$value => formatter.write_str($storm),)*
                    Self::Unrecognized(number) => write!(formatter, "{number}"),
                }
            }
        }

        impl $crate::thrift::Wire for $name {
            const TYPE: $crate::thrift::Type = $crate::thrift::Type::Enum(Self::SCHEMA);

            fn encode(&self, output: &mut $crate::thrift::Encoder) {
                output.i32(self.number());
            }

            fn decode(input: &mut $crate::thrift::Decoder<'_>) -> Result<Self, $crate::thrift::DecodeError> {
                Ok(Self::from_number(input.i32()?))
            }
        }
    )*};
}

/// Defines structs, exceptions and unions: see the module. With `in NAME;` in front a constant lists them.
macro_rules! records {
    (in $all:ident; $($(#[$attribute:meta])* $shape:ident $name:ident { $($body:tt)* })*) => {
        records! { $($(#[$attribute])* $shape $name { $($body)* })* }

        /// Every record of this module.
        pub(super) const $all: &[$crate::thrift::RecordType] = &[$($crate::thrift::RecordType::of::<$name>()),*];
    };

    ($($(#[$attribute:meta])* $shape:ident $name:ident { $($body:tt)* })*) => {
        $(records! { @$shape [$(#[$attribute])*] $name { $($body)* } })*
    };

    (@exception $($rest:tt)*) => { records! { @struct $($rest)* } };

    (@struct [$($attribute:tt)*] $name:ident {
        $(
            $(#[$field_attribute:meta])*
            $id:literal: $field:ident $(as $storm:literal)? : $holds:ty $(= $default:expr)?,
        )*
        $(..$unknown:ident)?
    }) => {
        $($attribute)*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("Field ", $id, ", `", records!(@name $field $($storm)?), "`.")]
                $(#[$field_attribute])*
                pub $field: $holds,
            )*
            $(
                /// Fields that this version does not know; they are written back.
                pub $unknown: $crate::thrift::UnknownFields,
            )?
        }

        impl $crate::thrift::Record for $name {
            const SCHEMA: &'static $crate::thrift::Schema = &$crate::thrift::Schema {
                name: stringify!($name),
                is_union: false,
                keeps_unknown: records!(@is_given $($unknown)?),
                fields: &[$($crate::thrift::FieldSchema {
                    id: $id,
                    name: records!(@name $field $($storm)?),
                    is_required: <$holds as $crate::thrift::Field>::IS_REQUIRED && !records!(@is_given $($default)?),
                    holds: <$holds as $crate::thrift::Field>::TYPE,
                },)*],
            };
        }

        impl $crate::thrift::Wire for $name {
            const TYPE: $crate::thrift::Type = $crate::thrift::Type::Record(<Self as $crate::thrift::Record>::SCHEMA);

            fn encode(&self, output: &mut $crate::thrift::Encoder) {
                $($crate::thrift::Field::write(&self.$field, $id, output);)*
                $(self.$unknown.write(output);)?
                output.stop();
            }

            fn decode(input: &mut $crate::thrift::Decoder<'_>) -> Result<Self, $crate::thrift::DecodeError> {
                struct Found { $($field: (Option<$holds>, Option<$crate::thrift::Kind>),)* }
                let mut found = Found { $($field: (None, None),)* };
                $(let mut $unknown = $crate::thrift::UnknownFields::default();)?
                input.enter()?;
                while let Some((kind, id)) = input.field()? {
                    match id {
                        $(
                            $id if kind == <$holds as $crate::thrift::Field>::TYPE.kind() => {
                                let value = <$holds as $crate::thrift::Field>::read(input);
                                let place = records!(@name $field $($storm)?);
                                found.$field.0 = Some(value.map_err(|error| error.within(stringify!($name), place))?);
                                continue;
                            }
                            $id => found.$field.1 = Some(kind),
                        )*
                        _ => {}
                    }
                    records!(@unknown input, kind, id $(, $unknown)?);
                }
                input.leave();
                // A struct without fields needs nothing of it.
                let _ = &mut found;
                Ok(Self {
                    $($field: match found.$field {
                        (Some(value), _) => value,
                        (None, other) => {
                            let place = records!(@name $field $($storm)?);
                            records!(@absent input, stringify!($name), $id, place, other $(, $default)?)
                        }
                    },)*
                    $($unknown,)?
                })
            }
        }
    };

    (@union [$($attribute:tt)*] $name:ident {
        $($(#[$member_attribute:meta])* $id:literal: $member:ident as $storm:literal($holds:ty),)*
    }) => {
        $($attribute)*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(
                #[doc = concat!("Member ", $id, ", `", $storm, "`.")]
                $(#[$member_attribute])*
                $member($holds),
            )*
            /// A member that this version does not know.
            Unrecognized($crate::thrift::UnknownField),
        }

        impl $crate::thrift::Record for $name {
            const SCHEMA: &'static $crate::thrift::Schema = &$crate::thrift::Schema {
                name: stringify!($name),
                is_union: true,
                keeps_unknown: false,
                fields: &[$($crate::thrift::FieldSchema {
                    id: $id,
                    name: $storm,
                    is_required: false,
                    holds: <$holds as $crate::thrift::Wire>::TYPE,
                },)*],
            };
        }

        impl $crate::thrift::Wire for $name {
            const TYPE: $crate::thrift::Type = $crate::thrift::Type::Record(<Self as $crate::thrift::Record>::SCHEMA);

            fn encode(&self, output: &mut $crate::thrift::Encoder) {
                match self {
                    $(Self::$member(value) => $crate::thrift::Field::write(value, $id, output),)*
                    Self::Unrecognized(field) => field.write(output),
                }
                output.stop();
            }

            fn decode(input: &mut $crate::thrift::Decoder<'_>) -> Result<Self, $crate::thrift::DecodeError> {
                let mut known = None;
                let mut unknown = None;
                input.enter()?;
                while let Some((kind, id)) = input.field()? {
                    let member = match id {
                        $($id if kind == <$holds as $crate::thrift::Wire>::KIND => {
                            let value = <$holds as $crate::thrift::Wire>::decode(input);
                            Self::$member(value.map_err(|error| error.within(stringify!($name), $storm))?)
                        })*
                        _ => {
                            let field = $crate::thrift::UnknownField::read(kind, id, input)?;
                            unknown.get_or_insert(field);
                            continue;
                        }
                    };
                    if known.replace(member).is_some() {
                        return Err(input.error($crate::thrift::Problem::CrowdedUnion(stringify!($name))));
                    }
                }
                input.leave();
                known
                    .or(unknown.map(Self::Unrecognized))
                    .ok_or_else(|| input.error($crate::thrift::Problem::EmptyUnion(stringify!($name))))
            }
        }
    };

    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $storm:literal) => { $storm };

    (@is_given) => { false };
    (@is_given $given:expr) => { true };

    (@unknown $input:ident, $kind:ident, $id:ident) => { $input.skip($kind)? };
    (@unknown $input:ident, $kind:ident, $id:ident, $unknown:ident) => {
        $unknown.push($crate::thrift::UnknownField::read($kind, $id, $input)?)
    };

    (@absent $input:ident, $record:expr, $id:expr, $field:expr, $other:expr) => {
        $crate::thrift::absent($input, $record, $id, $field, $other)?
    };
    (@absent $input:ident, $record:expr, $id:expr, $field:expr, $other:expr, $default:expr) => {{
        let _ = ($field, $other);
        $default
    }};
}

pub(crate) use {enumerations, records};
