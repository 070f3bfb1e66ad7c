// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists of CPU numbers as sysfs writes them: `0-3,8`. The order written is kept.

use super::MAX_CPUS;
use super::reader::{File, Placed};
use crate::input::InputError;

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
pub(super) fn check_unique(file: File<'_>, numbers: &[Placed<u32>]) -> Result<(), InputError> {
    let mut seen = std::collections::BTreeSet::new();
    match numbers.iter().find(|number| !seen.insert(number.value)) {
        Some(twice) => Err(file
            .error(twice.at, format!("CPU {} is in the list twice", twice.value))
            .help("expected each CPU once")),
        None => Ok(()),
    }
}

fn parse_range(part: &str) -> Option<(u32, u32)> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number < MAX_CPUS);
    let (first, last) = match part.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(part)?, number(part)?),
    };
    (first <= last).then_some((first, last))
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
