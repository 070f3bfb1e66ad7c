// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever bytes are given, reading ends without a panic.

use proptest::collection::vec;
use proptest::prelude::*;
use tandem_bpf_vm::btf::Btf;
use tandem_bpf_vm::core_relo::resolve;
use tandem_bpf_vm::object::Object;

use super::builder::{BtfWriter, scheduler, scheduler_types};

/// Numbers that damage more than random ones do.
fn word() -> impl Strategy<Value = u32> {
    prop_oneof![
        0u32..40,
        any::<u32>(),
        Just(u32::MAX),
        Just(0x7fff_ffff),
        Just(0x8000_0000),
        (0u32..32).prop_map(|bit| 1 << bit)
    ]
}

/// Bytes with some words replaced.
fn damaged(bytes: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = bytes.len();
    let changes = vec((0..length, 1usize..=4, word()), 1..6);
    (changes, prop_oneof![9 => Just(length), 1 => 0..length]).prop_map(move |(changes, end)| {
        let mut bytes = bytes.clone();
        for (at, size, word) in changes {
            let at = if size == 4 { at / 4 * 4 } else { at };
            let size = size.min(length - at);
            bytes[at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
        }
        bytes.truncate(end);
        bytes
    })
}

/// Asks everything of types.
fn ask_all(btf: &Btf) {
    for (id, ty) in btf.types() {
        let spelled = btf.spell(id).to_string();
        assert!(spelled.len() < 1 << 20);
        let _ = btf.size_of(id);
        let _ = btf.member(id, "pid");
        let _ = btf.find_all(ty.name()).count();
        assert!(btf.is_compatible(id, btf, id) || btf.bare(id).is_some());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_objects_do_no_harm(linked in any::<bool>(), bytes in damaged(scheduler(false).finish()), other in damaged(scheduler(true).finish())) {
        let bytes = if linked { other } else { bytes };
        if let Ok(object) = Object::parse(&bytes) {
            let kernel = scheduler_types(false).btf;
            for relocation in object.functions.iter().flat_map(|function| &function.core) {
                let _ = resolve(&object.btf, relocation, &kernel);
                let _ = resolve(&kernel, relocation, &object.btf);
                let _ = resolve(&object.btf, relocation, &object.btf);
            }
            ask_all(&object.btf);
        }
    }

    #[test]
    fn damaged_types_do_no_harm(bytes in damaged(BtfWriter::new(&scheduler_types(true).btf).finish())) {
        if let Ok(btf) = Btf::parse(&bytes) {
            ask_all(&btf);
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(Btf::parse(&bytes).is_err());
        prop_assert!(Object::parse(&bytes).is_err());
    }
}
