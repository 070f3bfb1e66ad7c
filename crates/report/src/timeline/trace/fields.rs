// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fields of a protocol-buffer message, one after the other, with the place of each.

/// A value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'b> {
    /// A number of variable length.
    Number(u64),
    /// Eight bytes.
    Eight(u64),
    /// Four bytes, which none of the messages that are read here has.
    Four,
    /// A text, or another message.
    Bytes(Bytes<'b>),
}

/// Bytes, and where they are in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bytes<'b> {
    /// The bytes.
    pub bytes: &'b [u8],
    /// The number of the first of them in the file.
    pub at: usize,
}

/// Why a message ends: at its end, or at a byte that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged {
    /// The number of the byte in the file.
    pub at: usize,
}

impl<'b> Bytes<'b> {
    /// The fields of the message that the bytes are.
    pub fn fields(self) -> Fields<'b> {
        Fields { bytes: self.bytes, at: self.at, failed: false }
    }

    /// The text that the bytes are; what is no UTF-8 is replaced.
    pub fn text(self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }
}

impl<'b> Value<'b> {
    /// The number, or 0.
    pub fn number(self) -> u64 {
        match self {
            Self::Number(number) => number,
            _ => 0,
        }
    }

    /// The bytes, or none.
    pub fn bytes(self) -> Bytes<'b> {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => Bytes { bytes: &[], at: 0 },
        }
    }
}

/// An iterator of a message's fields.
#[derive(Debug, Clone)]
pub struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
    failed: bool,
}

impl<'b> Fields<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        self.at += count;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn field(&mut self) -> Option<(u32, Value<'b>)> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            1 => Value::Eight(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                let at = self.at;
                Value::Bytes(Bytes { bytes: self.take(length)?, at })
            }
            5 => self.take(4).map(|_| Value::Four)?,
            _ => return None,
        };
        Some((u32::try_from(tag >> 3).ok().filter(|field| *field > 0)?, value))
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = Result<(u32, Value<'b>), Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() || self.failed {
            return None;
        }
        let at = self.at;
        let field = self.field();
        self.failed = field.is_none();
        Some(field.ok_or(Damaged { at }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Result<(u32, Value<'_>), Damaged>> {
        Bytes { bytes, at: 100 }.fields().collect()
    }

    #[test]
    fn fields_are_read_and_what_is_cut_off_has_its_place() {
        let text = Value::Bytes(Bytes { bytes: b"ab", at: 105 });
        assert_eq!(all(&[0x08, 0xAC, 0x02, 0x12, 2, b'a', b'b']), [Ok((1, Value::Number(300))), Ok((2, text))]);
        assert_eq!(all(&[0x08, 0x01, 0x12, 9, b'a']), [Ok((1, Value::Number(1))), Err(Damaged { at: 102 })]);
        for damaged in [&[0x08][..], &[0x03, 0], &[0x00, 0], &[0xFF; 12]] {
            assert_eq!(all(damaged), [Err(Damaged { at: 100 })]);
        }
    }
}
