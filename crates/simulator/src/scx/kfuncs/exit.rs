// SPDX-License-Identifier: MIT OR Apache-2.0
//! A scheduler says why it goes, or what it knows: `scx_bpf_exit_bstr`, `scx_bpf_error_bstr`, `scx_bpf_dump_bstr`.

use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::format::format;
use tandem_bpf_vm::host::Args;
use tandem_bpf_vm::memory::Memory;

use crate::scx::Ctx;
use crate::scx::errno::EFAULT;
use crate::scx::exit::ExitKind;

/// `MAX_BPRINTF_VARARGS`.
const MAX_VALUES: u64 = 12;
/// Bytes of a format that are looked at; the message is shorter (`SCX_EXIT_MSG_LEN`).
const MAX_FORMAT: u64 = 4096;
/// Work that a text is to make.
const TEXT: u64 = 1024;

/// `scx_bpf_exit_bstr(code, format, data, size)`: an orderly exit.
pub fn exit_bstr(ctx: &mut Ctx<'_>, [code, fmt, data, size, _]: Args) -> Result<u64, Fault> {
    ctx.vm.spend(TEXT)?;
    if let Some(message) = ctx.accept(bstr_format(&ctx.vm.memory, fmt, data, size as u32)) {
        ctx.scx_ops_exit_kind(ExitKind::UnregBpf, code as i64, message);
    }
    Ok(0)
}

/// `scx_bpf_error_bstr(format, data, size)`: an error that the scheduler itself has found.
pub fn error_bstr(ctx: &mut Ctx<'_>, [fmt, data, size, ..]: Args) -> Result<u64, Fault> {
    ctx.vm.spend(TEXT)?;
    if let Some(message) = ctx.accept(bstr_format(&ctx.vm.memory, fmt, data, size as u32)) {
        ctx.scx_ops_exit_kind(ExitKind::ErrorBpf, 0, message);
    }
    Ok(0)
}

/// `scx_bpf_dump_bstr(format, data, size)`: text for the dump that is being made.
pub fn dump_bstr(ctx: &mut Ctx<'_>, [fmt, data, size, ..]: Args) -> Result<u64, Fault> {
    ctx.vm.spend(TEXT)?;
    if let Some(text) = ctx.accept(bstr_format(&ctx.vm.memory, fmt, data, size as u32)) {
        let cpu = ctx.scx.calls.active.last().map(|active| active.cpu);
        let added = ctx.scx.exit.add_to_dump(cpu, &text);
        ctx.accept(added);
    }
    Ok(0)
}

/// `bstr_format`: the text that `fmt` makes of the values at `data`, `size` bytes.
///
/// # Errors
/// What is wrong: it is no format, or they are no values.
fn bstr_format(memory: &Memory, fmt: u64, data: u64, size: u32) -> Result<String, String> {
    if !size.is_multiple_of(8) || u64::from(size) > 8 * MAX_VALUES || (size != 0 && data == 0) {
        return Err(format!("invalid data={data:#x} and data__sz={size}"));
    }
    let mut values = [0; MAX_VALUES as usize];
    for (at, value) in values.iter_mut().enumerate().take(size as usize / 8) {
        let read = memory.load::<8>(data.wrapping_add(8 * at as u64));
        *value = read.map_err(|_| format!("failed to read data fields (-{EFAULT})"))?;
    }
    let values = &values[..size as usize / 8];
    let text = match memory.read_string(fmt, MAX_FORMAT) {
        Ok(fmt) => format(memory, fmt, values),
        Err(_) => Err(-EFAULT),
    };
    text.map_err(|error| format!("format preparation failed ({error})"))
}
