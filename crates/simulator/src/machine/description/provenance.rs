// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where values come from: the keys `source` and `sources` of a table.

use toml::de::DeValue;

use super::reader::{Placed, Table};
use crate::input::{InputError, valid_names};
use crate::machine::Provenance;

/// The sources of `table` in the order of the file: its own, as key `*`, and those of single keys.
///
/// An entry of `sources` must name a key that the table, or a table within it, has.
pub(super) fn read(table: &Table<'_>) -> Result<Vec<Placed<Provenance>>, InputError> {
    let Some(source) = table.text_if("source")? else {
        return Err(table.missing("source", "where its values come from, in words"));
    };
    let entry = |key: &str, source: Placed<&str>| Placed {
        value: Provenance { table: table.label.clone(), key: key.to_owned(), source: source.value.to_owned() },
        at: source.at,
    };
    let mut found = vec![entry("*", source)];
    let Some(sources) = table.entry("sources") else {
        return Ok(found);
    };
    let keys = table.shape.sourced_keys();
    let present = present_keys(table);
    for (key, value) in table.children("sources", sources)? {
        if !keys.contains(&key.value) {
            return Err(table
                .file
                .error(key.at, format!("`sources` names an unknown key `{}`", key.value))
                .help(valid_names(key.value, &keys)));
        }
        if !present.contains(&key.value) {
            return Err(table
                .file
                .error(key.at, format!("`sources` names `{}`, which {} does not have", key.value, table.label))
                .help(format!("give `{}` a value, or leave its source out", key.value)));
        }
        found.push(entry(key.value, table.file.text(key.value, value)?));
    }
    found.sort_by_key(|entry| entry.at);
    Ok(found)
}

/// Keys of the table and of everything within it but its `sources`.
fn present_keys<'a>(table: &Table<'a>) -> Vec<&'a str> {
    let mut keys = Vec::new();
    for (key, value) in table.entries() {
        if key.value == "sources" {
            continue;
        }
        keys.push(key.value);
        collect_keys(value.get_ref(), &mut keys);
    }
    keys
}

fn collect_keys<'a>(value: &'a DeValue<'a>, keys: &mut Vec<&'a str>) {
    match value {
        DeValue::Array(array) => array.iter().for_each(|value| collect_keys(value.get_ref(), keys)),
        DeValue::Table(table) => {
            for (key, value) in table {
                keys.push(&**key.get_ref());
                collect_keys(value.get_ref(), keys);
            }
        }
        _ => {}
    }
}
