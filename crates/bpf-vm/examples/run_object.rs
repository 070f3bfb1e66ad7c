// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads a BPF object and runs one of its programs, in user space and without root.
//!
//! ```sh
//! cat >sum.bpf.c <<'END'
//! static int (*trace_printk)(const char *format, unsigned int size, ...) = (void *)6; /* bpf_trace_printk */
//! volatile unsigned long calls;
//! __attribute__((section("syscall"))) int sum(unsigned int *context)
//! {
//!     static const char format[] = "call %lu";
//!     calls++;
//!     trace_printk(format, sizeof(format), calls);
//!     return 40 + 2;
//! }
//! char _license[] __attribute__((section("license"))) = "GPL";
//! END
//! clang -g -O2 --target=bpf -c sum.bpf.c -o sum.bpf.o
//! cargo run --example run_object -- sum.bpf.o sum
//! ```

use std::env;
use std::error::Error;
use std::fs;
use std::sync::Arc;

use tandem_bpf_vm::btf::Builder;
use tandem_bpf_vm::host::Args;
use tandem_bpf_vm::memory::Memory;
use tandem_bpf_vm::{Environment, Fault, FaultKind, Host, Instance, Object, OpenObject};

/// The kernel around the program: it has a log and no functions of its own.
struct Kernel;

impl Host for Kernel {
    fn printk(&mut self, line: &str) {
        println!("the program says: {line}");
    }

    fn kfunc(&mut self, _: &mut Instance, kfunc: u32, _: Args) -> Result<u64, Fault> {
        Err(FaultKind::Misuse(format!("there is no kernel function {kfunc}")).into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let [file, program] = &env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("usage: run_object FILE PROGRAM".into());
    };
    let object = Arc::new(Object::parse(&fs::read(file)?)?);

    // Settings of the object could be changed here: `open.set("slice_ns", "5000000")?`.
    let open = OpenObject::new(object);
    let kernel = Environment {
        btf: Arc::new(Builder::new().finish()),
        kfuncs: &|_| None,
        variables: &|_| None,
        kconfig: &|_| None,
        nr_cpus: 1,
        arena_data_last: false,
        budget: 1_000_000,
    };
    let mut instance = open.load(&kernel, Memory::new(64 << 20))?;

    let id = instance.program(program).ok_or_else(|| format!("{file} has no program {program}"))?;
    let outcome = instance.run_raw(id, [0; 5], &mut Kernel)?;
    println!("{program} returned {} after {} instructions", outcome.value, outcome.instructions);
    Ok(())
}
