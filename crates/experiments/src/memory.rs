// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much memory the simulations of this process may spend, all together.

use std::ffi::OsString;
use std::fs;

use tandem_simulator::simulation::Budget;

/// The variable of the environment that says how much.
const VARIABLE: &str = "TANDEM_MEMORY";
/// The budget where this computer does not say how much memory it has: 4 GiB.
const UNKNOWN: u64 = 4 << 30;

/// A variable of the environment that shall have a size, and has none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={} is no size: expected 512M, 8G or such", value.display())]
pub struct NoSize {
    /// The variable.
    pub variable: &'static str,
    /// The value as it was written.
    pub value: OsString,
}

/// The budget of this process: what `TANDEM_MEMORY` says, else half of what this computer, or the container, has.
///
/// # Errors
/// The variable has no size.
pub fn budget() -> Result<Budget, NoSize> {
    Ok(Budget::new(size_of(VARIABLE)?.unwrap_or_else(half_of_this_computer)))
}

/// The size in bytes that a variable of the environment has; `None` if it is not set.
///
/// # Errors
/// The variable has no size.
pub fn size_of(variable: &'static str) -> Result<Option<u64>, NoSize> {
    let Some(value) = std::env::var_os(variable) else { return Ok(None) };
    match value.to_str().and_then(size) {
        Some(size) => Ok(Some(size)),
        None => Err(NoSize { variable, value }),
    }
}

/// Reads a number of bytes; behind it may stand `K`, `M`, `G` or `T`, powers of 1024.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = match text.char_indices().next_back()? {
        (at, letter) if letter.is_ascii_alphabetic() => (&text[..at], letter.to_ascii_uppercase()),
        _ => (text, 'B'),
    };
    let shift = match unit {
        'B' => 0,
        'K' => 10,
        'M' => 20,
        'G' => 30,
        'T' => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

fn half_of_this_computer() -> u64 {
    let read = |path: &str| fs::read_to_string(path).ok();
    let total = read("/proc/meminfo").and_then(|text| total_of(&text));
    let of_container = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
    total.into_iter().chain(of_container).min().map_or(UNKNOWN, |bytes| bytes / 2)
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        let sizes = ["4096", "512M", "8g", "2T", "3k"].map(size);
        assert_eq!(sizes, [Some(4096), Some(512 << 20), Some(8 << 30), Some(2 << 40), Some(3072)]);
        for wrong in ["", "G", "-1", "1.5G", "8X", "0", "99999999999999T", "\u{e4}"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_memory_of_a_computer_is_read_in_kib() {
        assert_eq!(total_of("MemTotal:       16 kB\nMemFree: 8 kB\n"), Some(16 << 10));
        assert_eq!(total_of("MemFree: 8 kB\n"), None);
    }
}
