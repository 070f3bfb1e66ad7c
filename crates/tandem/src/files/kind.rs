// SPDX-License-Identifier: GPL-2.0-only
//! The kinds of files that the command writes, and how an earlier one is told from a file of another kind.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tandem_bpf_vm::object::Object;
use tandem_experiments::CarriedObject;
use tandem_simulator::trace::is_trace;

/// Bytes at the beginning of a file that are looked at.
const HEAD: u64 = 64 << 10;
/// Largest object that is looked at, in bytes; those of the command are a tenth of that.
const LARGEST_OBJECT: u64 = 16 << 20;

/// The first line of a comparison in Markdown, which no reader of the page sees.
pub const MARKDOWN_MARK: &str = "<!-- tandem compare -->\n";

/// What the head of a page of `tandem report` says.
const PAGE_MARK: &str = r#"<meta name="generator" content="tandem "#;

/// A kind of file.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// The JSON of `--json`. Begins with `{"schema": N`, that of `tandem scheduler show` with `{"path": …, "name": …`.
    Report,
    /// Runs as JSON lines. The first one begins with the machine and the workload.
    Lines,
    /// Runs as comma-separated values. The header begins with the machine and the workload.
    Csv,
    /// A comparison as Markdown. Begins with a comment that says so.
    Markdown,
    /// What later runs are judged against. A report that says what was run.
    Baseline,
    /// What was judged, as JUnit has it. Its first element says what wrote it.
    JUnit,
    /// A Perfetto trace. Begins with the packet that begins every trace of the command, which names its clocks.
    Trace,
    /// A generated workload. Begins with the command line that generates it.
    Workload,
    /// A detected machine. Its notes say that they are written from the kernel's files.
    Machine,
    /// A page of results. Begins with its title, and says what it is.
    Results,
    /// A page of `tandem report`. Its head says what wrote it.
    Page,
    /// A figure of results. An SVG begins with `<svg`.
    Figure,
    /// The object of a scheduler that the command carries. A BPF object whose schedulers have the same names.
    Object(&'static CarriedObject<'static>),
    /// The loader file of a scheduler that the command carries. Its first line names the object.
    LoaderFile(&'static CarriedObject<'static>),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Report => f.write_str("JSON report of tandem"),
            Self::Lines => f.write_str("table of runs in JSON lines"),
            Self::Csv => f.write_str("table of runs in CSV"),
            Self::Markdown => f.write_str("comparison in Markdown"),
            Self::Baseline => f.write_str("baseline of tandem"),
            Self::JUnit => f.write_str("JUnit report of tandem"),
            Self::Trace => f.write_str("trace of tandem"),
            Self::Workload => f.write_str("workload that tandem generated"),
            Self::Machine => f.write_str("machine that tandem detected"),
            Self::Results => f.write_str("page of results of tandem"),
            Self::Page => f.write_str("page of tandem report"),
            Self::Figure => f.write_str("figure in SVG"),
            Self::Object(bundled) => write!(f, "object of the scheduler {}", bundled.name),
            Self::LoaderFile(bundled) => write!(f, "loader file of the scheduler {}", bundled.name),
        }
    }
}

impl Kind {
    /// Whether the file at `path` is of this kind, or empty: then nothing is lost.
    pub fn recognises(self, path: &Path) -> io::Result<bool> {
        let most = if matches!(self, Self::Object(_)) { LARGEST_OBJECT } else { HEAD };
        let mut head = Vec::new();
        File::open(path)?.take(most).read_to_end(&mut head)?;
        Ok(head.is_empty() || self.has_head(&head))
    }

    fn has_head(self, head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(head);
        match self {
            Self::Report => is_report(&text) && !is_baseline(&text),
            Self::Lines => text.starts_with(r#"{"machine":""#) && text.contains(r#","workload":""#),
            Self::Csv => text.starts_with("machine,workload,scheduler,governor,"),
            Self::Markdown => text.starts_with(MARKDOWN_MARK),
            Self::Baseline => is_baseline(&text),
            Self::JUnit => text.contains(r#"<testsuites name="tandem compare""#),
            Self::Trace => is_trace(head),
            Self::Workload => text.starts_with("// tandem workload "),
            Self::Machine => text.starts_with("schema = ") && text.contains(tandem_simulator::machine::detect::NOTE),
            Self::Results => {
                ["# Results\n", "# Results: "].iter().any(|title| text.starts_with(title))
                    && text.contains("each published number beside ours")
            }
            Self::Page => text.starts_with("<!doctype html>") && text.contains(PAGE_MARK),
            Self::Figure => text.starts_with("<svg "),
            Self::Object(bundled) => schedulers(head).is_some_and(|names| Some(names) == schedulers(bundled.object)),
            Self::LoaderFile(bundled) => text.starts_with(&format!("# What a loader of {}.bpf.o ", bundled.name)),
        }
    }
}

/// Whether a JSON text begins as the command's reports do. A longer key such as `$schema` is another one.
fn is_report(text: &str) -> bool {
    let Some(text) = text.trim_start().strip_prefix('{') else { return false };
    let Some((key, rest)) = text.trim_start().split_once(':') else { return false };
    match key.trim_end() {
        "\"schema\"" => rest.trim_start().starts_with(|c: char| c.is_ascii_digit()),
        "\"path\"" => rest.contains("\"license\":") && rest.contains("\"sidecar_path\":"),
        _ => false,
    }
}

/// Whether a JSON text is what `tandem compare --save` writes.
fn is_baseline(text: &str) -> bool {
    is_report(text) && text.split_once(',').is_some_and(|(_, rest)| rest.trim_start().starts_with("\"baseline_of\""))
}

/// The names of the schedulers in an object; `None` for what is no BPF object, or has none.
fn schedulers(bytes: &[u8]) -> Option<Vec<String>> {
    let object = Object::parse(bytes).ok()?;
    let names: Vec<String> = object.struct_ops.into_iter().map(|scheduler| scheduler.name).collect();
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundled::{NAMES, named};

    #[test]
    fn a_report_is_told_from_other_json() {
        for report in ["{\n  \"schema\": 1,\n", "{\"schema\":12"] {
            assert!(Kind::Report.has_head(report.as_bytes()), "{report}");
        }
        let baseline = b"{\n  \"schema\": 1,\n  \"baseline_of\": {}";
        assert!(Kind::Baseline.has_head(baseline) && !Kind::Report.has_head(baseline));
        assert!(!Kind::Baseline.has_head(b"{\"schema\": 1, \"workload\": \"baseline_of\"}"));
        for other in ["{ \"tasks\": {} }", "{ \"$schema\": 1 }", "{ \"schema\": \"draft\" }", "[1]", "\"schema\": 1"] {
            assert!(!Kind::Report.has_head(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn each_scheduler_that_the_command_carries_is_known_by_its_object_and_its_loader_file() {
        for name in NAMES {
            for other in NAMES {
                let (one, file) = (named(name).unwrap(), named(other).unwrap());
                assert_eq!(Kind::Object(one).has_head(file.object), name == other, "{name} {other}");
                assert_eq!(Kind::LoaderFile(one).has_head(file.sidecar.as_bytes()), name == other, "{name} {other}");
            }
        }
    }
}
