//! The head of an executable file: which machine it is for.
//!
//! Source: the ELF specification, `e_ident`, `e_type` and `e_machine`. Threading: pure functions. Errors: what the file
//! is instead, in words.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// How much of a file its head is, in bytes.
pub(crate) const HEAD_BYTES: usize = 20;

/// What matters of the head of an executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elf {
    /// The number of the machine.
    pub(crate) machine: u16,
}

impl Elf {
    /// Reads a head.
    pub(crate) fn read(head: &[u8]) -> Result<Self, &'static str> {
        match head {
            [] => return Err("empty"),
            [b'P', b'K', 3 | 5, 4 | 6, ..] => return Err("a jar or another archive"),
            [b'#', b'!', ..] => return Err("a script"),
            [0x7f, b'E', b'L', b'F', ..] => {}
            _ => return Err("no executable"),
        }
        let Some(&[.., class, data, _]) = head.get(..7) else { return Err("cut off in its head") };
        let Some(numbers) = head.get(16..HEAD_BYTES) else { return Err("cut off in its head") };
        let number = |at: usize| {
            let bytes = [numbers[at], numbers[at + 1]];
            if data == 2 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
        };
        match (class, number(0)) {
            // An executable at a fixed place, and one that may lie anywhere.
            (2, 2 | 3) => Ok(Self { machine: number(2) }),
            (2, _) => Err("an object file or a core dump"),
            _ => Err("a 32-bit executable"),
        }
    }
}

/// The beginning of a file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn head_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    File::open(path)?.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The machine of this process.
///
/// # Errors
/// Its own file cannot be read.
pub(crate) fn own_machine() -> io::Result<u16> {
    let head = head_of(Path::new("/proc/self/exe"))?;
    let own = Elf::read(&head).map_err(|what| io::Error::other(format!("the file of this process is {what}")))?;
    Ok(own.machine)
}

/// The machine as people know it.
pub(crate) fn machine_name(machine: u16) -> String {
    match machine {
        3 => "x86".into(),
        40 => "arm".into(),
        62 => "x86-64".into(),
        183 => "aarch64".into(),
        243 => "riscv".into(),
        other => format!("machine {other}"),
    }
}

/// The head of an executable for a machine.
#[cfg(test)]
pub(crate) fn example(machine: u16) -> Vec<u8> {
    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(16, 0);
    head.extend([3, 0]);
    head.extend(machine.to_le_bytes());
    head
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_file_of_this_process_is_for_this_machine() {
        let expected = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
        assert_eq!(own_machine().unwrap(), expected);
    }

    #[test]
    fn what_is_no_executable_is_named() {
        assert_eq!(Elf::read(b""), Err("empty"));
        assert_eq!(Elf::read(b"PK\x03\x04"), Err("a jar or another archive"));
        assert_eq!(Elf::read(b"#!/bin/sh"), Err("a script"));
        assert_eq!(Elf::read(b"\x7fELF\x02\x01"), Err("cut off in its head"));
        let mut object = example(62);
        object[16] = 1;
        assert_eq!(Elf::read(&object), Err("an object file or a core dump"));
        let mut small = example(3);
        small[4] = 1;
        assert_eq!(Elf::read(&small), Err("a 32-bit executable"));
        assert_eq!(Elf::read(&example(62)), Ok(Elf { machine: 62 }));
    }

    proptest! {
        #[test]
        fn whatever_a_file_begins_with_it_is_told(head in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Elf::read(&head);
        }
    }
}
