//! A stream of something that is not a tuple is refused with the derive to add.

fn main() {
    ringstorm_tuple::Schema::typed::<String>();
}
