// SPDX-License-Identifier: MIT OR Apache-2.0
//! A structure of the object as user space fills it in: the argument of a `syscall` program.

use super::error::SettingError;
use super::place::{self, Place};
use super::value;
use crate::btf::{Btf, Kind, Type, TypeId};
use crate::object::Object;

/// Bytes of a structure, all zero at first, whose members are set and read by name.
#[derive(Debug, Clone)]
pub struct Record<'b> {
    btf: &'b Btf,
    type_id: TypeId,
    bytes: Vec<u8>,
}

/// Most bytes of a `syscall` program's argument (`U16_MAX`, as `bpf_prog_test_run_syscall` has it).
const MAX_SIZE: u64 = u16::MAX as u64;

impl<'b> Record<'b> {
    /// A structure of this type; `None` if the type is no structure, or larger than a program may get.
    pub fn new(btf: &'b Btf, type_id: TypeId) -> Option<Self> {
        let type_id = btf.skip_modifiers(type_id);
        let size = btf.size_of(type_id).filter(|size| *size <= MAX_SIZE)?;
        matches!(btf.get(type_id), Some(Type::Struct(_))).then(|| Self { btf, type_id, bytes: vec![0; size as usize] })
    }

    /// The structure whose address a program gets as its first argument.
    pub fn argument_of(object: &'b Object, program: &str) -> Option<Self> {
        let btf = &object.btf;
        let Some(Type::Func { proto, .. }) = btf.get(btf.find_kind(program, Kind::Func)?) else { return None };
        let Some(Type::FuncProto(proto)) = btf.bare(*proto) else { return None };
        let Some(Type::Ptr(to)) = btf.bare(proto.params.first()?.type_id) else { return None };
        Self::new(btf, *to)
    }

    /// Sets a member: `set("a.b[1]", 5)`.
    ///
    /// # Errors
    /// There is no such member, its type is no number, or the number does not fit.
    pub fn set(&mut self, member: &str, number: u64) -> Result<(), SettingError> {
        let place = self.place(member)?;
        let bytes = value::integer(self.btf, member, &place, i128::from(number))?;
        place.store(&mut self.bytes, &bytes);
        Ok(())
    }

    /// The number that a member has.
    ///
    /// # Errors
    /// There is no such member, or its type is no number.
    pub fn get(&self, member: &str) -> Result<u64, SettingError> {
        let place = self.place(member)?;
        let number = value::read(self.btf, member, &place, place.bytes(&self.bytes).unwrap_or_default())?;
        Ok(number as u64)
    }

    /// The structure's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The structure's bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn place(&self, member: &str) -> Result<Place, SettingError> {
        let bit_size = 8 * self.bytes.len() as u64;
        place::within(self.btf, member, Place { section: 0, bit_offset: 0, bit_size, type_id: self.type_id })
    }
}
