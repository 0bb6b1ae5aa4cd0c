//! Bytes of the binary protocol to values.
//!
//! Invariants, whatever the bytes are: no panic; nothing is allocated for what a length claims, only for what came;
//! nesting is bounded by [`DEPTH_MAX`]; the memory of containers is bounded by [`allowance`], since a struct of one
//! byte may stand for hundreds in memory.

use super::{DecodeError, Kind, Problem};

/// Structs and containers within each other, at most. Storm's deepest record, a topology, has 9 levels; Thrift's own
/// bound is 64.
pub const DEPTH_MAX: u32 = 64;

/// Memory in bytes that the elements of containers may take, decoded from so many bytes: 16 times as much and 1 MiB.
/// Storm's records take less than ten times as much.
pub const fn allowance(length: usize) -> usize {
    length.saturating_mul(16).saturating_add(1 << 20)
}

/// Bytes that are being read.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    allowance: usize,
}

impl<'a> Decoder<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0, allowance: allowance(bytes.len()) }
    }

    /// Where it is, from the start.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`Problem::Trailing`] when bytes are left.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.error(Problem::Trailing(left))),
        }
    }

    pub(crate) fn error(&self, problem: Problem) -> DecodeError {
        DecodeError { problem, at: self.at, place: None }
    }

    /// The bytes since an earlier position.
    pub(crate) fn since(&self, position: usize) -> &'a [u8] {
        &self.bytes[position..self.at]
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        if count > self.left() {
            return Err(self.error(Problem::Truncated { needed: count, left: self.left() }));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn array<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], DecodeError> {
        let taken = self.take(COUNT)?;
        Ok(taken.try_into().expect("as many bytes were taken"))
    }

    /// As Storm's reader: everything but 1 is false.
    pub(crate) fn bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.byte()? == 1)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn i16(&mut self) -> Result<i16, DecodeError> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, DecodeError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, DecodeError> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    pub(crate) fn binary(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.length()?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let at = self.at;
        let bytes = self.binary()?;
        std::str::from_utf8(bytes).map_err(|_| DecodeError { problem: Problem::NotUtf8, at, place: None })
    }

    fn length(&mut self) -> Result<usize, DecodeError> {
        let length = self.i32()?;
        usize::try_from(length).map_err(|_| self.error(Problem::NegativeLength(length)))
    }

    /// The head of the next field, or the end of the struct.
    pub(crate) fn field(&mut self) -> Result<Option<(Kind, i16)>, DecodeError> {
        let code = self.byte()?;
        if code == 0 {
            return Ok(None);
        }
        let kind = self.kind(code)?;
        Ok(Some((kind, self.i16()?)))
    }

    fn kind(&self, code: u8) -> Result<Kind, DecodeError> {
        Kind::from_code(code).ok_or_else(|| self.error(Problem::KindCode(code)))
    }

    /// The head of a list or set of elements of one kind: how many there are. An empty one may have any kind.
    pub(crate) fn elements(&mut self, expected: Kind) -> Result<usize, DecodeError> {
        let code = self.byte()?;
        let count = self.count(expected.least_bytes())?;
        if count > 0 && code != expected.code() {
            return Err(self.error(Problem::Elements { found: code, expected }));
        }
        Ok(count)
    }

    /// The head of a map, as [`Decoder::elements`].
    pub(crate) fn pairs(&mut self, key: Kind, value: Kind) -> Result<usize, DecodeError> {
        let codes = [self.byte()?, self.byte()?];
        let count = self.count(key.least_bytes() + value.least_bytes())?;
        for (found, expected) in codes.into_iter().zip([key, value]) {
            if count > 0 && found != expected.code() {
                return Err(self.error(Problem::Elements { found, expected }));
            }
        }
        Ok(count)
    }

    /// The kinds and the count of any container; no kinds for an empty one that names none.
    pub(crate) fn any_elements<const KINDS: usize>(&mut self) -> Result<([Option<Kind>; KINDS], usize), DecodeError> {
        let codes: [u8; KINDS] = self.array()?;
        let kinds = codes.map(Kind::from_code);
        let least_bytes = kinds.iter().map(|kind| kind.map_or(1, Kind::least_bytes)).sum();
        let count = self.count(least_bytes)?;
        for (code, kind) in codes.into_iter().zip(kinds) {
            if count > 0 && kind.is_none() {
                return Err(self.error(Problem::KindCode(code)));
            }
        }
        Ok((kinds, count))
    }

    fn count(&mut self, least_bytes: usize) -> Result<usize, DecodeError> {
        let count = self.length()?;
        if count > self.left() / least_bytes {
            return Err(self.error(Problem::Count { count, left: self.left() }));
        }
        Ok(count)
    }

    /// Goes into a struct or container.
    pub(crate) fn enter(&mut self) -> Result<(), DecodeError> {
        if self.depth == DEPTH_MAX {
            return Err(self.error(Problem::TooDeep(DEPTH_MAX)));
        }
        self.depth += 1;
        Ok(())
    }

    /// Comes out of it again. After an error nobody reads on, so nobody needs to come out.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Says that memory is about to be taken for an element.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.allowance = self
            .allowance
            .checked_sub(bytes)
            .ok_or_else(|| self.error(Problem::TooLarge { length: self.bytes.len() }))?;
        Ok(())
    }

    /// Passes over a value.
    pub(crate) fn skip(&mut self, kind: Kind) -> Result<(), DecodeError> {
        match kind {
            Kind::Bool | Kind::Byte | Kind::I16 | Kind::I32 | Kind::Double | Kind::I64 | Kind::Uuid => {
                // Their least size is their size.
                self.take(kind.least_bytes())?;
            }
            Kind::String => {
                self.binary()?;
            }
            Kind::Struct => {
                self.enter()?;
                while let Some((kind, _)) = self.field()? {
                    self.skip(kind)?;
                }
                self.leave();
            }
            Kind::List | Kind::Set => self.skip_elements::<1>()?,
            Kind::Map => self.skip_elements::<2>()?,
        }
        Ok(())
    }

    fn skip_elements<const KINDS: usize>(&mut self) -> Result<(), DecodeError> {
        self.enter()?;
        let (kinds, count) = self.any_elements::<KINDS>()?;
        for _ in 0..count {
            for kind in kinds.into_iter().flatten() {
                self.skip(kind)?;
            }
        }
        self.leave();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
