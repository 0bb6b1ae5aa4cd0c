//! Types whose size or meaning differs between machines are no fields, and the error names what to use.

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Machine {
    size: usize,
}

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Wide {
    id: u128,
}

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Letter {
    letter: char,
}

fn main() {}
