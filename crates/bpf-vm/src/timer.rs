// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf_timer`: set up by programs, armed by the host.

/// A timer that a program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerStart {
    /// Which: the address of its `struct bpf_timer`.
    pub timer: u64,
    /// When it is due, in ns of [`Host::now`](crate::host::Host::now) with the timer's clock.
    pub expires: u64,
    /// The timer's clock.
    pub clock: crate::host::Clock,
    /// `BPF_F_TIMER_CPU_PIN`: it must run on the CPU that armed it.
    pub pinned: bool,
}

/// The timers that programs have initialised.
#[derive(Debug, Default)]
pub struct Timers {}
