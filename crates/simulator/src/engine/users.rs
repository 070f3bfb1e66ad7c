// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which CPUs use a path to memory, and at which paces.
//!
//! Every switch on one of a hundred CPUs asks for the threads of all of them by pace. Threads and their paces lie all over memory, and
//! a pace is seven numbers; here each CPU has the number of its pace in a short list, so that the question reads one word per CPU.

use crate::machine::contention::Flow;
use crate::machine::speed::Pace;
use crate::units::CpuId;

/// Kinds of pace that are told apart; behind them, threads stand each for itself. There are few: behaviours times clocks.
pub(super) const MAX_KINDS: usize = 16;

/// No place.
const NONE: u32 = u32::MAX;

/// CPUs whose running thread uses a path.
#[derive(Debug)]
pub(super) struct Users {
    /// The CPUs, in the order that leaves the rest in place as far as it can: a CPU that goes is replaced by the last one.
    list: Vec<User>,
    /// Per CPU: its place in the list.
    places: Vec<u32>,
    kinds: Vec<Kind>,
}

/// A CPU that uses a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    pub cpu: CpuId,
    /// The number of its pace.
    kind: u32,
}

/// A pace, and how many users have it; what none has may become another one.
#[derive(Debug)]
struct Kind {
    pace: Pace,
    users: u32,
    /// The flow of this pace while flows are made.
    flow: u32,
    /// What contention makes of the pace, and in which round that was worked out.
    slowed: Slowed,
    slowed_in: u64,
}

/// What contention makes of a pace.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slowed {
    /// Nanoseconds per unit of work.
    pub unit_time: f64,
    /// Share of the time in which the core computes.
    pub computing: f64,
}

impl Users {
    /// None yet, of so many CPUs.
    pub fn new(nr_cpus: usize) -> Self {
        Self { list: Vec::new(), places: vec![NONE; nr_cpus], kinds: Vec::new() }
    }

    /// The CPUs, in order.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.list.iter().map(|user| user.cpu)
    }

    /// `cpu` is a user with this pace, or no user; whether it is or was one.
    pub fn set(&mut self, cpu: CpuId, pace: Option<Pace>) -> bool {
        let place = self.places[cpu.index()];
        match (pace, place) {
            (None, NONE) => return false,
            (None, place) => self.remove(place as usize),
            (Some(pace), NONE) => {
                self.places[cpu.index()] = self.list.len() as u32;
                let kind = self.enter(pace);
                self.list.push(User { cpu, kind });
            }
            (Some(pace), place) => {
                let before = self.list[place as usize].kind;
                if self.kinds[before as usize].pace != pace {
                    self.kinds[before as usize].users -= 1;
                    self.list[place as usize].kind = self.enter(pace);
                }
            }
        }
        true
    }

    fn remove(&mut self, place: usize) {
        let gone = self.list.swap_remove(place);
        self.kinds[gone.kind as usize].users -= 1;
        self.places[gone.cpu.index()] = NONE;
        if let Some(moved) = self.list.get(place) {
            self.places[moved.cpu.index()] = place as u32;
        }
    }

    /// One user more has this pace; the pace's number.
    fn enter(&mut self, pace: Pace) -> u32 {
        let known = self.kinds.iter().position(|kind| kind.pace == pace);
        let number = known.or_else(|| self.kinds.iter().position(|kind| kind.users == 0)).unwrap_or(self.kinds.len());
        match self.kinds.get_mut(number) {
            Some(kind) => (kind.pace, kind.users) = (pace, kind.users + 1),
            None => self.kinds.push(Kind { pace, users: 1, flow: NONE, slowed: Slowed::default(), slowed_in: 0 }),
        }
        if known.is_none() {
            self.kinds[number].slowed_in = 0;
        }
        number as u32
    }

    /// The user at this place of the list.
    #[inline]
    pub fn at(&self, place: usize) -> Option<User> {
        self.list.get(place).copied()
    }

    /// What contention makes of the pace of `user`, if that was worked out in this round, of this or another user.
    #[inline]
    pub fn known(&self, user: User, round: u64) -> Option<Slowed> {
        let kind = &self.kinds[user.kind as usize];
        (kind.slowed_in == round).then_some(kind.slowed)
    }

    /// What contention makes of the pace of `cpu`, if that was worked out in this round, of this or another user.
    #[inline]
    pub fn slowed(&self, cpu: CpuId, round: u64) -> Option<Slowed> {
        let user = self.list.get(self.places[cpu.index()] as usize)?;
        self.known(*user, round)
    }

    /// Remembers what contention makes of the pace of `cpu` in this round, which is not 0.
    pub fn remember(&mut self, cpu: CpuId, round: u64, slowed: Slowed) {
        if let Some(user) = self.list.get(self.places[cpu.index()] as usize) {
            let kind = &mut self.kinds[user.kind as usize];
            (kind.slowed, kind.slowed_in) = (slowed, round);
        }
    }

    /// Appends the threads as flows, those of a pace together, in the order of their first.
    pub fn append_flows(&mut self, flows: &mut Vec<Flow>) {
        let here = flows.len();
        let mut unseen = 0;
        for kind in &mut self.kinds {
            kind.flow = NONE;
            unseen += usize::from(kind.users > 0);
        }
        if unseen <= MAX_KINDS {
            return self.append_kinds(flows, unseen);
        }
        for user in &self.list {
            let kind = &mut self.kinds[user.kind as usize];
            if let Some(flow) = flows.get_mut(kind.flow as usize) {
                flow.threads += 1;
                continue;
            }
            if flows.len() - here < MAX_KINDS {
                kind.flow = flows.len() as u32;
            }
            flows.push(Flow { pace: kind.pace, own: 1.0, threads: 1, share: 1.0, rest: 0.0 });
        }
    }

    /// Appends a flow per pace, of which users have so many: how many have each is known, and nobody behind the first of the last pace
    /// needs to be looked at.
    fn append_kinds(&mut self, flows: &mut Vec<Flow>, mut unseen: usize) {
        for user in &self.list {
            if unseen == 0 {
                return;
            }
            let kind = &mut self.kinds[user.kind as usize];
            if kind.flow == NONE {
                kind.flow = flows.len() as u32;
                flows.push(Flow { pace: kind.pace, own: 1.0, threads: kind.users, share: 1.0, rest: 0.0 });
                unseen -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(base: f64) -> Option<Pace> {
        Some(Pace { base, bytes: 1.0, ..Pace::default() })
    }

    fn flows(users: &mut Users) -> Vec<(f64, u32)> {
        let mut flows = Vec::new();
        users.append_flows(&mut flows);
        flows.iter().map(|flow| (flow.pace.base, flow.threads)).collect()
    }

    #[test]
    fn threads_of_a_pace_are_one_flow_in_the_order_of_their_first() {
        let mut users = Users::new(8);
        for (cpu, base) in [(3, 1.0), (1, 2.0), (5, 1.0), (0, 3.0)] {
            assert!(users.set(CpuId(cpu), pace(base)));
        }
        assert_eq!(flows(&mut users), [(1.0, 2), (2.0, 1), (3.0, 1)]);
        // The last one takes the place of the one that goes, and a pace that nobody has is forgotten.
        assert!(users.set(CpuId(3), None));
        assert!(!users.set(CpuId(3), None));
        assert_eq!(users.cpus().map(|cpu| cpu.0).collect::<Vec<_>>(), [0, 1, 5]);
        assert_eq!(flows(&mut users), [(3.0, 1), (2.0, 1), (1.0, 1)]);
        users.set(CpuId(0), pace(2.0));
        users.set(CpuId(7), pace(4.0));
        assert_eq!(flows(&mut users), [(2.0, 2), (1.0, 1), (4.0, 1)]);
        assert_eq!(users.kinds.len(), 3);
    }

    #[test]
    fn behind_many_paces_threads_stand_for_themselves() {
        let mut users = Users::new(64);
        for cpu in 0..20 {
            users.set(CpuId(cpu), pace(f64::from(cpu)));
        }
        users.set(CpuId(30), pace(15.0));
        users.set(CpuId(31), pace(16.0));
        let flows = flows(&mut users);
        assert_eq!(flows.len(), 21);
        assert_eq!((flows[15], flows[16], flows[20]), ((15.0, 2), (16.0, 1), (16.0, 1)));
    }
}
