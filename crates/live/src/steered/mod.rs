// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slow loop on a running kernel, where the processor chooses clocks itself: [`tandem_loader::steering`] over the files of
//! cpufreq policies, each change with a line in the journal before it.
//!
//! `meters`: how busy CPUs are. `fitting`: what clocks cost, from energy counters. `profiles`: what a person has chosen elsewhere.

mod fitting;
mod meters;
mod profiles;

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tandem_loader::machine::OppTable;
use tandem_loader::steering::{
    Costs, Counts, Domain, Happened, Knob, Knobs, Mode, Refused, Said, Steering, Unknown, Value, Wish,
};

use crate::changes::{Change, Journal, Setting};
use crate::host::{Host, Policy};
use crate::machine::Machine;
use crate::session::Loaded;
use fitting::Fitting;
use meters::ProcMeters;
pub use profiles::{Bus, Profiles};
use profiles::{platform, said};

/// How often a daemon is asked for its profile. One that changes it turns EPP too, which is seen within a few looks.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// A slow loop, and what it looks at.
#[derive(Debug)]
pub(crate) struct Steered {
    steering: Steering,
    policies: Vec<String>,
    meters: ProcMeters,
    asked: Instant,
    said: Said,
    foreign: Vec<String>,
    /// What the scheduler was told.
    told: Option<Wish>,
    /// What clocks cost, where nothing says it.
    fitting: Option<Fitting>,
}

/// What a loop says of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SteeredStatus {
    /// What is wished: `performance`, `balanced`, `powersave`.
    pub wish: String,
    /// Who said so.
    pub wish_of: String,
    /// Clocks that the loop has.
    pub clocks: usize,
    /// Knobs that are at what the loop made of them.
    pub held: usize,
    /// Knobs that were turned so far.
    pub changes: u64,
    /// Looks so far.
    #[serde(default)]
    pub looks: u64,
    /// Part of a CPU that looks have taken since the loop began; 0.001 at most, where none takes longer than 4 ms.
    #[serde(default)]
    pub cpu_share: f64,
    /// Knobs that others have turned meanwhile, a sentence each.
    pub foreign: Vec<String>,
    /// By clock of which it is not known what work costs there: why.
    pub unknown: Vec<String>,
    /// How good a fit to energy counters is, where nothing says what clocks cost.
    #[serde(default)]
    pub fit: Option<String>,
}

/// Knobs of policies, which are files, by a journal.
struct PolicyFiles<'j> {
    journal: &'j mut Journal,
    policies: &'j [String],
}

impl PolicyFiles<'_> {
    fn setting(&self, domain: usize, knob: Knob) -> Option<Setting> {
        let policy = self.policies.get(domain)?.clone();
        Some(match knob {
            Knob::Preference => Setting::EnergyPreference { policy },
            Knob::Lowest => Setting::MinFrequency { policy },
            Knob::Highest => Setting::MaxFrequency { policy },
        })
    }
}

impl Knobs for PolicyFiles<'_> {
    fn read(&mut self, domain: usize, knob: Knob) -> Option<Value> {
        let text = self.setting(domain, knob)?.read(self.journal.root()).ok()?;
        knob.parse(&text)
    }

    fn write(&mut self, domain: usize, knob: Knob, value: Value) -> Result<Value, Refused> {
        let refused = |why: String| Refused { why };
        let setting = self.setting(domain, knob).ok_or_else(|| refused("there is no such policy".to_owned()))?;
        let change = Change { setting, to: value.to_string() };
        self.journal.apply(&change).map_err(|why| refused(why.to_string()))?;
        Ok(self.read(domain, knob).unwrap_or(value))
    }
}

impl Steered {
    /// Begins a loop for a scheduler with this mode; `None` where it has none. Where no driver leaves clocks to the processor the
    /// scheduler still hears what is wished. Nothing is changed yet.
    pub fn begin(
        mode: Mode,
        host: &Host,
        journal: &mut Journal,
        profiles: &dyn Profiles,
        now: Instant,
    ) -> Option<Self> {
        let steered: Vec<&Policy> = host.policies.iter().filter(|policy| is_steerable(policy)).collect();
        if mode == Mode::None {
            return None;
        }
        let root = journal.root().to_owned();
        let policies: Vec<String> = steered.iter().map(|policy| policy.name.clone()).collect();
        let domains = steered.iter().map(|policy| domain(policy, &host.machine)).collect();
        let said = said(&root, profiles);
        let mut files = PolicyFiles { journal, policies: &policies };
        let steering = Steering::begin(mode, domains, said.clone(), &mut files, 0);
        let fitting = Fitting::of(&steered, &steering);
        let meters = ProcMeters::new(root, now);
        Some(Self { steering, policies, meters, asked: now, said, foreign: Vec::new(), told: None, fitting })
    }

    /// Looks, if that is due; what is worth saying. `cpu_time` is the processor time of this thread: a dear look puts off the next one.
    pub fn look(
        &mut self,
        journal: &mut Journal,
        profiles: &dyn Profiles,
        now: Instant,
        cpu_time: fn() -> Duration,
    ) -> Vec<String> {
        let nanos = self.meters.nanos(now);
        if nanos < self.steering.due() {
            return Vec::new();
        }
        let begun = cpu_time();
        self.hear(journal.root().to_owned().as_path(), profiles, now);
        self.meters.now = now;
        let mut files = PolicyFiles { journal, policies: &self.policies };
        let happened = self.steering.look(nanos, &mut self.meters, &mut files);
        if happened.iter().any(|what| matches!(what, Happened::Foreign { .. })) {
            // Whoever turned a knob may have been told to by a person.
            self.asked = now.checked_sub(ASK_AGAIN).unwrap_or(now);
        }
        self.release(&happened, journal);
        let words: Vec<String> = happened.iter().filter_map(|what| self.words(what)).collect();
        self.steering.took(u64::try_from(cpu_time().saturating_sub(begun).as_nanos()).unwrap_or(u64::MAX));
        words
    }

    /// The firmware's profile is a file, and read each time; a daemon is asked seldom, and when the file has changed.
    fn hear(&mut self, root: &Path, profiles: &dyn Profiles, now: Instant) {
        let platform = platform(root);
        let mut heard = Said { platform, ..self.said.clone() };
        if heard.platform != self.said.platform || now.saturating_duration_since(self.asked) >= ASK_AGAIN {
            self.asked = now;
            heard.daemon = profiles.active();
        }
        if heard != self.said {
            self.said = heard;
            self.steering.hear(self.said.clone());
        }
    }

    /// What others have turned is not given back, whatever it is at.
    fn release(&self, happened: &[Happened], journal: &mut Journal) {
        for what in happened {
            let Happened::Foreign { domain, knob, .. } = what else { continue };
            let setting = PolicyFiles { journal: &mut *journal, policies: &self.policies }.setting(*domain, *knob);
            // A journal that cannot be written still has it, and compares values at the end.
            let _ = setting.map(|setting| journal.release(&setting));
        }
        // What was turned often is a long journal; one that cannot be written anew stays as it was.
        let _ = journal.tidy();
    }

    /// Tells the scheduler what is wished, if that is new to it; what is to be said if it cannot be told.
    pub fn tell(&mut self, scheduler: &dyn Loaded) -> Option<String> {
        let wish = self.steering.wish().0;
        if self.told == Some(wish) {
            return None;
        }
        self.told = Some(wish);
        scheduler.set_wish(wish).err().map(|why| format!("the scheduler does not hear of the wish: {why}"))
    }

    /// The machine has taken so many joules since the session began; once a second.
    pub fn draw(&mut self, joules: f64, root: &Path, now: Instant) {
        let Some(fitting) = &mut self.fitting else { return };
        self.meters.now = now;
        fitting.see(joules, root, &mut self.meters, &mut self.steering);
    }

    /// The scheduler is a new one, and knows nothing yet.
    pub fn tell_again(&mut self) {
        self.told = None;
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.steering.counts()
    }

    /// What the loop says of itself.
    pub fn status(&self, now: Instant) -> SteeredStatus {
        let counts = self.steering.counts();
        let lived = self.meters.nanos(now).max(1);
        let (wish, source) = self.steering.wish();
        let unknown = |domain: &Domain| match domain.costs {
            Costs::Unknown(why) => Some(format!("{}: {why}", domain.name)),
            Costs::Least { .. } => None,
        };
        SteeredStatus {
            wish: wish.to_string(),
            wish_of: source.to_string(),
            clocks: self.policies.len(),
            held: self.steering.held(),
            changes: counts.changes,
            looks: counts.looks,
            cpu_share: counts.spent as f64 / lived as f64,
            foreign: self.foreign.clone(),
            unknown: self.steering.domains().filter_map(unknown).collect(),
            fit: self.fitting.as_ref().map(Fitting::words),
        }
    }

    /// What is worth saying of what happened; what is turned is not.
    fn words(&mut self, happened: &Happened) -> Option<String> {
        let name = |domain: &usize, knob: &Knob| {
            format!("{} of {}", knob.file(), self.policies.get(*domain).map_or("?", String::as_str))
        };
        match happened {
            Happened::Set { .. } => None,
            Happened::Wish { wish, source } => Some(format!("the mode is {wish}, as {source} says")),
            Happened::Foreign { domain, knob, ours, theirs } => {
                let from = ours.map_or_else(String::new, |ours| format!(" from {ours}"));
                let words = format!("{}: somebody has changed that{from} to {theirs}, which stays", name(domain, knob));
                self.foreign.push(words.clone());
                Some(words)
            }
            Happened::Refused { domain, knob, to, why } => {
                Some(format!("{} cannot become {to}: {why}", name(domain, knob)))
            }
        }
    }
}

/// Whether a policy's driver leaves clocks to the processor, under a governor that follows the load: `performance` is a wish of
/// its own, and takes no preference.
fn is_steerable(policy: &Policy) -> bool {
    policy.governs_itself() && policy.governor == "powersave" && !policy.cpus.is_empty()
}

fn domain(policy: &Policy, machine: &Machine) -> Domain {
    let cpu = policy.cpus.first().and_then(|cpu| machine.cpus.get(*cpu));
    let table: Option<&OppTable> = cpu.and_then(|cpu| machine.opp_tables.get(cpu.opp_table as usize));
    let khz = |khz: u64| u32::try_from(khz).unwrap_or(u32::MAX);
    Domain {
        name: policy.name.clone(),
        cpus: policy.cpus.clone(),
        lowest_khz: khz(policy.lowest_khz),
        highest_khz: khz(policy.highest_khz),
        costs: table.map_or(Costs::Unknown(Unknown::NoPower), Costs::of),
    }
}
