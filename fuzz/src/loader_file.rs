// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file beside an object from any text: read, and followed for two machines and an object.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::OpenObject;
use tandem_loader::machine::{Cpu, Machine};
use tandem_loader::{LoaderFile, System};

use super::mistake;

static OBJECT: LazyLock<Option<Arc<Object>>> =
    LazyLock::new(|| Object::parse(include_bytes!("../seeds/object/clang")).ok().map(Arc::new));

/// Reads bytes as the file beside an object.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = Path::new("fuzz.toml");
    let file = match LoaderFile::parse(path, text) {
        Ok(file) => file,
        Err(error) => return mistake::check(&error, path, text),
    };
    let Some(object) = &*OBJECT else { panic!("the first object of all is none") };
    for machine in machines() {
        let mut open = OpenObject::new(Arc::clone(object));
        let steps = file.steps(&System::of(&machine));
        let most = machine.cpus.len() as u64;
        let done = file.check(&mut open, most).and_then(|()| steps.prepare(&file, &mut open));
        if let Err(error) = done {
            mistake::check(&error, path, text);
        }
    }
}

/// One with two kinds of CPU, and one of which nothing is known.
fn machines() -> [Machine; 2] {
    let cpu = |capacity| Cpu { online: true, capacity, ..Cpu::default() };
    [Machine { cpus: vec![cpu(1024), cpu(512)], ..Machine::default() }, Machine::default()]
}
