// SPDX-License-Identifier: MIT OR Apache-2.0
//! `docs/schedulers.md` says what there is: every map type, helper and kernel function is in the right table.

use std::collections::BTreeSet;
use std::path::Path;

use tandem_bpf_vm::helper::{helper, helper_name};
use tandem_bpf_vm::kfunc::kfunc;
use tandem_bpf_vm::map::{MapError, MapSpec, Maps, kind};
use tandem_bpf_vm::memory::Memory;
use tandem_loader::facts::Word;
use tandem_loader::file::{Argument, LoaderFile, RUN, TOP};

use super::abi::profile::Version;
use super::kfuncs::offered;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schedulers.md"));

type Names = BTreeSet<String>;

/// The tables below a heading, up to the next: for each row the names in its first column, those in its second, and that
/// column's text.
fn tables(heading: &str) -> Vec<Vec<(Names, Names, &'static str)>> {
    let (_, body) = PAGE.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let body = body.split("\n#").next().unwrap_or_default();
    let mut tables = Vec::new();
    let mut rows = Vec::new();
    for line in body.lines().chain([""]) {
        if line.starts_with('|') {
            let cells: Vec<&str> = line.split('|').collect();
            rows.push((quoted(cells[1]), quoted(cells[2]), cells[2]));
        } else if !rows.is_empty() {
            // Without the header and the line below it.
            tables.push(std::mem::take(&mut rows).split_off(2));
        }
    }
    tables
}

fn quoted(text: &str) -> Names {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// All names in the second column of a table.
fn listed(table: &[(Names, Names, &str)]) -> Names {
    table.iter().flat_map(|(_, names, _)| names.clone()).collect()
}

fn owned<'n>(names: impl IntoIterator<Item = &'n str>) -> Names {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_table_of_map_types_is_right() {
    let supported = |kind: u32| {
        let spec = MapSpec { kind, key_size: 4, value_size: 8, max_entries: 1, ..MapSpec::default() };
        let made = Maps::default().create(&mut Memory::new(1 << 24), spec, 1);
        !matches!(made, Err(MapError::Unsupported { .. }))
    };
    let mut documented = Names::new();
    for (names, _, answer) in &tables("### Map types")[0] {
        for name in names {
            let number = (1..64).find(|number| kind::name(*number) == *name);
            let number = number.unwrap_or_else(|| panic!("no map type {name}"));
            assert_eq!(answer.trim_start().starts_with("yes"), supported(number), "{name}");
            documented.insert(name.clone());
        }
    }
    let known = (1..64).map(kind::name).filter(|name| !name.starts_with("number "));
    assert_eq!(documented, known.collect());
}

#[test]
fn the_tables_of_helpers_are_right() {
    let [here, missing] = &tables("### Helpers")[..] else { panic!("two tables are expected") };
    let name = |id| helper_name(id).unwrap_or_default().to_owned();
    let offered: Names = (1..1000).filter(|id| helper(*id).is_some()).map(name).collect();
    assert_eq!(listed(here), offered);
    let real: Names = (1..1000).map(name).collect();
    for name in listed(missing) {
        assert!(real.contains(&name) && !offered.contains(&name), "{name}");
    }
}

#[test]
fn the_tables_of_kernel_functions_are_right() {
    let [scx, generic, missing] = &tables("### Kernel functions")[..] else { panic!("three tables are expected") };
    let of = |version| owned(offered(version).map(|(_, kfunc)| kfunc.name));
    let [old, later, new] = [Version::V6_12, Version::V6_18, Version::V7].map(of);
    let documented: Vec<Names> = scx.iter().map(|(_, names, _)| names.clone()).collect();
    assert_eq!(documented, [&old & &new, &old - &later, &later - &old, &new - &later]);

    // That none is missing, the tests of the guide look up in the source of these functions.
    for name in listed(generic) {
        assert!(kfunc(&name).is_some(), "{name}");
    }
    for name in listed(missing) {
        assert!(!old.contains(&name) && !new.contains(&name) && kfunc(&name).is_none(), "{name}");
    }
}

#[test]
fn every_fact_is_explained() {
    let explained: Names = tables("### Facts")[0].iter().flat_map(|(words, ..)| words.clone()).collect();
    let words: Names = Word::all().map(|word| word.to_string()).collect();
    assert_eq!(explained, words);
}

#[test]
fn the_example_of_a_sidecar_is_read_and_every_key_is_explained() {
    let section = PAGE.split("## The file beside an object").nth(1).unwrap();
    let example = section.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let read = LoaderFile::parse(Path::new("example.toml"), example).unwrap();
    assert_eq!(
        (read.run.init_cpu, read.ops.numbers.len(), read.set.len(), read.resize.len()),
        (Some(Argument::Number(0)), 1, 2, 2)
    );
    assert_eq!(
        (read.run.syscall[0].program.as_str(), &read.run.syscall[0].arguments[..]),
        ("set_up", &[Argument::Number(-1)][..])
    );
    let explained: Names =
        tables("## The file beside an object")[0].iter().flat_map(|(keys, ..)| keys.clone()).collect();
    let keys = TOP.iter().filter(|key| **key != "run").chain(RUN);
    assert_eq!(explained, owned(keys.copied()));
}
