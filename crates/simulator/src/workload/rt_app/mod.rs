// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads rt-app's JSON: the grammar of its `doc/tutorial.txt`, as `src/rt-app_parse_config.c` reads it, with the
//! liberties of its `workgen`, and Tandem's `tandem` objects.
//!
//! Text → `json` (tree) → `task`, `event`, … (what the file says: `syntax`) → `checks` → `lower` (programs).

mod cgroups;
mod checks;
mod event;
mod fields;
mod global;
mod interrupts;
mod legacy;
mod lower;
mod memory;
mod names;
mod phases;
mod scheduling;
mod suspend;
mod syntax;
mod tandem;
mod task;

use std::path::Path;

use self::fields::{Fields, Source};
use self::names::Names;
use self::syntax::{Global, Task};
use super::json;
use super::{Objects, Workload};
use crate::input::{InputError, valid_names};

/// Reads `text`, the content of `path`. The file's stem is the workload's name.
pub(super) fn parse(path: &Path, text: &str) -> Result<Workload, InputError> {
    // Some editors begin UTF-8 with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = Source::new(path, text);
    let root = json::parse(text).map_err(|error| source.error(error.offset, error.message))?;
    let (global, objects, mut tasks) = sections(&source, &root)?;
    suspend::resolve(&source, &mut tasks);
    checks::all(&source, &global, &tasks)?;
    let name = path.file_stem().map_or_else(|| "workload".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let mut names = Names::new(&tasks, objects);
    let mut specs = Vec::with_capacity(tasks.len());
    for task in &tasks {
        specs.push(lower::task(&source, &mut names, &name, task)?);
    }
    checks::count_users(&source, &tasks, &mut names)?;
    if names.applications.is_empty() {
        names.application(&name);
    }
    Ok(Workload {
        name,
        tasks: specs,
        applications: names.applications,
        objects: names.objects,
        loops: names.loops,
        behaviours: names.behaviours,
        duration: global.duration,
        priority_inheritance: global.priority_inheritance,
        cgroups: global.cgroups,
        interrupts: global.interrupts,
        warnings: source.into_warnings(),
    })
}

/// Reads the file's parts. A file without tasks runs nothing, so it is no workload: rt-app's `merge` examples are made whole
/// by another program first.
fn sections(source: &Source, root: &json::Value) -> Result<(Global, Objects, Vec<Task>), InputError> {
    const SECTIONS: [&str; 4] = ["tasks", "global", "resources", "tandem"];
    let fields = Fields::of(source, "a workload", root)?;
    let mut global = match fields.value("global") {
        Some(value) => global::global(source, value)?,
        None => Global::default(),
    };
    let mut objects = Objects::default();
    if let Some(value) = fields.value("resources") {
        global::resources(source, value, &mut objects)?;
    }
    if let Some(value) = fields.value("tandem") {
        let tandem = Fields::of(source, "`tandem` of the workload", value)?;
        tandem.string("description")?;
        if let Some(value) = tandem.value("cgroups") {
            global.cgroups = cgroups::read(source, value)?;
        }
        if let Some(value) = tandem.value("interrupts") {
            global.interrupts = interrupts::read(source, value)?;
        }
        tandem.reject_unknown(&["description", "cgroups", "interrupts"])?;
    }
    let tasks = match fields.value("tasks") {
        Some(value) => task::tasks(source, &global, value)?,
        None if SECTIONS.iter().all(|section| fields.member(section).is_none()) => {
            let written = fields.take_all(|_| true).first().map_or("", |member| member.key.as_str());
            return Err(source.error(root.offset, "no `tasks` here").help(valid_names(written, &SECTIONS)));
        }
        None => Vec::new(),
    };
    let at = fields.value("tasks").map_or(root.offset, |value| value.offset);
    if tasks.is_empty() {
        return Err(source
            .error(at, "no tasks: there is nothing to run")
            .help("expected at least one task in `tasks`"));
    }
    if tasks.iter().all(|task| task.instances == 0) {
        let help = "expected a task with an `instance` of 1 or more, as one with 0 begins only when another forks it";
        return Err(source.error(at, "no task begins: there is nothing to run").help(help));
    }
    fields.warn_unknown(&SECTIONS);
    Ok((global, objects, tasks))
}
