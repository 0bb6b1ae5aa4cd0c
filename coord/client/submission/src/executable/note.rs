//! The note of a topology's executable.
//!
//! An ELF note: three numbers, a name, a text of lines. The text begins with the wire format and the version of Ringstorm;
//! lines that come later are for later versions, and are passed over. Source: the ELF specification, `Note Section`.
//! Threading: plain data. Errors: what is no such note is none.

use ringstorm_types::wire_format::WIRE_FORMAT;

/// The name, with the zero that ends it and those that fill it up.
const NAME: [u8; 12] = *b"Ringstorm\0\0\0";
/// The name's length with the zero that ends it.
const NAME_BYTES: u32 = 10;
/// Ours to choose, since the name is ours.
const KIND: u32 = 1;
/// Room for the text, which zeros fill up.
const TEXT_BYTES: usize = 256;

/// It, as it lies in an executable.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Note {
    name_bytes: u32,
    text_bytes: u32,
    kind: u32,
    name: [u8; 12],
    text: [u8; TEXT_BYTES],
}

/// What a topology's executable was built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The [`WIRE_FORMAT`] of its Ringstorm.
    pub wire_format: String,
    /// The version of its Ringstorm.
    pub version: String,
}

impl Note {
    /// That of this build.
    pub const OWN: Self = Self::new(WIRE_FORMAT, env!("CARGO_PKG_VERSION"));

    /// That of a build. Both texts together must have room in 256 bytes, as is seen when it is built.
    pub const fn new(wire_format: &str, version: &str) -> Self {
        let mut text = [0; TEXT_BYTES];
        let mut at = 0;
        let lines = [wire_format.as_bytes(), b"\n", version.as_bytes(), b"\n"];
        let mut line = 0;
        // No iterator is there for what is done when it is built.
        while line < lines.len() {
            let mut byte = 0;
            while byte < lines[line].len() {
                text[at] = lines[line][byte];
                at += 1;
                byte += 1;
            }
            line += 1;
        }
        Self { name_bytes: NAME_BYTES, text_bytes: TEXT_BYTES as u32, kind: KIND, name: NAME, text }
    }

    /// Its bytes in a file for a machine whose numbers begin with their lowest byte.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.name_bytes, self.text_bytes, self.kind].map(u32::to_le_bytes);
        [numbers.as_flattened(), &self.name, &self.text].concat()
    }
}

/// The note among others, whose parts lie at multiples of `alignment`.
pub(super) fn find(notes: &[u8], alignment: usize, number: impl Fn(&[u8]) -> u32) -> Option<Built> {
    let mut rest = notes;
    loop {
        let (numbers, after) = rest.split_at_checked(12)?;
        let length = |at: usize| usize::try_from(number(&numbers[at..at + 4])).ok();
        let (name_bytes, text_bytes) = (length(0)?, length(4)?);
        let name = after.get(..name_bytes)?;
        // The numbers before count, too.
        let begin = (12 + name_bytes).checked_next_multiple_of(alignment)?;
        let text = rest.get(begin..begin.checked_add(text_bytes)?)?;
        if number(&numbers[8..]) == KIND && name == &NAME[..NAME_BYTES as usize] {
            return built(text);
        }
        // The last one need not be filled up.
        let end = (begin + text_bytes).checked_next_multiple_of(alignment)?;
        rest = rest.get(end..)?;
    }
}

fn built(text: &[u8]) -> Option<Built> {
    let mut lines = std::str::from_utf8(text).ok()?.lines();
    let mut line = || lines.next().map(str::to_owned).filter(|line| !line.contains('\0'));
    Some(Built { wire_format: line()?, version: line()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &[u8]) -> u32 {
        bytes.try_into().map(u32::from_le_bytes).unwrap_or_default()
    }

    #[test]
    fn it_is_found_among_others_also_if_it_is_of_a_later_version() {
        let own = Note::new("frame 7", "1.2.3").to_bytes();
        let other = [&[4_u8, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0][..], b"GNU\0", b"abc\0"].concat();
        let expected = Some(Built { wire_format: "frame 7".into(), version: "1.2.3".into() });
        for notes in [own.clone(), [&other[..], &own].concat(), [&own[..], &other].concat()] {
            assert_eq!(find(&notes, 4, number), expected);
        }
        let mut later = own.clone();
        let end = later.windows(6).position(|bytes| bytes == b"1.2.3\n").unwrap() + 6;
        later[end..end + 6].copy_from_slice(b"more\n\0");
        assert_eq!(find(&later, 4, number), expected);
        assert_eq!(find(&other, 4, number), None);
        assert_eq!(find(&own[..own.len() - 1], 4, number), None);
    }
}
