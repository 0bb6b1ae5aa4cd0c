//! The derive macros behind typed tuples: `Tuple` for structs, `TupleField` for enums of units.
//!
//! The code that they make refers to one path only, that of `ringstorm-tuple`'s contents: by default as the face crate
//! shows it, or what `#[tuple(crate = path)]` names. All the thinking is in that crate; what is made here is the list
//! of fields, spelled out. Mistakes in the input become compile errors at the spot, with what to write instead.

mod attributes;
mod field;
mod tuple;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct with named fields, and at most one lifetime, a tuple, and makes its view: `<Name>View<'v>`, with one
/// method per field.
///
/// A field is named in the stream as in the struct.
#[proc_macro_derive(Tuple, attributes(tuple))]
pub fn derive_tuple(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tuple::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes an enum of units a field type: one byte in a payload, its name to groupings and to other languages.
///
/// The enum must be `Copy` and `Debug`, and have at most 256 variants.
#[proc_macro_derive(TupleField, attributes(tuple))]
pub fn derive_tuple_field(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    field::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
