// SPDX-License-Identifier: MIT OR Apache-2.0
//! The value that a text means, for a type.

use super::error::{SettingError, nearest};
use super::names::{short_names, value_named};
use super::place::Place;
use crate::btf::{Btf, Enum, EnumValue, Type};

/// Bits of the widest number.
const MAX_BITS: u64 = 64;

/// The place's bytes for the value that `text` means.
pub(super) fn parse(btf: &Btf, name: &str, place: &Place, text: &str) -> Result<Vec<u8>, SettingError> {
    let text = text.trim();
    match btf.bare(place.type_id) {
        Some(Type::Int(int)) => match (int.boolean, text) {
            (true, "true") => Ok(vec![1]),
            (true, "false") => Ok(vec![0]),
            (true, _) => integer(
                btf,
                name,
                place,
                number(text).ok_or_else(|| refused(btf, name, place, (text, "true or false")))?,
            ),
            (false, _) => integer(
                btf,
                name,
                place,
                number(text).ok_or_else(|| refused(btf, name, place, (text, "a whole number")))?,
            ),
        },
        Some(Type::Enum(values) | Type::Enum64(values)) => enumerated(btf, name, place, (values, text)),
        Some(Type::Array(array)) if btf.size_of(array.element) == Some(1) => characters(btf, name, place, text),
        Some(Type::Array(_)) => Err(refused(btf, name, place, (text, "possible: set its elements, as name[0]"))),
        Some(Type::Struct(_) | Type::Union(_)) => {
            Err(refused(btf, name, place, (text, "possible: set its members, as name.member")))
        }
        _ => Err(refused(btf, name, place, (text, "possible: it is no number, text or enumeration"))),
    }
}

/// The place's bytes for a number.
pub(super) fn integer(btf: &Btf, name: &str, place: &Place, number: i128) -> Result<Vec<u8>, SettingError> {
    let (signed, boolean) = numeric(btf, name, place)?;
    let bits = place.bit_size as u32;
    let (min, max) = match (boolean, signed) {
        (true, _) => (0, 1),
        (_, true) => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        (_, false) => (0, (1_i128 << bits) - 1),
    };
    if number < min || number > max {
        let type_name = btf.spell(place.type_id).to_string();
        return Err(SettingError::Range { name: name.to_owned(), type_name, number, min, max });
    }
    Ok(number.to_le_bytes()[..bits.div_ceil(8) as usize].to_vec())
}

/// The number in the place's bytes.
pub(super) fn read(btf: &Btf, name: &str, place: &Place, bytes: &[u8]) -> Result<i128, SettingError> {
    let (signed, _) = numeric(btf, name, place)?;
    let mut value = [0; 16];
    value[..bytes.len().min(16)].copy_from_slice(&bytes[..bytes.len().min(16)]);
    let unused = 128 - place.bit_size as u32;
    let shifted = (u128::from_le_bytes(value) >> (place.bit_offset % 8)) << unused;
    Ok(if signed { shifted as i128 >> unused } else { (shifted >> unused) as i128 })
}

/// Whether the place's type is signed, and whether it is `bool`; an error unless it is a number or enumeration.
fn numeric(btf: &Btf, name: &str, place: &Place) -> Result<(bool, bool), SettingError> {
    let kind = match btf.bare(place.type_id) {
        Some(Type::Int(int)) => Some((int.signed, int.boolean)),
        Some(Type::Enum(values) | Type::Enum64(values)) => Some((values.signed, false)),
        _ => None,
    };
    let fits = (1..=MAX_BITS).contains(&place.bit_size);
    kind.filter(|_| fits).ok_or_else(|| SettingError::Path {
        name: name.to_owned(),
        why: format!("{} is no number of at most 64 bits", btf.spell(place.type_id)),
    })
}

fn enumerated(btf: &Btf, name: &str, place: &Place, (values, text): (&Enum, &str)) -> Result<Vec<u8>, SettingError> {
    match (value_named(values, text), number(text)) {
        (Some(value), _) => integer(btf, name, place, signed(values, value)),
        (None, Some(number)) => integer(btf, name, place, number),
        (None, None) => Err(not_named(btf, name, place, (values, text))),
    }
}

/// Checks that a number belongs to the enumeration, if the place has one.
pub(super) fn check_enumerated(btf: &Btf, name: &str, place: &Place, number: i128) -> Result<(), SettingError> {
    let Some(values) = btf.bare(place.type_id).and_then(Type::enumeration) else { return Ok(()) };
    if values.values.iter().any(|value| signed(values, value) == number) {
        return Ok(());
    }
    Err(not_named(btf, name, place, (values, &number.to_string())))
}

/// The number of an enumerator.
pub(super) fn signed(values: &Enum, value: &EnumValue) -> i128 {
    if values.signed { i128::from(value.value as i64) } else { i128::from(value.value) }
}

fn not_named(btf: &Btf, name: &str, place: &Place, (values, text): (&Enum, &str)) -> SettingError {
    let names = short_names(&values.values);
    SettingError::Value {
        name: name.to_owned(),
        type_name: btf.spell(place.type_id).to_string(),
        text: text.to_owned(),
        expected: format!("one of {}", names.join(", ")),
        nearest: nearest(text, names.iter().map(String::as_str)),
    }
}

/// The bytes for an array of characters that is set to a text, with or without quotes; the rest becomes zero.
fn characters(btf: &Btf, name: &str, place: &Place, text: &str) -> Result<Vec<u8>, SettingError> {
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let room = place.bit_size / 8;
    if text.len() as u64 >= room {
        let expected = format!("at most {} bytes long", room.saturating_sub(1));
        return Err(refused(btf, name, place, (text, &expected)));
    }
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(room as usize, 0);
    Ok(bytes)
}

/// The whole number that a text is: decimal or with `0x`, `0o`, `0b`, a sign, underscores between digits.
fn number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (base, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => (10, digits),
    };
    if !digits.starts_with(|digit: char| digit.is_digit(base)) {
        return None;
    }
    // The magnitude has at most 64 bits, so that the sign cannot overflow.
    let magnitude = i128::from(u64::from_str_radix(&digits.replace('_', ""), base).ok()?);
    Some(if negative { -magnitude } else { magnitude })
}

fn refused(btf: &Btf, name: &str, place: &Place, (text, expected): (&str, &str)) -> SettingError {
    SettingError::Value {
        name: name.to_owned(),
        type_name: btf.spell(place.type_id).to_string(),
        text: text.to_owned(),
        expected: expected.to_owned(),
        nearest: Vec::new(),
    }
}
