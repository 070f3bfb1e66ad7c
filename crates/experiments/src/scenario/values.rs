// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spans of time and CPUs that come and go, as they are written.

use tandem_simulator::simulation::Hotplug;
use tandem_simulator::units::{CpuId, MSEC, Nanos, SEC, USEC};

/// Why a text is no value of its option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// The text is no setting.
    #[error("expected KEY=VALUE, or several with commas between them")]
    Setting,
    /// The text is no span of time.
    #[error("expected a time with its unit, such as `10s`, `2.5ms`, `300us` or `1min`")]
    Time,
    /// The span of time is too short or too long.
    #[error("must be at least 1 ns and at most 104 days")]
    TimeRange,
    /// The text does not say when which CPU comes or goes.
    #[error("expected TIME:CPU=off or TIME:CPU=on, such as `2s:3=off`")]
    Hotplug,
}

/// Reads a span of time such as `10s`, `2.5ms`, `300us` or `1min`.
///
/// # Errors
/// [`ValueError::Time`] or [`ValueError::TimeRange`].
pub fn parse_duration(text: &str) -> Result<Nanos, ValueError> {
    match parse_time(text) {
        Ok(0) => Err(ValueError::TimeRange),
        time => time,
    }
}

/// Reads a time from the start, which may be that itself.
fn parse_time(text: &str) -> Result<Nanos, ValueError> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| ValueError::Time)?;
    let unit = match unit.trim() {
        "ns" => 1,
        "us" | "µs" => USEC,
        "ms" => MSEC,
        "s" => SEC,
        "min" => 60 * SEC,
        "h" => 3600 * SEC,
        _ => return Err(ValueError::Time),
    };
    let nanos = (number * unit as f64).round();
    // Beyond 2^53 ns (104 days) the product is not exact, and nobody waits for such a run.
    if !(0.0..=(1u64 << 53) as f64).contains(&nanos) {
        return Err(ValueError::TimeRange);
    }
    Ok(nanos as Nanos)
}

/// Reads `TIME:CPU=on` or `TIME:CPU=off`.
///
/// # Errors
/// [`ValueError`].
pub fn parse_hotplug(text: &str) -> Result<Hotplug, ValueError> {
    let (time, change) = text.split_once(':').ok_or(ValueError::Hotplug)?;
    let (cpu, state) = change.split_once('=').ok_or(ValueError::Hotplug)?;
    let online = match state.trim() {
        "on" => true,
        "off" => false,
        _ => return Err(ValueError::Hotplug),
    };
    let cpu = cpu.trim().parse().map(CpuId).map_err(|_| ValueError::Hotplug)?;
    Ok(Hotplug { at: parse_time(time)?, cpu, online })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_comes_or_goes_at_a_time() {
        let change = |at, cpu, online| Ok(Hotplug { at, cpu: CpuId(cpu), online });
        assert_eq!(parse_hotplug("2s:3=off"), change(2 * SEC, 3, false));
        assert_eq!(parse_hotplug("1.5ms: 12 = on"), change(1_500_000, 12, true));
        assert_eq!(parse_hotplug("0s:3=off"), change(0, 3, false));
        for mistake in ["2s", "2s:3", "3=off", "2:3=off", "2s:x=off", "2s:-1=off", "2s:3=down", "-1s:3=off"] {
            assert!(parse_hotplug(mistake).is_err(), "{mistake}");
        }
    }

    #[test]
    fn times_carry_their_unit() {
        assert_eq!(parse_duration("10s"), Ok(10 * SEC));
        assert_eq!(parse_duration("2.5 ms"), Ok(2_500_000));
        assert_eq!(parse_duration("300us"), Ok(300_000));
        assert_eq!(parse_duration("1min"), Ok(60 * SEC));
        for mistake in ["10", "s", "", "-1s", "0s", "0.1ns", "1e9s", "99999999h", "1.2.3s"] {
            assert!(parse_duration(mistake).is_err(), "{mistake}");
        }
    }
}
