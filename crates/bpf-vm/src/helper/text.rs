// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formatting, printing, comparing and parsing texts (`kernel/bpf/helpers.c`, `kernel/trace/bpf_trace.c`).

use crate::errno::{Errno, OpError, answer};
use crate::fault::Fault;
use crate::format::{MAX_ARGS, format_bytes, is_space};
use crate::host::{Args, Host};
use crate::instance::Instance;
use crate::memory::Memory;

/// `MAX_BPRINTF_BUF`: most bytes of a printed line, its null byte included.
const LINE: usize = 1024;
/// How far the null byte of a format text is looked for, in bytes.
const FORMAT: u64 = 1 << 16;
/// Most bytes that `bpf_strtol` looks at: digits and prefix.
const NUMBER: usize = 63;

/// `bpf_trace_printk(fmt, size, a, b, c)`.
pub(super) fn trace_printk(vm: &mut Instance, host: &mut dyn Host, [fmt, size, a, b, c]: Args) -> Result<u64, Fault> {
    answer(print(vm, host, (fmt, size), &[a, b, c]))
}

/// `bpf_trace_vprintk(fmt, size, args, args_size)`.
pub(super) fn trace_vprintk(vm: &mut Instance, host: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    let [fmt, size, args, args_size, _] = args;
    answer(arguments(&vm.memory, args, args_size).and_then(|args| print(vm, host, (fmt, size), &args)))
}

fn print(vm: &mut Instance, host: &mut dyn Host, fmt: (u64, u64), args: &[u64]) -> Result<u64, OpError> {
    vm.spend_bytes(u64::from(fmt.1 as u32))?;
    let fmt = vm.memory.read(fmt.0, u64::from(fmt.1 as u32))?;
    if !fmt.contains(&0) {
        return Err(Errno::EINVAL.into());
    }
    let text = format_bytes(&vm.memory, fmt, args)?;
    vm.spend(text.len() as u64)?;
    host.printk(&String::from_utf8_lossy(&text[..text.len().min(LINE - 1)]));
    Ok(text.len() as u64)
}

/// The array of arguments that the `v` helpers take.
fn arguments(memory: &Memory, address: u64, size: u64) -> Result<Vec<u64>, OpError> {
    let size = u64::from(size as u32);
    if size % 8 != 0 || size > MAX_ARGS as u64 * 8 || (size != 0 && address == 0) {
        return Err(Errno::EINVAL.into());
    }
    (0..size / 8).map(|index| Ok(memory.load::<8>(address.wrapping_add(index * 8))?)).collect()
}

/// `bpf_snprintf(to, size, fmt, args, args_size)`: returns the length that the whole text has, its null byte included.
pub(super) fn snprintf(vm: &mut Instance, _: &mut dyn Host, args: Args) -> Result<u64, Fault> {
    answer(do_snprintf(vm, args))
}

fn do_snprintf(vm: &mut Instance, [to, size, fmt, args, args_size]: Args) -> Result<u64, OpError> {
    let args = arguments(&vm.memory, args, args_size)?;
    let fmt = vm.memory.read_string(fmt, FORMAT)?;
    let read = fmt.len() as u64;
    let text = format_bytes(&vm.memory, fmt, &args)?;
    vm.spend(read + text.len() as u64)?;
    vm.spend_bytes(u64::from(size as u32))?;
    let room = vm.memory.write(to, u64::from(size as u32))?;
    if let Some(most) = room.len().checked_sub(1) {
        let length = text.len().min(most);
        room[..length].copy_from_slice(&text[..length]);
        room[length] = 0;
    }
    Ok(text.len() as u64 + 1)
}

/// `bpf_strncmp(s1, s1_size, s2)`: returns a negative number, 0 or a positive number.
pub(super) fn strncmp(vm: &mut Instance, _: &mut dyn Host, [left, size, right, ..]: Args) -> Result<u64, Fault> {
    for at in 0..u64::from(size as u32) {
        vm.spend(1)?;
        let (a, b) = (vm.memory.load::<1>(left.wrapping_add(at))?, vm.memory.load::<1>(right.wrapping_add(at))?);
        if a != b {
            return Ok(if a < b { -1_i64 as u64 } else { 1 });
        }
        if a == 0 {
            break;
        }
    }
    Ok(0)
}

/// `bpf_strtol(buf, size, flags, result)`: returns the number of bytes used.
pub(super) fn strtol(vm: &mut Instance, _: &mut dyn Host, [buf, size, base, to, _]: Args) -> Result<u64, Fault> {
    vm.memory.store::<8>(to, 0)?;
    vm.spend(size.min(vm.memory.extent()))?;
    let result = parse(vm.memory.read(buf, size)?, base).and_then(|number| {
        // As in the kernel, only a number with a sign may have the magnitude of i64::MIN.
        let value = if number.negative { 0_i128 - i128::from(number.magnitude) } else { number.magnitude.into() };
        Ok((number.used, i64::try_from(value).map_err(|_| Errno::ERANGE)? as u64))
    });
    finish(&mut vm.memory, to, result)
}

/// `bpf_strtoul(buf, size, flags, result)`: returns the number of bytes used; a sign is an error.
pub(super) fn strtoul(vm: &mut Instance, _: &mut dyn Host, [buf, size, base, to, _]: Args) -> Result<u64, Fault> {
    vm.memory.store::<8>(to, 0)?;
    vm.spend(size.min(vm.memory.extent()))?;
    let result = parse(vm.memory.read(buf, size)?, base).and_then(|number| match number.negative {
        true => Err(Errno::EINVAL),
        false => Ok((number.used, number.magnitude)),
    });
    finish(&mut vm.memory, to, result)
}

fn finish(memory: &mut Memory, to: u64, result: Result<(usize, u64), Errno>) -> Result<u64, Fault> {
    let (used, value) = match result {
        Ok(parsed) => parsed,
        Err(errno) => return Ok(errno.value() as u64),
    };
    memory.store::<8>(to, value)?;
    Ok(used as u64)
}

struct Number {
    magnitude: u64,
    negative: bool,
    used: usize,
}

/// `__bpf_strtoull`: spaces, a sign, a prefix if the base allows one, digits.
fn parse(text: &[u8], base: u64) -> Result<Number, Errno> {
    if text.is_empty() || !matches!(base, 0 | 8 | 10 | 16) {
        return Err(Errno::EINVAL);
    }
    let spaces = text.iter().take_while(|byte| is_space(**byte)).count();
    let negative = text.get(spaces) == Some(&b'-');
    let start = spaces + usize::from(negative);
    let rest = &text[start.min(text.len())..];
    let rest = &rest[..rest.len().min(NUMBER)];
    let (base, prefix) = radix(rest, base as u32);
    let mut magnitude = 0_u64;
    let digits = rest[prefix..].iter().map_while(|byte| char::from(*byte).to_digit(base));
    let mut count = 0;
    for digit in digits {
        count += 1;
        let next = magnitude.checked_mul(u64::from(base)).and_then(|shifted| shifted.checked_add(u64::from(digit)));
        magnitude = next.ok_or(Errno::ERANGE)?;
    }
    match count {
        0 => Err(Errno::EINVAL),
        count => Ok(Number { magnitude, negative, used: start + prefix + count }),
    }
}

/// `_parse_integer_fixup_radix`: the base, and how many bytes its prefix has.
fn radix(text: &[u8], base: u32) -> (u32, usize) {
    let hexadecimal = matches!(text, [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit());
    match base {
        0 if hexadecimal => (16, 2),
        0 if text.first() == Some(&b'0') => (8, 0),
        0 => (10, 0),
        16 if matches!(text, [b'0', b'x' | b'X', ..]) => (16, 2),
        base => (base, 0),
    }
}
