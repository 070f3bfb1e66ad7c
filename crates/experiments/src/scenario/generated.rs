// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads of the simulator's generators, from lines such as `mixes --stream 2`.

use tandem_simulator::input::valid_names;
use tandem_simulator::workload::generate::{self, generators};

use super::line::{Known, LineError, given};

/// What `tandem workload` prints for `line`, as in `["mixes", "--stream", "2"]`: an rt-app file.
///
/// # Errors
/// [`LineError`]: the first word names no generator, or the rest are no options of it.
pub fn text(line: &[String]) -> Result<String, LineError> {
    let (name, options) = line.split_first().map_or(("", line), |(name, options)| (name.as_str(), options));
    let known = generators();
    let names: Vec<&str> = known.iter().map(|generator| generator.command()).collect();
    let valid = valid_names(name, &names);
    let Some(mut generator) = known.into_iter().find(|generator| generator.command() == name) else {
        return Err(LineError::Generator { name: name.to_owned(), valid });
    };
    let infos = generator.options();
    let options: Vec<(&str, String)> = given(
        options,
        &infos.iter().map(|info| Known { name: info.name, flag: info.flag, list: info.list }).collect::<Vec<_>>(),
    )?;
    // In the generator's order; a list may be given in several parts.
    for info in infos {
        let values: Vec<&str> =
            options.iter().filter(|(name, _)| *name == info.name).map(|(_, value)| value.as_str()).collect();
        if !values.is_empty() {
            generator.set(info.name, &values.join(","))?;
        }
    }
    Ok(generate::text(generator.as_ref())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(line: &str) -> Result<String, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        text(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_may_be_given_in_parts() {
        assert_eq!(made("phases --label 1:4 --label inf:1").unwrap(), made("phases --label=1:4,inf:1").unwrap());
    }

    #[test]
    fn a_mistake_names_what_is_near() {
        assert!(made("mixs").unwrap_err().contains("did you mean `mixes`?"));
        assert!(made("mixes --strem 2").unwrap_err().contains("did you mean `stream`?"));
        assert!(made("mixes --output x.json").unwrap_err().contains("no option `--output`"));
        assert!(made("mixes --stream x").unwrap_err().starts_with("--stream x: expected"));
    }
}
