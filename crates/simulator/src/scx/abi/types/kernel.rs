// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's types as BTF.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tandem_bpf_vm::btf::{Btf, Builder, Linkage, TypeId};

use crate::scx::abi::layout::{Composite, Described, Kind};
use crate::scx::abi::profile::{Profile, Version};

use super::ops::{self, MemberKind};
use super::{args, bpf, cgroup, prototype, prototypes, rq, task};

/// Members, and structures as a whole, that 6.12 does not have and 6.18 does.
const SINCE_V6_18: &[(&str, &str)] = &[
    ("scx_cgroup_init_args", "bw_period_us"),
    ("scx_cgroup_init_args", "bw_quota_us"),
    ("scx_cgroup_init_args", "bw_burst_us"),
    ("scx_exit_info", "flags"),
    ("sched_ext_entity", "selected_cpu"),
];

/// Per-CPU variables and structures that not all versions have; all keep `current` and the preemption count, in
/// different places.
const UNTIL_V6_12: &[&str] = &["pcpu_hot"];
const FROM_V6_18: &[&str] = &["__preempt_count", "cpu_number", "current_task"];
const FROM_V7: &[&str] = &["scx_bpf_dsq_insert_vtime_args", "scx_bpf_select_cpu_and_args"];

/// Whether the kernel has the per-CPU variable or structure `name`.
pub fn has(profile: Profile, name: &str) -> bool {
    let lacks = |names: &[&str], has_them: bool| !has_them && names.contains(&name);
    let version = profile.version;
    !lacks(UNTIL_V6_12, version == Version::V6_12)
        && !lacks(FROM_V6_18, version >= Version::V6_18)
        && !lacks(FROM_V7, version >= Version::V7)
}

/// The kernel's types: what CO-RE relocations and kernel functions are resolved against. Made once per process and profile.
pub fn kernel_btf(profile: Profile) -> Arc<Btf> {
    static KNOWN: Mutex<Vec<(Profile, Arc<Btf>)>> = Mutex::new(Vec::new());
    // What another thread has left half done is a list without an entry.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, types)) = known.iter().find(|(of, _)| *of == profile) {
        return types.clone();
    }
    let types = Arc::new(types_of(profile));
    known.push((profile, types.clone()));
    types
}

fn types_of(profile: Profile) -> Btf {
    let mut types = Types::new(profile);
    types.add_enums();
    types.add_structures();
    types.add_names();
    types.add_ops();
    types.add_variables();
    types.add_functions();
    types.builder.finish()
}

/// Types under construction; each is added once.
pub(super) struct Types {
    builder: Builder,
    profile: Profile,
    /// Structures, enumerations, integers and typedefs, by name.
    named: BTreeMap<String, TypeId>,
    pointers: BTreeMap<TypeId, TypeId>,
}

impl Types {
    fn new(profile: Profile) -> Self {
        Self { builder: Builder::new(), profile, named: BTreeMap::new(), pointers: BTreeMap::new() }
    }

    /// The type that `kind` describes.
    fn of(&mut self, kind: Kind) -> TypeId {
        match kind {
            Kind::Int { name, size, signed } => self.integer(name, size as u32, signed),
            Kind::Pointer(to) => {
                let to = self.of(to());
                self.pointer(to)
            }
            Kind::Array(element, count) => {
                let element = self.of(element());
                self.builder.array(element, count as u32)
            }
            Kind::Struct(composite) => self.structure(composite),
            Kind::Typedef(name, to) => {
                if let Some(known) = self.named.get(name) {
                    return *known;
                }
                let to = self.of(to());
                let id = self.builder.typedef(name, to);
                self.named.insert(name.to_owned(), id);
                id
            }
            Kind::Enum(name) => self.named.get(&format!("enum {name}")).copied().unwrap_or(TypeId::VOID),
        }
    }

    pub(super) fn integer(&mut self, name: &str, size: u32, signed: bool) -> TypeId {
        if let Some(known) = self.named.get(name) {
            return *known;
        }
        let id = self.builder.int(name, size, signed);
        self.named.insert(name.to_owned(), id);
        id
    }

    pub(super) fn pointer(&mut self, to: TypeId) -> TypeId {
        if let Some(known) = self.pointers.get(&to) {
            return *known;
        }
        let id = self.builder.pointer(to);
        self.pointers.insert(to, id);
        id
    }

    fn structure(&mut self, composite: &'static Composite) -> TypeId {
        let key = format!("struct {}", composite.name);
        if let Some(known) = self.named.get(&key) {
            return *known;
        }
        let id = self.builder.declare_struct(composite.name);
        self.named.insert(key, id);
        let mut members = Vec::new();
        for member in composite.members {
            let newer = SINCE_V6_18.contains(&(composite.name, member.name)) && self.profile.version < Version::V6_18;
            if !member.name.is_empty() && !newer {
                let type_id = self.of((member.kind)());
                members.push((member.name, type_id, member.offset as u32));
            }
        }
        self.builder.define(id, composite.size as u32, &members);
        id
    }

    /// The structure `name`; one without members, if nothing is known of it.
    pub(super) fn structure_named(&mut self, name: &str) -> TypeId {
        let key = format!("struct {name}");
        if let Some(known) = self.named.get(&key) {
            return *known;
        }
        let id = self.builder.structure(name, 0, &[]);
        self.named.insert(key, id);
        id
    }

    fn add_enums(&mut self) {
        for kernel_enum in self.profile.enums() {
            let values: Vec<(&str, i128)> =
                kernel_enum.values.iter().map(|(name, value)| (*name, i128::from(*value))).collect();
            let id = self.builder.enumeration(kernel_enum.name, &values);
            self.named.insert(format!("enum {}", kernel_enum.name), id);
        }
    }

    fn add_structures(&mut self) {
        let kinds = [
            task::TaskStruct::kind(),
            rq::Rq::kind(),
            rq::PcpuHot::kind(),
            rq::CpufreqPolicy::kind(),
            cgroup::Cgroup::kind(),
            cgroup::CssSet::kind(),
            args::ScxExitInfo::kind(),
            args::ScxInitTaskArgs::kind(),
            args::ScxExitTaskArgs::kind(),
            args::ScxCgroupInitArgs::kind(),
            args::ScxCpuAcquireArgs::kind(),
            args::ScxCpuReleaseArgs::kind(),
            args::ScxDumpCtx::kind(),
            args::ScxBpfDsqInsertVtimeArgs::kind(),
            args::ScxBpfSelectCpuAndArgs::kind(),
            bpf::BpfPerfEventValue::kind(),
            bpf::BpfTimer::kind(),
            bpf::BpfSpinLock::kind(),
            bpf::BpfRbRoot::kind(),
            bpf::BpfRbNode::kind(),
            bpf::BpfListHead::kind(),
            bpf::BpfListNode::kind(),
            bpf::BpfRefcount::kind(),
            bpf::BpfCpumask::kind(),
            bpf::BpfIterNum::kind(),
            bpf::BpfIterScxDsq::kind(),
            bpf::BpfIterCss::kind(),
            bpf::BpfIterTask::kind(),
            bpf::BpfIterBits::kind(),
        ];
        for kind in kinds {
            let Kind::Struct(composite) = kind else { continue };
            if has(self.profile, composite.name) {
                self.structure(composite);
            }
        }
    }

    /// The kernel's own names of integers.
    fn add_names(&mut self) {
        let names = [
            ("s8", "signed char", 1, true),
            ("u8", "unsigned char", 1, false),
            ("s16", "short int", 2, true),
            ("u16", "short unsigned int", 2, false),
            ("s32", "int", 4, true),
            ("u32", "unsigned int", 4, false),
            ("s64", "long long int", 8, true),
            ("u64", "long long unsigned int", 8, false),
            ("bool", "_Bool", 1, false),
            ("size_t", "long unsigned int", 8, false),
        ];
        for (name, integer, size, signed) in names {
            let to = self.integer(integer, size, signed);
            let id = self.builder.typedef(name, to);
            self.named.insert(name.to_owned(), id);
        }
        // What `guard(rcu)` of the schedulers' headers keeps (`include/linux/rcupdate.h`).
        let pointer = self.pointer(TypeId::VOID);
        let guard = self.builder.structure("", 8, &[("lock", pointer, 0)]);
        let id = self.builder.typedef("class_rcu_t", guard);
        self.named.insert("class_rcu_t".to_owned(), id);
        // The order of a tree's nodes, as `bpf_rbtree_add` takes it.
        let (boolean, node) = (self.integer("_Bool", 1, false), self.structure_named("bpf_rb_node"));
        let node = self.pointer(node);
        let less = self.builder.func_proto(boolean, &[("a", node), ("b", node)]);
        self.named.insert("rb_less".to_owned(), less);
    }

    /// `struct sched_ext_ops`, one member after the other; nothing in memory has this layout.
    fn add_ops(&mut self) {
        let void = self.builder.func_proto(TypeId::VOID, &[]);
        let callback = self.pointer(void);
        let private = self.pointer(TypeId::VOID);
        let character = self.integer("char", 1, true);
        let text = self.builder.array(character, ops::NAME_LEN as u32);
        let (u32_type, u64_type) =
            (self.integer("unsigned int", 4, false), self.integer("long unsigned int", 8, false));
        let (mut members, mut size) = (Vec::new(), 0_u32);
        for member in ops::members(self.profile) {
            let (type_id, bytes, align) = match member.kind {
                MemberKind::Callback(_) | MemberKind::Refused => (callback, 8, 8),
                MemberKind::Private => (private, 8, 8),
                MemberKind::Number(4) => (u32_type, 4, 4),
                MemberKind::Number(_) => (u64_type, 8, 8),
                MemberKind::Text(bytes) => (text, bytes as u32, 1),
            };
            let offset = size.next_multiple_of(align);
            members.push((member.name, type_id, offset));
            size = offset + bytes;
        }
        let id = self.builder.structure("sched_ext_ops", size.next_multiple_of(8), &members);
        self.named.insert("struct sched_ext_ops".to_owned(), id);
    }

    /// The per-CPU variables that programs may name. Sizes of a section's variables are of no use to programs.
    fn add_variables(&mut self) {
        let Kind::Struct(variables) = rq::PerCpu::kind() else { return };
        let mut placed = Vec::new();
        let profile = self.profile;
        for variable in variables.members.iter().filter(|variable| has(profile, variable.name)) {
            let type_id = self.of((variable.kind)());
            let id = self.builder.var(variable.name, type_id, Linkage::Global);
            placed.push((id, variable.offset as u32, 0));
        }
        self.builder.section(".data..percpu", variables.size as u32, &placed);
    }

    fn add_functions(&mut self) {
        for text in prototypes::of(self.profile) {
            let Some(prototype) = prototype::parse(text) else {
                unreachable!("`{text}` is no prototype");
            };
            let ret = self.spelled(prototype.ret);
            let params: Vec<(&str, TypeId)> =
                prototype.params.iter().map(|(name, spelling)| (*name, self.spelled(*spelling))).collect();
            let proto = self.builder.func_proto(ret, &params);
            self.builder.func(prototype.name, proto);
        }
    }

    /// The type that C spells so.
    fn spelled(&mut self, spelling: prototype::Spelling<'_>) -> TypeId {
        let mut id = match spelling.base {
            "void" => TypeId::VOID,
            base => match base.strip_prefix("struct ") {
                Some(name) => self.structure_named(name),
                None => self.integer_named(base),
            },
        };
        for _ in 0..spelling.pointers {
            id = self.pointer(id);
        }
        id
    }

    fn integer_named(&mut self, name: &str) -> TypeId {
        match name {
            "int" => self.integer("int", 4, true),
            "unsigned int" => self.integer("unsigned int", 4, false),
            "unsigned long" => self.integer("long unsigned int", 8, false),
            "long" => self.integer("long int", 8, true),
            "char" => self.integer("char", 1, true),
            _ => match self.named.get(name) {
                Some(id) => *id,
                None => unreachable!("`{name}` is no type of the kernel"),
            },
        }
    }
}
