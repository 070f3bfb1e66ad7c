// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which mechanisms a scheduler's settings turn on.

/// What isolation does with the CPU of the system's noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Applications stay off it.
    Dedicated,
    /// Applications may use it, behind the noise.
    Shared,
}

/// The mechanisms, as `bpf/settings.bpf.h` names them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mechanisms {
    /// Noise stays on one CPU.
    pub isolate: Option<Isolation>,
    /// The longest jobs run on the fastest CPUs.
    pub longest: bool,
    /// Serial phases go first.
    pub serial_first: bool,
    /// Memory-bound beside compute-bound.
    pub sorted: bool,
    /// Clocks follow events.
    pub speed: bool,
    /// Whether they are all on because all were asked for at once.
    pub all: bool,
}

impl Mechanisms {
    /// What settings turn on. Values that no scheduler takes turn nothing on: it refuses them, and says why.
    pub fn of(settings: &[(String, String)]) -> Self {
        let value = |name: &str| settings.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.trim());
        let all = value("all").is_some_and(is_true);
        let is_on = |name: &str| all || value(name).is_some_and(is_true);
        let isolate = value("isolate").and_then(isolation);
        Self {
            isolate: isolate.or(all.then_some(Isolation::Shared)),
            longest: is_on("longest"),
            serial_first: is_on("serial_first"),
            sorted: is_on("sorted"),
            speed: is_on("speed"),
            all,
        }
    }

    /// The names of those that are on, in the order in which a task is asked about.
    pub fn names(&self) -> Vec<&'static str> {
        let all = [
            (self.isolate.is_some(), "isolate"),
            (self.longest, "longest"),
            (self.serial_first, "serial_first"),
            (self.sorted, "sorted"),
            (self.speed, "speed"),
        ];
        all.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name).collect()
    }

    /// Those that decide more than which CPUs a thread may use, and so take a scheduler.
    pub fn beyond_affinity(&self) -> Vec<&'static str> {
        self.names().into_iter().filter(|name| ["serial_first", "sorted", "speed"].contains(name)).collect()
    }

    /// Whether one of them asks for clocks: speed does, and isolation for the CPU of the noise or the others.
    pub fn ask_for_clocks(&self) -> bool {
        self.speed || self.isolate.is_some()
    }
}

fn is_true(value: &str) -> bool {
    ["true", "1"].contains(&value)
}

/// Objects take the names of an enumeration's values, whole or short, and their numbers.
fn isolation(value: &str) -> Option<Isolation> {
    let value = value.to_ascii_lowercase();
    match value.strip_prefix("tandem_isolate_").unwrap_or(&value) {
        "dedicated" | "1" => Some(Isolation::Dedicated),
        "shared" | "2" => Some(Isolation::Shared),
        _ => None,
    }
}
