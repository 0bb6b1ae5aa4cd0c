//! An enum that is a field has variants without data, not too many of them, and no parameters.

#[derive(ringstorm_tuple::TupleField, Clone, Copy, Debug)]
#[tuple(crate = ringstorm_tuple)]
enum Shape {
    Circle(f64),
}

#[derive(ringstorm_tuple::TupleField, Clone, Copy, Debug)]
#[tuple(crate = ringstorm_tuple)]
enum Never {}

#[derive(ringstorm_tuple::TupleField)]
#[tuple(crate = ringstorm_tuple)]
enum Generic<T> {
    One(T),
}

#[derive(ringstorm_tuple::TupleField, Clone, Copy, Debug)]
#[tuple(crate = ringstorm_tuple)]
struct Point {
    x: f64,
}

fn main() {}
