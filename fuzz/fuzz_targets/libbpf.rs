// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that are given to libbpf, whose code is C: opened and given values, as before they are loaded. With a sanitizer this
//! finds what libbpf does wrong with foreign bytes.
#![no_main]

use libbpf_rs::{ObjectBuilder, PrintLevel, set_print};
use tandem_bpf_vm::object::Object;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // As a session does: libbpf sees no object that the project's own reader refuses.
    if Object::parse(bytes).is_ok() {
        open(bytes);
    }
});

fn open(bytes: &[u8]) {
    set_print(None::<(PrintLevel, fn(PrintLevel, String))>);
    let opened = ObjectBuilder::default().name("fuzz").and_then(|builder| builder.open_memory(bytes));
    let Ok(mut opened) = opened else { return };
    for mut map in opened.maps_mut() {
        let _ = map.name();
        let value = map.initial_value_mut().map(|value| value.to_vec());
        if let Some(value) = value {
            let _ = map.set_initial_value(&value);
        }
    }
    for mut program in opened.progs_mut() {
        let _ = program.name();
        program.set_autoload(false);
    }
}
