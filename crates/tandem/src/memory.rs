// SPDX-License-Identifier: GPL-2.0-only
//! How much memory the simulations of this process may spend, all together.

use std::fs;

use tandem_simulator::simulation::Budget;

use crate::failure::Failure;

/// The variable of the environment that says how much.
const VARIABLE: &str = "TANDEM_MEMORY";
/// The budget where this computer does not say how much memory it has: 4 GiB.
const UNKNOWN: u64 = 4 << 30;

/// The budget of this process: what `TANDEM_MEMORY` says, else half of what this computer, or the container, has.
///
/// # Errors
/// The variable has no size.
pub fn budget() -> Result<Budget, Failure> {
    Ok(Budget::new(size_of(VARIABLE)?.unwrap_or_else(half_of_this_computer)))
}

/// The size in bytes that a variable of the environment has; `None` if it is not set.
///
/// # Errors
/// The variable has no size.
pub fn size_of(variable: &str) -> Result<Option<u64>, Failure> {
    let Some(text) = std::env::var_os(variable) else { return Ok(None) };
    let size = text.to_str().and_then(size);
    let wrong = || Failure::Options(format!("{variable}={} is no size: expected 512M, 8G or such", text.display()));
    size.map(Some).ok_or_else(wrong)
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
