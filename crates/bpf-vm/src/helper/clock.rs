// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks.

use crate::fault::Fault;
use crate::host::{Args, Clock, Host};
use crate::instance::Instance;

/// Nanoseconds of a jiffy: HZ is 1000.
const JIFFY: u64 = 1_000_000;
/// The first value of a kernel's `jiffies`: five minutes before its low 32 bits overflow (`INITIAL_JIFFIES`).
const INITIAL_JIFFIES: u64 = (-300_i32 * 1000) as u32 as u64;

/// `bpf_ktime_get_ns()`, and `bpf_ktime_get_coarse_ns()`, whose clock here has no coarser steps.
pub(super) fn monotonic(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(host.now(Clock::Monotonic))
}

/// `bpf_ktime_get_boot_ns()`.
pub(super) fn boottime(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(host.now(Clock::Boottime))
}

/// `bpf_ktime_get_tai_ns()`: real time; leap seconds are left out.
pub(super) fn tai(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok(host.now(Clock::Realtime))
}

/// `bpf_jiffies64()`.
pub(super) fn jiffies(_: &mut Instance, host: &mut dyn Host, _: Args) -> Result<u64, Fault> {
    Ok((host.now(Clock::Monotonic) / JIFFY).wrapping_add(INITIAL_JIFFIES))
}
