// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formatted text as `bpf_printk`, `bpf_snprintf` and kernel functions with `__str` formats make it
//! (`bpf_bprintf_prepare` in `kernel/bpf/helpers.c` says what is allowed, `lib/vsprintf.c` what comes out).
//!
//! Differences: `%p` prints the address where the kernel prints a hash of it (its secret differs at each boot), and
//! `%pS`, `%ps`, `%pB` print the address too, as there are no kernel symbols here.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::errno::Errno;
use crate::memory::Memory;

/// `MAX_BPRINTF_VARARGS`: most arguments.
pub const MAX_ARGS: usize = 12;
/// `MAX_BPRINTF_BIN_ARGS`: bytes for all arguments, texts included.
const MAX_TEXT: u64 = 512;
/// Widest field; the kernel clamps to the range of a 24-bit number, and no buffer has room for as much.
const MAX_WIDTH: usize = 1 << 15;

/// Formats `args` by `fmt`, which ends at its first null byte, as the kernel's users of BPF formats do.
///
/// # Errors
/// The negative errno: `-EINVAL` for a format the kernel refuses, or too few arguments.
pub fn format(memory: &Memory, fmt: &[u8], args: &[u64]) -> Result<String, i64> {
    let text = format_bytes(memory, fmt, args).map_err(Errno::value)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The formatted text as bytes, for programs.
pub(crate) fn format_bytes(memory: &Memory, fmt: &[u8], args: &[u64]) -> Result<Vec<u8>, Errno> {
    let fmt = fmt.split(|byte| *byte == 0).next().unwrap_or(fmt);
    let mut format = Format { memory, fmt, at: 0, args: args.iter(), out: Vec::new() };
    while let Some(byte) = format.next() {
        match byte {
            b'%' if format.peek() == Some(b'%') => {
                format.at += 1;
                format.out.push(b'%');
            }
            b'%' => format.conversion()?,
            byte if is_plain(byte) => format.out.push(byte),
            _ => return Err(Errno::EINVAL),
        }
    }
    Ok(format.out)
}

/// Whether a byte may stand between conversions: it is printable, a space, or beyond ASCII.
fn is_plain(byte: u8) -> bool {
    !byte.is_ascii() || byte == b' ' || byte.is_ascii_graphic() || is_space(byte)
}

/// The kernel's `isspace`, without the no-break space of Latin-1.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

struct Format<'a> {
    memory: &'a Memory,
    fmt: &'a [u8],
    at: usize,
    args: std::slice::Iter<'a, u64>,
    out: Vec<u8>,
}

/// Flags and width of a conversion.
#[derive(Debug, Default, Clone, Copy)]
struct Field {
    zero: bool,
    left: bool,
    plus: bool,
    space: bool,
    width: usize,
}

impl Format<'_> {
    fn peek(&self) -> Option<u8> {
        self.fmt.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Whether a conversion may end at the next byte: the text's end, a space or punctuation.
    fn ends(&self) -> bool {
        self.peek().is_none_or(|byte| is_space(byte) || byte.is_ascii_punctuation())
    }

    /// Everything after a `%`.
    fn conversion(&mut self) -> Result<(), Errno> {
        let argument = *self.args.next().ok_or(Errno::EINVAL)?;
        let field = self.field();
        match self.next() {
            Some(b'p') => self.pointer(field, argument),
            Some(b's') => self.text(field, argument),
            Some(b'c') => {
                self.pad(field, &[argument as u8]);
                Ok(())
            }
            Some(b'l') => {
                if self.peek() == Some(b'l') {
                    self.at += 1;
                }
                let letter = self.next();
                self.integer(field, letter, argument as i64, argument)
            }
            letter => self.integer(field, letter, i64::from(argument as i32), u64::from(argument as u32)),
        }
    }

    fn field(&mut self) -> Field {
        let mut field = Field::default();
        while let Some(flag @ (b'0' | b'-' | b'+' | b' ')) = self.peek() {
            match flag {
                b'0' => field.zero = true,
                b'-' => field.left = true,
                b'+' => field.plus = true,
                _ => field.space = true,
            }
            self.at += 1;
        }
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            field.width = (field.width * 10 + usize::from(digit - b'0')).min(MAX_WIDTH);
            self.at += 1;
        }
        field
    }

    fn integer(&mut self, field: Field, letter: Option<u8>, signed: i64, unsigned: u64) -> Result<(), Errno> {
        match letter {
            Some(b'd' | b'i') if signed < 0 => self.number(field, "-", &signed.unsigned_abs().to_string()),
            Some(b'd' | b'i') if field.plus => self.number(field, "+", &signed.to_string()),
            Some(b'd' | b'i') if field.space => self.number(field, " ", &signed.to_string()),
            Some(b'd' | b'i') => self.number(field, "", &signed.to_string()),
            Some(b'u') => self.number(field, "", &unsigned.to_string()),
            Some(b'x') => self.number(field, "", &format!("{unsigned:x}")),
            Some(b'X') => self.number(field, "", &format!("{unsigned:X}")),
            _ => return Err(Errno::EINVAL),
        }
        Ok(())
    }

    fn number(&mut self, field: Field, sign: &str, digits: &str) {
        let mut text = sign.to_owned();
        if field.zero && !field.left {
            text.extend(std::iter::repeat_n('0', field.width.saturating_sub(sign.len() + digits.len())));
        }
        text.push_str(digits);
        self.pad(field, text.as_bytes());
    }

    fn pad(&mut self, field: Field, text: &[u8]) {
        let blanks = std::iter::repeat_n(b' ', field.width.saturating_sub(text.len()));
        if field.left {
            self.out.extend_from_slice(text);
            self.out.extend(blanks);
        } else {
            self.out.extend(blanks);
            self.out.extend_from_slice(text);
        }
    }

    fn text(&mut self, field: Field, address: u64) -> Result<(), Errno> {
        if !self.ends() {
            return Err(Errno::EINVAL);
        }
        // A text that cannot be read is empty, not an error.
        let text = self.memory.read_string(address, MAX_TEXT - 1).unwrap_or_default();
        self.pad(field, text);
        Ok(())
    }

    fn pointer(&mut self, field: Field, argument: u64) -> Result<(), Errno> {
        if self.ends() {
            self.address(field, argument);
            return Ok(());
        }
        match (self.next(), self.peek()) {
            (Some(b'k' | b'u'), Some(b's')) => {
                self.at += 1;
                self.text(field, argument)
            }
            // In the form in which a kernel without symbols writes addresses (`special_hex_number`).
            (Some(b's' | b'S' | b'B'), _) => {
                self.pad(field, format!("{argument:#018x}").as_bytes());
                Ok(())
            }
            (Some(b'K' | b'x'), _) => {
                self.address(field, argument);
                Ok(())
            }
            (Some(order @ (b'i' | b'I')), Some(family @ (b'4' | b'6'))) => {
                self.at += 1;
                let text = self.internet_address(order == b'I', family == b'6', argument);
                self.pad(field, text.as_bytes());
                Ok(())
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// Hexadecimal without a prefix; all 16 digits unless there is a width (`pointer_string`).
    fn address(&mut self, field: Field, argument: u64) {
        let field = if field.width == 0 { Field { zero: true, width: 16, ..field } } else { field };
        self.number(field, "", &format!("{argument:x}"));
    }

    /// `%pI4`, `%pi4`, `%pI6`, `%pi6`.
    fn internet_address(&self, separators: bool, six: bool, address: u64) -> String {
        let mut bytes = [0; 16];
        let size = if six { 16 } else { 4 };
        if let Ok(read) = self.memory.read(address, size as u64) {
            bytes[..size].copy_from_slice(read);
        }
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = match (six, separators) {
            (true, true) => {
                let groups = Ipv6Addr::from(bytes).segments().map(|group| format!("{group:04x}"));
                write!(text, "{}", groups.join(":"))
            }
            (true, false) => bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}")),
            (false, true) => write!(text, "{}", Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])),
            (false, false) => {
                write!(text, "{:03}.{:03}.{:03}.{:03}", bytes[0], bytes[1], bytes[2], bytes[3])
            }
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Protection;

    fn formatted(fmt: &str, args: &[u64]) -> Result<String, i64> {
        format(&Memory::new(4096), fmt.as_bytes(), args)
    }

    #[test]
    fn numbers_come_out_as_the_kernel_writes_them() {
        let minus = -5_i64 as u64;
        let table: [(&str, u64, &str); 20] = [
            ("%d", minus, "-5"),
            ("%i", 7, "7"),
            ("%d", 0xffff_ffff, "-1"),
            ("%u", u64::MAX, "4294967295"),
            ("%x", 0xabc, "abc"),
            ("%X", 0xabc, "ABC"),
            ("%ld", minus, "-5"),
            ("%lld", i64::MIN as u64, "-9223372036854775808"),
            ("%lu", u64::MAX, "18446744073709551615"),
            ("%llx", u64::MAX, "ffffffffffffffff"),
            ("%5d|", 42, "   42|"),
            ("%-5d|", 42, "42   |"),
            ("%05d|", minus, "-0005|"),
            ("%-05d|", 42, "42   |"),
            ("%+d", 42, "+42"),
            ("% d", 42, " 42"),
            ("%02x", 7, "07"),
            ("%c", 65, "A"),
            ("%px", 0x1234, "0000000000001234"),
            ("%pS", 0x1234, "0x0000000000001234"),
        ];
        for (fmt, arg, expected) in table {
            assert_eq!(formatted(fmt, &[arg]).as_deref(), Ok(expected), "{fmt}");
        }
    }

    #[test]
    fn percent_signs_plain_text_and_unused_arguments_pass() {
        assert_eq!(formatted("100%% of µ\n", &[1, 2]).as_deref(), Ok("100% of µ\n"));
        assert_eq!(formatted("ends\0here %q", &[]).as_deref(), Ok("ends"));
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        for fmt in ["%", "%q", "%l", "%5", "%.2d", "%*d", "%sx", "%f", "%n", "%pz", "%pI5", "%#x", "\u{1}", "%hd", "%é"]
        {
            assert_eq!(formatted(fmt, &[1]), Err(-22), "{fmt:?}");
        }
        assert_eq!(formatted("%d %d", &[1]), Err(-22));
    }

    #[test]
    fn texts_are_read_from_memory_and_unreadable_ones_are_empty() {
        let mut memory = Memory::new(4096);
        let text = memory.alloc(8, Protection::ReadWrite).unwrap();
        memory.write(text, 4).unwrap().copy_from_slice(b"task");
        assert_eq!(format(&memory, b"[%s]", &[text]).as_deref(), Ok("[task]"));
        assert_eq!(format(&memory, b"[%6s|%-6s]", &[text, text]).as_deref(), Ok("[  task|task  ]"));
        assert_eq!(format(&memory, b"[%pks]", &[text]).as_deref(), Ok("[task]"));
        assert_eq!(format(&memory, b"[%s]", &[0]).as_deref(), Ok("[]"));
        assert_eq!(format(&memory, b"%pI4", &[text]).as_deref(), Ok("116.97.115.107"));
    }

    proptest::proptest! {
        #[test]
        fn no_format_panics(fmt: Vec<u8>, args: [u64; 3]) {
            let text = format(&Memory::new(64), &fmt, &args);
            proptest::prop_assert!(text.is_ok() || text == Err(-22));
        }

        #[test]
        fn no_conversion_panics(fmt in "(%[-+ 0]{0,2}[0-9]{0,9}[pscdiuxXlkKISB46]{1,4} ?){1,3}", args: [u64; 3]) {
            let text = format(&Memory::new(64), fmt.as_bytes(), &args);
            proptest::prop_assert!(text.is_ok() || text == Err(-22));
        }
    }
}
