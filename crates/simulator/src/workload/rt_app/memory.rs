// SPDX-License-Identifier: MIT OR Apache-2.0
//! `memrun` events: reading, writing or chasing pointers through a buffer of the thread's own.

use super::super::json::Value;
use super::fields::{Fields, INT, Source};
use super::syntax::Event;
use crate::input::InputError;

/// Bytes that one access loads.
const CACHE_LINE: u64 = 64;
/// rt-app's default for `stride`.
const STRIDE: u64 = 64;

/// Reads a `memrun` event.
pub(super) fn memrun(source: &Source, key: &str, value: &Value) -> Result<Event, InputError> {
    let fields = Fields::of(source, format!("`{key}`"), value)?;
    let kind = required(&fields, key, "type", fields.choice("type", &["read", "write", "chase"])?)?;
    let size = required(&fields, key, "size", fields.integer("size", 1..=*INT.end())?)?.unsigned_abs();
    let count = required(&fields, key, "count", fields.integer("count", INT)?)?.unsigned_abs();
    if fields.string("ref")?.is_some() {
        fields.meaningless("ref", "each thread's buffer counts as its own footprint");
    }
    let event = if kind == 2 {
        chase(&fields, size, count)?
    } else {
        for chase_only in ["stride", "pattern"] {
            fields.meaningless(chase_only, "only `chase` has one");
        }
        Event::Memory { bytes: count, buffer: size }
    };
    fields.warn_unknown(&["type", "size", "count", "ref", "stride", "pattern"]);
    Ok(event)
}

fn required<T>(fields: &Fields, key: &str, name: &str, value: Option<T>) -> Result<T, InputError> {
    value.ok_or_else(|| {
        fields
            .error(fields.offset, format!("`{key}` has no `{name}`"))
            .help("write \"memrun\" : { \"type\" : \"read\", \"size\" : BYTES, \"count\" : BYTES }")
    })
}

/// A pointer chase. Its chain has a power of two of positions, `stride` apart. A random chain waits for each load. A
/// sequential chain is prefetched, so it only moves its lines.
fn chase(fields: &Fields, size: u64, count: u64) -> Result<Event, InputError> {
    let stride = fields.integer("stride", 1..=*INT.end())?.map_or(STRIDE, i64::unsigned_abs);
    let sequential = fields.choice("pattern", &["random", "sequential"])? == Some(1);
    let positions = match size / stride {
        0 | 1 => {
            let message = format!("a chase needs a `size` of at least two strides of {stride} bytes, not {size}");
            return Err(fields.error(fields.offset, message));
        }
        fitting => 1 << fitting.ilog2(),
    };
    let touched = stride.min(CACHE_LINE);
    let buffer = positions * touched;
    if sequential {
        return Ok(Event::Memory { bytes: count * touched, buffer });
    }
    Ok(Event::Chase { count, buffer })
}
