// SPDX-License-Identifier: GPL-2.0-only
//! A case in the simulator: what `guest/counted/mix.c` does, as a workload.

use std::path::Path;

use tandem_simulator::machine::Machine;
use tandem_simulator::observer::{Observer, PrevState, detail::Detail};
use tandem_simulator::simulation::{Governor, Options, Scheduler, simulate};
use tandem_simulator::units::{CpuId, Nanos, SEC, TaskId};
use tandem_simulator::workload::Workload;

use super::case::{Case, Counts};
use crate::equal;

/// What a tick takes: 2,601 instructions (`guest/paths`) of 2 ns.
const TICK_COST: Nanos = 5_202;
/// What a turn by futex takes, half of it to wake the other, half of it to switch: 3,981 instructions.
const SWITCH_COST: Nanos = 7_962;
/// When counting begins.
const BEGIN: Nanos = SEC;

/// What happens in a second.
#[track_caller]
pub fn counts(case: &Case, scheduler: &Scheduler, seed: u64) -> Counts {
    let text = workload(case);
    let workload = Workload::parse(Path::new(&case.name), &text).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { scheduler: scheduler.clone(), governor: Governor::Performance, seed, ..Options::default() };
    let mut watch = Watch::default();
    let report = simulate(&machine(), &workload, &options, &mut watch).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.sched_ext.and_then(|scx| scx.exit), None, "{}", case.name);
    let per_s = |count: u64| count as f64 / case.seconds as f64;
    Counts { switches: per_s(watch.switches), migrations: per_s(watch.migrations) }
}

/// Four CPUs on which work takes time, and so do switches and ticks.
fn machine() -> Machine {
    let mut machine = equal::machine(4);
    machine.costs.tick = TICK_COST;
    machine.costs.context_switch = SWITCH_COST;
    machine
}

/// As rt-app JSON: a text, for the order of steps counts.
fn workload(case: &Case) -> String {
    let mut tasks = Vec::new();
    for number in 0..case.sleepers {
        let period = case.period_us + number * case.step_us;
        tasks.push(format!(
            r#""sleeper{number}": {{ "run": {}, "timer": {{ "ref": "unique", "period": {period}, "mode": "absolute" }} }}"#,
            case.run_us
        ));
    }
    for pair in 0..case.pairs {
        let turn = format!(r#""run": {}"#, case.turn_us);
        tasks.push(format!(r#""ping{pair}": {{ {turn}, "sem_post": "one{pair}", "sem_wait": "two{pair}" }}"#));
        tasks.push(format!(r#""pong{pair}": {{ "sem_wait": "one{pair}", {turn}, "sem_post": "two{pair}" }}"#));
    }
    if case.hogs > 0 {
        tasks.push(format!(r#""hog": {{ "instance": {}, "run": 100000 }}"#, case.hogs));
    }
    let seconds = case.seconds + BEGIN / SEC;
    format!(r#"{{ "global": {{ "duration": {seconds} }}, "tasks": {{ {} }} }}"#, tasks.join(", "))
}

#[derive(Debug, Default)]
struct Watch {
    switches: u64,
    migrations: u64,
}

impl Observer for Watch {
    fn sched_switch(&mut self, now: Nanos, _cpu: CpuId, prev: Option<(TaskId, PrevState)>, _next: Option<TaskId>) {
        self.switches += u64::from(now >= BEGIN && prev.is_some());
    }

    fn wants_details(&self) -> bool {
        true
    }

    fn detail(&mut self, now: Nanos, detail: &Detail) {
        self.migrations += u64::from(now >= BEGIN && matches!(detail, Detail::Migrates { .. }));
    }
}
