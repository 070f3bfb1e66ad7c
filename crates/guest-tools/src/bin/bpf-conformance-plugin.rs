// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs one program for the BPF conformance suite (Alan-Jowett/bpf_conformance), as its runner calls a plugin:
//!
//! `bpf_conformance_plugin [MEMORY] [--program HEX]`
//!
//! The program comes as hexadecimal bytes from standard input, or from `--program`. MEMORY, hexadecimal bytes too, is what
//! r1 points to, and r2 is its length. What r0 holds in the end is printed in hexadecimal; whatever is wrong is a message
//! and exit status 1.

use std::io::Read;
use std::process::ExitCode;

use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::helper::helper;
use tandem_bpf_vm::host::{Args, Host};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::memory::Protection;

/// More than any program of the suite executes.
const BUDGET: u64 = 100_000_000;

struct NoKernel;

impl Host for NoKernel {
    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(FaultKind::Misuse(format!("there is no kernel function {kfunc}")).into())
    }
}

/// What the command line says.
#[derive(Default)]
struct Request {
    memory: Vec<u8>,
    program: Option<String>,
}

fn main() -> ExitCode {
    match request(std::env::args().skip(1)).and_then(|request| run(&request)) {
        Ok(value) => {
            println!("{value:x}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn request(mut args: impl Iterator<Item = String>) -> Result<Request, String> {
    let mut request = Request::default();
    let mut memory = None;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--program" => request.program = Some(args.next().ok_or("--program needs hexadecimal bytes")?),
            "--elf" => return Err("--elf is not supported: give the instructions as hexadecimal bytes".to_owned()),
            option if option.starts_with("--") => return Err(format!("unknown option {option}")),
            _ if memory.is_some() => return Err(format!("unexpected argument {arg}: the memory is given already")),
            _ => memory = Some(arg),
        }
    }
    request.memory = bytes(&memory.unwrap_or_default()).map_err(|error| format!("memory: {error}"))?;
    Ok(request)
}

fn run(request: &Request) -> Result<u64, String> {
    let text = match &request.program {
        Some(program) => program.clone(),
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| format!("standard input: {error}"))?;
            text
        }
    };
    let code = bytes(&text).map_err(|error| format!("program: {error}"))?;
    let mut vm = Instance::from_instructions(&code, &helper, BUDGET).map_err(|error| error.to_string())?;
    let size = request.memory.len() as u64;
    let address = vm.memory.alloc(size, Protection::ReadWrite).map_err(|error| error.to_string())?;
    vm.memory
        .write(address, size)
        .map_err(|error| FaultKind::from(error).to_string())?
        .copy_from_slice(&request.memory);
    let main = vm.program("main").ok_or("the program has no function")?;
    match vm.run_raw(main, [address, size, 0, 0, 0], &mut NoKernel) {
        Ok(outcome) => Ok(outcome.value),
        Err(fault) => Err(match fault.backtrace().first() {
            Some(location) => format!("{fault}: {location}"),
            None => fault.to_string(),
        }),
    }
}

/// Hexadecimal bytes, with or without white space between them.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(format!("{} hexadecimal digits are no whole bytes", digits.len()));
    }
    let digit = |byte: u8| {
        let value = char::from(byte).to_digit(16).map(|value| value as u8);
        value.ok_or_else(|| format!("'{}' is no hexadecimal digit", char::from(byte)))
    };
    pairs.iter().map(|[high, low]| Ok(digit(*high)? << 4 | digit(*low)?)).collect()
}
