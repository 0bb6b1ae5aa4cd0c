//! What is not a field is no item of a list either, and the error says which types are.

use std::time::Duration;

fn is_field<F: ringstorm_tuple::Field>() {}

fn main() {
    is_field::<Duration>();
    is_field::<Vec<Duration>>();
}
