fn main() {
    ringstorm_tuple::Schema::typed::<String>();
}
