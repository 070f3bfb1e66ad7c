// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that the objects that other tests load exist: BPF, with the sections that a scheduler has.

use crate::objects::{line_of, object};

/// `EM_BPF`.
const MACHINE: u16 = 247;

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn every_scheduler_is_a_bpf_object_with_operations() {
    for name in ["scx_simple", "scx_qmap", "scx_central", "scx_flatcg", "faulty", "newer"] {
        let bytes = object(name);
        assert_eq!(bytes[..4], *b"\x7fELF", "{name}");
        assert_eq!(u16::from_le_bytes([bytes[18], bytes[19]]), MACHINE, "{name}");
        for section in [".struct_ops.link", ".BTF.ext", "license"] {
            assert!(contains(&bytes, section), "{name} has no section {section}");
        }
    }
}

#[test]
fn each_fault_is_made_on_one_line() {
    let source = include_str!("bpf/faulty.bpf.c");
    let names = source.lines().map(str::trim).filter_map(|line| line.strip_suffix(','));
    let mut faults = names.filter(|name| name.starts_with("FAULT_") && *name != "FAULT_NONE").peekable();
    assert!(faults.peek().is_some());
    for fault in faults {
        let mark = format!("/* {fault} */");
        assert_eq!(source.matches(&mark).count(), 1, "{fault}");
        assert!(line_of("faulty.bpf.c", &mark) > 1);
    }
}
