use std::time::Duration;

fn is_field<F: ringstorm_tuple::Field>() {}

fn main() {
    is_field::<Duration>();
    is_field::<Vec<Duration>>();
}
