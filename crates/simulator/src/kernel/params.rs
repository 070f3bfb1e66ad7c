// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel parameters that a run may set (`--set KEY=VALUE`).

use super::cpuidle;
use super::release::{Linux, Preempt, Release};
use crate::input::valid_names;
use crate::units::{MSEC, Nanos, SEC, USEC};

/// Parameters of the kernel model; the default is Linux 6.12 as Debian configures it.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelParameters {
    /// Which Linux it is.
    pub linux: Linux,
    /// When a fair task gives way; `None`: as the release is configured.
    pub preempt: Option<Preempt>,
    /// `HRTICK`: slices of fair tasks end on time, not at the next tick; `None`: as the release has it on the machine.
    pub hrtick: Option<bool>,
    /// Ticks per second (`CONFIG_HZ`).
    pub hz: u64,
    /// `sched_base_slice`; `None`: 0.7 ms × (1 + log2(min(CPUs, 8))), as the kernel scales it.
    pub base_slice: Option<Nanos>,
    /// `RUN_TO_PARITY`: a task runs out its slice unless a shorter one preempts.
    pub run_to_parity: bool,
    /// `WAKEUP_PREEMPTION`.
    pub wakeup_preemption: bool,
    /// `DELAY_DEQUEUE`.
    pub delay_dequeue: bool,
    /// `PLACE_LAG`.
    pub place_lag: bool,
    /// `sched_autogroup_enabled`: each session has a task group.
    pub autogroup: bool,
    /// Energy-aware placement where the machine is asymmetric and the governor is schedutil.
    pub energy_aware: bool,
    /// Capacity awareness: off, all CPUs count as equally fast (kernels before 4.7 on most machines).
    pub capacity_aware: bool,
    /// Periodic and new-idle load balancing.
    pub load_balance: bool,
    /// `kernel.numa_balancing`: on machines that say how far their nodes are, threads and their memory find each other.
    pub numa_balancing: bool,
    /// `sched_rt_runtime_us` of `sched_rt_period_us`; `None`: no throttling.
    pub rt_runtime: Option<Nanos>,
    /// `sched_rt_period_us`.
    pub rt_period: Nanos,
    /// `sched_rr_timeslice_ms`.
    pub rr_timeslice: Nanos,
    /// `HRTICK_DL`: budgets of deadline tasks end on time, not at the next tick.
    pub hrtick_dl: bool,
    /// `sched_migration_cost_ns`: a task that ran more recently counts as cache-hot.
    pub migration_cost: Nanos,
    /// `sched_nr_migrate`: most tasks one balancing pass looks at.
    pub nr_migrate: u32,
    /// Whether an idle CPU's states are chosen by a governor; off, it stays in the first state.
    pub cpuidle: bool,
    /// `cpuidle.governor`: which one chooses.
    pub cpuidle_governor: cpuidle::Governor,
    /// `max_cstate` (as `intel_idle.max_cstate`): the deepest idle state that is used, 0 being the first.
    pub max_cstate: usize,
    /// Whether packages with limits on power or temperature begin as a long full load leaves them; off, as if they had drawn
    /// nothing before. Not the kernel's: how the machine is found.
    pub hot_start: bool,
    /// Whether the system does what it always does beside the workload: interrupts, kernel threads, timers that go off late
    /// (`Workload::disturbed`). Off, nothing disturbs: so it is for who uses the library, unless asked; the command's runs have it.
    pub disturbances: bool,
    /// How much later than asked for a timer of a fair thread may go off (`timer_slack_ns`, for threads that have none of
    /// their own); `None`: what [`KernelParameters::timer_slack`] says.
    pub timer_slack: Option<Nanos>,
    /// CPUs whose tick stops while they have one thread to run (`nohz_full=`), ascending. The first CPU that is online is never
    /// one of them: it keeps the time.
    pub nohz_full: Vec<u32>,
    /// Whether the CPUs have performance counters that a loaded scheduler can read.
    pub perf_counters: bool,
    /// Whether the kernel's own paths take time: waking, interrupts, system calls, balancing, and the locks in them.
    pub path_costs: bool,
    /// Instructions of the kernel that the machine's fastest core executes per cycle; other cores in proportion to theirs.
    pub kernel_ipc: f64,
    /// Time of a BPF instruction of a sched_ext scheduler, in picoseconds, kernel functions that it calls included.
    pub bpf_insn_ps: u64,
    /// BPF instructions that one callback of a sched_ext scheduler may execute; more are an endless loop.
    ///
    /// A kernel has no such number. Its verifier refuses what it cannot follow to the end within a million instructions,
    /// but takes loops on trust (`bpf_loop`, open-coded iterators), and an `init` that fills large tables may take tens of
    /// millions.
    pub bpf_budget: u64,
    /// BPF instructions that all callbacks of a sched_ext scheduler may execute in a run, with what the kernel functions that
    /// they call do. It is the last resort where each callback stays within its budget and the run would take days: a limit by
    /// the clock of this computer would make results depend on its speed.
    pub bpf_run_budget: u64,
    /// The simulated kernel's memory for a sched_ext scheduler, in MiB: its maps and what else it allocates, its dispatch
    /// queues, and the kernel's objects that it can look at, those of tasks above all. A kernel has what the machine has.
    pub bpf_memory_mib: u64,
}

impl Default for KernelParameters {
    fn default() -> Self {
        Self {
            linux: Linux::default(),
            preempt: None,
            hrtick: None,
            hz: 250,
            base_slice: None,
            run_to_parity: true,
            wakeup_preemption: true,
            delay_dequeue: true,
            place_lag: true,
            autogroup: false,
            energy_aware: true,
            capacity_aware: true,
            load_balance: true,
            numa_balancing: true,
            rt_runtime: Some(950 * MSEC),
            rt_period: SEC,
            rr_timeslice: 100 * MSEC,
            hrtick_dl: false,
            migration_cost: 500 * USEC,
            nr_migrate: 32,
            cpuidle: true,
            cpuidle_governor: cpuidle::Governor::Menu,
            max_cstate: 9,
            hot_start: false,
            disturbances: false,
            timer_slack: None,
            nohz_full: Vec::new(),
            perf_counters: true,
            path_costs: true,
            kernel_ipc: 1.0,
            bpf_insn_ps: 1_000,
            bpf_budget: 100_000_000,
            bpf_run_budget: 10_000_000_000_000,
            bpf_memory_mib: 1024,
        }
    }
}

/// A parameter that cannot be set as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// There is no such parameter.
    #[error("unknown setting `{key}`; {valid}")]
    Unknown {
        /// As written.
        key: String,
        /// The valid names, the nearest first.
        valid: String,
    },
    /// The value is not one of the parameter's.
    #[error("`{value}` is no value of `{key}`: expected {expected}")]
    Value {
        /// The parameter.
        key: String,
        /// As written.
        value: String,
        /// Range and unit.
        expected: &'static str,
    },
}

impl KernelParameters {
    /// Names, units and meaning of all parameters, for help texts.
    pub const KEYS: [(&str, &str); 32] = [
        ("hz", "ticks per second, 24..=10000 (250)"),
        ("base_slice_us", "fair slice in microseconds, 100..=1000000 (0.7 ms × (1 + log2(CPUs)), CPUs capped at 8)"),
        ("preempt", "full, or lazy from Linux 6.13 on (full; 7.1: lazy): when a fair task gives way to a woken one"),
        ("hrtick", "false, or true from Linux 7.1 on (false; 7.1: true but on arm64): fair slices end on time"),
        ("run_to_parity", "true or false (true): a task runs out its slice"),
        ("wakeup_preemption", "true or false (true): a woken task may preempt"),
        ("delay_dequeue", "true or false (true): a task that owes service stays queued while it sleeps"),
        ("place_lag", "true or false (true): a task keeps its lag over sleep"),
        ("autogroup", "true or false (false): each application and each daemon has a task group of its own"),
        ("energy_aware", "true or false (true): energy-aware placement on asymmetric machines under schedutil"),
        ("capacity_aware", "true or false (true): the scheduler knows that CPUs differ in capacity"),
        ("load_balance", "true or false (true): periodic and new-idle balancing"),
        ("numa_balancing", "true or false (true): with several nodes, threads and their memory find each other"),
        ("rt_runtime_us", "real-time budget per period in microseconds, -1 or 0..=rt_period_us (950000)"),
        ("rt_period_us", "real-time period in microseconds, 1..=1000000000 (1000000)"),
        ("rr_timeslice_ms", "SCHED_RR slice in milliseconds, 1..=10000 (100)"),
        ("hrtick_dl", "true or false (false): deadline budgets end on time instead of at the next tick"),
        ("migration_cost_us", "cache hotness in microseconds, 0..=1000000 (500)"),
        ("path_costs", "true or false (true): the kernel's own code and its locks take time"),
        ("kernel_ipc", "instructions of the kernel per cycle of the fastest core, 0.1..=10 (1)"),
        ("bpf_insn_ps", "picoseconds that a BPF instruction of a loaded scheduler takes, 0..=1000000 (1000)"),
        ("bpf_budget", "instructions that a callback of a loaded scheduler may take, 1..=1000000000000 (100000000)"),
        (
            "bpf_run_budget",
            "instructions that all callbacks together may take, 1..=1000000000000000000 (10000000000000)",
        ),
        ("bpf_memory_mib", "memory of a loaded scheduler, its maps and tasks in MiB, 1..=1048576 (1024)"),
        ("cpuidle", "true or false (true): deeper idle states than the first are used"),
        ("cpuidle_governor", "menu or teo (menu): what chooses an idle CPU's state"),
        ("max_cstate", "deepest idle state that is used, 0..=9, 0 being the first (9)"),
        ("hot_start", "true or false (false): limits on power and heat begin as a long full load leaves them"),
        (
            "disturbances",
            "true or false (true, with --quiet false): interrupts, kernel threads and late timers, as every system has",
        ),
        ("timer_slack_us", "how late a fair thread's timer may be, 0..=1000000 (50 with `disturbances`, else 0)"),
        ("nohz_full", "CPUs that tick once a second while they have one thread, such as 1-3+6 (none)"),
        ("perf_counters", "true or false (true): loaded schedulers can read performance counters"),
    ];

    /// Names of all parameters.
    pub fn keys() -> Vec<&'static str> {
        Self::KEYS.iter().map(|(name, _)| *name).collect()
    }

    /// Sets one parameter from text.
    ///
    /// # Errors
    /// An unknown name, or a value outside the range that [`KernelParameters::KEYS`] gives.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
        let Some((_, expected)) = Self::KEYS.iter().find(|(name, _)| *name == key) else {
            return Err(SettingError::Unknown { key: key.to_owned(), valid: valid_names(key, &Self::keys()) });
        };
        let wrong = || SettingError::Value { key: key.to_owned(), value: value.to_owned(), expected };
        let flag = || value.parse::<bool>().map_err(|_| wrong());
        let number =
            |low: i64, high: i64| value.parse::<i64>().ok().filter(|n| (low..=high).contains(n)).ok_or_else(wrong);
        match key {
            "hz" => self.hz = number(24, 10_000)? as u64,
            "base_slice_us" => self.base_slice = Some(number(100, 1_000_000)? as Nanos * USEC),
            "preempt" => {
                let lazy = self.release().resched_curr_lazy;
                let model = Preempt::named(value).filter(|model| lazy || *model == Preempt::Full);
                self.preempt = Some(model.ok_or_else(wrong)?);
            }
            "hrtick" => self.hrtick = Some(flag().ok().filter(|on| !on || self.release().hrtick).ok_or_else(wrong)?),
            "run_to_parity" => self.run_to_parity = flag()?,
            "wakeup_preemption" => self.wakeup_preemption = flag()?,
            "delay_dequeue" => self.delay_dequeue = flag()?,
            "place_lag" => self.place_lag = flag()?,
            "autogroup" => self.autogroup = flag()?,
            "energy_aware" => self.energy_aware = flag()?,
            "capacity_aware" => self.capacity_aware = flag()?,
            "load_balance" => self.load_balance = flag()?,
            "numa_balancing" => self.numa_balancing = flag()?,
            "rt_runtime_us" => {
                let runtime = number(-1, (self.rt_period / USEC) as i64)?;
                self.rt_runtime = u64::try_from(runtime).ok().map(|runtime| runtime * USEC);
            }
            "rt_period_us" => self.rt_period = number(1, 1_000_000_000)? as Nanos * USEC,
            "rr_timeslice_ms" => self.rr_timeslice = number(1, 10_000)? as Nanos * MSEC,
            "hrtick_dl" => self.hrtick_dl = flag()?,
            "migration_cost_us" => self.migration_cost = number(0, 1_000_000)? as Nanos * USEC,
            "path_costs" => self.path_costs = flag()?,
            "kernel_ipc" => {
                let ipc = value.parse::<f64>().ok().filter(|ipc| (0.1..=10.0).contains(ipc));
                self.kernel_ipc = ipc.ok_or_else(wrong)?;
            }
            "bpf_insn_ps" => self.bpf_insn_ps = number(0, 1_000_000)? as u64,
            "bpf_budget" => self.bpf_budget = number(1, 1_000_000_000_000)? as u64,
            "bpf_run_budget" => self.bpf_run_budget = number(1, 1_000_000_000_000_000_000)? as u64,
            "bpf_memory_mib" => self.bpf_memory_mib = number(1, 1 << 20)? as u64,
            "cpuidle" => self.cpuidle = flag()?,
            "cpuidle_governor" => self.cpuidle_governor = cpuidle::Governor::named(value).ok_or_else(wrong)?,
            "max_cstate" => self.max_cstate = number(0, 9)? as usize,
            "hot_start" => self.hot_start = flag()?,
            "disturbances" => self.disturbances = flag()?,
            "timer_slack_us" => self.timer_slack = Some(number(0, 1_000_000)? as Nanos * USEC),
            "nohz_full" => self.nohz_full = cpu_list(value).ok_or_else(wrong)?,
            "perf_counters" => self.perf_counters = flag()?,
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// What the release has.
    #[inline]
    pub fn release(&self) -> &'static Release {
        self.linux.release()
    }

    /// Whether fair tasks give way lazily.
    pub fn is_lazy(&self) -> bool {
        self.preempt.unwrap_or(self.release().preempt) == Preempt::Lazy
    }

    /// Length of a tick.
    pub fn tick(&self) -> Nanos {
        SEC / self.hz
    }

    /// How much later than asked for a timer of a fair thread may go off: Linux's 50 µs (`init_task.timer_slack_ns`), but
    /// nothing where nothing disturbs.
    pub fn timer_slack(&self) -> Nanos {
        self.timer_slack.unwrap_or(if self.disturbances { 50 * USEC } else { 0 })
    }

    /// `sched_base_slice` on a machine with so many online CPUs (`update_sysctl`).
    pub fn base_slice_on(&self, cpus: usize) -> Nanos {
        self.base_slice.unwrap_or(700 * USEC * update_sysctl_factor(cpus))
    }

    /// The same before it is scaled (`normalized_sysctl_sched_base_slice`).
    pub fn normalized_base_slice(&self, cpus: usize) -> Nanos {
        self.base_slice_on(cpus) / update_sysctl_factor(cpus)
    }
}

/// `get_update_sysctl_factor`: logarithmic scaling by the CPUs that are online, up to eight.
fn update_sysctl_factor(cpus: usize) -> u64 {
    1 + u64::from(cpus.clamp(1, 8).ilog2())
}

/// CPUs of a list such as `1-3+6`, ascending: commas stand between settings. At most as many as a kernel can have.
fn cpu_list(text: &str) -> Option<Vec<u32>> {
    const NR_CPUS: u32 = 8192;
    let mut cpus = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= NR_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_slice_grows_with_the_logarithm_of_the_cpus() {
        let parameters = KernelParameters::default();
        let slices = [1, 2, 4, 8, 64].map(|cpus| parameters.base_slice_on(cpus) / USEC);
        assert_eq!(slices, [700, 1400, 2100, 2800, 2800]);
    }

    #[test]
    fn every_key_can_be_set_and_wrong_ones_are_named() {
        let mut parameters = KernelParameters::default();
        for (key, help) in KernelParameters::KEYS {
            let value = match key {
                "cpuidle_governor" => "teo",
                "max_cstate" | "kernel_ipc" => "2",
                "preempt" => "full",
                _ if help.starts_with("true") || help.starts_with("false") => "false",
                _ => "200",
            };
            parameters.set(key, value).unwrap();
        }
        assert_eq!((parameters.hz, parameters.base_slice, parameters.cpuidle), (200, Some(200 * USEC), false));
        let unknown = parameters.set("base_slice", "1").unwrap_err().to_string();
        assert!(unknown.contains("did you mean `base_slice_us`?"), "{unknown}");
        assert!(parameters.set("hz", "0").is_err());
        assert!(parameters.set("cpuidle", "maybe").is_err());
        parameters.set("nohz_full", "6+1-3+2").unwrap();
        assert_eq!(parameters.nohz_full, [1, 2, 3, 6]);
        for wrong in ["", "3-1", "1+", "a", "1-9000"] {
            assert!(parameters.set("nohz_full", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_release_is_asked_for_no_more_than_it_has() {
        let set = |linux, key, value| KernelParameters { linux, ..KernelParameters::default() }.set(key, value);
        let refused = set(Linux::V6_12, "preempt", "lazy").unwrap_err().to_string();
        assert!(refused.contains("from Linux 6.13 on"), "{refused}");
        assert!(set(Linux::V6_18, "preempt", "lazy").is_ok() && set(Linux::V6_12, "preempt", "full").is_ok());
        assert!(set(Linux::V6_18, "hrtick", "true").is_err() && set(Linux::V7_1, "hrtick", "true").is_ok());
        assert!(set(Linux::V6_18, "hrtick", "false").is_ok() && set(Linux::V7_1, "preempt", "none").is_err());
    }
}
