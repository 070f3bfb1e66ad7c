// SPDX-License-Identifier: GPL-2.0-only
//! The activity of a loaded sched_ext scheduler, for people: its callbacks, what it printed, why it was ejected.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use tandem_simulator::metrics::{CallbackReport, ExitReport, Frame, IgnoredReport, LineReport, Report, SchedExtReport};

use crate::quantity::{SECONDS, count, percent, quantity};
use crate::table::{Align::Left, Align::Right, Table, descriptions, paragraph, printable};

/// Most lines of the scheduler's output that are shown; the JSON has the last thousand.
const MOST_LINES: usize = 10;
/// Lines of an ejected scheduler's dump.
const MOST_DUMPED: usize = 24;
/// Columns by which these are indented.
const DUMP_INDENT: usize = 4;

/// Most functions, and most source lines, of which it is shown how many instructions were executed.
const MOST_HOT: usize = 20;

/// `SCX_ECODE_ACT_RESTART`, and the bits of an exit code that say what the loader shall do.
const ACT_RESTART: i64 = 1 << 48;
const ACT_MASK: i64 = 0xffff << 48;

/// The scheduler's callbacks, their cost, its output; empty if none was loaded.
pub fn activity(report: &Report, width: Option<usize>) -> String {
    let Some(scheduler) = &report.sched_ext else { return String::new() };
    let SchedExtReport { name, kernel, .. } = scheduler;
    let busy_s: f64 = report.cpus.iter().map(|cpu| cpu.busy_s).sum();
    let share = if busy_s > 0.0 {
        format!(", {} of the CPUs' busy time", percent(scheduler.overhead_s / busy_s))
    } else {
        String::new()
    };
    let cost = quantity(scheduler.overhead_s, SECONDS);
    let mut text = String::from("\n");
    text += &paragraph(&format!("scheduler {name} on Linux {kernel}: its programs took {cost}{share}"), width);
    if let Some(without) = &scheduler.without {
        text += &paragraph(&printable(&format!("It ran without {without}.")), width);
    }
    for IgnoredReport { what, why } in &scheduler.ignored {
        text += &paragraph(&printable(&format!("It ignored {what}: {why}.")), width);
    }
    if !scheduler.callbacks.is_empty() {
        text.push('\n');
        text += &callbacks(scheduler).fitting(width).render();
    }
    text += &profile(scheduler, width);
    text += &counted(scheduler, width);
    for exit in &scheduler.restarts {
        let ExitReport { at_s, reason, message, .. } = exit;
        let why = format!("loaded again after {}: {reason}: {message}", quantity(*at_s, SECONDS));
        text += &paragraph(&printable(&why), width);
    }
    text + output(&scheduler.output, width).as_str()
}

/// The callbacks, the costliest first.
fn callbacks(scheduler: &SchedExtReport) -> Table {
    let mut rows: Vec<(&String, &CallbackReport)> = scheduler.callbacks.iter().collect();
    // The sort is stable: callbacks of equal cost stay in the order of their names.
    rows.sort_by_key(|(_, callback)| std::cmp::Reverse(callback.instructions));
    let mut table = Table::new([("callback", Left), ("calls", Right), ("instructions", Right), ("each", Right)]);
    for (name, CallbackReport { calls, instructions }) in rows {
        let each = (*instructions as f64 / *calls as f64).round() as u64;
        table.row([name.clone(), count(*calls), count(*instructions), count(each)]);
    }
    table
}

/// The functions and the source lines of which the most instructions were executed, with their share; empty if that is not known.
fn profile(scheduler: &SchedExtReport, width: Option<usize>) -> String {
    let all: u64 = scheduler.lines.iter().map(|line| line.instructions).sum();
    if all == 0 {
        return String::new();
    }
    let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
    for line in &scheduler.lines {
        *functions.entry(&line.function).or_default() += line.instructions;
    }
    let mut functions: Vec<(&str, u64)> = functions.into_iter().collect();
    functions.sort_by_key(|(_, instructions)| Reverse(*instructions));
    let share = |instructions: u64| percent(instructions as f64 / all as f64);
    let mut by_function = Table::new([("function", Left), ("instructions", Right), ("share", Right)]);
    for (name, instructions) in functions.iter().take(MOST_HOT) {
        by_function.row([printable(name), count(*instructions), share(*instructions)]);
    }
    let columns = [("line", Left), ("function", Left), ("instructions", Right), ("share", Right), ("source", Left)];
    let mut by_line = Table::new(columns);
    for LineReport { function, file, line, text, instructions } in scheduler.lines.iter().take(MOST_HOT) {
        let file = Path::new(file).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let place = format!("{file}:{line}");
        let cells = [&place, function, &count(*instructions), &share(*instructions), text.trim()];
        by_line.row(cells.map(printable));
    }
    format!("\n{}\n{}", by_function.fitting(width).render(), by_line.fitting(width).render())
}

/// The scheduler's counters that are not 0, a line for each first word of the names, its states, and the variables that it wants
/// printed.
fn counted(scheduler: &SchedExtReport, width: Option<usize>) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for (name, number) in scheduler.statistics.iter().filter(|(_, number)| *number > 0) {
        let (first, rest) = name.split_once('_').unwrap_or((name, ""));
        let entry = format!("{} {}", rest.replace('_', " "), count(*number));
        match rows.iter_mut().find(|(word, _)| *word == first) {
            Some((_, text)) => *text += &format!(", {}", entry.trim_start()),
            None => rows.push((first.to_owned(), entry.trim_start().to_owned())),
        }
    }
    let states = scheduler.states.iter().map(|(name, state)| format!("{name} {}", state.replace('_', " ")));
    let states: Vec<String> = states.collect();
    if !states.is_empty() {
        rows.push(("states".to_owned(), states.join(", ")));
    }
    let values: Vec<String> = scheduler.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if !values.is_empty() {
        rows.push(("values".to_owned(), values.join(", ")));
    }
    let rows: Vec<(String, String)> =
        rows.into_iter().map(|(name, text)| (printable(&name), printable(&text))).collect();
    if rows.is_empty() { String::new() } else { format!("\n{}", descriptions(&rows, width)) }
}

fn output(lines: &[String], width: Option<usize>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let hidden = lines.len().saturating_sub(MOST_LINES);
    let mut text = match hidden {
        0 => "\nprinted (bpf_printk)\n".to_owned(),
        _ => format!("\nprinted (bpf_printk), the last {MOST_LINES} of {} lines (--json has more)\n", lines.len()),
    };
    for line in &lines[hidden..] {
        text += &indented(line, 2, width);
    }
    text
}

/// Why the scheduler was ejected, and where; empty if it was not.
pub fn ejection(report: &Report, width: Option<usize>) -> String {
    let Some(scheduler) = &report.sched_ext else { return String::new() };
    let Some(exit) = &scheduler.exit else { return String::new() };
    let mut text = String::from("\n");
    text += &paragraph(&headline(&scheduler.name, exit), width);
    text += &place(exit, width);
    let restart = exit.code & ACT_MASK == ACT_RESTART;
    text += "  From then on the run went on under fair.\n";
    if restart {
        text += &paragraph("  It asked to be loaded again, but the run was over before its loader looked.", width);
    }
    text + dump(&exit.dump, width).as_str()
}

/// The beginning of the state of CPUs and tasks after an error, line by line.
fn dump(dump: &str, width: Option<usize>) -> String {
    let lines: Vec<&str> = dump.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return String::new();
    }
    let mut text = "  The state of CPUs and tasks then:\n".to_owned();
    for line in lines.iter().take(MOST_DUMPED) {
        let line = printable(line.trim_end());
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(DUMP_INDENT).max(20));
        text += &format!("{:DUMP_INDENT$}{}\n", "", console::truncate_str(&line, room, "…"));
    }
    match lines.len().saturating_sub(MOST_DUMPED) {
        0 => {}
        more => {
            let all =
                format!("    … and {more} lines more: --json=FILE, and `jq -r .sched_ext.exit.dump FILE` prints all");
            text += &paragraph(&all, width);
        }
    }
    text
}

/// What happened in one line: `error: scheduler faulty was ejected at 12 ms: runtime error: dispatch buffer overflow`.
fn headline(name: &str, exit: &ExitReport) -> String {
    let (kind, verb) = if is_error(exit) { ("error", "was ejected") } else { ("note", "ended itself") };
    let at = quantity(exit.at_s, SECONDS);
    let message = if exit.message.is_empty() { String::new() } else { format!(": {}", exit.message) };
    let own = exit.code & 0xffff_ffff;
    let code = if own == 0 { String::new() } else { format!(" (code {own})") };
    printable(&format!("{kind}: scheduler {name} {verb} at {at}: {}{message}{code}", exit.reason))
}

/// Whether the exit is an error, not the scheduler's own request.
fn is_error(exit: &ExitReport) -> bool {
    exit.kind.starts_with("SCX_EXIT_ERROR")
}

/// The callback, the line, and its callers.
fn place(exit: &ExitReport, width: Option<usize>) -> String {
    let callback = exit.callback.as_ref().map(|callback| format!("in {callback} on CPU {}", exit.cpu));
    let Some((innermost, outer)) = exit.backtrace.split_first() else {
        return callback.map_or(String::new(), |callback| paragraph(&format!("  {callback}"), width));
    };
    let callback = callback.unwrap_or_else(|| format!("on CPU {}", exit.cpu));
    let mut text = paragraph(&printable(&format!("  {callback}: {}", frame(innermost))), width);
    if !innermost.text.is_empty() {
        text += &indented(&innermost.text, 6, width);
    }
    for caller in outer {
        text += &paragraph(&printable(&format!("  called by {}", frame(caller))), width);
    }
    text
}

/// `faulty_enqueue at faulty.bpf.c:162:3`.
fn frame(Frame { function, file, line, column, .. }: &Frame) -> String {
    match line {
        0 => function.clone(),
        _ => format!("{function} at {file}:{line}:{column}"),
    }
}

/// A line from another program's text: at most `width` columns, with runs of spaces made single.
fn indented(line: &str, indent: usize, width: Option<usize>) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut text = printable(&words.join(" "));
    if let Some(room) = width.map(|width| width.saturating_sub(indent).max(20))
        && console::measure_text_width(&text) > room
    {
        text = console::truncate_str(&text, room, "…").into_owned();
    }
    format!("{}{text}\n", " ".repeat(indent))
}
