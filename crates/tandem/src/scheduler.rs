// SPDX-License-Identifier: GPL-2.0-only
//! `tandem scheduler`: what is in a sched_ext object, and the command's own.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use tandem_simulator::simulation::{Listing, Needed, SchedExt, SchedulerError, VariableListing};

use crate::arguments::{object, reads_object};
use crate::bundled;
use crate::context::Context;
use crate::failure::Failure;
use crate::files::{Kind, Output};
use crate::json::JsonOption;
use crate::table::{Align::Left, Align::Right, Table, descriptions, paragraph, printable};

const EXAMPLES: &str = "\
Examples:
  tandem scheduler show tandem
  tandem scheduler show ./scx_simple.bpf.o
  tandem scheduler show ./scx_qmap.bpf.o --json | jq '.variables[].name'
  tandem scheduler export tandem

How to run an object, and what the simulator offers it, is in docs/schedulers.md.";

/// Show what is in a sched_ext object, or write Tandem's own to a file
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SchedulerCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(Show),
    Export(Export),
}

/// Show callbacks, maps, variables to set, and what an object needs of the kernel that the simulator lacks
#[derive(Debug, Args)]
struct Show {
    /// `tandem`, `single`, `o1` or an object's path, with variables to set behind it if wanted
    #[arg(value_name = "OBJECT", value_parser = object)]
    object: Arc<SchedExt>,

    #[command(flatten)]
    json: JsonOption,
}

/// Write the object of a scheduler that the command carries to a file, and what its loader does to a TOML file beside it
#[derive(Debug, Args)]
struct Export {
    /// The scheduler
    #[arg(value_name = "NAME", value_parser = bundled::NAMES)]
    name: String,

    /// The object's file [default: NAME.bpf.o]; the other one has the same name, with `.toml` for `.bpf.o`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace existing files even if they are not this scheduler's object and loader file
    #[arg(long)]
    force: bool,
}

impl SchedulerCommand {
    /// Runs the command.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        match &self.action {
            Action::Show(show) => show.run(context),
            Action::Export(export) => export.run(context),
        }
    }
}

impl Show {
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        reads_object(context, &self.object);
        let destination = self.json.open(context)?;
        let wrong = |why: SchedulerError| Failure::Options(format!("{}: {why}", self.object.path.display()));
        let listing = self.object.listing().map_err(wrong)?;
        let width = context.width;
        destination.write(context, &listing, || text(&listing, &self.object.name, width))
    }
}

impl Export {
    fn run(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let bundled = bundled::named(&self.name).expect("the parser knows their names");
        let output = self.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.bpf.o", bundled.name)));
        if output.extension().is_none_or(|extension| extension != "o") {
            let file = output.display();
            return Err(Failure::Options(format!("--output {file}: the name of an object ends in .bpf.o")));
        }
        // Both are opened before one is written: neither appears alone.
        let (beside, force) = (SchedExt::path_beside(&output), self.force);
        let mut object = context.files.create(Output { path: &output, kind: Kind::Object(bundled), force })?;
        let mut file = context.files.create(Output { path: &beside, kind: Kind::LoaderFile(bundled), force })?;
        object.write_bytes(bundled.object)?;
        file.write_text(bundled.sidecar)?;
        object.finish()?;
        file.finish()
    }
}

/// The listing for people on `width` columns.
fn text(listing: &Listing, object: &str, width: Option<usize>) -> String {
    let Listing { name, license, kernel, .. } = listing;
    let title = format!("{object}: the scheduler `{name}` for Linux {kernel}, licence {license}");
    let mut text = paragraph(&printable(&title), width);
    text += &paragraph(&verdict(listing), width);
    text.push('\n');
    text += &descriptions(&facts(listing), width);
    let settings = settings(listing);
    // If the object itself says which of its variables are settings, its other constants are none.
    let constants = variables(listing, if settings.is_empty() { "setting" } else { "constant" }, true);
    if !settings.is_empty() {
        text += "\nsettings\n";
        text += &descriptions(&settings, width);
    }
    for table in [maps(listing), constants, variables(listing, "variable", false)].into_iter().flatten() {
        text.push('\n');
        text += &table.fitting(width).render();
    }
    text.push('\n');
    text + descriptions(&needs(listing), width).as_str()
}

fn verdict(listing: &Listing) -> String {
    match &listing.problem {
        None => "It can be loaded.".to_owned(),
        Some(problem) => format!("It cannot be loaded (tried with 8 CPUs): {}", printable(problem)),
    }
}

/// Names, each with its description, which is wrapped below itself.
type Rows = Vec<(String, String)>;

fn facts(listing: &Listing) -> Rows {
    let list = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { printable(&names.join(", ")) };
    let callbacks = listing.callbacks.iter().map(|callback| callback.name.as_str()).collect();
    let loader = match &listing.sidecar {
        Some(path) => format!("done as {} says", printable(path)),
        None => format!("nothing to do: there is no {}", printable(&listing.sidecar_path)),
    };
    let mut rows = vec![
        ("callbacks", list(callbacks)),
        ("flags", list(listing.flags.iter().map(String::as_str).collect())),
        ("timeout", format!("{} ms", listing.timeout_ms)),
    ];
    if let Some(batch) = listing.dispatch_max_batch {
        rows.push(("batch", format!("{batch} tasks")));
    }
    rows.push(("loading", loader));
    rows.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

fn maps(listing: &Listing) -> Option<Table> {
    let mut table = Table::new([("map", Left), ("kind", Left), ("key", Right), ("value", Right), ("entries", Right)]);
    for map in &listing.maps {
        let bytes = |size: u32| if size == 0 { String::new() } else { format!("{size} B") };
        let entries = if map.max_entries == 0 { String::new() } else { map.max_entries.to_string() };
        table.row([map.name.clone(), map.kind.clone(), bytes(map.key_size), bytes(map.value_size), entries]);
    }
    (!listing.maps.is_empty()).then_some(table)
}

/// The object's settings: the value of each, its other possible values, and its effect.
fn settings(listing: &Listing) -> Rows {
    let row = |setting: &VariableListing| {
        let help = setting.help.as_ref().map_or(String::new(), |help| format!(". {help}"));
        let unit = setting.unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
        let mut text = setting.value.clone() + unit.as_str();
        if setting.value != setting.default {
            text += &format!(", by default {}{unit}", setting.default);
        }
        text += &format!(" ({})", possible(setting));
        let letter = setting.letter.as_deref().map_or(String::new(), by_the_letter);
        (format!("  {}", printable(&setting.name)), printable(&(text + help.as_str() + letter.as_str())))
    };
    listing.variables.iter().filter(|variable| variable.setting).map(row).collect()
}

/// Which value is the paper's, written in the object as `true: section 4`.
fn by_the_letter(letter: &str) -> String {
    let (value, place) = letter.split_once(": ").unwrap_or((letter, ""));
    let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
    format!(" As the paper has it: {value}{place}.")
}

/// The possible values of a setting: names, a range of numbers, or those of its type.
fn possible(setting: &VariableListing) -> String {
    match (setting.names.as_slice(), setting.range) {
        ([names @ .., last], _) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        (_, Some((least, largest))) => format!("{}, {least} to {largest}", setting.type_name),
        _ => setting.type_name.clone(),
    }
}

/// The variables that are no settings: those that programs cannot change, or the others.
fn variables(listing: &Listing, title: &str, constant: bool) -> Option<Table> {
    let wanted = |variable: &&VariableListing| !variable.setting && variable.constant == constant;
    let mut listed = listing.variables.iter().filter(wanted).peekable();
    listed.peek()?;
    let mut table = Table::new([(title, Left), ("value", Left), ("type", Left)]);
    for variable in listed {
        table.row([variable.name.clone(), variable.value.clone(), variable.type_name.clone()]);
    }
    Some(table)
}

fn needs(listing: &Listing) -> Rows {
    let mut rows = Vec::new();
    let kinds = [
        ("functions", &listing.functions),
        ("helpers", &listing.helpers),
        ("kernel variables", &listing.kernel_variables),
        ("kernel settings", &listing.kernel_config),
    ];
    for (kind, needed) in kinds.into_iter().filter(|(_, needed)| !needed.is_empty()) {
        rows.push((kind.to_owned(), names(needed, |_| true)));
        let missing = names(needed, |need| !need.found && !need.weak);
        let optional = names(needed, |need| !need.found && need.weak);
        // Objects call a helper by its number, so a missing helper only shows when it is called.
        let consequence = if kind == "helpers" { "calling one is a fault" } else { "it asks before it uses them" };
        if !missing.is_empty() {
            rows.push(("  missing".to_owned(), missing));
        }
        if !optional.is_empty() {
            rows.push(("  absent".to_owned(), format!("{optional} ({consequence})")));
        }
    }
    for unresolved in &listing.unresolved {
        let place = unresolved.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let text = format!("{}{place}: {} (executing it is a fault)", unresolved.function, unresolved.why);
        rows.push(("unknown type".to_owned(), printable(&text)));
    }
    rows
}

fn names(needed: &[Needed], which: impl Fn(&Needed) -> bool) -> String {
    let names: Vec<&str> = needed.iter().filter(|need| which(need)).map(|need| need.name.as_str()).collect();
    printable(&names.join(", "))
}
