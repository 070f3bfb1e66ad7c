// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slow loop of the program that loads a scheduler, where the processor chooses clocks itself: the same code as on a running
//! kernel ([`tandem_loader::steering`]), over the simulated machine's meters and knobs.
//!
//! Left out: the processor time that the loop takes, a thousandth of a CPU at most. Who could tell: a thread beside the loop.

use tandem_loader::file::SteeringLines;
use tandem_loader::machine::OppTable;
use tandem_loader::steering::{
    Costs, Counts, Domain, Knob, Knobs, Meters, Mode, Preference, Reading, Refused, Said, Steering, Value, Wish,
    resolve,
};

use super::Engine;
use super::clocks::Clocks;
use super::events::Event;
use super::hardware::Hardware;
use crate::kernel::cpufreq::{Epp, Governor, GovernorState};
use crate::machine::{CpufreqDriver, EnergyPreference, Machine, Opp, PerformanceDomain};
use crate::scx::Scx;
use crate::scx::frontend::opps::push_described;
use crate::units::{CpuId, PerformanceDomainId};

/// A slow loop, and which clocks it has.
#[derive(Debug)]
pub(super) struct Steered {
    steering: Steering,
    domains: Vec<PerformanceDomainId>,
}

/// How long CPUs were busy.
struct CpuMeters<'e, 'r> {
    now: u64,
    cpus: usize,
    hardware: &'e mut Hardware<'r>,
}

impl Meters for CpuMeters<'_, '_> {
    fn reading(&mut self) -> Option<Reading> {
        let busy = |cpu: usize| self.now.saturating_sub(self.hardware.idle_time(CpuId::at(cpu)));
        Some(Reading { now: self.now, busy: (0..self.cpus).map(busy).collect(), waiting: None })
    }
}

/// The knobs of the driver's policies.
struct PolicyKnobs<'e, 'r> {
    clocks: &'e mut Clocks<'r>,
    domains: &'e [PerformanceDomainId],
}

impl Knobs for PolicyKnobs<'_, '_> {
    fn read(&mut self, domain: usize, knob: Knob) -> Option<Value> {
        let (policy, state) = self.clocks.policies[self.domains[domain].index()].as_ref()?;
        let GovernorState::Pstate(pstate) = state else { return None };
        Some(match knob {
            Knob::Preference => Value::Preference(preference(pstate.epp(), pstate.driver())),
            Knob::Lowest => Value::Khz(policy.min_khz()),
            Knob::Highest => Value::Khz(policy.max_khz()),
        })
    }

    fn write(&mut self, domain: usize, knob: Knob, value: Value) -> Result<Value, Refused> {
        let refused = || Refused { why: "the driver does not have it".to_owned() };
        let entry = self.clocks.policies[self.domains[domain].index()].as_mut();
        let Some((policy, GovernorState::Pstate(pstate))) = entry else { return Err(refused()) };
        match (knob, value) {
            (Knob::Preference, Value::Preference(wanted)) => pstate.set_epp(epp(wanted, pstate.driver())),
            (Knob::Lowest, Value::Khz(khz)) => policy.set_limits(khz, policy.max_khz()),
            (Knob::Highest, Value::Khz(khz)) => policy.set_limits(policy.min_khz(), khz),
            _ => return Err(refused()),
        }
        self.read(domain, knob).ok_or_else(refused)
    }
}

/// A number as sysfs has it: by its name if it has one.
fn preference(epp: Epp, driver: CpufreqDriver) -> Preference {
    epp.name(driver).and_then(Preference::parse).unwrap_or(Preference::Number(epp.0))
}

fn epp(preference: Preference, driver: CpufreqDriver) -> Epp {
    let name = preference.to_string();
    let named = EnergyPreference::NAMES.iter().find(|(known, _)| *known == name);
    named.map_or(Epp(preference.number().unwrap_or(0x80)), |(_, preference)| Epp::of(*preference, driver))
}

/// The clocks of a machine that its driver leaves to the processor under `governor`, and what is known of them.
pub fn steerable(machine: &Machine, governor: Governor) -> Vec<(PerformanceDomainId, Domain)> {
    if !governor.is_autonomous() {
        return Vec::new();
    }
    let online = |cpu: &CpuId| machine.cpus[cpu.index()].online;
    let described = machine.performance_domains.iter().enumerate();
    let steered = described.filter(|(_, domain)| domain.scalable && domain.cpus.iter().any(online));
    steered.map(|(at, entry)| (PerformanceDomainId::at(at), domain(machine, entry))).collect()
}

fn domain(machine: &Machine, entry: &PerformanceDomain) -> Domain {
    let khz = |opp: Option<&Opp>| opp.map_or(0, |opp| opp.khz);
    Domain {
        name: format!("policy{}", entry.cpus.first().map_or(0, |cpu| cpu.index())),
        cpus: entry.cpus.iter().map(|cpu| cpu.index()).collect(),
        lowest_khz: khz(entry.opps.first()),
        highest_khz: khz(entry.opps.last()),
        costs: costs(machine, entry),
    }
}

/// What work costs at the clocks of a domain, by its description: no kernel of such a machine has watts.
fn costs(machine: &Machine, domain: &PerformanceDomain) -> Costs {
    let mut table = OppTable::default();
    for opp in &domain.opps[domain.min_opp..=domain.max_opp] {
        table.frequency.push(u64::from(opp.khz));
        table.performance.push(u64::from(opp.khz));
        push_described(&mut table, machine, domain, opp);
    }
    Costs::of(&table)
}

/// The number in a variable of a loaded object.
fn number_in(scx: &Scx, variable: &str) -> Option<u64> {
    let bytes = scx.vm.global_bytes(variable)?;
    Some(bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

impl Engine<'_> {
    /// Begins a slow loop beside the scheduler that was loaded just now, if it has a mode and the processor chooses clocks.
    pub(super) fn begin_steering(&mut self, lines: &SteeringLines) {
        let number = self.sched.ext.as_ref().and_then(|scx| number_in(scx, &lines.mode));
        let mode = Mode::of_number(number.unwrap_or(0));
        if mode == Mode::None {
            return;
        }
        let steerable = steerable(self.machine, self.options.governor);
        if steerable.is_empty() {
            // Clocks follow a governor of the kernel's, but the scheduler has to know all the same.
            self.tell_wish(lines, resolve(mode, &Said::default(), &[]).0);
            return;
        }
        let (domains, known): (Vec<PerformanceDomainId>, Vec<Domain>) = steerable.into_iter().unzip();
        let mut knobs = PolicyKnobs { clocks: &mut self.clocks, domains: &domains };
        let now = self.agenda.now();
        let steering = Steering::begin(mode, known, Said::default(), &mut knobs, now);
        let wish = steering.wish().0;
        self.tell_wish(lines, wish);
        self.agenda.set(Event::Steer, now);
        self.steered = Some(Box::new(Steered { steering, domains }));
    }

    /// The scheduler hears what is wished, if it asks. Nobody changes that in the middle of a run.
    fn tell_wish(&mut self, lines: &SteeringLines, wish: Wish) {
        let (Some(name), Some(scx)) = (&lines.wish, &mut self.sched.ext) else { return };
        let global = scx.vm.global(name).filter(|global| global.size == size_of::<u32>() as u64);
        let Some(bytes) = global.and_then(|global| scx.vm.memory.host_write(global.address, global.size).ok()) else {
            return;
        };
        bytes.copy_from_slice(&wish.number().to_le_bytes());
    }

    /// The slow loop looks. Once the scheduler has gone all is given back.
    pub(super) fn steer(&mut self) {
        // A look is no event of the workload's.
        self.outcome.events -= 1;
        let now = self.agenda.now();
        let is_loaded = self.sched.kernel.scx_enabled();
        let Some(steered) = &mut self.steered else { return };
        let Steered { steering, domains } = &mut **steered;
        let mut knobs = PolicyKnobs { clocks: &mut self.clocks, domains };
        if !is_loaded {
            steering.end(&mut knobs);
        } else {
            let mut meters = CpuMeters { now, cpus: self.machine.cpus.len(), hardware: &mut self.hardware };
            steering.look(now, &mut meters, &mut knobs);
            // Where nothing else will ever happen, neither must this.
            if !self.agenda.is_empty_but(Event::Limits) {
                self.agenda.set(Event::Steer, steering.due());
            }
        }
        for domain in domains.clone() {
            self.keep_within_limits(domain);
        }
    }

    /// A clock that is beyond its limits now moves at once; firmware looks at the others when they have something to do.
    fn keep_within_limits(&mut self, domain: PerformanceDomainId) {
        let Some((policy, _)) = &mut self.clocks.policies[domain.index()] else { return };
        let current = policy.current_khz();
        let within = current.clamp(policy.min_khz(), policy.max_khz());
        if within != current {
            self.clocks.move_to(domain, within, &mut self.hardware, &mut self.agenda);
        }
    }

    /// What the slow loop did, as counters.
    pub(super) fn steering_counts(&self) -> Option<Counts> {
        self.steered.as_ref().map(|steered| steered.steering.counts())
    }
}
