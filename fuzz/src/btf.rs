// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types from any bytes: parsing, then every question.

use tandem_bpf_vm::btf::Btf;

use super::kernel;

/// Parses bytes as BTF and asks everything of the types.
pub fn run(bytes: &[u8]) {
    if let Ok(btf) = Btf::parse(bytes) {
        ask(&btf);
    }
}

/// Asks everything of types, of the first 64 at least.
pub fn ask(btf: &Btf) {
    let kernel = kernel::types();
    for (id, ty) in btf.types().take(64) {
        assert!(btf.spell(id).to_string().len() < 1 << 20);
        let _ = (btf.size_of(id), btf.member(id, "pid"), btf.member(id, "scx.slice"));
        for same in btf.find_all(ty.name()).take(4) {
            let _ = btf.is_compatible(id, btf, same);
        }
        for (theirs, _) in kernel.types().take(16) {
            let _ = (btf.is_compatible(id, &kernel, theirs), kernel.is_compatible(theirs, btf, id));
        }
    }
}
