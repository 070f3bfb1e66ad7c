// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads a sched_ext object into the running kernel: to see whether the verifier accepts it, or to run a command under it.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use tandem_live::machine::Machine;
use tandem_live::{CounterSource, LiveError, LoadedScheduler, Observer, OpenScheduler, Uncounted, kernel};

const USAGE: &str = "\
usage: tandem-load [OPTION]... OBJECT [NAME=VALUE]... [-- COMMAND [ARGUMENT]...]

Sets global variables of the object, gives it to the kernel's verifier, and says what that followed. With a command,
the object schedules while the command runs, and is told that the command is an application.

  --log FILE        write the verifier's whole log there if it refuses a program
  --print NAME      show a global variable at the end: counter, table[3], state.member
  --stats           show at the end what it counted, and the states that it is in
  --machine FOLDER  tell it of the machine whose /sys is in this folder, not of this one
  --counters WHERE  who counts: processor (default), software (the kernel, where the processor counts nothing: page faults
                    for what goes to memory), stand-in (anything, so that programs can be tried: for tests only)
  --observe FILE    attach the programs of another object, too: what watches the kernel meanwhile
  --watchdog MS     have it ejected if a task waits so long (default: as it says itself, mostly 30 s)

Exit status: the command's; 1 the kernel refused it; 2 a mistake in an option or a setting; 4 the scheduler was ejected.";

/// Writes a line; nobody may be there to read it.
macro_rules! say {
    ($($text:tt)*) => {{
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

/// Exit status of a mistake in the input.
const MISTAKE: u8 = 2;
/// Exit status after the scheduler was thrown out.
const EJECTED: u8 = 4;

/// What the command line says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    log: Option<PathBuf>,
    print: Vec<String>,
    stats: bool,
    machine: Option<PathBuf>,
    counters: CounterSource,
    observe: Option<PathBuf>,
    watchdog_ms: Option<u32>,
    object: PathBuf,
    settings: Vec<(String, String)>,
    command: Vec<OsString>,
}

impl Arguments {
    /// `None` if something is missing or none of it.
    fn parse(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut arguments = arguments.into_iter();
        let mut parsed = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--") => {
                    parsed.command = arguments.by_ref().collect();
                    (!parsed.command.is_empty()).then_some(())?;
                }
                Some("--log") => parsed.log = Some(arguments.next()?.into()),
                Some("--print") => parsed.print.push(arguments.next()?.into_string().ok()?),
                Some("--stats") => parsed.stats = true,
                Some("--machine") => parsed.machine = Some(arguments.next()?.into()),
                Some("--observe") => parsed.observe = Some(arguments.next()?.into()),
                Some("--watchdog") => parsed.watchdog_ms = Some(arguments.next()?.to_str()?.parse().ok()?),
                Some("--counters") => parsed.counters = source(&arguments.next()?)?,
                Some(option) if option.starts_with("--") => return None,
                _ if parsed.object.as_os_str().is_empty() => parsed.object = argument.into(),
                setting => {
                    let (name, value) = setting?.split_once('=')?;
                    parsed.settings.push((name.to_owned(), value.to_owned()));
                }
            }
        }
        (!parsed.object.as_os_str().is_empty()).then_some(parsed)
    }
}

/// Where counters come from, by its name.
fn source(word: &OsStr) -> Option<CounterSource> {
    Some(match word.to_str()? {
        "processor" => CounterSource::Processor,
        "software" => CounterSource::Software,
        "stand-in" => CounterSource::StandIn,
        _ => return None,
    })
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse(std::env::args_os().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(MISTAKE);
    };
    match run(&arguments) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("tandem-load: {error}");
            write_log(&arguments, &error);
            let is_mistake = matches!(
                error,
                LiveError::Read { .. }
                    | LiveError::Object { .. }
                    | LiveError::NoScheduler { .. }
                    | LiveError::Setting { .. }
                    | LiveError::File(_)
                    | LiveError::Unable(_)
                    | LiveError::Statistics(_)
                    | LiveError::NoCpu { .. }
                    | LiveError::NoMap { .. }
                    | LiveError::Problem { .. }
            );
            ExitCode::from(if is_mistake { MISTAKE } else { 1 })
        }
    }
}

fn run(arguments: &Arguments) -> Result<u8, LiveError> {
    let machine = Machine::read(arguments.machine.as_deref().unwrap_or(Path::new("/")))?;
    let mut open = OpenScheduler::open(&arguments.object, &machine)?;
    for (name, value) in &arguments.settings {
        open.set(name, value)?;
    }
    open.count_by(arguments.counters)?;
    if let Some(ms) = arguments.watchdog_ms {
        open.watch(ms);
    }
    let begun = Instant::now();
    let mut scheduler = open.load()?;
    say!("accepted in {} ms\n{}", begun.elapsed().as_millis(), table(&scheduler));
    for part in scheduler.left_out() {
        say!("{part}");
    }
    for Uncounted { map, cpu, why } in scheduler.uncounted() {
        say!("no counter for {map}, on CPU {cpu} at least: {why}");
    }
    let _observer = arguments.observe.as_deref().map(Observer::attach).transpose()?;
    let status = if arguments.command.is_empty() { 0 } else { under(&mut scheduler, &arguments.command)? };
    if arguments.stats {
        say!("{}", statistics(&scheduler));
    }
    for name in &arguments.print {
        match scheduler.variable(name) {
            Ok(value) => say!("{name} = {value}"),
            Err(error) => eprintln!("tandem-load: {error}"),
        }
    }
    for (name, value) in scheduler.values() {
        say!("{name} = {value}");
    }
    Ok(status)
}

/// Its states, and the counters that are not 0.
fn statistics(scheduler: &LoadedScheduler) -> String {
    let states = scheduler.states().into_iter().map(|(name, state)| format!("  {name} {state}"));
    let counters = scheduler.counters().into_iter().filter(|(_, count)| *count > 0);
    let lines: Vec<String> = states.chain(counters.map(|(name, count)| format!("  {name} {count}"))).collect();
    lines.join("\n")
}

/// Runs a command under the scheduler, and says how both ended.
fn under(scheduler: &mut LoadedScheduler, command: &[OsString]) -> Result<u8, LiveError> {
    // What this starts descends from it.
    scheduler.enter_application(std::process::id(), 1)?;
    scheduler.attach()?;
    say!("attached: {}", kernel::scheduler().unwrap_or_else(|| "gone already".to_owned()));
    let status = match Command::new(&command[0]).args(&command[1..]).status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        Err(error) => {
            eprintln!("tandem-load: {}: {error}", command[0].display());
            1
        }
    };
    let went_early = scheduler.exit();
    let was_there = kernel::state();
    scheduler.detach();
    let exit = went_early.clone().or_else(|| scheduler.exit());
    match &exit {
        Some(exit) => say!("exit: {exit}"),
        None => say!("exit: not recorded; sched_ext was {}", was_there.as_deref().unwrap_or("absent")),
    }
    if let Some(exit) = exit.filter(|exit| exit.is_error()) {
        eprint!("{}", exit.dump);
        return Ok(EJECTED);
    }
    // Whoever went before the command was done was ejected too, record or not.
    let ejected = went_early.is_some() || was_there.as_deref() != Some("enabled");
    Ok(if ejected { EJECTED } else { status })
}

/// The programs, and how much of its limit the verifier needed for each.
fn table(scheduler: &LoadedScheduler) -> String {
    let programs = scheduler.programs();
    let width = programs.iter().map(|program| program.name.len()).max().unwrap_or(0).max("program".len());
    let mut table = format!("  {:width$}  instructions  followed\n", "program");
    for program in programs {
        let _ = writeln!(table, "  {:width$}  {:>12}  {:>8}", program.name, program.instructions, program.followed);
    }
    table.trim_end().to_owned()
}

/// Keeps the verifier's log, if there is one and somebody wants it.
fn write_log(arguments: &Arguments, error: &LiveError) {
    let (Some(path), LiveError::Refused(refusal)) = (&arguments.log, error) else { return };
    if let Err(error) = fs::write(path, format!("{}{}", refusal.messages, refusal.log)) {
        eprintln!("tandem-load: {}: cannot be written: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Arguments> {
        Arguments::parse(text.split_whitespace().map(OsString::from))
    }

    #[test]
    fn settings_stand_between_the_object_and_the_command() {
        let parsed = parse("--log l a.o x=1 y[2]=true -- sleep x=5").unwrap();
        assert_eq!(parsed.settings, [("x".into(), "1".into()), ("y[2]".into(), "true".into())]);
        assert_eq!(parsed.command, ["sleep", "x=5"]);
        assert_eq!((parsed.object, parsed.log), (PathBuf::from("a.o"), Some(PathBuf::from("l"))));
    }

    #[test]
    fn counters_are_the_processors_unless_said_otherwise() {
        let counters = |text| parse(text).unwrap().counters;
        assert_eq!(counters("a.o"), CounterSource::Processor);
        assert_eq!(counters("--counters software a.o"), CounterSource::Software);
        assert_eq!(counters("--counters stand-in a.o"), CounterSource::StandIn);
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for mistake in ["", "a.o x", "a.o --", "--quick a.o", "a.o --log", "--counters guesses a.o"] {
            assert_eq!(parse(mistake), None, "{mistake}");
        }
    }
}
