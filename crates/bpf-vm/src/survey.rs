// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object needs of a kernel, and which of it the kernel has: a check before anything is loaded.

use std::collections::BTreeMap;

use crate::core_relo;
use crate::helper::{helper, helper_name};
use crate::link::{Environment, essential_name, function, needed};
use crate::object::{ExternKind, Function, Object};
use crate::open::OpenObject;

/// What an object needs of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Kernel functions that the object calls or tests for, by name.
    pub functions: Vec<Need>,
    /// Helpers that the object calls, by number.
    pub helpers: Vec<Need>,
    /// Kernel variables, by name.
    pub variables: Vec<Need>,
    /// Values of the kernel's configuration, by name.
    pub settings: Vec<Need>,
    /// Instructions that cannot be adapted to the kernel's types, in the order of the code. Most of them never run:
    /// they stand behind a test that is then false.
    pub unresolved: Vec<Unresolved>,
}

/// A function, helper, variable or setting that an object names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The name as the object spells it.
    pub name: String,
    /// Whether the object can be loaded without it.
    pub weak: bool,
    /// Whether the kernel has it.
    pub found: bool,
}

/// A relocation against the kernel's types that has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// The function.
    pub function: String,
    /// Source file and line, where the object says.
    pub place: Option<(String, u32)>,
    /// What the kernel lacks.
    pub why: String,
    /// Whether the object cannot be loaded; if it can, executing the instruction is a fault.
    pub fatal: bool,
}

/// Surveys everything that the functions name which would be loaded.
pub fn survey(open: &OpenObject, environment: &Environment<'_>) -> Needs {
    let (object, loaded) = (open.object(), open.loaded());
    let referred = needed(object, &loaded);
    let functions =
        || object.functions.iter().zip(&loaded).filter(|(_, loaded)| **loaded).map(|(function, _)| function);
    let externs = |kind: ExternKind| {
        let mut needs: Vec<Need> = object
            .externs
            .iter()
            .enumerate()
            .filter(|(number, symbol)| symbol.kind == kind && referred.contains(number))
            .map(|(_, symbol)| {
                let found = match kind {
                    ExternKind::Function => function(symbol, &object.btf, environment).is_some(),
                    ExternKind::Variable => (environment.variables)(essential_name(&symbol.name)).is_some(),
                    ExternKind::Kconfig => (environment.kconfig)(&symbol.name).is_some(),
                };
                Need { name: symbol.name.clone(), weak: symbol.weak, found }
            })
            .collect();
        needs.sort_by(|a, b| a.name.cmp(&b.name));
        needs
    };
    Needs {
        functions: externs(ExternKind::Function),
        helpers: helpers(functions()),
        variables: externs(ExternKind::Variable),
        settings: externs(ExternKind::Kconfig),
        unresolved: functions().flat_map(|function| unresolved(object, function, environment)).collect(),
    }
}

/// Operation codes of `call`, and of the first slot of `ld_imm64`, whose second slot is no instruction.
const CALL: u8 = 0x85;
const LD_IMM64: u8 = 0x18;

/// The helpers that functions call. A helper that is missing is a fault only where the call is executed.
fn helpers<'o>(functions: impl Iterator<Item = &'o Function>) -> Vec<Need> {
    let mut called = BTreeMap::new();
    for function in functions {
        let mut slots = function.code.chunks_exact(8);
        while let Some(slot) = slots.next() {
            match (slot[0], slot[1] >> 4) {
                (LD_IMM64, _) => drop(slots.next()),
                (CALL, 0) => {
                    let id = i32::from_le_bytes([slot[4], slot[5], slot[6], slot[7]]);
                    called.insert(id, helper(id).is_some());
                }
                _ => {}
            }
        }
    }
    let name = |id| helper_name(id).map_or_else(|| format!("helper {id}"), str::to_owned);
    called.into_iter().map(|(id, found)| Need { name: name(id), weak: true, found }).collect()
}

fn unresolved(object: &Object, function: &Function, environment: &Environment<'_>) -> Vec<Unresolved> {
    let mut code = function.code.clone();
    let mut found = Vec::new();
    for relocation in &function.core {
        let (why, fatal) = match core_relo::apply(&object.btf, relocation, &environment.btf, &mut code) {
            Ok(None) => continue,
            Ok(Some(reason)) => (reason, false),
            Err(error) => (error.to_string(), true),
        };
        let line = function.lines.iter().rev().find(|line| line.insn <= relocation.insn);
        let place = line.map(|line| (line.file.to_string(), line.line));
        found.push(Unresolved { function: function.name.clone(), place, why, fatal });
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::btf::{Builder, TypeId};
    use crate::core_relo::{CoreKind, CoreRelocation};
    use crate::object::{Extern, LineInfo, Relocation, Target};

    fn symbol(name: &str, kind: ExternKind, weak: bool) -> Extern {
        Extern { name: name.to_owned(), weak, kind, type_id: None }
    }

    /// A call of helper 1, one of helper 27, which this crate lacks, one of a subprogram, and an address that looks like a call.
    fn code() -> Vec<u8> {
        let call = |source: u8, id: u8| [CALL, source << 4, 0, 0, id, 0, 0, 0];
        let address = [[LD_IMM64, 1, 0, 0, 0, 0, 0, 0], [CALL, 0, 0, 0, 9, 0, 0, 0]];
        [call(0, 1), call(0, 27), call(1, 5), address[0], address[1], call(0, 1)].concat()
    }

    fn surveyed(object: Object) -> Needs {
        let mut kernel = Builder::new();
        let proto = kernel.func_proto(TypeId::VOID, &[]);
        for name in ["scx_bpf_here", "bpf_rcu_read_lock"] {
            let _ = kernel.func(name, proto);
        }
        let environment = Environment {
            btf: Arc::new(kernel.finish()),
            kfuncs: &|name| (name == "scx_bpf_here").then_some(0),
            variables: &|name| (name == "runqueues").then_some(0x1000),
            kconfig: &|_| None,
            nr_cpus: 1,
            arena_data_last: false,
            budget: 1,
        };
        survey(&OpenObject::new(Arc::new(object)), &environment)
    }

    fn texts(needs: &[Need]) -> Vec<(&str, bool)> {
        needs.iter().map(|need| (need.name.as_str(), need.found)).collect()
    }

    /// A program that refers to the first `externs` of an object.
    fn program(externs: usize) -> Function {
        let refer = |number| Relocation { insn: number, target: Target::Extern(number) };
        Function {
            section: "struct_ops/f".to_owned(),
            relocations: (0..externs).map(refer).collect(),
            ..Function::default()
        }
    }

    #[test]
    fn functions_and_variables_are_found_by_their_essential_names() {
        let externs = vec![
            symbol("scx_bpf_here___compat", ExternKind::Function, true),
            symbol("bpf_rcu_read_lock", ExternKind::Function, false),
            symbol("scx_bpf_gone", ExternKind::Function, true),
            symbol("runqueues", ExternKind::Variable, false),
            symbol("CONFIG_HZ", ExternKind::Kconfig, true),
            symbol("scx_bpf_unused", ExternKind::Function, false),
        ];
        let needs = surveyed(Object { externs, functions: Arc::new(vec![program(5)]), ..Object::default() });
        let expected = [("bpf_rcu_read_lock", true), ("scx_bpf_gone", false), ("scx_bpf_here___compat", true)];
        assert_eq!(texts(&needs.functions), expected);
        assert_eq!(needs.functions.iter().map(|need| need.weak).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(texts(&needs.variables), [("runqueues", true)]);
        assert_eq!(texts(&needs.settings), [("CONFIG_HZ", false)]);
    }

    #[test]
    fn each_helper_is_listed_once_and_addresses_are_no_calls() {
        let function = Function { code: code(), ..program(0) };
        let needs = surveyed(Object { functions: Arc::new(vec![function]), ..Object::default() });
        assert_eq!(texts(&needs.helpers), [("bpf_map_lookup_elem", true), ("bpf_get_stackid", false)]);
    }

    #[test]
    fn a_type_that_the_kernel_lacks_is_named_with_its_line() {
        let mut builder = Builder::new();
        let number = builder.int("int", 4, true);
        let type_id = builder.structure("gone", 4, &[("x", number, 0)]);
        let core = CoreRelocation { insn: 0, type_id, access: vec![0, 0], kind: CoreKind::FieldByteOffset };
        let line = LineInfo { insn: 0, file: "a.c".into(), line: 7, column: 1, text: "".into() };
        let function = Function {
            name: "f".to_owned(),
            code: vec![0x61, 0x10, 0, 0, 0, 0, 0, 0],
            lines: vec![line],
            core: vec![core],
            ..program(0)
        };
        let needs = surveyed(Object {
            functions: Arc::new(vec![function]),
            btf: Arc::new(builder.finish()),
            ..Object::default()
        });
        let [unresolved] = needs.unresolved.as_slice() else { panic!("{:?}", needs.unresolved) };
        assert_eq!((unresolved.function.as_str(), unresolved.fatal), ("f", false));
        assert_eq!(unresolved.place, Some(("a.c".to_owned(), 7)));
        assert!(unresolved.why.contains("gone"), "{}", unresolved.why);
        assert_ne!(type_id, TypeId::VOID);
    }
}
