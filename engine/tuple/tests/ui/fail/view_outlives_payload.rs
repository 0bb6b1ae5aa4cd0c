//! A view borrows from its payload and cannot be kept beyond it.

use ringstorm_tuple::Tuple;

#[derive(ringstorm_tuple::Tuple)]
#[tuple(crate = ringstorm_tuple)]
struct Word<'a> {
    word: &'a str,
}

fn main() {
    let word = {
        let mut payload = Vec::new();
        Word { word: "storm" }.serialize(&mut payload).unwrap();
        unsafe { Word::view(&payload) }.word()
    };
    println!("{word}");
}
