// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quantities in the units and the precision that people read.

use crate::units::Nanos;

/// The blank between a number and its unit, where a line is not broken.
pub(super) const TIE: char = '\u{a0}';

/// Three significant digits or so: `0.047`, `1.57`, `12.6`, `130`.
pub(super) fn watts(watts: f64) -> String {
    let decimals = match watts.abs() {
        ..1.0 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    number(watts, decimals)
}

/// At most `decimals` decimals, without zeros at the end.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `1844`, `403.2`.
pub(super) fn mhz(khz: u32) -> String {
    number(f64::from(khz) / 1e3, 3)
}

/// `512 KiB`, `32 MiB`, `1.25 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    const KIB: f64 = 1024.0;
    let kib = bytes as f64 / KIB;
    if kib < KIB { format!("{}{TIE}KiB", number(kib, 1)) } else { format!("{}{TIE}MiB", number(kib / KIB, 2)) }
}

/// `300 us`, `1.5 ms`.
pub(super) fn time(nanos: Nanos) -> String {
    let us = nanos as f64 / 1e3;
    if us < 1e3 { format!("{}{TIE}us", number(us, 1)) } else { format!("{}{TIE}ms", number(us / 1e3, 2)) }
}

/// `14.9` of bytes per second.
pub(super) fn gb_per_s(bytes_per_s: f64) -> String {
    number(bytes_per_s / 1e9, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_short() {
        assert_eq!(
            [watts(0.0471), watts(1.572), watts(12.62), watts(130.4), watts(0.0)],
            ["0.047", "1.57", "12.6", "130", "0"]
        );
        assert_eq!([mhz(1_844_000), mhz(403_200), mhz(100_000)], ["1844", "403.2", "100"]);
        let plain = |texts: [String; 3]| texts.map(|text| text.replace(TIE, " "));
        assert_eq!(plain([bytes(512 << 10), bytes(32 << 20), bytes(1280 << 10)]), ["512 KiB", "32 MiB", "1.25 MiB"]);
        assert_eq!(plain([time(300_000), time(1_500_000), time(500)]), ["300 us", "1.5 ms", "0.5 us"]);
    }
}
