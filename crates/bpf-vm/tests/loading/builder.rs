// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds small BPF objects byte by byte, so that tests (and fuzzing, as a first input) need no compiler and can be wrong
//! on purpose.

use tandem_bpf_vm::btf::{Btf, Builder, Enum, Int, Linkage, Type, TypeId};

/// What a section is, as far as its header tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Code,
    Data,
    /// A section without bytes in the file; the number is its size.
    Bss(u64),
    Note,
}

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bind {
    Local = 0,
    Global = 1,
    Weak = 2,
}

/// `STT_*`.
pub const OBJECT: u8 = 1;
pub const FUNC: u8 = 2;
pub const SECTION: u8 = 3;

/// `R_BPF_64_64`, of `ld_imm64`.
pub const R_64_64: u32 = 1;
/// `R_BPF_64_ABS64`, of data.
pub const R_ABS64: u32 = 2;
/// `R_BPF_64_32`, of calls.
pub const R_64_32: u32 = 10;

/// An ELF file in the making.
#[derive(Debug, Clone)]
pub struct ElfBuilder {
    pub machine: u16,
    sections: Vec<(String, Class, Vec<u8>)>,
    symbols: Vec<[u8; 24]>,
    relocations: Vec<Vec<[u8; 16]>>,
    strings: Vec<u8>,
}

impl ElfBuilder {
    pub fn new() -> Self {
        let (sections, symbols, relocations) = (Vec::new(), vec![[0; 24]], Vec::new());
        Self { machine: 247, sections, symbols, relocations, strings: vec![0] }
    }

    /// Adds a section; returns its number.
    pub fn section(&mut self, name: &str, class: Class, bytes: &[u8]) -> u16 {
        self.sections.push((name.into(), class, bytes.to_vec()));
        self.relocations.push(Vec::new());
        self.sections.len() as u16
    }

    /// Adds a symbol; returns its number. Section 0 means that another file defines the symbol.
    pub fn symbol(&mut self, name: &str, kind: u8, bind: Bind, section: u16, (value, size): (u64, u64)) -> u32 {
        let name = string(&mut self.strings, name);
        let mut symbol = [0; 24];
        symbol[..4].copy_from_slice(&name.to_le_bytes());
        symbol[4] = (bind as u8) << 4 | kind;
        symbol[6..8].copy_from_slice(&section.to_le_bytes());
        symbol[8..16].copy_from_slice(&value.to_le_bytes());
        symbol[16..].copy_from_slice(&size.to_le_bytes());
        self.symbols.push(symbol);
        self.symbols.len() as u32 - 1
    }

    /// Adds a relocation of a section's byte.
    pub fn relocate(&mut self, section: u16, offset: u64, kind: u32, symbol: u32) {
        let mut relocation = [0; 16];
        relocation[..8].copy_from_slice(&offset.to_le_bytes());
        relocation[8..12].copy_from_slice(&kind.to_le_bytes());
        relocation[12..].copy_from_slice(&symbol.to_le_bytes());
        self.relocations[usize::from(section) - 1].push(relocation);
    }

    /// Adds the types.
    pub fn types(&mut self, btf: &Btf, ext: &ExtBuilder) {
        let mut writer = BtfWriter::new(btf);
        let ext = ext.write(&mut writer);
        self.section(".BTF", Class::Note, &writer.finish());
        self.section(".BTF.ext", Class::Note, &ext);
    }

    /// The file.
    pub fn finish(mut self) -> Vec<u8> {
        let mut file = vec![0; 64];
        let mut headers = vec![[0; 64]];
        let (symtab, strtab) = (self.sections.len() as u32 + 1, self.sections.len() as u32 + 2);
        let mut name = |text: &str| string(&mut self.strings, text);
        for (section, class, bytes) in &self.sections {
            let (kind, flags, size) = match class {
                Class::Code => (1, 6, bytes.len() as u64),
                Class::Data => (1, 3, bytes.len() as u64),
                Class::Bss(size) => (8, 3, *size),
                Class::Note => (1, 0, bytes.len() as u64),
            };
            headers.push(header(name(section), (kind, flags), (file.len() as u64, size), (0, 0)));
            file.extend_from_slice(bytes);
            file.resize(file.len().next_multiple_of(8), 0);
        }
        let names = [name(".symtab"), name(".strtab"), name(".rel")];
        for (bytes, header_of) in
            [(self.symbols.as_flattened(), (names[0], 2, strtab)), (&self.strings, (names[1], 3, 0))]
        {
            let (name, kind, link) = header_of;
            headers.push(header(name, (kind, 0), (file.len() as u64, bytes.len() as u64), (link, 0)));
            file.extend_from_slice(bytes);
            file.resize(file.len().next_multiple_of(8), 0);
        }
        for (relocations, target) in self.relocations.iter().zip(1..).filter(|(list, _)| !list.is_empty()) {
            let bytes = relocations.as_flattened();
            headers.push(header(names[2], (9, 0), (file.len() as u64, bytes.len() as u64), (symtab, target)));
            file.extend_from_slice(bytes);
        }
        let start = file.len() as u64;
        file.extend_from_slice(headers.as_flattened());
        let count = headers.len() as u16;
        file[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        file[16..18].copy_from_slice(&1u16.to_le_bytes());
        file[18..20].copy_from_slice(&self.machine.to_le_bytes());
        file[20] = 1;
        file[40..48].copy_from_slice(&start.to_le_bytes());
        for (at, value) in [(52, 64u16), (58, 64), (60, count), (62, strtab as u16)] {
            file[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        file
    }
}

fn header(name: u32, (kind, flags): (u32, u64), (offset, size): (u64, u64), (link, info): (u32, u32)) -> [u8; 64] {
    let mut header = [0; 64];
    header[..4].copy_from_slice(&name.to_le_bytes());
    header[4..8].copy_from_slice(&kind.to_le_bytes());
    header[8..16].copy_from_slice(&flags.to_le_bytes());
    header[24..32].copy_from_slice(&offset.to_le_bytes());
    header[32..40].copy_from_slice(&size.to_le_bytes());
    header[40..44].copy_from_slice(&link.to_le_bytes());
    header[44..48].copy_from_slice(&info.to_le_bytes());
    let entry: u64 = match kind {
        2 => 24,
        9 => 16,
        _ => 0,
    };
    header[56..].copy_from_slice(&entry.to_le_bytes());
    header
}

/// Puts a text into a table; returns its offset.
fn string(table: &mut Vec<u8>, text: &str) -> u32 {
    if text.is_empty() {
        return 0;
    }
    let at = table.len() as u32;
    table.extend_from_slice(text.as_bytes());
    table.push(0);
    at
}

/// The bytes of `.BTF`.
pub struct BtfWriter {
    pub types: Vec<u8>,
    pub strings: Vec<u8>,
}

impl BtfWriter {
    pub fn new(btf: &Btf) -> Self {
        let mut writer = Self { types: Vec::new(), strings: vec![0] };
        for (_, ty) in btf.types().skip(1) {
            writer.ty(ty);
        }
        writer
    }

    pub fn finish(self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        push(&mut bytes, &[24, 0, types, types, strings]);
        bytes.extend(self.types);
        bytes.extend(self.strings);
        bytes
    }

    fn head(&mut self, name: &str, kind: u32, (count, flag): (usize, bool), word: u32) {
        let name = string(&mut self.strings, name);
        push(&mut self.types, &[name, u32::from(flag) << 31 | kind << 24 | count as u32, word]);
    }

    fn ty(&mut self, ty: &Type) {
        let kind = number(ty);
        match ty {
            Type::Void => {}
            Type::Int(int) => {
                self.head(&int.name, kind, (0, false), int.size);
                push(&mut self.types, &[encoding(int)]);
            }
            Type::Ptr(to) | Type::Const(to) | Type::Volatile(to) | Type::Restrict(to) => {
                self.head("", kind, (0, false), to.0);
            }
            Type::Array(array) => {
                self.head("", kind, (0, false), 0);
                push(&mut self.types, &[array.element.0, array.index.0, array.count]);
            }
            Type::Struct(composite) | Type::Union(composite) => {
                let flag = composite.members.iter().any(|member| member.bitfield != 0);
                self.head(&composite.name, kind, (composite.members.len(), flag), composite.size);
                for member in &composite.members {
                    let name = string(&mut self.strings, &member.name);
                    push(
                        &mut self.types,
                        &[name, member.type_id.0, u32::from(member.bitfield) << 24 | member.bit_offset],
                    );
                }
            }
            Type::Enum(values) | Type::Enum64(values) => self.enumeration(values, kind),
            Type::Fwd { name, union } => self.head(name, kind, (0, *union), 0),
            Type::Typedef { name, target } | Type::TypeTag { tag: name, target } => {
                self.head(name, kind, (0, false), target.0);
            }
            Type::Func { name, proto, linkage } => self.head(name, kind, (linkage_number(*linkage), false), proto.0),
            Type::FuncProto(proto) => {
                self.head("", kind, (proto.params.len(), false), proto.ret.0);
                for param in &proto.params {
                    let name = string(&mut self.strings, &param.name);
                    push(&mut self.types, &[name, param.type_id.0]);
                }
            }
            Type::Var { name, type_id, linkage } => {
                self.head(name, kind, (0, false), type_id.0);
                push(&mut self.types, &[linkage_number(*linkage) as u32]);
            }
            Type::DataSec(section) => {
                self.head(&section.name, kind, (section.variables.len(), false), section.size);
                for variable in &section.variables {
                    push(&mut self.types, &[variable.type_id.0, variable.offset, variable.size]);
                }
            }
            Type::Float { name, size } => self.head(name, kind, (0, false), *size),
            Type::DeclTag { tag, target, component } => {
                self.head(tag, kind, (0, false), target.0);
                push(&mut self.types, &[component.unwrap_or(u32::MAX)]);
            }
        }
    }

    fn enumeration(&mut self, values: &Enum, kind: u32) {
        self.head(&values.name, kind, (values.values.len(), values.signed), values.size);
        for value in &values.values {
            let name = string(&mut self.strings, &value.name);
            push(&mut self.types, &[name, value.value as u32]);
            if kind == 19 {
                push(&mut self.types, &[(value.value >> 32) as u32]);
            }
        }
    }
}

fn push(bytes: &mut Vec<u8>, words: &[u32]) {
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

fn encoding(int: &Int) -> u32 {
    let flags = u32::from(int.signed) | u32::from(int.character) << 1 | u32::from(int.boolean) << 2;
    flags << 24 | u32::from(int.bit_offset) << 16 | u32::from(int.bits)
}

fn linkage_number(linkage: Linkage) -> usize {
    match linkage {
        Linkage::Static => 0,
        Linkage::Global => 1,
        Linkage::Extern => 2,
    }
}

/// A type's kind in the file.
fn number(ty: &Type) -> u32 {
    match ty {
        Type::Void => 0,
        Type::Int(_) => 1,
        Type::Ptr(_) => 2,
        Type::Array(_) => 3,
        Type::Struct(_) => 4,
        Type::Union(_) => 5,
        Type::Enum(_) => 6,
        Type::Fwd { .. } => 7,
        Type::Typedef { .. } => 8,
        Type::Volatile(_) => 9,
        Type::Const(_) => 10,
        Type::Restrict(_) => 11,
        Type::Func { .. } => 12,
        Type::FuncProto(_) => 13,
        Type::Var { .. } => 14,
        Type::DataSec(_) => 15,
        Type::Float { .. } => 16,
        Type::DeclTag { .. } => 17,
        Type::TypeTag { .. } => 18,
        Type::Enum64(_) => 19,
    }
}

/// A CO-RE relocation: section, byte offset, type, access, kind.
pub type Core = (&'static str, u32, TypeId, &'static str, u32);

/// `.BTF.ext` in the making.
#[derive(Debug, Clone, Default)]
pub struct ExtBuilder {
    /// Section, byte offset, type.
    pub functions: Vec<(&'static str, u32, TypeId)>,
    /// Section, byte offset, file, text, line.
    pub lines: Vec<(&'static str, u32, &'static str, &'static str, u32)>,
    pub core: Vec<Core>,
}

impl ExtBuilder {
    /// The section's bytes; each record has a section header of its own, which the format allows.
    fn write(&self, btf: &mut BtfWriter) -> Vec<u8> {
        let strings = &mut btf.strings;
        let mut parts = [Vec::new(), Vec::new(), Vec::new()];
        push(&mut parts[0], &[8]);
        push(&mut parts[1], &[16]);
        push(&mut parts[2], &[16]);
        for (section, offset, ty) in &self.functions {
            let section = string(strings, section);
            push(&mut parts[0], &[section, 1, *offset, ty.0]);
        }
        for (section, offset, file, text, line) in &self.lines {
            let (section, file, text) = (string(strings, section), string(strings, file), string(strings, text));
            push(&mut parts[1], &[section, 1, *offset, file, text, line << 10 | 5]);
        }
        for (section, offset, ty, access, kind) in &self.core {
            let (section, access) = (string(strings, section), string(strings, access));
            push(&mut parts[2], &[section, 1, *offset, ty.0, access, *kind]);
        }
        let sizes = parts.each_ref().map(|part| part.len() as u32);
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        push(&mut bytes, &[32, 0, sizes[0], sizes[0], sizes[1], sizes[0] + sizes[1], sizes[2]]);
        bytes.extend(parts.concat());
        bytes
    }
}

/// An instruction slot.
pub fn slot(opcode: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    let ([a, b], [c, d, e, f]) = (off.to_le_bytes(), imm.to_le_bytes());
    [opcode, src << 4 | dst, a, b, c, d, e, f]
}

/// `exit`.
pub const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

/// `ld_imm64 rDST = imm`.
pub fn ld_imm64(dst: u8, src: u8, imm: i32) -> [[u8; 8]; 2] {
    [slot(0x18, dst, src, 0, imm), [0; 8]]
}

/// `call` of a function of the object.
pub fn call(imm: i32) -> [u8; 8] {
    slot(0x85, 0, 1, 0, imm)
}

/// Types of the object that [`scheduler`] makes, as clang writes them: without sizes and offsets of sections.
pub struct SchedulerTypes {
    pub btf: Btf,
    pub task: TypeId,
    pub program: TypeId,
}

/// Types of an object that has one of each kind; `linked`: with sizes and offsets filled in, as bpftool links it.
pub fn scheduler_types(linked: bool) -> SchedulerTypes {
    let mut types = Builder::new();
    let int = types.int("int", 4, true);
    let u64_type = types.int("unsigned long long", 8, false);
    let task = types.structure("task_struct", 8, &[("prio", int, 0), ("pid", int, 4)]);
    let context = types.pointer(u64_type);
    let proto = types.func_proto(int, &[("ctx", context)]);
    let program = types.func("enqueue", proto);
    let (inner, outer) = map_types(&mut types, int, u64_type);
    let ops_proto = types.pointer(proto);
    let ops = types.structure("sched_ext_ops", 16, &[("enqueue", ops_proto, 0), ("flags", u64_type, 8)]);
    let at = |offset: u32| if linked { offset } else { 0 };
    let mut section = |name: &str, size: u32, list: &[(&str, TypeId, u32, u32)], linkage| {
        let list: Vec<_> =
            list.iter().map(|(name, ty, offset, size)| (types.var(name, *ty, linkage), at(*offset), *size)).collect();
        types.section(name, at(size), &list);
    };
    section(".maps", 72, &[("inner", inner, 0, 32), ("outer", outer, 32, 40)], Linkage::Global);
    section(".data", 16, &[("count", int, 0, 4), ("total", u64_type, 8, 8)], Linkage::Global);
    section(".bss", 4, &[("zero", int, 0, 4)], Linkage::Global);
    section(".struct_ops.link", 16, &[("ops", ops, 0, 16)], Linkage::Global);
    section(".kconfig", 4, &[("LINUX_KERNEL_VERSION", int, 0, 4)], Linkage::Extern);
    let kick = types.func_with_linkage("scx_bpf_kick_cpu", proto, Linkage::Extern);
    let runqueues = types.var("runqueues", task, Linkage::Extern);
    types.section(".ksyms", 0, &[(kick, 0, 0), (runqueues, 0, 0)]);
    SchedulerTypes { btf: types.finish(), task, program }
}

/// An array map, and an array of such maps.
fn map_types(types: &mut Builder, int: TypeId, u64_type: TypeId) -> (TypeId, TypeId) {
    let mut number = |count: u32| {
        let array = types.array(int, count);
        types.pointer(array)
    };
    let (array, of_maps, four, three) = (number(2), number(12), number(4), number(3));
    let (key, value) = (types.pointer(int), types.pointer(u64_type));
    let members = [("type", array, 0), ("max_entries", four, 8), ("key", key, 16), ("value", value, 24)];
    let inner = types.structure("inner_map", 32, &members);
    let pointer = types.pointer(inner);
    let values = types.array(pointer, 0);
    let members = [("type", of_maps, 0), ("max_entries", three, 8), ("key", key, 16), ("values", values, 24)];
    (inner, types.structure("", 24, &members))
}

/// An object with one of each kind: two functions in `.text`, one program, maps, data, externs, `struct_ops`.
pub fn scheduler(linked: bool) -> ElfBuilder {
    let types = scheduler_types(linked);
    let mut elf = ElfBuilder::new();
    // first: r0 = second(); second: r0 = 7.
    let text = [call(1), EXIT, slot(0xb7, 0, 0, 0, 7), EXIT];
    let text = elf.section(".text", Class::Code, text.as_flattened());
    let program = [ld_imm64(1, 0, 0), ld_imm64(2, 0, 8), ld_imm64(3, 0, 0), ld_imm64(4, 0, 0)];
    let mut program = program.as_flattened().to_vec();
    program.extend([call(-1), call(-1), slot(0x61, 0, 1, 4, 0), EXIT]);
    let program = elf.section("struct_ops/enqueue", Class::Code, program.as_flattened());
    let maps = elf.section(".maps", Class::Data, &[0; 72]);
    let data = elf.section(".data", Class::Data, &[5, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    let bss = elf.section(".bss", Class::Bss(4), &[]);
    let ops = elf.section(".struct_ops.link", Class::Data, &[0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    elf.section("license", Class::Data, b"GPL\0");
    elf.symbol("first", FUNC, Bind::Global, text, (0, 16));
    let second = elf.symbol("second", FUNC, Bind::Local, text, (16, 16));
    let enqueue = elf.symbol("enqueue", FUNC, Bind::Global, program, (0, 96));
    let inner = elf.symbol("inner", OBJECT, Bind::Global, maps, (0, 32));
    elf.symbol("outer", OBJECT, Bind::Global, maps, (32, 40));
    elf.symbol("count", OBJECT, Bind::Global, data, (0, 4));
    elf.symbol("total", OBJECT, Bind::Global, data, (8, 8));
    let data_section = elf.symbol("", SECTION, Bind::Local, data, (0, 0));
    elf.symbol("zero", OBJECT, Bind::Global, bss, (0, 4));
    elf.symbol("ops", OBJECT, Bind::Global, ops, (0, 16));
    let version = elf.symbol("LINUX_KERNEL_VERSION", 0, Bind::Global, 0, (0, 0));
    let kick = elf.symbol("scx_bpf_kick_cpu", 0, Bind::Weak, 0, (0, 0));
    let runqueues = elf.symbol("runqueues", 0, Bind::Global, 0, (0, 0));
    for (offset, symbol) in [(0, inner), (16, data_section), (32, version), (48, runqueues)] {
        elf.relocate(program, offset, R_64_64, symbol);
    }
    elf.relocate(program, 64, R_64_32, kick);
    elf.relocate(program, 72, R_64_32, second);
    elf.relocate(maps, 32 + 24 + 8, R_ABS64, inner);
    elf.relocate(ops, 0, R_ABS64, enqueue);
    let ext = ExtBuilder {
        functions: vec![("struct_ops/enqueue", 0, types.program)],
        lines: vec![("struct_ops/enqueue", 80, "a.bpf.c", "return p->pid;", 12)],
        core: vec![("struct_ops/enqueue", 80, types.task, "0:1", 0)],
    };
    elf.types(&types.btf, &ext);
    elf
}
