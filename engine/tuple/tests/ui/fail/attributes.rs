//! A misspelled, repeated or misplaced `tuple` attribute is refused where it stands.

#[derive(ringstorm_tuple::Tuple)]
#[tuple(krate = ringstorm_tuple)]
struct Misspelled {
    value: u64,
}

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Doubled {
    value: u64,
}

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Misplaced {
    #[tuple(crate = ringstorm_tuple)]
    value: u64,
}

fn main() {}
