// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the bytes of a `.BTF` section.

use super::Btf;
use super::error::BtfError;
use super::name::{Name, Strings};
use super::types::{
    Array, Composite, DataSec, Enum, EnumValue, Int, Linkage, Member, Param, Prototype, SecVariable, Type, TypeId,
};

/// Bytes of the longest name that the kernel accepts (`KSYM_NAME_LEN`). The limit keeps looking up names cheap.
pub(crate) const MAX_NAME: usize = 512;
/// First two bytes of BTF and of BTF.ext.
const MAGIC: u16 = 0xeb9f;
/// Bytes of the first header that there was.
const HEADER: usize = 24;

/// Little-endian numbers one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Offset of the next number, from the beginning of the section.
    pub(crate) offset: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor over `bytes[start..start + size]`; `what` names them in errors.
    pub(crate) fn new(bytes: &'a [u8], start: usize, size: usize, what: &'static str) -> Result<Self, BtfError> {
        let cut = BtfError::Truncated { what, offset: start };
        let end = start.checked_add(size).filter(|end| *end <= bytes.len()).ok_or(cut)?;
        Ok(Self { bytes: &bytes[..end], offset: start })
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.offset >= self.bytes.len()
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.offset)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, BtfError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let (value, _) = rest.split_first_chunk().ok_or(BtfError::Truncated { what, offset: self.offset })?;
        self.offset += 4;
        Ok(u32::from_le_bytes(*value))
    }

    /// Skips the bytes by which a record is longer than this version knows.
    pub(crate) fn skip(&mut self, bytes: usize, what: &'static str) -> Result<(), BtfError> {
        if bytes > self.left() {
            return Err(BtfError::Truncated { what, offset: self.offset });
        }
        self.offset += bytes;
        Ok(())
    }
}

/// Checks how BTF or BTF.ext begins; returns the length of the header.
pub(crate) fn header(bytes: &[u8], least: usize) -> Result<usize, BtfError> {
    let what = "the header";
    let (magic, _) = bytes.split_first_chunk().ok_or(BtfError::Truncated { what, offset: 0 })?;
    match u16::from_le_bytes(*magic) {
        MAGIC => {}
        swapped if swapped == MAGIC.swap_bytes() => return Err(BtfError::BigEndian),
        magic => return Err(BtfError::Magic { magic }),
    }
    let version = *bytes.get(2).ok_or(BtfError::Truncated { what, offset: 2 })?;
    if version != 1 {
        return Err(BtfError::Version(version));
    }
    let length = Cursor::new(bytes, 4, 4, what)?.u32(what)? as usize;
    if length < least || length > bytes.len() {
        return Err(BtfError::Truncated { what, offset: 4 });
    }
    Ok(length)
}

/// Types, and the strings that BTF.ext shares.
pub(super) fn parse(bytes: &[u8]) -> Result<(Btf, Strings), BtfError> {
    let length = header(bytes, HEADER)?;
    let mut fields = Cursor::new(bytes, 8, 16, "the header")?;
    let mut field = || fields.u32("the header").map(|value| value as usize);
    let (type_offset, type_size, string_offset, string_size) = (field()?, field()?, field()?, field()?);
    let strings = Cursor::new(bytes, length.saturating_add(string_offset), string_size, "the table of strings")?;
    let strings = Strings::new(&strings.bytes[strings.offset..]);
    let cursor = Cursor::new(bytes, length.saturating_add(type_offset), type_size, "the list of types")?;
    let mut parser = Parser { cursor, strings: &strings, id: TypeId::VOID, start: 0 };
    let mut types = vec![Type::Void];
    while !parser.cursor.is_at_end() {
        parser.id = TypeId(types.len() as u32);
        parser.start = parser.cursor.offset;
        types.push(parser.ty()?);
    }
    Ok((Btf::new(types)?, strings))
}

/// The type being read.
struct Parser<'a> {
    cursor: Cursor<'a>,
    strings: &'a Strings,
    id: TypeId,
    start: usize,
}

impl Parser<'_> {
    fn ty(&mut self) -> Result<Type, BtfError> {
        let name = self.u32()?;
        let info = self.u32()?;
        // Size or type, whichever the kind has.
        let word = self.u32()?;
        let (count, flag) = (info & 0xffff, info >> 31 != 0);
        let target = TypeId(word);
        Ok(match info >> 24 & 0x1f {
            1 => Type::Int(self.int(name, word)?),
            2 => Type::Ptr(target),
            3 => Type::Array(self.array()?),
            4 => Type::Struct(self.composite(name, word, count, flag)?),
            5 => Type::Union(self.composite(name, word, count, flag)?),
            6 => Type::Enum(self.enumeration(name, word, count, flag)?),
            7 => Type::Fwd { name: self.name(name)?, union: flag },
            8 => Type::Typedef { name: self.name(name)?, target },
            9 => Type::Volatile(target),
            10 => Type::Const(target),
            11 => Type::Restrict(target),
            12 => Type::Func { name: self.name(name)?, proto: target, linkage: linkage(count) },
            13 => Type::FuncProto(self.prototype(target, count)?),
            14 => {
                let name = self.name(name)?;
                Type::Var { name, type_id: target, linkage: linkage(self.u32()?) }
            }
            15 => Type::DataSec(self.section(name, word, count)?),
            16 => Type::Float { name: self.name(name)?, size: word },
            17 => {
                let (tag, component) = (self.text(name)?, self.u32()?);
                Type::DeclTag { tag, target, component: (component != u32::MAX).then_some(component) }
            }
            18 => Type::TypeTag { tag: self.text(name)?, target },
            19 => Type::Enum64(self.enumeration64(name, word, count, flag)?),
            kind => return Err(BtfError::Kind { id: self.id, kind, offset: self.start }),
        })
    }

    fn u32(&mut self) -> Result<u32, BtfError> {
        self.cursor.u32("a type")
    }

    /// A text of any length.
    fn text(&self, name: u32) -> Result<Name, BtfError> {
        self.strings.get(name).ok_or(BtfError::Name { what: "a type", offset: self.start, name })
    }

    fn name(&self, name: u32) -> Result<Name, BtfError> {
        let text = self.text(name)?;
        if text.len() > MAX_NAME {
            return Err(BtfError::LongName { what: "a type", offset: self.start });
        }
        Ok(text)
    }

    /// `count` records of `words` numbers of 4 bytes. A count that the bytes left cannot hold is refused here, so that
    /// a damaged file reserves no memory.
    fn records<T>(
        &mut self,
        count: u32,
        words: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, BtfError>,
    ) -> Result<Vec<T>, BtfError> {
        if self.cursor.left() < count as usize * words * 4 {
            return Err(BtfError::Truncated { what: "a type", offset: self.start });
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn int(&mut self, name: u32, size: u32) -> Result<Int, BtfError> {
        let name = self.name(name)?;
        let encoding = self.u32()?;
        let flags = encoding >> 24;
        let (bits, bit_offset) = ((encoding & 0xff) as u8, (encoding >> 16 & 0xff) as u8);
        if !matches!(size, 1 | 2 | 4 | 8 | 16) {
            return Err(BtfError::Size { id: self.id, size });
        }
        let (signed, character, boolean) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
        Ok(Int { name, size, bits, bit_offset, signed, character, boolean })
    }

    fn array(&mut self) -> Result<Array, BtfError> {
        let (element, index) = (TypeId(self.u32()?), TypeId(self.u32()?));
        Ok(Array { element, index, count: self.u32()? })
    }

    fn composite(&mut self, name: u32, size: u32, count: u32, bitfields: bool) -> Result<Composite, BtfError> {
        let members = self.records(count, 3, |parser| {
            let name = parser.u32()?;
            let (name, type_id, place) = (parser.name(name)?, TypeId(parser.u32()?), parser.u32()?);
            let (bit_offset, bitfield) = if bitfields { (place & 0xff_ffff, (place >> 24) as u8) } else { (place, 0) };
            Ok(Member { name, type_id, bit_offset, bitfield })
        })?;
        Ok(Composite { name: self.name(name)?, size, members })
    }

    fn enumeration(&mut self, name: u32, size: u32, count: u32, signed: bool) -> Result<Enum, BtfError> {
        let values = self.records(count, 2, |parser| {
            let name = parser.u32()?;
            let (name, value) = (parser.name(name)?, parser.u32()?);
            let value = if signed { i64::from(value as i32) as u64 } else { u64::from(value) };
            Ok(EnumValue { name, value })
        })?;
        self.check_enum_size(size)?;
        Ok(Enum { name: self.name(name)?, size, signed, values })
    }

    fn enumeration64(&mut self, name: u32, size: u32, count: u32, signed: bool) -> Result<Enum, BtfError> {
        let values = self.records(count, 3, |parser| {
            let name = parser.u32()?;
            let (name, low, high) = (parser.name(name)?, parser.u32()?, parser.u32()?);
            Ok(EnumValue { name, value: u64::from(low) | u64::from(high) << 32 })
        })?;
        self.check_enum_size(size)?;
        Ok(Enum { name: self.name(name)?, size, signed, values })
    }

    fn check_enum_size(&self, size: u32) -> Result<(), BtfError> {
        if matches!(size, 1 | 2 | 4 | 8) { Ok(()) } else { Err(BtfError::Size { id: self.id, size }) }
    }

    fn prototype(&mut self, ret: TypeId, count: u32) -> Result<Prototype, BtfError> {
        let params = self.records(count, 2, |parser| {
            let name = parser.u32()?;
            Ok(Param { name: parser.name(name)?, type_id: TypeId(parser.u32()?) })
        })?;
        Ok(Prototype { ret, params })
    }

    fn section(&mut self, name: u32, size: u32, count: u32) -> Result<DataSec, BtfError> {
        let variables = self.records(count, 3, |parser| {
            let type_id = TypeId(parser.u32()?);
            Ok(SecVariable { type_id, offset: parser.u32()?, size: parser.u32()? })
        })?;
        Ok(DataSec { name: self.name(name)?, size, variables })
    }
}

fn linkage(number: u32) -> Linkage {
    match number {
        0 => Linkage::Static,
        2 => Linkage::Extern,
        _ => Linkage::Global,
    }
}
