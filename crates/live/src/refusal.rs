// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why the kernel refused an object, for a person to read.
//!
//! The verifier's log of a program can have ten thousands of lines: every instruction on every path that it followed, with
//! source lines between them, and at the end what is wrong. So the verdict and the source line come first, then the end of
//! the log; all of it is there to be written to a file.

use std::fmt;

/// Lines of the log's end that are shown.
const SHOWN: usize = 40;
const BEGIN: &str = "-- BEGIN PROG LOAD LOG --";
const END: &str = "-- END PROG LOAD LOG --";

/// Why the kernel refused an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The program that the verifier refused, if it was one.
    pub program: Option<String>,
    /// The verifier's log of it.
    pub log: String,
    /// What libbpf said besides.
    pub messages: String,
}

impl Refusal {
    /// Takes libbpf's messages apart.
    pub(crate) fn new(messages: &str) -> Self {
        let (mut log, mut others, mut program, mut inside) = (String::new(), String::new(), None, false);
        for line in messages.lines() {
            if line.contains(BEGIN) {
                inside = true;
                program = quoted(line).or(program);
            } else if line.contains(END) {
                inside = false;
            } else if inside {
                log.extend([line, "\n"]);
            } else {
                others.extend([line.strip_prefix("libbpf: ").unwrap_or(line), "\n"]);
            }
        }
        Self { program, log, messages: others }
    }

    /// What the verifier found wrong: the last line of its log that is none of its statistics.
    pub fn verdict(&self) -> Option<&str> {
        let is_statistic = |line: &&str| {
            ["processed ", "verification time ", "stack depth ", "max_states_per_insn"]
                .iter()
                .any(|word| line.starts_with(word))
        };
        self.log.lines().rev().map(str::trim).filter(|line| !line.is_empty()).find(|line| !is_statistic(line))
    }

    /// The source line that the verifier was at, with its file and number.
    pub fn source_line(&self) -> Option<&str> {
        self.log.lines().rev().find_map(|line| line.strip_prefix("; "))
    }
}

/// What stands between the first two quotation marks.
fn quoted(line: &str) -> Option<String> {
    line.split('\'').nth(1).map(str::to_owned)
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(program) = &self.program else {
            return write!(f, "the kernel refused the object:\n{}", self.messages.trim_end());
        };
        write!(f, "the verifier refused {program}: {}", self.verdict().unwrap_or("it did not say why"))?;
        if let Some(source) = self.source_line() {
            write!(f, "\n  at: {source}")?;
        }
        let lines: Vec<&str> = self.log.lines().collect();
        let left_out = lines.len().saturating_sub(SHOWN);
        write!(
            f,
            "\n  its log{}:",
            if left_out > 0 { format!(", without the first {left_out} lines") } else { String::new() }
        )?;
        lines[left_out..].iter().try_for_each(|line| write!(f, "\n  | {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = "\
libbpf: prog 'pick': BPF program load failed: Permission denied
libbpf: prog 'pick': -- BEGIN PROG LOAD LOG --
0: R1=ctx() R10=fp0
; return *p; @ pick.bpf.c:12
3: (79) r0 = *(u64 *)(r1 +0)
R1 invalid mem access 'scalar'
processed 4 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
-- END PROG LOAD LOG --
libbpf: prog 'pick': failed to load: -EACCES
";

    #[test]
    fn the_verdict_is_the_last_line_that_is_no_statistic() {
        let refusal = Refusal::new(MESSAGES);
        assert_eq!(refusal.program.as_deref(), Some("pick"));
        assert_eq!(refusal.verdict(), Some("R1 invalid mem access 'scalar'"));
        assert_eq!(refusal.source_line(), Some("return *p; @ pick.bpf.c:12"));
        assert_eq!(refusal.messages.lines().count(), 2);
    }

    #[test]
    fn a_long_log_is_shown_from_its_end() {
        let log: String = (0..100).map(|line| format!("{line}: r0 = r0\n")).collect();
        let refusal = Refusal { program: Some("pick".into()), log: log + "too many\n", messages: String::new() };
        let shown = refusal.to_string();
        assert!(shown.starts_with("the verifier refused pick: too many\n"), "{shown}");
        assert!(shown.contains("without the first 61 lines"), "{shown}");
        assert!(!shown.contains("| 60: ") && shown.contains("| 61: ") && shown.ends_with("| too many"), "{shown}");
    }

    #[test]
    fn without_a_program_what_libbpf_said_is_all_there_is() {
        let refusal = Refusal::new("libbpf: failed to find '.BTF'\n");
        assert_eq!(refusal.to_string(), "the kernel refused the object:\nfailed to find '.BTF'");
    }
}
