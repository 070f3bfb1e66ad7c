// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clocks.

use crate::fault::Fault;
use crate::host::{Args, Clock, Host};
use crate::instance::Instance;

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
    Ok(host.jiffies())
}
