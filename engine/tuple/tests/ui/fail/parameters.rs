//! A tuple has one layout: no type or const parameters, and one lifetime at most.

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Generic<T> {
    value: T,
}

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Sized<const N: usize> {
    value: [u8; N],
}

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Twice<'a, 'b> {
    one: &'a str,
    two: &'b str,
}

fn main() {}
