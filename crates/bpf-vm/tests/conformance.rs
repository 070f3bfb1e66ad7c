// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every instruction of RFC 9669, by the programs in `tests/data`.
//! A file has the sections of the BPF conformance suite, each begun by a line `-- name`; lines with `#` are comments.
//! Sections: `asm` the program, or `raw` its bytes in hexadecimal; `mem` the bytes that r1 points to (r2 is their
//! number); then `result`, the value of r0 at the end, or `error`, a part of the fault's or the decoder's message. A
//! file may hold several cases: each begins with `asm` or `raw`, and `mem` also applies to the cases that follow.

use std::collections::BTreeSet;
use std::path::Path;

use crate::engine::{on_every_engine, prepared};
use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::host::{Args, Host};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::memory::Protection;

use crate::assembler;

struct NoHost;

impl Host for NoHost {
    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(FaultKind::Misuse(format!("no kernel function {kfunc}")).into())
    }
}

#[derive(Default, Clone)]
struct Case {
    code: Vec<u8>,
    memory: Vec<u8>,
    result: Option<u64>,
    error: Option<String>,
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).ok();
    digits.chunks(2).map(|pair| byte(pair).ok_or_else(|| format!("'{text}' is not hexadecimal"))).collect()
}

/// The cases of a file.
fn cases(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut memory = Vec::new();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let text: String = lines.flat_map(|line| ["\n", line]).collect();
    for section in text.split("\n-- ").skip(1) {
        let (name, body) = section.split_once('\n').unwrap_or((section, ""));
        if matches!(name, "asm" | "raw") {
            let code = if name == "asm" { assembler::assemble(body)? } else { hex(body)? };
            cases.push(Case { code, memory: memory.clone(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().ok_or("a file begins with '-- asm' or '-- raw'")?;
        match name {
            "mem" => {
                memory = hex(body)?;
                case.memory = memory.clone();
            }
            "result" => {
                let body = body.trim().trim_start_matches("0x");
                case.result = Some(u64::from_str_radix(body, 16).map_err(|_| format!("result '{body}'"))?);
            }
            "error" => case.error = Some(body.trim().to_owned()),
            _ => return Err(format!("unknown section '{name}'")),
        }
    }
    Ok(cases)
}

/// The value of r0 at the end, or the message of what went wrong.
fn run(case: &Case) -> Result<u64, String> {
    let vm = Instance::from_instructions(&case.code, &|_| None, 1 << 26).map_err(|error| error.to_string())?;
    let mut vm = prepared(vm);
    let size = case.memory.len() as u64;
    let address = vm.memory.alloc(size, Protection::ReadWrite).map_err(|error| error.to_string())?;
    vm.memory.write(address, size).expect("it was just made").copy_from_slice(&case.memory);
    let main = vm.program("main").expect("the first function has this name");
    let outcome = vm.run_raw(main, [address, size, 0, 0, 0], &mut NoHost).map_err(|fault| fault.to_string())?;
    Ok(outcome.value)
}

fn failure(case: &Case) -> Option<String> {
    let got = run(case);
    let right = match (&got, case.result, &case.error) {
        (Ok(value), Some(expected), None) => *value == expected,
        (Err(message), None, Some(expected)) => message.contains(expected.as_str()),
        _ => false,
    };
    (!right).then(|| format!("expected {:x?} or error {:?}, got {got:x?}", case.result, case.error))
}

/// The cases of all files, by file name and number.
fn all() -> Vec<(String, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let cases = cases(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!cases.is_empty(), "{name} has no case");
        all.extend(cases.into_iter().enumerate().map(|(number, case)| (format!("{name}, case {}", number + 1), case)));
    }
    all
}

#[test]
fn every_data_file_gives_its_result() {
    on_every_engine(|| {
        let failures: Vec<String> =
            all().iter().filter_map(|(name, case)| Some(format!("{name}: {}", failure(case)?))).collect();
        assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    });
}

/// Instructions differ by their code, and by a second field: `off` (signed operations), `imm` (atomics, byte swaps) or
/// the source register (calls, `ld_imm64`).
type Kind = (u8, i32);

fn kinds(code: &[u8]) -> BTreeSet<Kind> {
    let mut kinds = BTreeSet::new();
    let mut slot = 0;
    let (slots, _) = code.as_chunks::<8>();
    while let Some([code, registers, off0, off1, imm @ ..]) = slots.get(slot) {
        let off = i32::from(i16::from_le_bytes([*off0, *off1]));
        let detail = match (code & 7, code & 0xf0) {
            (4 | 7, 0x30 | 0x90 | 0xb0) => off,
            (4 | 7, 0xd0) => i32::from_le_bytes(*imm),
            (3, 0xc0 | 0xd0) => i32::from_le_bytes(*imm),
            (0, _) | (5, 0x80) => i32::from(registers >> 4),
            _ => 0,
        };
        kinds.insert((*code, detail));
        slot += if *code == 0x18 { 2 } else { 1 };
    }
    kinds
}

/// Every instruction that can run without an object's relocations.
fn instructions() -> BTreeSet<Kind> {
    let mut all = BTreeSet::new();
    for source in [0, 8] {
        for wide in [4, 7] {
            for operation in [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0] {
                all.insert((operation | source | wide, 0));
            }
            all.extend([(0x30 | source | wide, 1), (0x90 | source | wide, 1)]);
        }
        for class in [5, 6] {
            for operation in [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0] {
                all.insert((operation | source | class, 0));
            }
        }
    }
    all.extend([(0x84, 0), (0x87, 0), (0xbc, 8), (0xbc, 16), (0xbf, 8), (0xbf, 16), (0xbf, 32), (0xbf, 1)]);
    all.extend([16, 32, 64].into_iter().flat_map(|bits| [(0xd4, bits), (0xdc, bits), (0xd7, bits)]));
    for size in [0x00, 0x08, 0x10, 0x18] {
        all.extend([(0x61 | size, 0), (0x62 | size, 0), (0x63 | size, 0), (0xc3 | size, 0x100), (0xc3 | size, 0x110)]);
    }
    all.extend([(0x81, 0), (0x89, 0), (0x91, 0)]);
    for code in [0xc3, 0xdb] {
        all.extend([0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1].map(|operation| (code, operation)));
    }
    all.extend([(0x05, 0), (0x06, 0), (0x85, 1), (0x95, 0), (0xe5, 0), (0x18, 0), (0x18, 4)]);
    all
}

#[test]
fn the_data_files_have_every_instruction() {
    let tested: BTreeSet<Kind> =
        all().iter().filter(|(_, case)| case.result.is_some()).flat_map(|(_, case)| kinds(&case.code)).collect();
    let missing: Vec<String> =
        instructions().difference(&tested).map(|(code, detail)| format!("{code:#04x} ({detail:#x})")).collect();
    assert!(missing.is_empty(), "not tested: {}", missing.join(", "));
}
