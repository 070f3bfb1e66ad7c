// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_bpf_vm_fuzz::object::run(bytes));
