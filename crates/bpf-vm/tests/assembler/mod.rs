// SPDX-License-Identifier: MIT OR Apache-2.0
//! An assembler for the notation of the BPF conformance suite (`mov32 %r0, 5`, `ldxw %r1, [%r2+4]`, `jeq %r1, %r2, out`).
//!
//! Beyond the suite's: `may_goto label`, `lock load_acquireN`/`lock store_releaseN` (N bytes), `addr_space_cast %r0, %r1, 1`,
//! and `lddw %r0, function label` for a function's address.

use std::collections::BTreeMap;

/// An instruction's fields, and the label at which its distance ends.
#[derive(Default)]
struct Draft {
    code: u8,
    dst: u8,
    src: u8,
    off: i16,
    imm: i32,
    /// The second half of `lddw`.
    high: Option<i32>,
    label: Option<String>,
}

/// Encodes a program. Text after `#` is a comment; a line `name:` is a label.
pub fn assemble(text: &str) -> Result<Vec<u8>, String> {
    let (mut drafts, mut labels, mut slot) = (Vec::new(), BTreeMap::new(), 0);
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label.to_owned(), slot);
        } else if !line.is_empty() {
            let draft = instruction(line).ok_or_else(|| format!("cannot assemble '{line}'"))?;
            slot += if draft.high.is_some() { 2 } else { 1 };
            drafts.push(draft);
        }
    }
    let mut code = Vec::new();
    for mut draft in drafts {
        if let Some(label) = &draft.label {
            let target = *labels.get(label).ok_or_else(|| format!("no label '{label}'"))?;
            let distance = target - (code.len() / 8) as i32 - 1;
            if matches!(draft.code, 0x06 | 0x85 | 0x18) { draft.imm = distance } else { draft.off = distance as i16 }
        }
        encode(&draft, &mut code);
    }
    Ok(code)
}

fn encode(draft: &Draft, code: &mut Vec<u8>) {
    code.extend([draft.code, draft.src << 4 | draft.dst]);
    code.extend(draft.off.to_le_bytes());
    code.extend(draft.imm.to_le_bytes());
    if let Some(high) = draft.high {
        code.extend([0; 4]);
        code.extend(high.to_le_bytes());
    }
}

fn instruction(line: &str) -> Option<Draft> {
    let (mnemonic, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let operands: Vec<&str> =
        rest.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty()).collect();
    match (mnemonic, operands.as_slice()) {
        ("exit", []) => Some(Draft { code: 0x95, ..Draft::default() }),
        ("ja", [target]) => jump(Draft { code: 0x05, ..Draft::default() }, target),
        ("ja32", [target]) => jump(Draft { code: 0x06, ..Draft::default() }, target),
        ("may_goto", [target]) => jump(Draft { code: 0xe5, ..Draft::default() }, target),
        ("call", ["local", target]) => jump(Draft { code: 0x85, src: 1, ..Draft::default() }, target),
        ("call", [helper]) => Some(Draft { code: 0x85, imm: number(helper)? as i32, ..Draft::default() }),
        ("lddw", [dst, "function", label]) => {
            let draft = Draft { code: 0x18, dst: register(dst)?, src: 4, high: Some(0), ..Draft::default() };
            jump(draft, label)
        }
        ("lddw", [dst, value]) => {
            let value = number(value)?;
            let (imm, high) = (value as i32, Some((value >> 32) as i32));
            Some(Draft { code: 0x18, dst: register(dst)?, imm, high, ..Draft::default() })
        }
        ("addr_space_cast", [dst, src, imm]) => {
            let imm = number(imm)? as i32;
            Some(Draft { code: 0xbf, dst: register(dst)?, src: register(src)?, off: 1, imm, ..Draft::default() })
        }
        ("lock", ["fetch", operation, memory, src]) => atomic(operation, 1, memory, src),
        ("lock", [operation, memory, src]) => atomic(operation, 0, memory, src),
        (_, [dst]) => unary(mnemonic, register(dst)?),
        (_, [dst, src]) if mnemonic.starts_with("ld") => {
            let (base, off) = place(src)?;
            let signed = mnemonic.strip_prefix("ldxs");
            let mode = if signed.is_some() { 0x80 } else { 0x60 };
            let code = 0x01 | mode | size(signed.or_else(|| mnemonic.strip_prefix("ldx"))?)?;
            Some(Draft { code, dst: register(dst)?, src: base, off, ..Draft::default() })
        }
        (_, [dst, src]) if mnemonic.starts_with("stx") => {
            let ((base, off), code) = (place(dst)?, 0x63 | size(&mnemonic[3..])?);
            Some(Draft { code, dst: base, src: register(src)?, off, ..Draft::default() })
        }
        (_, [dst, value]) if mnemonic.starts_with("st") => {
            let ((base, off), code) = (place(dst)?, 0x62 | size(&mnemonic[2..])?);
            Some(Draft { code, dst: base, off, imm: number(value)? as i32, ..Draft::default() })
        }
        (_, [dst, src]) => alu(mnemonic, dst, src),
        (_, [dst, src, target]) => {
            let (operation, wide) = width(mnemonic);
            let operation = CONDITIONS.iter().find(|(name, _)| *name == operation)?.1;
            let draft = Draft { code: operation | if wide { 5 } else { 6 }, dst: register(dst)?, ..Draft::default() };
            jump(second_operand(draft, src)?, target)
        }
        _ => None,
    }
}

const CONDITIONS: [(&str, u8); 11] = [
    ("jeq", 0x10),
    ("jgt", 0x20),
    ("jge", 0x30),
    ("jset", 0x40),
    ("jne", 0x50),
    ("jsgt", 0x60),
    ("jsge", 0x70),
    ("jlt", 0xa0),
    ("jle", 0xb0),
    ("jslt", 0xc0),
    ("jsle", 0xd0),
];

/// Name, operation, `off`.
const OPERATIONS: [(&str, u8, i16); 17] = [
    ("add", 0x00, 0),
    ("sub", 0x10, 0),
    ("mul", 0x20, 0),
    ("div", 0x30, 0),
    ("sdiv", 0x30, 1),
    ("or", 0x40, 0),
    ("and", 0x50, 0),
    ("lsh", 0x60, 0),
    ("rsh", 0x70, 0),
    ("mod", 0x90, 0),
    ("smod", 0x90, 1),
    ("xor", 0xa0, 0),
    ("mov", 0xb0, 0),
    ("movsx8", 0xb0, 8),
    ("movsx16", 0xb0, 16),
    ("movsx32", 0xb0, 32),
    ("arsh", 0xc0, 0),
];

/// The operation without its width, and whether it has 64 bits.
fn width(mnemonic: &str) -> (&str, bool) {
    match mnemonic.strip_suffix("32") {
        Some(operation) => (operation, false),
        None => (mnemonic.strip_suffix("64").unwrap_or(mnemonic), true),
    }
}

fn alu(mnemonic: &str, dst: &str, src: &str) -> Option<Draft> {
    let (operation, wide) = width(mnemonic);
    let (_, operation, off) = *OPERATIONS.iter().find(|(name, ..)| *name == operation)?;
    let draft = Draft { code: operation | if wide { 7 } else { 4 }, dst: register(dst)?, off, ..Draft::default() };
    second_operand(draft, src)
}

fn unary(mnemonic: &str, dst: u8) -> Option<Draft> {
    let (code, imm) = match mnemonic {
        "neg" | "neg64" => (0x87, 0),
        "neg32" => (0x84, 0),
        _ => {
            let (operation, bits) = mnemonic.split_at(mnemonic.find(|c: char| c.is_ascii_digit())?);
            let (_, code) = [("le", 0xd4), ("be", 0xdc), ("swap", 0xd7), ("bswap", 0xd7)]
                .into_iter()
                .find(|(name, _)| *name == operation)?;
            (code, bits.parse().ok()?)
        }
    };
    Some(Draft { code, dst, imm, ..Draft::default() })
}

fn atomic(mnemonic: &str, fetch: i32, memory: &str, src: &str) -> Option<Draft> {
    if let Some(bytes) = mnemonic.strip_prefix("load_acquire") {
        let ((base, off), code) = (place(src)?, 0xc3 | size(bytes)?);
        return Some(Draft { code, dst: register(memory)?, src: base, off, imm: 0x100, ..Draft::default() });
    }
    let ((dst, off), src) = (place(memory)?, register(src)?);
    if let Some(bytes) = mnemonic.strip_prefix("store_release") {
        return Some(Draft { code: 0xc3 | size(bytes)?, dst, src, off, imm: 0x110, ..Draft::default() });
    }
    let (operation, wide) = width(mnemonic);
    let imm = match operation {
        "add" => fetch,
        "or" => 0x40 | fetch,
        "and" => 0x50 | fetch,
        "xor" => 0xa0 | fetch,
        "xchg" => 0xe1,
        "cmpxchg" => 0xf1,
        _ => return None,
    };
    Some(Draft { code: if wide { 0xdb } else { 0xc3 }, dst, src, off, imm, ..Draft::default() })
}

fn second_operand(draft: Draft, operand: &str) -> Option<Draft> {
    match register(operand) {
        Some(src) => Some(Draft { code: draft.code | 8, src, ..draft }),
        None => Some(Draft { imm: number(operand)? as i32, ..draft }),
    }
}

/// `+2`, `-3` or a label.
fn jump(draft: Draft, target: &str) -> Option<Draft> {
    if !target.starts_with(['+', '-']) {
        return Some(Draft { label: Some(target.to_owned()), ..draft });
    }
    let distance = target.parse().ok()?;
    Some(if matches!(draft.code, 0x06 | 0x85) {
        Draft { imm: distance, ..draft }
    } else {
        Draft { off: i16::try_from(distance).ok()?, ..draft }
    })
}

fn register(operand: &str) -> Option<u8> {
    operand.strip_prefix("%r")?.parse().ok().filter(|register| *register < 16)
}

/// `[%r1+8]`: register and offset.
fn place(operand: &str) -> Option<(u8, i16)> {
    let inner = operand.strip_prefix('[')?.strip_suffix(']')?;
    let end = inner.find(['+', '-']).unwrap_or(inner.len());
    let offset = if end == inner.len() { 0 } else { number(&inner[end..])? };
    Some((register(&inner[..end])?, offset as i16))
}

fn size(suffix: &str) -> Option<u8> {
    match suffix {
        "b" | "1" => Some(0x10),
        "h" | "2" => Some(0x08),
        "w" | "4" => Some(0x00),
        "dw" | "8" => Some(0x18),
        _ => None,
    }
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    } as i64;
    Some(if negative { value.wrapping_neg() } else { value })
}
