// SPDX-License-Identifier: MIT OR Apache-2.0
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| tandem_fuzz::report::json(bytes));
fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    tandem_fuzz::tokens::mutate(data, size, most, seed, fuzzer_mutate)
});
