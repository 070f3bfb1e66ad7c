// SPDX-License-Identifier: GPL-2.0-only
//! How far a simulation has come, for the person who waits, or who ends it by Ctrl-C.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tandem_simulator::observer::detail::Detail;
use tandem_simulator::observer::{Measured, Observer, PrevState, TaskInfo, TimesUpTo};
use tandem_simulator::units::{CpuId, Nanos, PackageId, TaskId, seconds};

use crate::interrupt::Interrupt;
use crate::quantity::{SECONDS, quantity};

/// Events between two looks at the clock: a look costs more than an event.
const EVENTS: u32 = 1024;
/// Least time between two changes of what is shown.
const PAUSE: Duration = Duration::from_millis(100);

/// Where it is told how far a run has come.
#[derive(Debug, Clone)]
pub struct Watch {
    /// Something that moves; a hidden one if no person watches.
    pub bar: ProgressBar,
    /// Who is told in case the run is ended.
    pub interrupt: Interrupt,
}

/// Tells the simulated time of what another observer sees.
pub struct Watched<'a> {
    inner: &'a mut dyn Observer,
    watch: Watch,
    name: &'a str,
    /// Simulated time at which the run ends at the latest.
    limit: Option<Nanos>,
    events: u32,
    shown: Instant,
}

impl<'a> Watched<'a> {
    /// Watches the run of the workload `name` in place of `inner`, which is told of everything.
    pub fn new(inner: &'a mut dyn Observer, watch: Watch, name: &'a str, limit: Option<Nanos>) -> Self {
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed} so far");
        watch.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let watched = Self { inner, watch, name, limit, events: 0, shown: Instant::now() };
        watched.show(0);
        watched
    }

    fn show(&self, now: Nanos) {
        let words = words(self.name, now, self.limit);
        self.watch.interrupt.reached(Some(words.clone()));
        self.watch.interrupt.tell(&words);
        self.watch.bar.set_message(words);
        self.watch.bar.tick();
    }

    fn tell(&mut self, now: Nanos) -> &mut dyn Observer {
        self.events += 1;
        if self.events >= EVENTS {
            self.events = 0;
            if self.shown.elapsed() >= PAUSE {
                self.shown = Instant::now();
                self.show(now);
            }
        }
        self.inner
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.watch.interrupt.reached(None);
        self.watch.bar.finish_and_clear();
    }
}

/// `forkjoin: 1.250 s simulated of 10.00 s at most`.
fn words(name: &str, now: Nanos, limit: Option<Nanos>) -> String {
    let limit = limit.map_or(String::new(), |limit| format!(" of {} at most", quantity(seconds(limit), SECONDS)));
    format!("{name}: {} simulated{limit}", quantity(seconds(now), SECONDS))
}

impl Observer for Watched<'_> {
    fn task_new(&mut self, now: Nanos, task: &TaskInfo) {
        self.tell(now).task_new(now, task);
    }

    fn sched_switch(&mut self, now: Nanos, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.tell(now).sched_switch(now, cpu, prev, next);
    }

    fn sched_waking(&mut self, now: Nanos, task: TaskId, prev: CpuId, waker: CpuId) {
        self.tell(now).sched_waking(now, task, prev, waker);
    }

    fn sched_wakeup(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        self.tell(now).sched_wakeup(now, task, target, waker);
    }

    fn sched_wakeup_new(&mut self, now: Nanos, task: TaskId, target: CpuId, waker: CpuId) {
        self.tell(now).sched_wakeup_new(now, task, target, waker);
    }

    fn cpu_frequency(&mut self, now: Nanos, cpu: CpuId, khz: u32) {
        self.tell(now).cpu_frequency(now, cpu, khz);
    }

    fn cpu_idle(&mut self, now: Nanos, cpu: CpuId, state: Option<u32>) {
        self.tell(now).cpu_idle(now, cpu, state);
    }

    fn wants_details(&self) -> bool {
        self.inner.wants_details()
    }

    fn detail(&mut self, now: Nanos, detail: &Detail) {
        self.tell(now).detail(now, detail);
    }

    fn wants_power(&self) -> bool {
        self.inner.wants_power()
    }

    fn cpu_power(&mut self, now: Nanos, cpu: CpuId, watts: f64) {
        self.tell(now).cpu_power(now, cpu, watts);
    }

    fn package_power(&mut self, now: Nanos, package: PackageId, watts: f64) {
        self.tell(now).package_power(now, package, watts);
    }

    fn unseen_energy(&mut self, cpu: CpuId, joules: f64) {
        self.inner.unseen_energy(cpu, joules);
    }

    fn unseen_uncore_energy(&mut self, package: PackageId, joules: f64) {
        self.inner.unseen_uncore_energy(package, joules);
    }

    fn distribution(&mut self, application: Option<usize>, what: Measured, times: &[TimesUpTo]) {
        self.inner.distribution(application, what, times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what it hears.
    #[derive(Default)]
    struct Counted(u32);

    impl Observer for Counted {
        fn cpu_frequency(&mut self, _now: Nanos, _cpu: CpuId, _khz: u32) {
            self.0 += 1;
        }
    }

    #[test]
    fn a_person_sees_how_far_a_run_has_come_and_the_observer_misses_nothing() {
        let (bar, interrupt, mut counted) = (ProgressBar::hidden(), Interrupt::default(), Counted::default());
        let watch = Watch { bar: bar.clone(), interrupt: interrupt.clone() };
        let mut watched = Watched::new(&mut counted, watch, "build", Some(10_000_000_000));
        assert_eq!(bar.message(), "build: 0 s simulated of 10.00 s at most");
        std::thread::sleep(PAUSE);
        for event in 1..=u64::from(EVENTS) {
            watched.cpu_frequency(event * 1_000_000, CpuId(0), 1);
        }
        assert_eq!(bar.message(), "build: 1.024 s simulated of 10.00 s at most");
        assert_eq!(interrupt.how_far(), Some(bar.message()));
        drop(watched);
        assert!(bar.is_finished());
        assert_eq!(interrupt.how_far(), None);
        assert_eq!(counted.0, EVENTS);
    }
}
