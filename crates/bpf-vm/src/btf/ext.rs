// SPDX-License-Identifier: MIT OR Apache-2.0
//! `.BTF.ext`: source lines and CO-RE relocations of instructions.

use super::error::BtfError;
use super::name::{Name, Strings};
use super::parse::{Cursor, header};
use super::types::TypeId;
use super::{Btf, parse};
use crate::core_relo::{CoreKind, MAX_ACCESS};

/// Bytes of the first header that there was.
const HEADER: usize = 24;

/// What `.BTF.ext` says, by code section.
#[derive(Debug, Clone, Default)]
pub struct BtfExt {
    /// Types of functions.
    pub functions: Vec<ExtSection<ExtFunction>>,
    /// Source lines.
    pub lines: Vec<ExtSection<ExtLine>>,
    /// CO-RE relocations.
    pub core: Vec<ExtSection<ExtCore>>,
}

/// Records of a code section.
#[derive(Debug, Clone)]
pub struct ExtSection<T> {
    /// The section's name.
    pub name: Name,
    /// The section's records, in order of the file.
    pub records: Vec<T>,
}

/// Type of a function.
#[derive(Debug, Clone, Copy)]
pub struct ExtFunction {
    /// First byte of the function in the section.
    pub offset: u32,
    /// The function's [`Type::Func`](super::Type::Func).
    pub type_id: TypeId,
}

/// Where a source line begins.
#[derive(Debug, Clone)]
pub struct ExtLine {
    /// Byte in the section at which the line's first instruction stands.
    pub offset: u32,
    /// Source file.
    pub file: Name,
    /// The line's text.
    pub text: Name,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// A CO-RE relocation.
#[derive(Debug, Clone)]
pub struct ExtCore {
    /// Byte in the section at which the instruction stands.
    pub offset: u32,
    /// Type in the object.
    pub type_id: TypeId,
    /// Which part of the type: indexes of elements and members, or the index of an enumeration's value.
    pub access: Vec<u32>,
    /// What the relocation asks for.
    pub kind: CoreKind,
}

/// An error in one of the two sections.
pub(crate) enum ExtError {
    Btf(BtfError),
    Ext(BtfError),
}

/// Reads `.BTF` and `.BTF.ext`, which share strings.
pub(crate) fn parse_both(btf: &[u8], ext: Option<&[u8]>) -> Result<(Btf, BtfExt), ExtError> {
    let (btf, strings) = parse::parse(btf).map_err(ExtError::Btf)?;
    let ext = ext.map_or(Ok(BtfExt::default()), |ext| parse_ext(ext, &strings)).map_err(ExtError::Ext)?;
    Ok((btf, ext))
}

fn parse_ext(bytes: &[u8], strings: &Strings) -> Result<BtfExt, BtfError> {
    let length = header(bytes, HEADER)?;
    let mut fields = Cursor::new(bytes, 8, length - 8, "the header")?;
    let mut field = || fields.u32("the header").map(|value| value as usize);
    let (func_offset, func_size, line_offset, line_size) = (field()?, field()?, field()?, field()?);
    // Old headers end here.
    let (core_offset, core_size) = if length >= HEADER + 8 { (field()?, field()?) } else { (0, 0) };
    let table =
        |offset: usize, size, what, least| Table::new((bytes, what), length.saturating_add(offset), size, least);
    let functions = table(func_offset, func_size, "types of functions", 8)?;
    let lines = table(line_offset, line_size, "source lines", 16)?;
    let core = table(core_offset, core_size, "CO-RE relocations", 16)?;
    Ok(BtfExt {
        functions: functions.sections(strings, |cursor, what| {
            Ok(ExtFunction { offset: cursor.u32(what)?, type_id: TypeId(cursor.u32(what)?) })
        })?,
        lines: lines.sections(strings, |cursor, what| line(cursor, strings, what))?,
        core: core.sections(strings, |cursor, what| relocation(cursor, strings, what))?,
    })
}

fn line(cursor: &mut Cursor<'_>, strings: &Strings, what: &'static str) -> Result<ExtLine, BtfError> {
    let start = cursor.offset;
    let mut field = || cursor.u32(what);
    let (offset, file, text, place) = (field()?, field()?, field()?, field()?);
    let string = |name| strings.get(name).ok_or(BtfError::Name { what, offset: start, name });
    Ok(ExtLine { offset, file: string(file)?, text: string(text)?, line: place >> 10, column: place & 0x3ff })
}

fn relocation(cursor: &mut Cursor<'_>, strings: &Strings, what: &'static str) -> Result<ExtCore, BtfError> {
    let start = cursor.offset;
    let mut field = || cursor.u32(what);
    let (offset, type_id, name, kind) = (field()?, TypeId(field()?), field()?, field()?);
    let text = strings.get(name).ok_or(BtfError::Name { what, offset: start, name })?;
    let kind = CoreKind::from_number(kind).ok_or(BtfError::RelocationKind { offset: start, kind })?;
    let access = parse_access(&text).ok_or(BtfError::Access { offset: start })?;
    Ok(ExtCore { offset, type_id, access, kind })
}

/// Numbers with colons between them.
fn parse_access(text: &str) -> Option<Vec<u32>> {
    let steps: Option<Vec<u32>> = text.split(':').take(MAX_ACCESS + 1).map(|step| step.parse().ok()).collect();
    steps.filter(|steps| steps.len() <= MAX_ACCESS)
}

/// The records of one topic.
struct Table<'a> {
    cursor: Cursor<'a>,
    what: &'static str,
    /// Bytes of a record as this version knows it; newer ones may be longer.
    least: u32,
}

impl<'a> Table<'a> {
    fn new((bytes, what): (&'a [u8], &'static str), offset: usize, size: usize, least: u32) -> Result<Self, BtfError> {
        // The offset of an empty table may be anything.
        let offset = if size == 0 { 0 } else { offset };
        Ok(Self { cursor: Cursor::new(bytes, offset, size, what)?, what, least })
    }

    fn sections<T>(
        mut self,
        strings: &Strings,
        mut read: impl FnMut(&mut Cursor<'a>, &'static str) -> Result<T, BtfError>,
    ) -> Result<Vec<ExtSection<T>>, BtfError> {
        let (what, least) = (self.what, self.least);
        let mut sections = Vec::new();
        if self.cursor.is_at_end() {
            return Ok(sections);
        }
        let size = self.cursor.u32(what)?;
        if size < least {
            return Err(BtfError::RecordSize { what, size, least });
        }
        while !self.cursor.is_at_end() {
            let start = self.cursor.offset;
            let (name, count) = (self.cursor.u32(what)?, self.cursor.u32(what)?);
            let name = strings.get(name).ok_or(BtfError::Name { what, offset: start, name })?;
            if (self.cursor.left() as u64) < u64::from(count) * u64::from(size) {
                return Err(BtfError::Truncated { what, offset: start });
            }
            let mut records = Vec::with_capacity(count as usize);
            for _ in 0..count {
                records.push(read(&mut self.cursor, what)?);
                self.cursor.skip((size - least) as usize, what)?;
            }
            sections.push(ExtSection { name, records });
        }
        Ok(sections)
    }
}
