// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds clocks and idle states while something is measured. All is given back with the journal.

use std::io;
use std::path::Path;

use super::kinds::Kind;
use crate::changes::{Change, ChangeError, Journal, Restored, Setting};
use crate::tree::Tree;

/// Clocks and idle states that are held.
#[derive(Debug)]
pub(super) struct Hold {
    journal: Journal,
}

impl Hold {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal }
    }

    fn set(&mut self, setting: Setting, to: u32) -> Result<(), ChangeError> {
        self.journal.apply(&Change { setting, to: to.to_string() }).map(drop)
    }

    /// Holds the clock of all cores of a kind. What cannot be held does not keep the other clocks from it.
    ///
    /// # Errors
    /// The first of them.
    pub(super) fn clock(&mut self, kind: &Kind, khz: u32) -> Result<(), ChangeError> {
        first_error(kind.policies.iter().map(|policy| self.policy(policy, khz)))
    }

    fn policy(&mut self, policy: &str, khz: u32) -> Result<(), ChangeError> {
        let lowest = Setting::MinFrequency { policy: policy.to_owned() };
        let highest = Setting::MaxFrequency { policy: policy.to_owned() };
        // The lowest must not be above the highest at any time: some kernels refuse it.
        let order = if khz > self.highest_now(&highest)? { [highest, lowest] } else { [lowest, highest] };
        order.into_iter().try_for_each(|setting| self.set(setting, khz))
    }

    /// The highest clock that is allowed at present, kHz.
    fn highest_now(&self, highest: &Setting) -> Result<u32, ChangeError> {
        let khz = highest.read(self.journal.root()).and_then(|text| {
            text.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("`{text}` is no clock in kHz")))
        });
        khz.map_err(|why| ChangeError::Unreadable { setting: highest.clone(), why })
    }

    /// Leaves these CPUs only one of their idle states. A CPU that cannot be set does not keep the others from it: else some of
    /// them would stay without the states that an earlier measurement took.
    ///
    /// # Errors
    /// The first of them.
    pub(super) fn state(&mut self, kind: &Kind, cpus: &[u32], state: u32) -> Result<(), ChangeError> {
        first_error(cpus.iter().map(|cpu| self.state_of(kind, *cpu, state)))
    }

    fn state_of(&mut self, kind: &Kind, cpu: u32, state: u32) -> Result<(), ChangeError> {
        // The one that stays first: a CPU without any would spin.
        self.set(Setting::IdleStateOff { cpu, state }, 0)?;
        let others = kind.states.iter().map(|(other, _)| *other).filter(|other| *other != state);
        first_error(others.map(|other| self.set(Setting::IdleStateOff { cpu, state: other }, 1)))
    }

    /// Gives everything back; a sentence for each thing that stays as it is.
    pub(super) fn give_back(self) -> Vec<String> {
        let Restored { kept, stuck, .. } = self.journal.restore();
        kept.iter().map(ToString::to_string).chain(stuck.iter().map(ToString::to_string)).collect()
    }

    /// Microseconds that these CPUs have been in an idle state since the machine started, all together.
    pub(super) fn time_in(&self, cpus: &[u32], state: u32) -> Option<u64> {
        time_in(self.journal.root(), cpus, state)
    }
}

/// Does all of it, and says what went wrong first.
fn first_error(results: impl Iterator<Item = Result<(), ChangeError>>) -> Result<(), ChangeError> {
    results.fold(Ok(()), Result::and)
}

fn time_in(root: &Path, cpus: &[u32], state: u32) -> Option<u64> {
    let tree = Tree::new(root);
    let time = |cpu: &u32| tree.number::<u64>(&format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/time"));
    cpus.iter().map(time).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const CPU: &str = "sys/devices/system/cpu";

    /// Three CPUs with a clock each, 1 to 2 GHz, and the idle states 1 to 3.
    fn held() -> (testing::Tree, Kind, Hold) {
        let tree = testing::Tree::new();
        for cpu in 0..3 {
            tree.write(&format!("{CPU}/cpufreq/policy{cpu}/scaling_min_freq"), "1000000\n");
            tree.write(&format!("{CPU}/cpufreq/policy{cpu}/scaling_max_freq"), "2000000\n");
            for state in 1..=3 {
                tree.write(&format!("{CPU}/cpu{cpu}/cpuidle/state{state}/disable"), "0\n");
            }
        }
        let kind = Kind {
            cores: vec![vec![0], vec![1], vec![2]],
            in_one_package: 3,
            policies: (0..3).map(|cpu| format!("policy{cpu}")).collect(),
            khz: vec![1_000_000, 2_000_000],
            states: vec![(1, "C1".to_owned()), (2, "C3".to_owned()), (3, "C6".to_owned())],
        };
        let hold = Hold::new(Journal::begin(tree.root(), &tree.run()).unwrap());
        (tree, kind, hold)
    }

    fn text(tree: &testing::Tree, path: &str) -> String {
        tree.read(&format!("{CPU}/{path}")).trim().to_owned()
    }

    /// Lowest and highest clock of a CPU.
    fn clocks(tree: &testing::Tree, cpu: u32) -> [String; 2] {
        ["min", "max"].map(|end| text(tree, &format!("cpufreq/policy{cpu}/scaling_{end}_freq")))
    }

    /// Which states a CPU goes without.
    fn disabled(tree: &testing::Tree, cpu: u32) -> String {
        (1..=3).map(|state| text(tree, &format!("cpu{cpu}/cpuidle/state{state}/disable"))).collect()
    }

    #[test]
    fn a_clock_whose_limit_cannot_be_read_stays_and_the_others_are_held() {
        let (tree, kind, mut hold) = held();
        tree.write(&format!("{CPU}/cpufreq/policy1/scaling_max_freq"), "<unknown>\n");
        let why = hold.clock(&kind, 2_000_000).unwrap_err().to_string();
        assert!(
            why.contains("the highest clock of policy1") && why.contains("`<unknown>` is no clock in kHz"),
            "{why}"
        );
        assert_eq!(clocks(&tree, 0), ["2000000", "2000000"]);
        assert_eq!(clocks(&tree, 1), ["1000000", "<unknown>"]);
        assert_eq!(clocks(&tree, 2), ["2000000", "2000000"]);
        assert_eq!(hold.give_back(), Vec::<String>::new());
        assert_eq!(clocks(&tree, 2), ["1000000", "2000000"]);
    }

    #[test]
    fn a_cpu_that_cannot_be_set_leaves_the_others_their_state() {
        let (tree, kind, mut hold) = held();
        hold.state(&kind, &[0, 1, 2], 3).unwrap();
        assert_eq!([0, 1, 2].map(|cpu| disabled(&tree, cpu)), ["110", "110", "110"]);
        std::fs::remove_file(tree.root().join(format!("{CPU}/cpu1/cpuidle/state2/disable"))).unwrap();
        let why = hold.state(&kind, &[0, 1, 2], 1).unwrap_err().to_string();
        assert!(why.contains("CPU 1") && why.contains("idle state 2"), "{why}");
        assert_eq!([0, 2].map(|cpu| disabled(&tree, cpu)), ["011", "011"]);
        assert_eq!(text(&tree, "cpu1/cpuidle/state3/disable"), "1", "what comes after the one that is missing, too");
        assert_eq!(hold.give_back(), Vec::<String>::new());
        assert_eq!([0, 2].map(|cpu| disabled(&tree, cpu)), ["000", "000"]);
    }

    #[test]
    fn a_cpu_that_does_not_get_its_state_keeps_the_others() {
        let (tree, kind, mut hold) = held();
        std::fs::remove_file(tree.root().join(format!("{CPU}/cpu1/cpuidle/state3/disable"))).unwrap();
        hold.state(&kind, &[0, 1], 3).unwrap_err();
        assert_eq!(disabled(&tree, 0), "110");
        assert_eq!(["state1", "state2"].map(|state| text(&tree, &format!("cpu1/cpuidle/{state}/disable"))), ["0", "0"]);
    }
}
