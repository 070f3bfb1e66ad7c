// SPDX-License-Identifier: MIT OR Apache-2.0
//! Protocol-buffer messages, written field by field into memory.
//!
//! The encoding is micropb's; this module adds the length of a nested message, which is known only after writing it.

use std::convert::Infallible;

use micropb::{PbEncoder, Tag, WIRE_TYPE_I64, WIRE_TYPE_LEN, WIRE_TYPE_VARINT};

/// A message under construction. Fields appear in the order of the calls.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A field of an unsigned or enumerated type (`uint32`, `uint64`, `bool`, an enum).
    pub fn uint(&mut self, field: u32, value: u64) -> &mut Self {
        self.field(field, WIRE_TYPE_VARINT, |encoder| encoder.encode_varint64(value))
    }

    /// A field of type `int32` or `int64`.
    pub fn int(&mut self, field: u32, value: i64) -> &mut Self {
        self.field(field, WIRE_TYPE_VARINT, |encoder| encoder.encode_int64(value))
    }

    /// A field of type `double`.
    pub fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.field(field, WIRE_TYPE_I64, |encoder| encoder.encode_double(value))
    }

    /// A field of type `string`.
    pub fn text(&mut self, field: u32, value: &str) -> &mut Self {
        self.field(field, WIRE_TYPE_LEN, |encoder| encoder.encode_string(value))
    }

    /// A nested message that is already encoded.
    pub fn encoded(&mut self, field: u32, value: &Message) -> &mut Self {
        self.field(field, WIRE_TYPE_LEN, |encoder| encoder.encode_bytes(value.bytes()))
    }

    /// A nested message that `fill` writes.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) -> &mut Self {
        self.field(field, WIRE_TYPE_LEN, |_| Ok(()));
        let start = self.0.len();
        fill(self);
        // The length belongs before the content but is known only now: append it, then rotate it to its place.
        let end = self.0.len();
        let Ok(()) = PbEncoder::new(&mut self.0).encode_varint64((end - start) as u64);
        let length_bytes = self.0.len() - end;
        self.0[start..].rotate_right(length_bytes);
        self
    }

    /// The bytes written so far.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Empties the message; its memory stays for the next one.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn field(
        &mut self,
        field: u32,
        wire_type: u8,
        value: impl FnOnce(&mut PbEncoder<&mut Vec<u8>>) -> Result<(), Infallible>,
    ) -> &mut Self {
        let mut encoder = PbEncoder::new(&mut self.0);
        let Ok(()) = encoder.encode_tag(Tag::from_parts(field, wire_type));
        let Ok(()) = value(&mut encoder);
        self
    }
}
