// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special fields of values, as the kernel finds them in types (`btf_parse_fields`).

use crate::btf::{Btf, Type, TypeId};

/// Most types and members that are looked at in one value; real values have a few dozen.
const MOST: u32 = 4096;
/// How deep structures are followed.
const DEPTH: u32 = 16;

/// A special field of a value: the kernel neither copies nor shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// First byte in the value.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// The field's kind.
    pub kind: FieldKind,
}

/// Kinds of special fields (`enum btf_field_type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// `struct bpf_spin_lock`.
    SpinLock,
    /// `struct bpf_timer`.
    Timer,
    /// A pointer that the map owns (`__kptr`), to this type.
    Kptr(String),
    /// A pointer without a reference (`__kptr_untrusted`): it is copied like plain data.
    UntrustedKptr,
    /// `struct bpf_list_head`, `bpf_rb_root`, a node of one, or a reference count.
    Graph,
}

/// The special fields of a type, by offset. A type that is too big or too deep is not an error: the search stops there.
pub fn fields(btf: &Btf, value: TypeId) -> Vec<Field> {
    let mut search = Search { btf, found: Vec::new(), left: MOST };
    search.look(value, 0, DEPTH);
    search.found.sort_by_key(|field| field.offset);
    search.found
}

struct Search<'b> {
    btf: &'b Btf,
    found: Vec<Field>,
    left: u32,
}

impl Search<'_> {
    fn look(&mut self, id: TypeId, offset: u64, depth: u32) {
        let (Some(left), Some(depth)) = (self.left.checked_sub(1), depth.checked_sub(1)) else { return };
        self.left = left;
        let btf = self.btf;
        match btf.bare(id) {
            Some(Type::Struct(composite)) => {
                if let Some(kind) = special(&composite.name) {
                    return self.add(kind, offset, composite.size);
                }
                for member in composite.members.iter().filter(|member| member.bitfield == 0) {
                    self.look(member.type_id, offset + u64::from(member.bit_offset / 8), depth);
                }
            }
            Some(Type::Array(array)) => {
                let Some(size) = btf.size_of(array.element) else { return };
                let before = self.found.len();
                for index in 0..u64::from(array.count.min(self.left)) {
                    self.look(array.element, offset.saturating_add(index.saturating_mul(size)), depth);
                    if self.found.len() == before {
                        // The other elements are alike.
                        return;
                    }
                }
            }
            Some(Type::Ptr(to)) => {
                if let Some(kind) = self.pointer(*to) {
                    self.add(kind, offset, 8);
                }
            }
            _ => {}
        }
    }

    fn pointer(&self, to: TypeId) -> Option<FieldKind> {
        let Some(Type::TypeTag { tag, target }) = self.btf.get(to) else { return None };
        match tag.as_str() {
            "kptr" | "percpu_kptr" => Some(FieldKind::Kptr(self.btf.name(self.btf.skip_modifiers(*target)).to_owned())),
            "kptr_untrusted" => Some(FieldKind::UntrustedKptr),
            _ => None,
        }
    }

    fn add(&mut self, kind: FieldKind, offset: u64, size: u32) {
        if let Ok(offset) = u32::try_from(offset) {
            self.found.push(Field { offset, size, kind });
        }
    }
}

/// Structures that the kernel knows by name.
fn special(name: &str) -> Option<FieldKind> {
    Some(match name {
        "bpf_spin_lock" => FieldKind::SpinLock,
        "bpf_timer" => FieldKind::Timer,
        "bpf_list_head" | "bpf_list_node" | "bpf_rb_root" | "bpf_rb_node" | "bpf_refcount" | "bpf_wq" => {
            FieldKind::Graph
        }
        _ => return None,
    })
}
