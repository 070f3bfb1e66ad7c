// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers made larger or smaller: in a machine's description by the ways to them, among a generator's arguments by option.

use toml::{Table, Value};

/// What becomes of whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// Whole numbers may get fractions.
    Divided,
    /// Whole numbers are rounded: counts and clocks.
    Kept,
}

/// How much, and how.
#[derive(Debug, Clone, Copy)]
struct Factor {
    percent: u32,
    whole: Whole,
}

/// The description `text` with every number at `paths`, ways with commas between them, multiplied by `percent` / 100.
pub fn description(text: &str, paths: &str, percent: u32, whole: Whole) -> Result<String, String> {
    let factor = Factor { percent, whole };
    let mut root = Value::Table(toml::from_str::<Table>(text).map_err(|error| error.to_string())?);
    for path in paths.split(',').map(str::trim) {
        let mut changed = 0;
        let scaled = |value: &mut Value| scale(value, factor);
        change(&mut root, &steps(path)?, &mut changed, &scaled).map_err(|message| format!("{path}: {message}"))?;
        if changed == 0 {
            return Err(format!("{path}: there is no such number"));
        }
    }
    toml::to_string(&root).map_err(|error| error.to_string())
}

/// The description `text` with these `values` at their ways, each of which is there already.
///
/// # Errors
/// A way that leads nowhere, with the nearest name.
pub fn with_values(text: &str, values: &[(String, serde_json::Value)]) -> Result<String, String> {
    let mut root = Value::Table(toml::from_str::<Table>(text).map_err(|error| error.to_string())?);
    for (path, value) in values {
        let wrong = |message: String| format!("{path}: {message}");
        let value = Value::try_from(value).map_err(|error| wrong(error.to_string()))?;
        let mut changed = 0;
        change(&mut root, &steps(path)?, &mut changed, &|old| {
            *old = value.clone();
            Ok(())
        })
        .map_err(wrong)?;
        if changed == 0 {
            return Err(wrong("there is no such value".to_owned()));
        }
    }
    toml::to_string(&root).map_err(|error| error.to_string())
}

/// One step of a way.
#[derive(Debug, PartialEq)]
enum Step {
    Key(String),
    EveryKey,
    Entry(usize),
    EveryEntry,
}

/// `memory.node-0.opps[0].mv` in steps; `*` is every key, `[*]` every entry.
fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        match key {
            "" => return Err(format!("{path}: a name is missing")),
            "*" => steps.push(Step::EveryKey),
            key => steps.push(Step::Key(key.to_owned())),
        }
        while !rest.is_empty() {
            let inner = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
            let (index, behind) = inner.ok_or_else(|| format!("{path}: expected `[index]` or `[*]`"))?;
            steps.push(match index {
                "*" => Step::EveryEntry,
                index => Step::Entry(index.parse().map_err(|_| format!("{path}: `{index}` is no index"))?),
            });
            rest = behind;
        }
    }
    Ok(steps)
}

/// Makes `new` of each value that the steps lead to, and counts them.
fn change(
    value: &mut Value,
    steps: &[Step],
    changed: &mut usize,
    new: &dyn Fn(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        new(value)?;
        *changed += 1;
        return Ok(());
    };
    match (step, value) {
        (Step::Key(key), Value::Table(table)) => match table.get_mut(key) {
            Some(value) => change(value, rest, changed, new),
            None => {
                let names: Vec<&str> = table.keys().map(String::as_str).collect();
                Err(format!("no `{key}`; {}", tandem_simulator::input::valid_names(key, &names)))
            }
        },
        // Not every one need have it: a row without it has a default.
        (Step::EveryKey, Value::Table(table)) => table
            .iter_mut()
            .filter(|(_, value)| has(value, rest))
            .try_for_each(|(_, value)| change(value, rest, changed, new)),
        (Step::Entry(index), Value::Array(array)) => {
            let count = array.len();
            let value =
                array.get_mut(*index).ok_or_else(|| format!("no entry {index}: there are {count}, from 0 on"))?;
            change(value, rest, changed, new)
        }
        (Step::EveryEntry, Value::Array(array)) => {
            array.iter_mut().filter(|value| has(value, rest)).try_for_each(|value| change(value, rest, changed, new))
        }
        (Step::Key(_) | Step::EveryKey, _) => Err("a name leads into what is no table".to_owned()),
        (Step::Entry(_) | Step::EveryEntry, _) => Err("an index leads into what is no array".to_owned()),
    }
}

/// Whether the way goes on from `value`, as far as its next name says.
fn has(value: &Value, steps: &[Step]) -> bool {
    match (steps.first(), value) {
        (Some(Step::Key(key)), value) => value.get(key).is_some(),
        (None, value) => value.is_integer() || value.is_float(),
        _ => true,
    }
}

fn scale(value: &mut Value, Factor { percent, whole }: Factor) -> Result<(), String> {
    let times = |number: f64| number * f64::from(percent) / 100.0;
    match value {
        Value::Integer(number) if whole == Whole::Kept => *number = times(*number as f64).round() as i64,
        Value::Integer(number) => *value = Value::Float(times(*number as f64)),
        Value::Float(number) => *number = times(*number),
        _ => return Err("is no number".to_owned()),
    }
    Ok(())
}

/// Whether `argument` gives `option`: `--length` or `--length=…`.
pub fn is_option(argument: &str, option: &str) -> bool {
    argument.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// `arguments` with the number of `option` multiplied by `percent` / 100; its unit stays.
pub fn arguments(arguments: &[String], option: &str, percent: u32) -> Result<Vec<String>, String> {
    let mut varied = Vec::new();
    let mut follows = false;
    for argument in arguments {
        let changed = match argument.split_once('=').filter(|_| is_option(argument, option)) {
            Some((name, value)) => format!("{name}={}", scaled(value, percent)?),
            None if follows => scaled(argument, percent)?,
            None => argument.clone(),
        };
        follows = argument == option;
        varied.push(changed);
    }
    Ok(varied)
}

/// `2.5ms` made 20 % longer: `3ms`.
fn scaled(text: &str, percent: u32) -> Result<String, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let wrong = || format!("`{text}` does not begin with a number");
    if number.contains('.') {
        let number: f64 = number.parse().map_err(|_| wrong())?;
        return Ok(format!("{}{unit}", number * f64::from(percent) / 100.0));
    }
    let number: u64 = number.parse().map_err(|_| wrong())?;
    // A count or a span of whole units stays one.
    Ok(format!("{}{unit}", (number * u64::from(percent) + 50) / 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[memory.a]\ngb_per_s = 5.0\n[memory.b]\ngb_per_s = 10.0\n\
                        [t]\nopps = [{ mhz = 100, watts = 2 }, { mhz = 250 }]\n";

    #[test]
    fn a_number_is_found_by_its_path() {
        let text = description(TEXT, "memory.a.gb_per_s", 120, Whole::Kept).unwrap();
        assert!(text.contains("gb_per_s = 6.0") && text.contains("gb_per_s = 10.0"), "{text}");
        let text = description(TEXT, "t.opps[1].mhz", 80, Whole::Kept).unwrap();
        assert!(text.contains("mhz = 200") && text.contains("mhz = 100"), "{text}");
    }

    #[test]
    fn whole_numbers_stay_whole_where_they_must() {
        let fraction = |whole| description(TEXT, "t.opps[0].watts", 120, whole).unwrap().contains("watts = 2.4");
        assert!(fraction(Whole::Divided) && !fraction(Whole::Kept));
    }

    #[test]
    fn a_star_is_all_that_have_it() {
        let text = description(TEXT, "memory.*.gb_per_s", 120, Whole::Kept).unwrap();
        assert!(text.contains("gb_per_s = 6.0") && text.contains("gb_per_s = 12.0"), "{text}");
        let text = description(TEXT, "t.opps[*].watts", 150, Whole::Kept).unwrap();
        assert!(text.contains("watts = 3") && text.contains("mhz = 250"), "{text}");
    }

    #[test]
    fn numbers_of_several_paths_move_together() {
        let text = description(TEXT, "memory.a.gb_per_s, t.opps[1].mhz", 80, Whole::Kept).unwrap();
        assert!(
            text.contains("gb_per_s = 4.0") && text.contains("mhz = 200") && text.contains("gb_per_s = 10.0"),
            "{text}"
        );
    }

    #[test]
    fn a_path_that_leads_nowhere_says_so() {
        let wrong = |path| description(TEXT, path, 120, Whole::Kept).unwrap_err();
        assert!(wrong("memory.a.gb_per").contains("did you mean `gb_per_s`?"), "{}", wrong("memory.a.gb_per"));
        assert_eq!(wrong("t.opps[2].mhz"), "t.opps[2].mhz: no entry 2: there are 2, from 0 on");
        assert_eq!(wrong("memory.*.watts"), "memory.*.watts: there is no such number");
        assert_eq!(wrong("memory.a"), "memory.a: is no number");
        assert_eq!(wrong("memory.a.gb_per_s, t.x"), "t.x: no `x`; valid: `opps`");
        assert_eq!(wrong("memory.a.gb_per_s,"), ": a name is missing");
    }

    #[test]
    fn a_value_takes_the_place_of_another_one() {
        let text = with_values(TEXT, &[("memory.a.gb_per_s".to_owned(), 7.into())]).unwrap();
        assert!(text.contains("gb_per_s = 7\n") && text.contains("gb_per_s = 10.0"), "{text}");
        let wrong = with_values(TEXT, &[("memory.a.gb_per".to_owned(), 7.into())]).unwrap_err();
        assert!(wrong.contains("did you mean `gb_per_s`?"), "{wrong}");
    }

    #[test]
    fn an_option_keeps_its_unit() {
        let given = ["mixes", "--work", "2s", "--memory-bound=0.9", "--stream", "5"].map(str::to_owned);
        assert_eq!(arguments(&given, "--memory-bound", 50).unwrap()[3], "--memory-bound=0.45");
        assert_eq!(arguments(&given, "--work", 150).unwrap()[2], "3s");
        assert_eq!(arguments(&given, "--stream", 120).unwrap()[5], "6");
    }
}
