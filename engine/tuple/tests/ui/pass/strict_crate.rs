//! Derived code adds no demands of its own: it compiles under the lints of a strict crate, next to names that shadow
//! the usual ones.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unused_qualifications, unused_lifetimes)]
#![allow(non_camel_case_types, reason = "shadowing is the point")]

mod renamed {
    pub use ringstorm_tuple as tuple;
}

mod inner {
    use ringstorm_tuple::{Tuple, TupleField};

    #[allow(dead_code, reason = "shadowing is the point")]
    mod shadows {
        pub struct Result;
        pub struct Option;
        pub struct Some;
        pub struct Ok;
        pub struct Vec;
        pub struct Field;
        pub struct Kind;
    }
    #[allow(unused_imports, reason = "shadowing is the point")]
    use shadows::*;

    /// A color.
    #[derive(TupleField, Clone, Copy, Debug, PartialEq)]
    #[tuple(crate = crate::renamed::tuple)]
    pub enum Color {
        /// Red.
        Red,
    }

    /// A word.
    #[derive(Tuple)]
    #[tuple(crate = crate::renamed::tuple)]
    pub struct Word<'a> {
        /// Named like what derived code uses.
        pub index: &'a str,
        /// Named like a variable of derived code.
        pub payload: u64,
        /// A keyword.
        pub r#type: ::std::option::Option<&'a [u8]>,
        pub(crate) root: Color,
        out: ::std::vec::Vec<super::Words<'a>>,
        fmt: u8,
        clone: bool,
    }

    impl<'a> Word<'a> {
        /// A word.
        pub fn new(index: &'a str) -> Self {
            Word { index, payload: 1, r#type: None, root: Color::Red, out: vec![&["x"]], fmt: 2, clone: true }
        }
    }

    use ::std::option::Option::None;
}

type Words<'a> = &'a [&'a str];

fn main() {
    use ringstorm_tuple::Tuple;

    let mut payload = Vec::new();
    inner::Word::new("storm").serialize(&mut payload).unwrap();
    let schema = inner::Word::schema();
    schema.validate(&payload).unwrap();
    assert_eq!(schema.fields().to_string(), "[index, payload, type, root, out, fmt, clone]");
}
