// SPDX-License-Identifier: MIT OR Apache-2.0
//! A variable's value as a text. The text of a number, enumeration or string can be used to set it again.

use std::fmt::Write;

use super::names::short_names;
use super::place::Place;
use super::value;
use crate::btf::{Btf, Type};

/// Most elements of an array that are shown.
const SHOWN: usize = 8;

/// The value in the place's bytes. If all are zero, it is `{0}`; structures show nothing else.
pub(super) fn show(btf: &Btf, place: &Place, bytes: &[u8]) -> String {
    match btf.bare(place.type_id) {
        Some(Type::Int(int)) if int.boolean && bytes.len() == 1 && bytes[0] < 2 => (bytes[0] == 1).to_string(),
        Some(Type::Enum(values) | Type::Enum64(values)) => {
            let Ok(number) = value::read(btf, "", place, bytes) else { return "{…}".to_owned() };
            let named = values
                .values
                .iter()
                .find(|value| value.value as i64 as i128 == number || i128::from(value.value) == number);
            named.map_or_else(|| number.to_string(), |value| value.name.to_string())
        }
        Some(Type::Ptr(_)) => match bytes.try_into() {
            Ok(bytes) => format!("{:#x}", u64::from_le_bytes(bytes)),
            Err(_) => "{…}".to_owned(),
        },
        Some(Type::Array(array)) => {
            let character = matches!(btf.bare(array.element), Some(Type::Int(int)) if int.size == 1 && (int.signed || int.character));
            match text(bytes).filter(|_| character) {
                Some(text) => format!("\"{text}\""),
                None => elements(btf, place, bytes),
            }
        }
        Some(Type::Int(_)) => {
            value::read(btf, "", place, bytes).map_or("{…}".to_owned(), |number| number.to_string())
        }
        _ => braces(bytes).to_owned(),
    }
}

/// The short name of the enumerator in the place's bytes, if there is one.
pub(super) fn short_name(btf: &Btf, place: &Place, bytes: &[u8]) -> Option<String> {
    let values = btf.bare(place.type_id).and_then(Type::enumeration)?;
    let number = value::read(btf, "", place, bytes).ok()?;
    let at = values.values.iter().position(|value| value::signed(values, value) == number)?;
    short_names(&values.values).into_iter().nth(at)
}

fn braces(bytes: &[u8]) -> &'static str {
    if bytes.iter().all(|byte| *byte == 0) { "{0}" } else { "{…}" }
}

/// The text in the bytes, without the zeros that fill them up.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let (text, rest) = bytes.split_at(end);
    let text = std::str::from_utf8(text).ok()?;
    let plain = !text.is_empty() && text.chars().all(|c| !c.is_control() && c != '"');
    (plain && rest.iter().all(|byte| *byte == 0)).then_some(text)
}

fn elements(btf: &Btf, place: &Place, bytes: &[u8]) -> String {
    let Some(Type::Array(array)) = btf.bare(place.type_id) else { return braces(bytes).to_owned() };
    let size = btf.size_of(array.element).unwrap_or(0) as usize;
    let plain = matches!(btf.bare(array.element), Some(Type::Int(_) | Type::Enum(_) | Type::Enum64(_)));
    if size == 0 || !plain || bytes.iter().all(|byte| *byte == 0) {
        return braces(bytes).to_owned();
    }
    let mut list = String::new();
    for (index, element) in bytes.chunks_exact(size).enumerate() {
        if index == SHOWN {
            list += ", …";
            break;
        }
        let place = Place { bit_offset: 0, bit_size: 8 * size as u64, type_id: array.element, ..*place };
        // Writing to a String cannot fail.
        let _ = write!(list, "{}{}", if index == 0 { "" } else { ", " }, show(btf, &place, element));
    }
    format!("{{{list}}}")
}
