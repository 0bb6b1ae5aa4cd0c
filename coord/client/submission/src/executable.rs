//! Whether a file is the executable of a topology, for this machine: looked at before anything of it is run.
//!
//! - [`Note`]: by which an executable says that it is a topology's, and what it was built with.
//! - [`Elf`]: what is read of a file.
//!
//! Whoever links Ringstorm's entry point has the note in it. It lies in a segment that is loaded, so that it outlives the
//! removal of symbols and of sections. Those who submit, and nimbus, which takes what anybody uploads, look by the same
//! functions.
//!
//! Invariants: what is read of a file is bounded, whatever it says of itself. Threading: pure functions of what a reader
//! gives. Errors: [`Unfit`], in words for whoever gave the file.

mod elf;
mod note;

pub use elf::{Elf, OWN_MACHINE, machine_name};
pub use note::{Built, Note};

use std::io::{self, Read, Seek};

/// Why a file is no executable of a topology that can run here.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// It cannot be read.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is something else.
    #[error(
        "the file is {0}; a topology of Ringstorm is the executable that its main program was built to, which calls \
         ringstorm::main"
    )]
    Other(&'static str),
    /// A part of it is missing.
    #[error("the file is cut off: it has {0} bytes, and what stands in it needs {1}; copy or build it again")]
    CutOff(u64, u64),
    /// It is for another machine.
    #[error("the file is an executable for {}, and here it is to run on {}; build the topology for that",
        machine_name(*.is_for), machine_name(*.runs_on))]
    Machine {
        /// The number of the machine that it is for.
        is_for: u16,
        /// The number of the machine that it was meant to run on.
        runs_on: u16,
    },
}

/// What a topology's executable was built with.
///
/// # Errors
/// The file is none that is whole and for this machine.
pub fn topology_for(machine: u16, file: &mut (impl Read + Seek)) -> Result<Built, Unfit> {
    let elf = Elf::read(file)?;
    if elf.machine != machine {
        return Err(Unfit::Machine { is_for: elf.machine, runs_on: machine });
    }
    elf.built.ok_or(Unfit::Other("an executable of another kind"))
}

/// The smallest file that passes as a topology's executable for a machine, for tests of those who look at files. Whatever
/// is added to its end belongs to it.
pub fn smallest(machine: u16, note: &Note) -> Vec<u8> {
    elf::smallest(machine, &note.to_bytes())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;
    use ringstorm_types::wire_format::WIRE_FORMAT;

    use super::*;

    const X86_64: u16 = 62;
    const AARCH64: u16 = 183;

    fn judged(file: &[u8]) -> Result<Built, String> {
        topology_for(X86_64, &mut Cursor::new(file)).map_err(|unfit| unfit.to_string())
    }

    #[test]
    fn a_topology_for_this_machine_says_what_it_was_built_with() {
        let built = judged(&smallest(X86_64, &Note::OWN)).unwrap();
        assert_eq!(built, Built { wire_format: WIRE_FORMAT.into(), version: env!("CARGO_PKG_VERSION").into() });
    }

    #[test]
    fn whatever_else_is_told_in_one_line() {
        let topology = smallest(X86_64, &Note::OWN);
        let with = |at: usize, byte: u8| {
            let mut file = topology.clone();
            file[at] = byte;
            file
        };
        let cases: [(&[u8], &str); 12] = [
            (b"", "is empty"),
            (b"PK\x03\x04rest", "a jar or another archive"),
            (b"#!/bin/sh\nexit 0\n", "a script"),
            (b"just some text, longer than the head of an executable would be, so that it is none", "no executable"),
            (b"\x7fELF\x02\x01", "cut off"),
            (&topology[..topology.len() - 1], "cut off"),
            (&topology[..64], "cut off"),
            (&with(4, 1), "a 32-bit executable"),
            (&with(16, 1), "an object file or a core dump"),
            (&with(54, 1), "a damaged executable"),
            (&smallest(AARCH64, &Note::OWN), "for aarch64, and here it is to run on x86-64"),
            (&elf::smallest(X86_64, &[]), "an executable of another kind"),
        ];
        for (file, expected) in cases {
            let why = judged(file).unwrap_err();
            assert!(why.contains(expected) && !why.contains('\n'), "{expected}: {why}");
        }
    }

    #[test]
    fn the_file_of_a_test_is_no_topology_and_is_for_this_machine() {
        let mut own = std::fs::File::open("/proc/self/exe").unwrap();
        let elf = Elf::read(&mut own).unwrap();
        assert_eq!(elf.machine, OWN_MACHINE);
        assert_eq!(elf.built, None);
    }

    proptest! {
        #[test]
        fn wherever_a_topology_is_cut_off_that_is_said(end in 20_usize..300) {
            let topology = smallest(X86_64, &Note::OWN);
            prop_assume!(end < topology.len());
            let why = judged(&topology[..end]).unwrap_err();
            prop_assert!(why.contains("cut off"), "{}", why);
        }

        #[test]
        fn whatever_stands_in_a_file_it_is_judged(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40)) {
            let mut file = smallest(X86_64, &Note::OWN);
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            let _ = judged(&file);
        }

        #[test]
        fn whatever_a_file_is_it_is_judged(file in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(judged(&file).is_err());
        }
    }
}
