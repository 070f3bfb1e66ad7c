// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every figure of a detected description that no file gives, with what it rests on. All are orders of magnitude.
//!
//! Each source text begins with `assumed`, which marks the value in the description, in what is shown of the machine
//! and in docs/detect.md.

/// What of that which no file tells was measured, everywhere.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    pub bandwidth: bool,
    pub memory: bool,
    pub uncore: bool,
    pub idle: bool,
    pub smt: bool,
    pub switching: bool,
}

/// What is assumed, for people.
pub(super) fn warning(known: &Known) -> String {
    let unknown = |all: &[(bool, &'static str)]| -> Vec<String> {
        all.iter().filter(|(known, _)| !known).map(|(_, what)| (*what).to_owned()).collect()
    };
    let powers = unknown(&[(known.memory, "memory"), (known.uncore, "uncore"), (known.idle, "idle")]);
    let mut all = unknown(&[(known.bandwidth, "memory bandwidth")]);
    all.extend((!powers.is_empty()).then(|| format!("{} power", listed(&powers))));
    all.extend(unknown(&[(known.smt, "SMT speed")]));
    all.push(if known.switching { "costs of ticks".to_owned() } else { "scheduling costs".to_owned() });
    let measure = match (known.bandwidth, known.switching) {
        (_, true) => "",
        (false, false) => {
            "; `tandem machine detect --measure` measures bandwidth, `--calibrate` in minutes what this machine has meters for"
        }
        (true, false) => "; `tandem machine detect --calibrate` measures in minutes what this machine has meters for",
    };
    format!("no file tells {}: assumed (see the sources that begin with `assumed`){measure}", listed(&all))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Clock where none is known. Only a unit: nothing is compared with it on such a machine.
pub(super) const MHZ: f64 = 2000.0;
pub(super) const MHZ_SOURCE: &str = "assumed: no file names a clock of these CPUs";

/// Transition latency where the driver does not know it.
pub(super) const LATENCY_US: f64 = 20.0;
pub(super) const LATENCY_SOURCE: &str = "assumed: the cpufreq driver names no transition latency";

/// Work per clock of Intel's E-cores, where only types of core and clocks are known.
pub(super) const EFFICIENT_IPC_SOURCE: &str =
    "assumed: intel_pstate's scaling factors of the model (78741 to 86957 over 100000; Alder Lake's where it has none)";

/// Speed through memory-bound work relative to the fastest CPU: the square root of the relative IPC. Odroid-XU3's A7 has 0.53
/// of its A15's IPC and 0.70 of its speed where work only waits for memory.
pub(super) fn memory_speed(relative_ipc: f64) -> f64 {
    relative_ipc.sqrt()
}
pub(super) const MEMORY_SPEED_SOURCE: &str =
    "assumed: square root of the IPC; Odroid-XU3 (PARTSim cachekiller) has 0.70 at IPC 0.53";

pub(super) const STALL_ACTIVITY: f64 = 0.55;
pub(super) const STALL_ACTIVITY_SOURCE: &str = "assumed as on Odroid-XU3: PARTSim cachekiller over gzip power";

/// Two threads together do a quarter more than one.
pub(super) const SMT_SPEED: f64 = 0.62;
pub(super) const SMT_ACTIVITY: f64 = 1.15;
pub(super) const SMT_SOURCE: &str = "assumed: two threads do a quarter more than one, at slightly more power";

/// Switching power of one core at 1 MHz and 1 V, in microwatts: Arm application cores, and x86 cores.
const COEFFICIENT: f64 = 400.0;
const COEFFICIENT_X86: f64 = 2000.0;
/// The ends of the assumed voltage ramp, in millivolts, and the voltage of a clock that never changes.
const LOWEST_MV: f64 = 700.0;
const HIGHEST_MV: f64 = 1100.0;
const FIXED_MV: u32 = 1000;
/// Leakage at the highest clock relative to switching power.
const LEAKAGE_SHARE: f64 = 0.10;

pub(super) const POWER_SOURCE: &str = "assumed: 0.7 V to 1.1 V evenly over the clocks; 400 uW/MHz/V^2 as Arm's big \
    cores in device trees (x86: 2000), times IPC squared; leakage a tenth at the top";

/// An assumed power model of one core.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Power {
    /// uW / MHz / V².
    pub coefficient: f64,
    /// Voltage of each operating point.
    pub mv: Vec<u32>,
    /// Watts per volt.
    pub leakage_watts_per_v: f64,
}

impl Power {
    /// For the clocks `khz` (ascending) of a kind with the relative speed per clock `ipc`.
    pub(super) fn of(khz: &[u32], ipc: f64, x86: bool) -> Self {
        // Little cores in device trees draw about the square of their relative IPC: A53 beside A72 0.23 at IPC 0.47,
        // A53 beside A73 0.20 at 0.58, A7 beside A15 0.29 at 0.53.
        let coefficient = (if x86 { COEFFICIENT_X86 } else { COEFFICIENT }) * ipc * ipc;
        let (first, last) = (khz.first().copied().unwrap_or(1), khz.last().copied().unwrap_or(1));
        let ramp = |khz: u32| {
            let share = f64::from(khz - first) / f64::from(last - first);
            (LOWEST_MV + (HIGHEST_MV - LOWEST_MV) * share).round() as u32
        };
        let mv: Vec<u32> = khz.iter().map(|khz| if first == last { FIXED_MV } else { ramp(*khz) }).collect();
        let top_volts = f64::from(mv.last().copied().unwrap_or(FIXED_MV)) / 1e3;
        let top_watts = switching(coefficient, last, top_volts);
        Self { coefficient, mv, leakage_watts_per_v: LEAKAGE_SHARE * top_watts / top_volts }
    }

    /// Watts of one busy core at each of the clocks `khz` this was made for.
    pub(super) fn watts(&self, khz: &[u32]) -> Vec<f64> {
        let at = |(khz, mv): (&u32, &u32)| {
            let volts = f64::from(*mv) / 1e3;
            switching(self.coefficient, *khz, volts) + self.leakage_watts_per_v * volts
        };
        khz.iter().zip(&self.mv).map(at).collect()
    }
}

fn switching(coefficient: f64, khz: u32, volts: f64) -> f64 {
    coefficient * 1e-6 * f64::from(khz) / 1e3 * volts * volts
}

/// Watts of a core in its n-th idle state (from 0), given its busy watts at the lowest clock.
pub(super) fn idle_watts(state: usize, lowest_busy_watts: f64) -> f64 {
    lowest_busy_watts * if state == 0 { 0.10 } else { 0.02 }
}
pub(super) const IDLE_WATTS_SOURCE: &str =
    "assumed: a tenth of the lowest busy power (0.03 to 0.18 on LISA's boards), a fiftieth in deeper states";

pub(super) const ENTRY_US: f64 = 0.0;
pub(super) const ENTRY_SOURCE: &str = "assumed: sysfs gives entry and exit as one latency, which counts as exit";

/// The only idle state of a machine without cpuidle: the architecture's halt.
pub(super) const HALT_EXIT_US: u64 = 1;
pub(super) const HALT_SOURCE: &str = "assumed: no cpuidle, only the architecture's halt instruction";

/// Static watts of a cluster by the watts of all its cores busy.
pub(super) fn cluster_watts(busy_watts: f64) -> f64 {
    0.05 * busy_watts
}
pub(super) const CLUSTER_WATTS_SOURCE: &str = "assumed: a twentieth of the cores' highest power";
pub(super) const CLUSTER_MODELLED_SOURCE: &str = "assumed: the energy model's watts per CPU contain it";
pub(super) const CLUSTER_MEASURED_SOURCE: &str = "assumed: the measured watts of cores and package contain it";

/// Uncore watts of a package with cores awake and with all idle, by the watts of all its cores busy.
pub(super) fn uncore_watts(busy_watts: f64) -> (f64, f64) {
    (0.10 * busy_watts, 0.03 * busy_watts)
}
pub(super) const UNCORE_SOURCE: &str = "assumed: 10 % of the cores' highest power, 3 % while all idle";

/// The source of the latencies of other nodes' memory.
pub(super) const NODE_LATENCY_SOURCE: &str =
    "assumed: as the distances, which firmware may have left at their defaults; measure it";

/// A node's bandwidth and what one thread reaches of it, in GB/s, by its number of cores.
pub(super) fn bandwidth(cores: usize) -> (f64, f64) {
    let node = (4.0 * cores as f64).clamp(12.8, 400.0);
    (node, (node / 2.0).min(12.8))
}
pub(super) const BANDWIDTH_SOURCE: &str = "assumed: 4 GB/s per core (12.8 to 400), one thread half of it, at most 12.8";

pub(super) const CONTENTION: f64 = 0.5;
pub(super) const CONTENTION_SOURCE: &str = "assumed: latency grows by half towards saturation";

/// Watts of DRAM without traffic: 50 mW per GiB.
pub(super) fn memory_watts(kib: Option<u64>) -> f64 {
    const DEFAULT_GIB: f64 = 8.0;
    0.05 * kib.map_or(DEFAULT_GIB, |kib| kib as f64 / f64::from(1 << 20))
}
pub(super) const MEMORY_WATTS_SOURCE: &str = "assumed: 50 mW per GiB of MemTotal (8 GiB if not known)";

pub(super) const NJ_PER_BYTE: f64 = 0.15;
pub(super) const NJ_PER_BYTE_SOURCE: &str = "assumed: as the catalogue's LPDDR4 machines";

/// Time of a hit in the last-level cache relative to a memory access, by level.
pub(super) fn hit_cost(level: u32) -> f64 {
    if level >= 3 { 0.25 } else { 0.1 }
}
pub(super) const HIT_COST_SOURCE: &str = "assumed: a tenth of a memory access in L2, a quarter in L3";

pub(super) const PLATFORM_SOURCE: &str = "assumed: left out, no file tells it";

/// `context_switch_us`, `migration_us`, `migration_llc_us`, `tick_us`.
pub(super) const SCHEDULING: [(&str, f64); 4] =
    [("context_switch_us", 2.0), ("migration_us", 5.0), ("migration_llc_us", 30.0), ("tick_us", 2.0)];
pub(super) const SCHEDULING_SOURCE: &str = "assumed: the order that lmbench's lat_ctx shows";
