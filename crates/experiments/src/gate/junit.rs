// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was judged as JUnit's XML, which test runners of repositories show.

use super::{Gate, Judged, Judgement};

impl Gate {
    /// The document: a suite per machine and workload, a test case per pair and condition. Worse is a failure; undecided
    /// is skipped, or a failure too where that is asked for; an ejected scheduler is an error.
    pub fn junit(&self, fail_if_undecided: bool) -> String {
        let failed = |judged: &&Judged| match judged.judgement {
            Judgement::Worse => true,
            Judgement::Undecided => fail_if_undecided,
            Judgement::NotWorse | Judgement::Ejected => false,
        };
        let count = |of: &[Judged]| {
            let failures = of.iter().filter(failed).count();
            let skipped = of.iter().filter(|judged| judged.judgement == Judgement::Undecided).count();
            let skipped = if fail_if_undecided { 0 } else { skipped };
            let errors = of.iter().filter(|judged| judged.judgement == Judgement::Ejected).count();
            format!(r#"tests="{}" failures="{failures}" errors="{errors}" skipped="{skipped}""#, of.len())
        };
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        xml += &format!("<testsuites name=\"tandem compare\" {}>\n", count(&self.judged));
        for suite in self.judged.chunk_by(|a, b| a.machine == b.machine && a.workload == b.workload) {
            let name = format!("{} on {}", suite[0].workload, suite[0].machine);
            xml += &format!("  <testsuite name=\"{}\" {}>\n", escaped(&name), count(suite));
            xml.extend(suite.iter().map(|judged| case(judged, failed(&judged))));
            xml += "  </testsuite>\n";
        }
        xml + "</testsuites>\n"
    }
}

fn case(judged: &Judged, failed: bool) -> String {
    let Judged { machine, workload, pair, condition, .. } = judged;
    let class = escaped(&format!("{machine}.{workload}"));
    let name = escaped(&format!("{pair}: {condition}"));
    let open = format!("    <testcase classname=\"{class}\" name=\"{name}\"");
    let message = escaped(&said(judged));
    let element = match judged.judgement {
        Judgement::Ejected => "error",
        _ if failed => "failure",
        Judgement::Undecided => "skipped",
        Judgement::NotWorse | Judgement::Worse => return format!("{open}/>\n"),
    };
    format!("{open}>\n      <{element} message=\"{message}\"/>\n    </testcase>\n")
}

/// The ratio and the reason in a line.
fn said(judged: &Judged) -> String {
    let ratio = judged.ratio.estimate().map(|ratio| match ratio.half_width {
        Some(half) => format!("{:.4} ± {half:.4} times the baseline", ratio.mean),
        None => format!("{:.4} times the baseline", ratio.mean),
    });
    let judgement = match judged.judgement {
        Judgement::Worse => "worse",
        Judgement::NotWorse => "not worse",
        Judgement::Undecided => "undecided",
        Judgement::Ejected => "ejected",
    };
    [Some(judgement.to_owned()), ratio, judged.why.clone()].into_iter().flatten().collect::<Vec<_>>().join(": ")
}

/// A text as an attribute's value; what XML has no character for is a replacement character.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c if c.is_control() => "\u{fffd}".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::super::BaselineRatio;
    use super::*;

    fn judged(machine: &str, pair: &str, judgement: Judgement) -> Judged {
        let ratio = BaselineRatio { ratio: Some(1.05), ratio_half_width: Some(0.01), paired: true };
        let why = (judgement == Judgement::Ejected).then(|| "the scheduler was ejected".to_owned());
        let (machine, workload, pair) = (machine.to_owned(), "w".to_owned(), pair.to_owned());
        Judged { machine, workload, pair, condition: "energy > 1.02".to_owned(), judgement, ratio, why, runs: 3 }
    }

    #[test]
    fn each_machine_and_workload_is_a_suite_and_what_is_worse_fails() {
        let all = [Judgement::Worse, Judgement::NotWorse, Judgement::Undecided, Judgement::Ejected];
        let mut of_gate: Vec<Judged> = all.into_iter().map(|judgement| judged("m", "a<b>\"c\"", judgement)).collect();
        of_gate.push(judged("n", "fair", Judgement::NotWorse));
        let gate = Gate { judged: of_gate, accepted_changes: Vec::new() };
        assert_eq!(gate.junit(false), XML);
        let strict = gate.junit(true);
        assert!(strict.contains(r#"<testsuites name="tandem compare" tests="5" failures="2" errors="1" skipped="0">"#));
    }

    const XML: &str = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"tandem compare\" tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"1\">
  <testsuite name=\"w on m\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\">
    <testcase classname=\"m.w\" name=\"a&lt;b&gt;&quot;c&quot;: energy &gt; 1.02\">
      <failure message=\"worse: 1.0500 ± 0.0100 times the baseline\"/>
    </testcase>
    <testcase classname=\"m.w\" name=\"a&lt;b&gt;&quot;c&quot;: energy &gt; 1.02\"/>
    <testcase classname=\"m.w\" name=\"a&lt;b&gt;&quot;c&quot;: energy &gt; 1.02\">
      <skipped message=\"undecided: 1.0500 ± 0.0100 times the baseline\"/>
    </testcase>
    <testcase classname=\"m.w\" name=\"a&lt;b&gt;&quot;c&quot;: energy &gt; 1.02\">
      <error message=\"ejected: 1.0500 ± 0.0100 times the baseline: the scheduler was ejected\"/>
    </testcase>
  </testsuite>
  <testsuite name=\"w on n\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\">
    <testcase classname=\"n.w\" name=\"fair: energy &gt; 1.02\"/>
  </testsuite>
</testsuites>
";
}
