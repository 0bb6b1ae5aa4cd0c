//! What the derives accept, and what they say about the rest.
//!
//! After a change of a message: `TRYBUILD=overwrite cargo test -p ringstorm-tuple --test ui`.

#[test]
fn the_derives_explain_themselves() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
