// SPDX-License-Identifier: GPL-2.0-only
//! A report for people.

use tandem_simulator::metrics::{CpuReport, LimitReport, Report, TaskReport};

use super::{late, scheduler};
use crate::arguments::disturbed_words;
use crate::produced::{Rests, lines_of_rests};
use crate::quantity::{HERTZ, JOULE_SECONDS, JOULES, NOTHING, SECONDS, Unit, WATTS, count, percent, quantity};
use crate::table::{Align::Left, Align::Right, Table, paragraph};

/// Most rows of a table that are shown; the JSON has all.
pub const MOST_APPS: usize = 16;
const MOST_CPUS: usize = 32;
const MOST_TASKS: usize = 8;

/// A table, and the number of rows that it leaves out.
pub type Part = (Table, usize);

/// The report for people on `width` columns, whether the run was disturbed, and what it rests on.
pub fn summary(report: &Report, disturbed: bool, rests: &[Rests], width: Option<usize>) -> String {
    let Report { workload, machine, scheduler, governor, seed, .. } = report;
    let title =
        format!("{workload} on {machine} under {scheduler}+{governor}, seed {seed}{}", disturbed_words(disturbed));
    let mut text = paragraph(&title, width);
    let parts = [totals(report), apps(report), late::responses(report), late::wakeups(report), late::frames(report)];
    for (table, hidden) in parts.into_iter().chain([cpus(report), tasks(report)]).flatten() {
        text.push('\n');
        text += &table.fitting(width).render();
        if hidden > 0 {
            text += &format!("… and {hidden} more (--json has all)\n");
        }
    }
    text += &scheduler::activity(report, width);
    text += &scheduler::ejection(report, width);
    if !report.warnings.is_empty() {
        text.push('\n');
    }
    for warning in &report.warnings {
        text += &paragraph(&format!("warning: {warning}"), width);
    }
    for (index, line) in lines_of_rests(rests, false).iter().enumerate() {
        text += if index == 0 { "\n" } else { "" };
        text += &paragraph(line, width);
    }
    text
}

fn totals(report: &Report) -> Option<Part> {
    let limited = if report.time_limited { "the time limit, no measure of speed" } else { "" };
    let switches = format!("{} per second", count((report.switches as f64 / report.time_s).round() as u64));
    let mut table = Table::headless([Left, Right, Left]);
    let mut row = |name: &str, value: String, remark: &str| table.row([name.to_owned(), value, remark.to_owned()]);
    row("time", quantity(report.time_s, SECONDS), limited);
    row("energy", quantity(report.energy_j.total, JOULES), "");
    for (part, joules) in energy_parts(report) {
        row(&format!("  {part}"), quantity(joules, JOULES), &percent(joules / report.energy_j.total));
    }
    row("power", quantity(report.power_w, WATTS), "");
    let not_measured = if report.edp_js.is_none() { "not measured: a limit's length is no time" } else { "" };
    row("EDP", report.edp_js.map_or(NOTHING.to_owned(), |edp| quantity(edp, JOULE_SECONDS)), not_measured);
    row("work", format!("{:.3}", report.throughput), "seconds on the fastest CPU per second");
    row("idle", percent(report.idle_share), "of the CPUs' time");
    for limit in &report.limits {
        let held = format!("of the time a running core is held below its clock{}", hottest(limit));
        row(&format!("limits of package {}", limit.package), percent(limit.limited_s / report.time_s), &held);
    }
    for group in &report.groups {
        let waited = match group.throttled_s {
            Some(time) => format!("of {} periods; waited {} in all", count(group.periods), quantity(time, SECONDS)),
            None => format!("of {} periods; the scheduler does not say when it waits for them", count(group.periods)),
        };
        let throttled = group.throttled_periods.map_or(NOTHING.to_owned(), count);
        row(&format!("limit of {}", group.path), throttled, &waited);
    }
    row("switches", count(report.switches), if report.time_s > 0.0 { &switches } else { "" });
    row("migrations", count(report.migrations), "");
    row("events", count(report.events), &report.wall_s.map_or(String::new(), |wall| speed(report.events, wall)));
    Some((table, 0))
}

/// How hot a package became, where that is known.
fn hottest(limit: &LimitReport) -> String {
    limit.celsius_max.map_or(String::new(), |celsius| format!("; at most {celsius:.1} °C"))
}

fn speed(events: u64, wall_s: f64) -> String {
    format!(
        "simulated in {}, {}",
        quantity(wall_s, SECONDS),
        quantity(events as f64 / wall_s, crate::quantity::PER_SECOND)
    )
}

/// The parts of the energy that this machine consumes.
fn energy_parts(report: &Report) -> impl Iterator<Item = (&'static str, f64)> {
    let energy = &report.energy_j;
    [
        ("cores", energy.cores),
        ("uncore", energy.uncore),
        ("memory", energy.memory),
        ("platform", energy.platform),
        ("supply", energy.supply),
    ]
    .into_iter()
    .filter(|(_, joules)| *joules != 0.0)
}

fn apps(report: &Report) -> Option<Part> {
    let mut table = Table::new([
        ("application", Left),
        ("time", Right),
        ("work", Right),
        ("speed", Right),
        ("CPU time", Right),
        ("threads", Right),
    ]);
    for app in report.apps.iter().take(MOST_APPS) {
        table.row([
            app.name.clone(),
            app.time_s.map_or(NOTHING.to_owned(), |time| quantity(time, SECONDS)),
            quantity(app.work_s, SECONDS),
            format!("{:.3}", app.performance),
            quantity(app.cpu_time_s, SECONDS),
            count(app.threads.into()),
        ]);
    }
    (!report.apps.is_empty()).then(|| (table, report.apps.len().saturating_sub(MOST_APPS)))
}

fn cpus(report: &Report) -> Option<Part> {
    let mut table =
        Table::new([("CPU", Right), ("busy", Right), ("mean clock", Right), ("energy", Right), ("power", Right)]);
    for cpu in report.cpus.iter().take(MOST_CPUS) {
        let per_second = |value: f64, unit: Unit| quantity(value / report.time_s, unit);
        table.row([
            cpu.cpu.to_string(),
            if report.time_s > 0.0 { percent(cpu.busy_s / report.time_s) } else { NOTHING.to_owned() },
            quantity(mean_hertz(cpu), HERTZ),
            quantity(cpu.energy_j, JOULES),
            per_second(cpu.energy_j, WATTS),
        ]);
    }
    (!report.cpus.is_empty()).then(|| (table, report.cpus.len().saturating_sub(MOST_CPUS)))
}

/// Mean clock over the run, idle time included; no number if no residency was recorded.
fn mean_hertz(cpu: &CpuReport) -> f64 {
    let time: f64 = cpu.freq_residency.values().sum();
    let cycles: f64 = cpu.freq_residency.iter().map(|(khz, seconds)| f64::from(*khz) * 1e3 * seconds).sum();
    cycles / time
}

/// The threads that waited longest for a CPU.
fn tasks(report: &Report) -> Option<Part> {
    let mut waiting: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.wait_time_s > 0.0).collect();
    // The sort is stable: threads that waited equally long stay in the order of creation.
    waiting.sort_by(|a, b| b.wait_time_s.total_cmp(&a.wait_time_s));
    let mut table = Table::new([
        ("waited longest", Left),
        ("application", Left),
        ("wait", Right),
        ("CPU time", Right),
        ("p99 wakeup", Right),
        ("migrations", Right),
    ]);
    for task in waiting.iter().take(MOST_TASKS) {
        let latency = task.timing.wakeup_latency_ns.map(|latency| quantity(latency.p99 as f64 / 1e9, SECONDS));
        table.row([
            task.name.clone(),
            task.app.clone().unwrap_or_else(|| "(system)".to_owned()),
            quantity(task.wait_time_s, SECONDS),
            quantity(task.cpu_time_s, SECONDS),
            latency.unwrap_or_else(|| NOTHING.to_owned()),
            count(task.migrations),
        ]);
    }
    (!waiting.is_empty()).then_some((table, 0))
}
