// SPDX-License-Identifier: GPL-2.0-only
//! Waits and their causes, for people.

use std::fmt::Write;

use tandem_simulator::why::report::{
    CauseReport, EarlierReport, HolderReport, IdleReport, LockReport, MissReport, OverheadReport, RanReport,
    StartReport, StepReport, UrgencyReport, WaitReport, WhatReport,
};

use super::Document;
use crate::arguments::disturbed_words;
use crate::quantity::{SECONDS, count, percent, quantity};
use crate::table::{Align::Left, Align::Right, Table, paragraph, printable};

/// Most threads that are named among those which ran instead, or held a mutex.
const MOST_NAMES: usize = 4;

/// The whole report on `width` columns.
pub fn render(document: &Document<'_>, width: Option<usize>) -> String {
    let Document { workload, machine, scheduler, governor, seed, disturbed, why, .. } = document;
    let disturbed = disturbed_words(*disturbed);
    let title =
        format!("{workload} on {machine} under {scheduler}+{governor}, seed {seed}{disturbed}: why threads waited");
    let mut page = Page { text: paragraph(&printable(&title), width), width };
    page.heading("longest waits for a CPU", why.waits.is_empty());
    for (index, wait) in why.waits.iter().enumerate() {
        page.wait(&format!("{}. ", index + 1), wait);
    }
    if !why.locks.is_empty() {
        page.heading("longest waits for a mutex", false);
    }
    for (index, lock) in why.locks.iter().enumerate() {
        page.lock(&format!("{}. ", index + 1), lock);
    }
    if why.rounds > 0 {
        let late = format!("latest rounds ({} of {} were late)", count(why.late_rounds), count(why.rounds));
        page.heading(&late, why.misses.is_empty());
    }
    for (index, miss) in why.misses.iter().enumerate() {
        page.miss(index + 1, miss);
    }
    page.causes("all waits for a CPU", &why.wait_causes);
    page.causes("all waits for a mutex", &why.lock_causes);
    page.end(document);
    page.text
}

/// A page under construction.
struct Page {
    text: String,
    width: Option<usize>,
}

impl Page {
    /// A paragraph, `indent` columns from the left.
    fn line(&mut self, indent: usize, text: &str) {
        let width = self.width.map(|width| width.saturating_sub(indent).max(20));
        for line in paragraph(&printable(text), width).lines() {
            let _ = writeln!(self.text, "{}{line}", " ".repeat(indent));
        }
    }

    fn heading(&mut self, title: &str, none: bool) {
        let none = if none { ": none" } else { "" };
        let _ = write!(self.text, "\n{title}{none}\n");
    }

    fn wait(&mut self, number: &str, wait: &WaitReport) {
        let WaitReport { task, since_s, waited_s, cause, .. } = wait;
        let more = if wait.ended { "" } else { ", to the end of the run" };
        let (waited, since) = (time(*waited_s), time(*since_s));
        self.line(
            0,
            &format!("{number}{task} ({}) waited {waited} from {since}{more}: {}", nice(&wait.urgency), cause.name()),
        );
        self.line(4, &start(&wait.start, wait.cpu));
        self.steps(wait);
        if let Some(cpu) = wait.ran_on {
            self.line(4, &format!("+{}: it runs on CPU {cpu}{}", time(*waited_s), overhead(&wait.overhead)));
        }
        if !wait.ran_instead.is_empty() {
            self.line(4, &format!("ran meanwhile: {}", names(wait.ran_instead.iter().map(ran).collect())));
        }
        // The CPU that would have helped, else the one that its affinity forbids.
        if let Some(idle) = wait.idle.iter().find(|idle| idle.allowed).or(wait.idle.first()) {
            self.line(4, &idles(idle, wait));
        }
        self.line(4, &format!("help: {}", wait.remedy));
    }

    fn steps(&mut self, wait: &WaitReport) {
        let middle = wait.steps.len() / 2;
        for (index, step) in wait.steps.iter().enumerate() {
            if wait.missing_steps > 0 && index == middle {
                self.line(4, &format!("… {} steps …", count(wait.missing_steps)));
            }
            let after = step.at_s - wait.since_s;
            let when = if after > 0.0 { format!("+{}: ", time(after)) } else { String::new() };
            self.line(4, &format!("{when}{}", what(step)));
        }
    }

    fn lock(&mut self, number: &str, lock: &LockReport) {
        let LockReport { task, mutex, since_s, waited_s, cause, .. } = lock;
        let more = if lock.ended { "" } else { ", to the end of the run" };
        let urgency = nice(&lock.urgency);
        let (waited, since) = (time(*waited_s), time(*since_s));
        self.line(
            0,
            &format!(
                "{number}{task} ({urgency}) waited {waited} for mutex {mutex} from {since}{more}: {}",
                cause.name()
            ),
        );
        if lock.before > 0 {
            self.line(4, &format!("{} already waited for it", threads(u64::from(lock.before))));
        }
        if !lock.holders.is_empty() {
            self.line(4, &format!("held by {}", names(lock.holders.iter().map(holder).collect())));
        }
        if lock.holder_waited_s > 0.0 {
            let ran = names(lock.ran_instead.iter().map(ran).collect());
            let ran = if ran.is_empty() { String::new() } else { format!("; ran then: {ran}") };
            self.line(
                4,
                &format!(
                    "its holder was runnable and did not execute for {} of these{ran}",
                    time(lock.holder_waited_s)
                ),
            );
        }
        self.line(4, &format!("help: {}", lock.remedy));
    }

    fn miss(&mut self, number: usize, miss: &MissReport) {
        let MissReport { task, due_s, late_s, period_s, cause, .. } = miss;
        let is = if miss.ended { "was" } else { "is at the end of the run" };
        let (late, due, period) = (time(*late_s), time(*due_s), time(*period_s));
        self.line(
            0,
            &format!("{number}. {task} {is} {late} late at {due}, with a period of {period}: {}", cause.name()),
        );
        let parts = [
            (miss.backlog_s, "it began late"),
            (miss.work_s, "work at full speed"),
            (miss.lost_to_clock_s, "lost to a low clock"),
            (miss.lost_to_cpu_s, "lost to a slower CPU"),
            (miss.waited_s, "waiting for a CPU"),
            (miss.locked_s, "waiting for mutexes"),
            (miss.for_others_s, "waiting for other threads"),
            (overhead_sum(&miss.overhead), "overhead of switches"),
        ];
        let parts = parts.iter().filter(|(time, _)| *time > 0.0);
        let parts: Vec<String> = parts.map(|(part, name)| format!("{} {name}", time(*part))).collect();
        self.line(4, &parts.join(", "));
        if let Some(wait) = miss.longest_wait.as_ref().filter(|wait| wait.cause == miss.cause) {
            self.wait("   its longest wait: ", wait);
        } else if let Some(lock) = miss.longest_lock.as_ref().filter(|lock| lock.cause == miss.cause) {
            self.lock("   its longest wait: ", lock);
        } else {
            self.line(4, &format!("help: {}", miss.remedy));
        }
    }

    fn causes(&mut self, title: &str, causes: &[CauseReport]) {
        let all: f64 = causes.iter().map(|cause| cause.time_s).sum();
        if causes.is_empty() || all <= 0.0 {
            return;
        }
        let mut table = Table::with_columns([
            (title.to_owned(), Left),
            ("waits".to_owned(), Right),
            ("time".to_owned(), Right),
            ("share".to_owned(), Right),
        ]);
        for cause in causes {
            let name = cause.cause.name().to_owned();
            table.row([name, count(cause.count), time(cause.time_s), percent(cause.time_s / all)]);
        }
        self.text.push('\n');
        self.text += &table.fitting(self.width).render();
    }

    fn end(&mut self, document: &Document<'_>) {
        if let Some(why) = &document.ejected {
            self.text.push('\n');
            self.line(0, &format!("the scheduler was ejected: {why}; from then on the run went on under fair"));
        }
        for warning in document.warnings {
            self.line(0, &format!("warning: {warning}"));
        }
    }
}

fn time(seconds: f64) -> String {
    quantity(seconds, SECONDS)
}

fn threads(number: u64) -> String {
    format!("{} thread{}", count(number), if number == 1 { "" } else { "s" })
}

/// `nice 0`, `real-time 50`, `deadline`.
fn nice(urgency: &UrgencyReport) -> String {
    match urgency.class {
        "deadline" => "deadline".to_owned(),
        "rt" => format!("real-time {}", 99 - urgency.priority),
        _ => format!("nice {}", urgency.priority - 120),
    }
}

fn start(start: &StartReport, target: u32) -> String {
    let somebody = |by: &Option<String>| by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
    match start {
        StartReport::New { by, .. } => format!("it was born{} on CPU {target}", somebody(by)),
        StartReport::Woken { by, cpu, from } => {
            format!("it was woken{} on CPU {cpu}, from waiting for {from}, for CPU {target}", somebody(by))
        }
        StartReport::Displaced { by, cpu } => match by {
            Some(by) => format!("{by} took CPU {cpu} from it"),
            None => format!("it lost CPU {cpu}"),
        },
    }
}

fn what(step: &StepReport) -> String {
    match &step.what {
        WhatReport::SelectCpu { cpu } => format!("select_cpu said CPU {cpu}"),
        WhatReport::Enqueue => "enqueue was called".to_owned(),
        WhatReport::Queued { queue, depth, callback, callback_cpu } => {
            let there = format!("the {queue}, with {} there", threads(u64::from(*depth)));
            match (callback, callback_cpu) {
                (Some(name), Some(cpu)) => format!("{name} on CPU {cpu} put it into {there}"),
                _ => format!("it was put into {there}"),
            }
        }
        WhatReport::Held => "the scheduler kept it in no queue".to_owned(),
        WhatReport::Migrated { cpu } => format!("it was moved to CPU {cpu}"),
        WhatReport::Ejected => "the scheduler was ejected".to_owned(),
    }
}

fn overhead_sum(overhead: &OverheadReport) -> f64 {
    overhead.idle_exit_s + overhead.switch_s + overhead.cold_s + overhead.kernel_s
}

/// `, after 34.0 µs to leave idle and 2.0 µs to switch`; empty if there was none.
fn overhead(overhead: &OverheadReport) -> String {
    let OverheadReport { idle_exit_s, switch_s, cold_s, kernel_s } = overhead;
    let parts = [
        (idle_exit_s, "leave idle"),
        (switch_s, "switch"),
        (cold_s, "fill caches"),
        (kernel_s, "finish other work of the kernel"),
    ];
    let parts = parts.iter().filter(|(part, _)| **part > 0.0);
    let parts: Vec<String> = parts.map(|(part, what)| format!("{} to {what}", time(**part))).collect();
    if parts.is_empty() { String::new() } else { format!(", after {}", parts.join(", ")) }
}

fn ran(ran: &RanReport) -> String {
    let slowed = if ran.slowed_s > 0.1 * ran.time_s {
        format!(", {} of them lost to a low clock", time(ran.slowed_s))
    } else {
        String::new()
    };
    format!("{} {} ({}{slowed})", ran.task, time(ran.time_s), nice(&ran.urgency))
}

fn holder(holder: &HolderReport) -> String {
    let turns = if holder.turns > 1 { format!(", {} times", count(u64::from(holder.turns))) } else { String::new() };
    format!("{} {} ({}{turns})", holder.task, time(holder.time_s), nice(&holder.urgency))
}

/// `a, b and 3 others`.
fn names(all: Vec<String>) -> String {
    if all.len() <= MOST_NAMES {
        return all.join(", ");
    }
    let others = all.len() - MOST_NAMES;
    format!("{} and {others} other{}", all[..MOST_NAMES].join(", "), if others == 1 { "" } else { "s" })
}

/// What the CPU that idled longest would have changed.
fn idles(idle: &IdleReport, wait: &WaitReport) -> String {
    let idled = format!("CPU {} idled for {} of these", idle.cpu, time(idle.idle_s));
    let from = idle.from_s - wait.since_s;
    let from = if from > 0.0 { format!(", from +{} on", time(from)) } else { String::new() };
    let then = match &wait.earlier {
        _ if !idle.allowed => ", which its affinity forbids".to_owned(),
        Some(EarlierReport { cpu, earlier_s }) => {
            let there = if *cpu == idle.cpu { "there".to_owned() } else { format!("on CPU {cpu}") };
            format!("; {there} it would have run {} earlier", time(*earlier_s))
        }
        None => String::new(),
    };
    format!("{idled}{from}{then}")
}
