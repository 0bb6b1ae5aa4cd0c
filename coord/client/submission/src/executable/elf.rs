//! What is read of an ELF file: for which machine it is, whether all of it is there, and its [note](super::Note).
//!
//! Only its header and its program headers are relied on: sections can be removed. Where section headers are there, they
//! lie at the end, so that a copy that broke off is known by them. Source: the ELF specification, `Elf64_Ehdr` and
//! `Elf64_Phdr`. Threading: see [`super`]. Errors: [`Unfit`].

use std::io::{Read, Seek, SeekFrom};

use super::Unfit;
use super::note::{Built, find};

/// The length of the header, in bytes.
const HEADER_BYTES: u64 = 64;
/// The length of a program header.
const PROGRAM_HEADER_BYTES: u64 = 56;
/// The kind of a segment of notes.
const PT_NOTE: u32 = 4;
/// How many such segments are looked at. Linkers make two.
const NOTE_SEGMENTS_MAX: usize = 16;
/// How much of each.
const NOTE_BYTES_MAX: u64 = 64 << 10;

/// What matters of an executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// The number of the machine.
    pub machine: u16,
    /// What it was built with, if it is a topology's.
    pub built: Option<Built>,
}

impl Elf {
    /// Reads a file.
    ///
    /// # Errors
    /// It is no executable, or not whole, or cannot be read.
    pub fn read(file: &mut (impl Read + Seek)) -> Result<Self, Unfit> {
        let file_bytes = file.seek(SeekFrom::End(0))?;
        let head = read_at(file, 0, HEADER_BYTES)?;
        kind(&head)?;
        if (head.len() as u64) < HEADER_BYTES {
            return Err(Unfit::CutOff(file_bytes, HEADER_BYTES));
        }
        let numbers = Numbers { is_big_endian: head[5] == 2 };
        let (programs_at, sections_at) = (numbers.u64(&head[32..]), numbers.u64(&head[40..]));
        let [program_bytes, programs, section_bytes, sections] =
            [54, 56, 58, 60].map(|at| u64::from(numbers.u16(&head[at..])));
        if program_bytes != PROGRAM_HEADER_BYTES {
            return Err(Unfit::Other("a damaged executable"));
        }
        let whole = |begin: u64, bytes: u64| match begin.saturating_add(bytes) {
            end if end > file_bytes => Err(Unfit::CutOff(file_bytes, end)),
            _ => Ok(()),
        };
        whole(sections_at, sections * section_bytes)?;
        whole(programs_at, programs * program_bytes)?;
        let programs = read_at(file, programs_at, programs * program_bytes)?;
        let mut notes = Vec::new();
        for program in programs.chunks_exact(PROGRAM_HEADER_BYTES as usize) {
            let (begin, bytes) = (numbers.u64(&program[8..]), numbers.u64(&program[32..]));
            if bytes > 0 {
                whole(begin, bytes)?;
            }
            if numbers.u32(program) == PT_NOTE {
                notes.push((begin, bytes, if numbers.u64(&program[48..]) == 8 { 8 } else { 4 }));
            }
        }
        let mut built = None;
        for (begin, bytes, alignment) in notes.into_iter().take(NOTE_SEGMENTS_MAX) {
            let notes = read_at(file, begin, bytes.min(NOTE_BYTES_MAX))?;
            built = built.or_else(|| find(&notes, alignment, |bytes| numbers.u32(bytes)));
        }
        Ok(Self { machine: numbers.u16(&head[18..]), built })
    }
}

/// What the head is that of.
fn kind(head: &[u8]) -> Result<(), Unfit> {
    match head {
        [] => return Err(Unfit::Other("empty")),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => return Err(Unfit::Other("a jar or another archive")),
        [b'#', b'!', ..] => return Err(Unfit::Other("a script")),
        [0x7f, b'E', b'L', b'F', ..] => {}
        _ => return Err(Unfit::Other("no executable")),
    }
    if head.get(4).is_some_and(|class| *class != 2) {
        return Err(Unfit::Other("a 32-bit executable"));
    }
    let Some(of_kind) = head.get(16..18) else { return Ok(()) };
    let numbers = Numbers { is_big_endian: head[5] == 2 };
    // At a fixed place, or one that may lie anywhere.
    if matches!(numbers.u16(of_kind), 2 | 3) { Ok(()) } else { Err(Unfit::Other("an object file or a core dump")) }
}

/// So many bytes from a place on, or those that are there.
fn read_at(file: &mut (impl Read + Seek), begin: u64, bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut read = Vec::new();
    file.seek(SeekFrom::Start(begin))?;
    file.take(bytes).read_to_end(&mut read)?;
    Ok(read)
}

/// How numbers are written in a file. What is too short has zeros.
#[derive(Clone, Copy)]
struct Numbers {
    is_big_endian: bool,
}

impl Numbers {
    fn u64(self, bytes: &[u8]) -> u64 {
        self.number::<8>(bytes)
    }

    fn u32(self, bytes: &[u8]) -> u32 {
        self.number::<4>(bytes) as u32
    }

    fn u16(self, bytes: &[u8]) -> u16 {
        self.number::<2>(bytes) as u16
    }

    fn number<const BYTES: usize>(self, bytes: &[u8]) -> u64 {
        let digits = bytes.iter().take(BYTES).map(|byte| u64::from(*byte));
        let join = |number: u64, digit: u64| number << 8 | digit;
        if self.is_big_endian { digits.fold(0, join) } else { digits.rev().fold(0, join) }
    }
}

/// `EM_X86_64`.
const X86_64: u16 = 62;
/// `EM_AARCH64`.
const AARCH64: u16 = 183;
/// `EM_RISCV`.
const RISCV: u16 = 243;

/// The machine that this is built for.
pub const OWN_MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    X86_64
} else if cfg!(target_arch = "aarch64") {
    AARCH64
} else if cfg!(target_arch = "riscv64") {
    RISCV
} else {
    panic!("the number that this machine has in ELF files is to be added here")
};

/// The machine as people know it.
pub fn machine_name(machine: u16) -> String {
    match machine {
        3 => "x86".into(),
        40 => "arm".into(),
        X86_64 => "x86-64".into(),
        AARCH64 => "aarch64".into(),
        RISCV => "riscv".into(),
        other => format!("machine {other}"),
    }
}

/// An executable of a header and one segment of notes.
pub(super) fn smallest(machine: u16, notes: &[u8]) -> Vec<u8> {
    let begin = HEADER_BYTES + PROGRAM_HEADER_BYTES;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // Its kind and machine, a version, no entry, program headers, no section headers, no flags, lengths.
    file.extend([3_u16, machine].map(u16::to_le_bytes).as_flattened());
    file.extend(1_u32.to_le_bytes());
    file.extend([0, HEADER_BYTES, 0].map(u64::to_le_bytes).as_flattened());
    file.extend(0_u32.to_le_bytes());
    file.extend([HEADER_BYTES as u16, PROGRAM_HEADER_BYTES as u16, 1, 0, 0, 0].map(u16::to_le_bytes).as_flattened());
    // Readable; where it lies, how long it is, its alignment.
    file.extend([PT_NOTE, 4].map(u32::to_le_bytes).as_flattened());
    let bytes = notes.len() as u64;
    file.extend([begin, begin, begin, bytes, bytes, 4].map(u64::to_le_bytes).as_flattened());
    file.extend(notes);
    file
}
