// SPDX-License-Identifier: MIT OR Apache-2.0
//! `bpf_timer` (`kernel/bpf/helpers.c`): set up by programs, armed by the host.
//!
//! A timer is known by the address of its `struct bpf_timer` in a map's value; the bytes there stay zero. The host
//! keeps the time: it gets [`TimerStart`] and calls [`Instance::timer_fired`].

use std::collections::BTreeMap;

use crate::errno::{Errno, OpError, answer};
use crate::fault::{Fault, FaultKind};
use crate::host::{Args, Clock, Host};
use crate::instance::{Instance, Outcome};
use crate::map::{FieldKind, MapId};
use crate::memory::{Kept, Protection};

/// `BPF_F_TIMER_ABS`.
const ABSOLUTE: u64 = 1;
/// `BPF_F_TIMER_CPU_PIN`.
const CPU_PIN: u64 = 2;

/// Bytes that a timer takes here and, armed, at the host, at most.
const PER_TIMER: u64 = 320;
/// Work that a timer is to start, which the host remembers.
const STARTING: u64 = 16;

/// A timer that a program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerStart {
    /// Address of the timer's `struct bpf_timer`.
    pub timer: u64,
    /// When the timer is due, in ns of [`Host::now`] with the timer's clock.
    pub expires: u64,
    /// The timer's clock.
    pub clock: Clock,
    /// `BPF_F_TIMER_CPU_PIN`: the timer must run on the CPU that armed it.
    pub pinned: bool,
}

/// The timers that programs have initialised.
#[derive(Debug, Default)]
pub struct Timers {
    timers: BTreeMap<u64, Timer>,
    most: Kept,
    /// Timers whose callbacks run, the innermost last.
    running: Vec<u64>,
}

#[derive(Debug)]
struct Timer {
    clock: Clock,
    map: MapId,
    key: Vec<u8>,
    /// Address of the map value that the timer is in.
    value: u64,
    /// Code address of the callback.
    callback: Option<u64>,
}

impl Instance {
    /// Runs the callback of a timer that is due, with the timer's map, a pointer to its key and its value. A timer that
    /// was cancelled or whose value is gone does nothing.
    ///
    /// # Errors
    /// A fault of the callback stops it.
    pub fn timer_fired(&mut self, timer: u64, host: &mut dyn Host) -> Result<Outcome, Fault> {
        let nothing = Outcome { value: 0, instructions: 0 };
        // The host may have removed values from maps since.
        self.disarm_retired(host);
        let Some(Timer { map, key, value, callback: Some(callback), .. }) = self.timers.timers.get(&timer) else {
            return Ok(nothing);
        };
        let (map, value, callback) = (*map, *value, *callback);
        let Some(program) = self.program_at(callback) else {
            return Err(FaultKind::BadJump(callback).into());
        };
        let pointer = self.memory.alloc(key.len() as u64, Protection::ReadOnly)?;
        self.memory.host_write(pointer, key.len() as u64)?.copy_from_slice(key);
        self.timers.running.push(timer);
        let outcome = self.run_raw(program, [map.handle(), pointer, value, 0, 0], host);
        self.timers.running.pop();
        self.memory.free(pointer)?;
        outcome
    }

    /// Disarms the timers whose values have left their maps (`bpf_timer_cancel_and_free`).
    pub(crate) fn disarm_retired(&mut self, host: &mut dyn Host) {
        for timer in self.maps.take_retired_timers() {
            if self.timers.timers.remove(&timer).is_some() {
                host.timer_cancel(timer);
            }
        }
    }
}

fn error(errno: Errno) -> Result<u64, Fault> {
    Ok(errno.value() as u64)
}

/// `bpf_timer_init(timer, map, flags)`: `flags` is the clock's number.
pub(crate) fn init(vm: &mut Instance, _: &mut dyn Host, [timer, handle, flags, ..]: Args) -> Result<u64, Fault> {
    let clock = match flags {
        0 => Clock::Realtime,
        1 => Clock::Monotonic,
        7 => Clock::Boottime,
        _ => return error(Errno::EINVAL),
    };
    answer(do_init(vm, timer, handle, clock).map(|()| 0))
}

fn do_init(vm: &mut Instance, timer: u64, handle: u64, clock: Clock) -> Result<(), OpError> {
    if vm.timers.timers.contains_key(&timer) {
        return Err(Errno::EBUSY.into());
    }
    let misuse = || FaultKind::Misuse(format!("bpf_timer_init: there is no timer of this map at {timer:#x}"));
    let map = vm.maps.by_handle(handle).ok_or_else(misuse)?;
    let (value, _) = vm.memory.object_at(timer).ok_or_else(misuse)?;
    vm.spend(vm.maps.values(map))?;
    let key = vm.maps.key_of(map, value).ok_or_else(misuse)?;
    let is_timer = |spec: &crate::map::MapSpec| {
        let mut timers = spec.fields.iter().filter(|field| field.kind == FieldKind::Timer);
        timers.any(|field| value + u64::from(field.offset) == timer)
    };
    if !vm.maps.spec(map).is_some_and(is_timer) {
        return Err(misuse().into());
    }
    let Timers { timers, most, .. } = &mut vm.timers;
    most.one_more(&mut vm.memory, timers.len(), PER_TIMER + key.len() as u64)?;
    timers.insert(timer, Timer { clock, map, key, value, callback: None });
    Ok(())
}

/// `bpf_timer_set_callback(timer, callback)`.
pub(crate) fn set_callback(vm: &mut Instance, _: &mut dyn Host, [at, callback, ..]: Args) -> Result<u64, Fault> {
    match vm.timers.timers.get_mut(&at) {
        Some(timer) => timer.callback = Some(callback),
        None => return error(Errno::EINVAL),
    }
    Ok(0)
}

/// `bpf_timer_start(timer, ns, flags)`.
pub(crate) fn start(vm: &mut Instance, host: &mut dyn Host, [at, ns, flags, ..]: Args) -> Result<u64, Fault> {
    if flags & !(ABSOLUTE | CPU_PIN) != 0 {
        return error(Errno::EINVAL);
    }
    let Some(Timer { clock, callback: Some(_), .. }) = vm.timers.timers.get(&at) else {
        return error(Errno::EINVAL);
    };
    let clock = *clock;
    vm.spend(STARTING)?;
    // Times are signed in the kernel (`ktime_t`): a negative delay has already passed, and a sum stops at KTIME_MAX.
    let ns = (ns as i64).max(0) as u64;
    let expires = match flags & ABSOLUTE {
        0 => host.now(clock).saturating_add(ns).min(i64::MAX as u64),
        _ => ns,
    };
    host.timer_start(TimerStart { timer: at, expires, clock, pinned: flags & CPU_PIN != 0 });
    Ok(0)
}

/// `bpf_timer_cancel(timer)`: returns 1 if the timer was armed. Its callback must be set again before it can be
/// started.
pub(crate) fn cancel(vm: &mut Instance, host: &mut dyn Host, [at, ..]: Args) -> Result<u64, Fault> {
    let Some(timer) = vm.timers.timers.get_mut(&at) else {
        return error(Errno::EINVAL);
    };
    if vm.timers.running.contains(&at) {
        return error(Errno::EDEADLK);
    }
    timer.callback = None;
    Ok(u64::from(host.timer_cancel(at)))
}
