// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user calls worse: `energy > 1.02`, `p99(response) > 1.05`, of one application `p99(response:viewer) > 1.05`.

use std::fmt;
use std::str::FromStr;

use tandem_simulator::input::valid_names;

use crate::comparison::{Metric, plain};

/// On which side of the limit a ratio fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `>`: a larger ratio fails.
    Above,
    /// `<`: a smaller ratio fails, as of work per second.
    Below,
}

/// A metric, as a ratio to the baseline's, and the limit beyond which it fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The metric.
    pub metric: Metric,
    /// The application whose metric it is; `None`: that of the run.
    pub application: Option<String>,
    /// Where it fails.
    pub side: Side,
    /// The limit of the ratio; above 0.
    pub limit: f64,
}

/// Why a text is no condition, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {what}\n    {text}\n    {}{}", .at + 1, " ".repeat(*.at), "^".repeat(*.length))]
pub struct ConditionError {
    /// The text as it was written.
    pub text: String,
    /// Where the mistake begins, in characters.
    pub at: usize,
    /// How many characters it has, at least 1.
    pub length: usize,
    /// What is wrong.
    pub what: Mistake,
}

/// What is wrong with a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// There is neither `>` nor `<`.
    #[error("expected METRIC > RATIO or METRIC < RATIO, such as `energy > 1.02`")]
    NoComparison,
    /// No metric has the name.
    #[error("no metric `{name}`; {valid}")]
    Metric {
        /// The name as it was written.
        name: String,
        /// The valid names, the nearest first.
        valid: String,
    },
    /// No application has the metric.
    #[error("`{name}` is of a run, not of an application; an application has {valid}")]
    OfRun {
        /// The metric.
        name: String,
        /// The metrics of applications.
        valid: String,
    },
    /// What stands behind the sign is no ratio.
    #[error("expected a ratio above 0, such as `1.02`")]
    Ratio,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.side == Side::Above { '>' } else { '<' };
        let of = self.application.as_ref().map_or(String::new(), |name| format!(":{name}"));
        write!(f, "{}{of} {sign} {}", self.metric.word(), self.limit)
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        // The last one: an application's name may have such a sign.
        let Some(at) = text.rfind(['>', '<']) else {
            return Err(mistake(text, text, Mistake::NoComparison));
        };
        let (written, ratio) = (&text[..at], &text[at + 1..]);
        let side = if text[at..].starts_with('>') { Side::Above } else { Side::Below };
        let (metric, application) = subject(written).map_err(|what| mistake(text, written, what))?;
        let limit = ratio.trim().parse().ok().filter(|limit: &f64| limit.is_finite() && *limit > 0.0);
        let limit = limit.ok_or_else(|| mistake(text, ratio, Mistake::Ratio))?;
        Ok(Self { metric, application, side, limit })
    }
}

/// The metric, and the application behind a colon: `p99(response:viewer)`, `p99-response:viewer`.
fn subject(written: &str) -> Result<(Metric, Option<String>), Mistake> {
    let (of, application) = match written.split_once(':') {
        None => (written, None),
        Some((of, application)) => {
            let application = application.trim();
            // A parenthesis that is opened before the colon is closed behind the application.
            let closed = of.contains('(') && !of.contains(')');
            let application = application.strip_suffix(')').filter(|_| closed).unwrap_or(application);
            (of, Some(application.trim().to_owned()))
        }
    };
    let metric = Metric::in_words(of).ok_or_else(|| {
        let names: Vec<String> = Metric::ALL.into_iter().map(Metric::word).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Mistake::Metric { name: of.trim().to_owned(), valid: valid_names(&plain(of), &names) }
    })?;
    if application.is_some() && !metric.is_of_applications() {
        let valid = Metric::ALL.into_iter().filter(|metric| metric.is_of_applications()).map(Metric::word);
        return Err(Mistake::OfRun { name: metric.word(), valid: valid.collect::<Vec<_>>().join(", ") });
    }
    Ok((metric, application))
}

/// The mistake `what` in `part` of `text`.
fn mistake(text: &str, part: &str, what: Mistake) -> ConditionError {
    let begin = part.as_ptr() as usize - text.as_ptr() as usize + (part.len() - part.trim_start().len());
    let at = text[..begin.min(text.len())].chars().count();
    ConditionError { text: text.to_owned(), at, length: part.trim().chars().count().max(1), what }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Condition {
        text.parse().unwrap()
    }

    #[test]
    fn a_metric_has_the_names_of_tables_and_of_json() {
        for (text, metric) in [
            ("time > 1.02", Metric::Time),
            ("time_s>1.02", Metric::Time),
            (" energy > 1.02 ", Metric::Energy),
            ("EDP > 1.02", Metric::Edp),
            ("edp_js > 1.02", Metric::Edp),
            ("work-rate > 1.02", Metric::Throughput),
            ("throughput > 1.02", Metric::Throughput),
        ] {
            assert_eq!(read(text), Condition { metric, application: None, side: Side::Above, limit: 1.02 }, "{text}");
        }
        assert_eq!(read("fairness < 0.9").to_string(), "fairness < 0.9");
    }

    #[test]
    fn an_application_stands_behind_a_colon_with_whatever_its_name_has() {
        for (text, application) in [
            ("p99(response:viewer) > 1.05", "viewer"),
            ("p99(response: viewer ) > 1.05", "viewer"),
            ("p99-response:viewer > 1.05", "viewer"),
            ("p99(response):viewer > 1.05", "viewer"),
            ("p99-response:a:b (c) > 1.05", "a:b (c)"),
            ("p99(response:a->b) > 1.05", "a->b"),
        ] {
            let condition = read(text);
            assert_eq!((condition.metric, condition.limit), (Metric::P99Response, 1.05), "{text}");
            assert_eq!(condition.application.as_deref(), Some(application), "{text}");
            assert_eq!(read(&condition.to_string()), condition);
        }
        assert_eq!(read("p99(response:viewer) > 1.05").to_string(), "p99-response:viewer > 1.05");
        let error = "energy:viewer > 1.02".parse::<Condition>().unwrap_err();
        assert_eq!((error.at, error.length), (0, 13));
        assert!(error.to_string().contains("`energy` is of a run, not of an application"), "{error}");
    }

    #[test]
    fn a_mistake_says_where_it_is() {
        let error = |text: &str| text.parse::<Condition>().unwrap_err();
        let unknown = error(" enrgy > 1.02");
        assert_eq!((unknown.at, unknown.length), (1, 5));
        let text = unknown.to_string();
        assert!(text.starts_with("column 2: no metric `enrgy`; did you mean `energy`?"), "{text}");
        assert!(text.ends_with("\n     enrgy > 1.02\n     ^^^^^"), "{text}");
        assert_eq!((error("energy > 2%").at, error("energy > 2%").what), (9, Mistake::Ratio));
        assert_eq!(error("energy >").what, Mistake::Ratio);
        assert_eq!(error("energy > -1").what, Mistake::Ratio);
        assert_eq!(error("energy > inf").what, Mistake::Ratio);
        assert_eq!(error("energy 1.02").what, Mistake::NoComparison);
        assert!(matches!(error("p98(nothing) > 1").what, Mistake::Metric { .. }));
    }
}
