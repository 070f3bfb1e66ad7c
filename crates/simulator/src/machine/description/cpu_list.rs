// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of CPU numbers, as sysfs writes them (`0-3,8`) or core by core. The order written is kept.

use tandem_loader::cpus::range;
use toml::Spanned;
use toml::de::DeValue;

use super::MAX_CPUS;
use super::reader::{File, Placed, Table};
use crate::input::InputError;

/// The `cpus` of a cluster of `cores` cores with `smt` threads: a number for each thread, core by core.
pub(super) fn read_cluster(
    table: &Table<'_>,
    cores: u32,
    smt: u32,
) -> Result<Option<Vec<Vec<Placed<u32>>>>, InputError> {
    let Some(value) = table.entry("cpus") else {
        return Ok(None);
    };
    let numbers = match value.get_ref() {
        DeValue::Array(_) => read_cores(table.file, value, cores, smt)?,
        _ => read_list(table.file, value, cores, smt)?,
    };
    check_unique(table.file, &numbers.concat())?;
    Ok(Some(numbers))
}

/// `"0-3,8"`: core by core.
fn read_list<'a>(
    file: File<'a>,
    value: &'a Spanned<DeValue<'a>>,
    cores: u32,
    smt: u32,
) -> Result<Vec<Vec<Placed<u32>>>, InputError> {
    let list = parse(file, file.text("cpus", value)?)?;
    check_count(file, value, "CPUs in `cpus`", list.len(), cores.saturating_mul(smt))?;
    Ok(list.chunks(smt as usize).map(<[_]>::to_vec).collect())
}

/// `[[0, 4], [1, 5]]`: one inner list per core.
fn read_cores<'a>(
    file: File<'a>,
    value: &'a Spanned<DeValue<'a>>,
    cores: u32,
    smt: u32,
) -> Result<Vec<Vec<Placed<u32>>>, InputError> {
    let expected = "one list of CPU numbers per core, such as [[0, 4], [1, 5]]";
    let mut by_core = Vec::new();
    for core in file.array("cpus", value, expected)?.value {
        let numbers = file.array("cpus", core, expected)?.value;
        check_count(file, core, "CPUs in a core", numbers.len(), smt)?;
        let numbers = numbers.iter().map(|number| file.whole("cpus", number, 0..=MAX_CPUS - 1));
        by_core.push(numbers.collect::<Result<Vec<_>, _>>()?);
    }
    check_count(file, value, "cores in `cpus`", by_core.len(), cores)?;
    Ok(by_core)
}

fn check_count(
    file: File<'_>,
    value: &Spanned<DeValue<'_>>,
    what: &str,
    count: usize,
    expected: u32,
) -> Result<(), InputError> {
    if count == expected as usize {
        return Ok(());
    }
    let message = format!("wrong number of {what}: {count}");
    Err(file.error(value.span().start, message).help(format!("expected {expected}, from `cores` and `smt`")))
}

/// The numbers of `list`, each with its place in the file. No number occurs twice.
pub(super) fn parse(file: File<'_>, list: Placed<&str>) -> Result<Vec<Placed<u32>>, InputError> {
    let mut numbers: Vec<Placed<u32>> = Vec::new();
    let mut offset = 0;
    for part in list.value.split(',') {
        let at = place(file, list, offset + (part.len() - part.trim_start().len()));
        let (first, last) = parse_range(part.trim()).ok_or_else(|| not_a_list(file, at, part.trim()))?;
        for number in first..=last {
            numbers.push(Placed { value: number, at });
        }
        offset += part.len() + 1;
    }
    check_unique(file, &numbers)?;
    Ok(numbers)
}

/// No number of `numbers` may occur twice.
fn check_unique(file: File<'_>, numbers: &[Placed<u32>]) -> Result<(), InputError> {
    let mut seen = std::collections::BTreeSet::new();
    match numbers.iter().find(|number| !seen.insert(number.value)) {
        Some(twice) => Err(file
            .error(twice.at, format!("CPU {} is in the list twice", twice.value))
            .help("expected each CPU once")),
        None => Ok(()),
    }
}

fn parse_range(part: &str) -> Option<(u32, u32)> {
    let number = |cpu: usize| u32::try_from(cpu).ok().filter(|cpu| *cpu < MAX_CPUS);
    let range = range(part)?;
    Some((number(*range.start())?, number(*range.end())?))
}

fn not_a_list(file: File<'_>, at: usize, part: &str) -> InputError {
    file.error(at, format!("`{part}` is not a CPU or a range of CPUs"))
        .help(format!("expected a list such as \"0-3,8\", ascending within a range, CPUs below {MAX_CPUS}"))
}

/// Byte `offset` of the list's text in the file; the list's begin where escapes make that uncertain.
fn place(file: File<'_>, list: Placed<&str>, offset: usize) -> usize {
    let after_quote = list.at + 1;
    match file.text.get(after_quote..) {
        Some(rest) if rest.starts_with(list.value) => after_quote + offset,
        _ => list.at,
    }
}
