//! Only a struct with named fields is a tuple, since its fields are those of its stream.

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Word(String, u64);

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Tick;

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
enum Event {
    Start,
    Stop,
}

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
union Either {
    one: u32,
    two: f32,
}

fn main() {}
