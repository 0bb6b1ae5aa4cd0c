//! By which an executable says that it is a topology's, to whoever submits it and to nimbus.
//!
//! It is a crate of its own since linkers keep every note of an object file of which they use anything: in the crate of the
//! entry point it would stand in each program that uses anything of that.
//!
//! Invariant: it stands in an executable if, and only if, [`keep`] does. Threading: a constant. Errors: none.

use ringstorm_submission::executable::Note;

/// Its name makes linkers put it among the notes, which stay when symbols and sections are removed.
// SAFETY: nothing else stands in this section, and what does needs no other place, alignment or rights than any constant;
// the suite `face` of `ringstorm` looks for it in executables as they are linked, and stripped.
#[unsafe(link_section = ".note.ringstorm")]
static NOTE: Note = Note::OWN;

/// Has the note linked.
#[inline(never)]
pub fn keep() {
    std::hint::black_box(&NOTE);
}
