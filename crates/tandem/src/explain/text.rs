// SPDX-License-Identifier: GPL-2.0-only
//! An explanation for people: a block for each mechanism.

use tandem_experiments::Estimate;
use tandem_simulator::machine::traits::Traits as MachineTraits;
use tandem_simulator::workload::traits::{ApplicationTraits, Traits as WorkloadTraits};

use super::advice::{Advice, Candidate, Judgement};
use super::reason::{Verdict, some};
use super::{Explained, Explanation};
use crate::arguments::disturbed_words;
use crate::quantity::{BYTES_PER_SECOND, NOTHING, SECONDS, count, percent, quantity, share};
use crate::table::{Align::Left, Align::Right, Table, descriptions, paragraph, printable};

/// Most applications that are described; the JSON has all.
const MOST_APPLICATIONS: usize = 6;

/// The explanation on `width` columns.
pub fn text(explanation: &Explanation, width: Option<usize>) -> String {
    let mut text = paragraph(&printable(&title(explanation)), width);
    text.push('\n');
    let mut rows = vec![("machine".to_owned(), machine(&explanation.machine.traits))];
    rows.extend(
        explanation.workload.as_ref().map(|workload| ("workload".to_owned(), self::workload(&workload.traits))),
    );
    text += &descriptions(&printables(rows), width);
    for mechanism in &explanation.mechanisms {
        text.push('\n');
        text += &paragraph(&format!("{}: {}", mechanism.name, mechanism.verdict.words()), width);
        text += &descriptions(&printables(block(mechanism)), width);
    }
    text.push('\n');
    text += &paragraph(&format!("mode=auto: {}", explanation.auto.rule.title()), width);
    text += &descriptions(&printables(explanation.auto.rows()), width);
    text.push('\n');
    text += &ending(explanation, width);
    if let Some(advice) = &explanation.advice {
        text.push('\n');
        text += &self::advice(advice, width);
    }
    text
}

/// What was measured, a row for each candidate, and what follows.
fn advice(advice: &Advice, width: Option<usize>) -> String {
    let title = if advice.time_limited { "time for the same work" } else { "time" };
    let columns = [
        ("beside fair", Left),
        (title, Right),
        ("energy", Right),
        ("EDP", Right),
        ("", Left),
        ("beside tandem", Right),
    ];
    let mut table = Table::new(columns);
    for candidate in &advice.candidates {
        let change = |ratio: &Option<Estimate>| ratio.as_ref().map_or(NOTHING.to_owned(), change);
        let Candidate { time, energy, edp, verdict, edp_beside_tandem, .. } = candidate;
        let judged = judged(*verdict).to_owned();
        let beside = if candidate.settings.is_empty() { String::new() } else { change(edp_beside_tandem) };
        table.row([named(candidate), change(time), change(energy), change(edp), judged, beside]);
    }
    let runs = some(advice.seeds.len() as u64, "seed");
    let sentence = paragraph(
        &format!("Advice, measured with {runs}{}: {}", disturbed_words(advice.disturbed), sentence(advice)),
        width,
    );
    table.fitting(width).render() + "\n" + sentence.as_str()
}

fn named(candidate: &Candidate) -> String {
    if candidate.settings.is_empty() { "tandem".to_owned() } else { format!("tandem,{}", candidate.settings) }
}

fn judged(verdict: Judgement) -> &'static str {
    match verdict {
        Judgement::Better => "better",
        Judgement::Worse => "worse",
        Judgement::Same => "the same",
        Judgement::Undecided => "undecided",
        Judgement::Unfit => "not measured",
    }
}

/// A ratio as a change: `-7.0 ± 0.4 %`.
fn change(ratio: &Estimate) -> String {
    let text = share(&Estimate { mean: ratio.mean - 1.0, ..*ratio });
    if ratio.mean > 1.0 { format!("+{text}") } else { text }
}

/// `7.0 ± 0.4 % less time`; `None` if the interval holds no difference.
fn difference(ratio: &Option<Estimate>, of: &str) -> Option<String> {
    let ratio = ratio.as_ref().filter(|ratio| !ratio.includes_one())?;
    let (by, word) = if ratio.mean < 1.0 { (1.0 - ratio.mean, "less") } else { (ratio.mean - 1.0, "more") };
    Some(format!("{} {word} {of}", share(&Estimate { mean: by, ..*ratio })))
}

/// What to turn on.
fn sentence(advice: &Advice) -> String {
    if let Some(best) = advice.best.map(|best| &advice.candidates[best]) {
        let what = if best.settings.is_empty() {
            "use tandem, turn on nothing".to_owned()
        } else {
            format!("turn on {}", best.settings)
        };
        let gains = [difference(&best.time, "time"), difference(&best.energy, "energy")];
        let gains: Vec<String> = gains.into_iter().flatten().collect();
        let gains = if gains.is_empty() { difference(&best.edp, "EDP").into_iter().collect() } else { gains };
        return format!("{what}: {}.", gains.join(", "));
    }
    let measured = advice.candidates.iter().filter(|candidate| candidate.verdict != Judgement::Unfit);
    let product = |candidate: &Candidate| candidate.edp.map_or(f64::INFINITY, |edp| edp.mean);
    let Some(nearest) = measured.min_by(|a, b| product(a).total_cmp(&product(b))) else {
        return "none, as nothing could be measured.".to_owned();
    };
    match (nearest.verdict, difference(&nearest.edp, "EDP")) {
        (Judgement::Worse, Some(worse)) => {
            format!("turn on nothing, fair is better here: the nearest, {}, has {worse}.", named(nearest))
        }
        (Judgement::Better, _) => {
            format!("turn on nothing: {} is better than fair, but not surely than tandem without it.", named(nearest))
        }
        (Judgement::Same, _) => "turn on nothing: it makes no difference here.".to_owned(),
        _ => {
            "none, it is undecided: no difference is sure. `tandem compare --runs` with more seeds may tell.".to_owned()
        }
    }
}

fn printables(rows: Vec<(String, String)>) -> Vec<(String, String)> {
    rows.into_iter().map(|(name, text)| (name, printable(&text))).collect()
}

fn title(explanation: &Explanation) -> String {
    let Explanation { machine, workload, governor, limit_s, seed, .. } = explanation;
    match (workload, limit_s) {
        (Some(workload), Some(limit)) => format!(
            "{} on {} under tandem+{governor}: each mechanism alone, for {} of simulated time at most, seed {seed}",
            workload.name,
            machine.name,
            quantity(*limit, SECONDS)
        ),
        _ => format!("{} under tandem+{governor}: what each mechanism can do", machine.name),
    }
}

/// `8 CPUs: 4 of performance 1024, 4 of 462; 2 clocks that can be changed; 8 CPUs share a memory of 14.93 GB/s`.
fn machine(machine: &MachineTraits) -> String {
    let kinds: Vec<String> = match machine.kinds.as_slice() {
        [_] => vec!["equally fast".to_owned()],
        kinds => kinds.iter().map(|kind| format!("{} of performance {}", kind.cpus, kind.performance)).collect(),
    };
    let clocks = match (machine.clocks, machine.changeable_clocks) {
        (_, 0) => "no clock that can be changed".to_owned(),
        (clocks, changeable) if clocks == changeable => format!("{} that can be changed", some(clocks.into(), "clock")),
        (clocks, changeable) => format!("{} of {clocks} clocks can be changed", changeable),
    };
    let mut text = format!("{}: {}; {clocks}", some(machine.cpus.into(), "CPU"), kinds.join(", "));
    if let Some(memory) = machine.memory {
        let (cpus, speed) = (some(memory.cpus.into(), "CPU"), quantity(memory.bytes_per_s, BYTES_PER_SECOND));
        let verb = if memory.cpus == 1 { "has" } else { "share" };
        text += &format!("; {cpus} {verb} a memory of {speed}");
    }
    text
}

fn workload(workload: &WorkloadTraits) -> String {
    let shown = workload.applications.iter().take(MOST_APPLICATIONS).map(application);
    let mut parts: Vec<String> = shown.collect();
    match workload.applications.len().saturating_sub(MOST_APPLICATIONS) {
        0 => {}
        more => parts.push(format!("{} (--json has all)", some(more as u64, "more application"))),
    }
    if parts.is_empty() {
        parts.push("no application".to_owned());
    }
    if workload.system_threads > 0 {
        let load = percent(workload.system_load);
        parts.push(format!("{} with work for {load} of a CPU", some(workload.system_threads.into(), "system task")));
    }
    parts.join("; ")
}

/// `solver: 4 threads at most, compute-bound, that meet`.
fn application(application: &ApplicationTraits) -> String {
    let ApplicationTraits { name, threads, program_threads, hinted, meets, locks, memory_bound, compute_bound } =
        application;
    let mut many = threads.map_or("threads without end".to_owned(), |threads| some(threads.into(), "thread"));
    match program_threads {
        Some(of_one) if program_threads != threads => many += &format!(" in processes of at most {of_one}"),
        _ => {}
    }
    let memory = match (memory_bound, compute_bound) {
        (0, 0) => None,
        (_, 0) => Some("memory-bound".to_owned()),
        (0, _) => Some("compute-bound".to_owned()),
        (memory, compute) => Some(format!("{memory} memory-bound and {compute} compute-bound")),
    };
    let traits = [
        memory,
        meets.then(|| "meeting".to_owned()),
        locks.then(|| "with locks".to_owned()),
        (*hinted > 0).then(|| "with lengths".to_owned()),
    ];
    let traits: Vec<String> = traits.into_iter().flatten().collect();
    let behind = if traits.is_empty() { String::new() } else { format!(", {}", traits.join(", ")) };
    format!("{name}: {many}{behind}")
}

fn block(mechanism: &Explained) -> Vec<(String, String)> {
    let Explained { setting, verdict, why, needs, counters, ejected, .. } = mechanism;
    let mut rows = vec![("  why".to_owned(), why.clone())];
    if !counters.is_empty() {
        let counted = counters.iter().map(|counter| format!("{} {}", count(counter.count), counter.meaning));
        rows.push(("  counted".to_owned(), counted.collect::<Vec<_>>().join("; ")));
    }
    if let Some(ejected) = ejected {
        rows.push(("  ejected".to_owned(), ejected.clone()));
    }
    rows.extend(needs.clone().map(|needs| ("  needs".to_owned(), needs)));
    if *verdict != Verdict::Inert {
        rows.push(("  turn on".to_owned(), setting.clone()));
    }
    rows
}

/// What to try next. Command lines are not broken, so that they can be copied.
fn ending(explanation: &Explanation, width: Option<usize>) -> String {
    match (&explanation.workload, &explanation.compare) {
        (_, Some(command)) => {
            paragraph("What those that act are worth:", width) + format!("  {}\n", printable(command)).as_str()
        }
        (None, None) => {
            let command = format!("tandem explain WORKLOAD -m {}", explanation.machine.name);
            paragraph("What they do for a workload:", width) + format!("  {}\n", printable(&command)).as_str()
        }
        (Some(_), None) if explanation.mechanisms.iter().any(|mechanism| mechanism.verdict == Verdict::Acts) => {
            paragraph("`tandem compare` shows what those that act are worth.", width)
        }
        (Some(_), None) => paragraph("None of them acts here: tandem is a plain fair scheduler then.", width),
    }
}
