// SPDX-License-Identifier: GPL-2.0-only
//! How wide text is in Helvetica, which every reader of PDF has, and whose widths Arial, Liberation Sans, Nimbus Sans and Arimo share.

/// Widths of the characters 32 to 255 of Windows code page 1252, in thousandths of the size. Source: Adobe's font metrics of its core
/// fonts, `Helvetica.afm`, version 2.0; 0 is a character that the code page does not have.
#[rustfmt::skip]
const WIDTHS: [u16; 224] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, 0,
    556, 0, 222, 556, 333, 1000, 556, 556, 333, 1000, 667, 333, 1000, 0, 611, 0,
    0, 222, 222, 333, 333, 350, 556, 1000, 333, 1000, 500, 333, 944, 0, 500, 667,
    278, 333, 556, 556, 556, 556, 260, 556, 333, 737, 370, 556, 584, 333, 737, 333,
    400, 584, 333, 333, 333, 556, 537, 278, 333, 333, 365, 556, 834, 834, 834, 611,
    667, 667, 667, 667, 667, 667, 1000, 722, 667, 667, 667, 667, 278, 278, 278, 278,
    722, 722, 778, 778, 778, 778, 778, 584, 778, 722, 722, 722, 722, 667, 667, 611,
    556, 556, 556, 556, 556, 556, 889, 500, 556, 556, 556, 556, 278, 278, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 584, 611, 556, 556, 556, 556, 500, 556, 500,
];

/// The characters 128 to 159 of code page 1252; the others are those of Unicode.
const HIGH: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•',
    '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// The width of a character that the font does not have: that of an ideograph, in thousandths of the size.
const UNKNOWN: u16 = 1000;

/// How far letters reach above the line they stand on, and below it, as shares of the size: a little more than `Ascender` and
/// `Descender` of the same metrics, and than brackets need.
pub const ASCENT: f64 = 0.76;
/// See [`ASCENT`].
pub const DESCENT: f64 = 0.23;

/// The character's byte in code page 1252, if it has one.
fn byte(letter: char) -> Option<u8> {
    match u32::from(letter) {
        code @ (32..=126 | 160..=255) => u8::try_from(code).ok(),
        0 => None,
        _ => HIGH.iter().position(|high| *high == letter).and_then(|at| u8::try_from(at + 128).ok()),
    }
}

/// `text` in code page 1252, for PDF. What that lacks is written as near as it can be, or as a question mark.
pub fn encoded(text: &str) -> Vec<u8> {
    let instead = |letter: char| match letter {
        '−' | '‐' | '‑' => "-",
        '≤' => "<=",
        '≥' => ">=",
        '→' => "->",
        'μ' => "µ",
        'Δ' => "delta ",
        _ => "?",
    };
    let bytes = |letter: char| match byte(letter) {
        Some(byte) => vec![byte],
        None => instead(letter).chars().filter_map(byte).collect(),
    };
    text.chars().flat_map(bytes).collect()
}

/// The width of a character in thousandths of the size: the larger of what SVG and PDF show.
fn thousandths(letter: char) -> u32 {
    let of_byte = |byte: u8| u32::from(WIDTHS[usize::from(byte) - 32]);
    match byte(letter) {
        Some(byte) => of_byte(byte),
        None => encoded(letter.encode_utf8(&mut [0; 4])).into_iter().map(of_byte).sum::<u32>().max(u32::from(UNKNOWN)),
    }
}

/// The width of `text` at `size`, in the same unit as the size: the larger of what SVG and PDF show.
pub fn width(text: &str, size: f64) -> f64 {
    f64::from(text.chars().map(thousandths).sum::<u32>()) * size / 1000.0
}

/// `text` in lines of at most `room`, broken between words, and within a word that is wider alone.
pub fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut taken = 0.0;
    for word in text.split_whitespace() {
        let wider = taken + width(" ", size) + width(word, size);
        match lines.last_mut() {
            Some(line) if wider <= room => {
                *line += &format!(" {word}");
                taken = wider;
            }
            _ => {
                lines.extend(pieces(word, size, room));
                taken = lines.last().map_or(0.0, |line| width(line, size));
            }
        }
    }
    lines
}

/// A word in pieces that fit.
fn pieces(word: &str, size: f64, room: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut taken = 0.0;
    for letter in word.chars() {
        let own = f64::from(thousandths(letter)) * size / 1000.0;
        if taken > 0.0 && taken + own > room {
            pieces.push(String::new());
            taken = 0.0;
        }
        taken += own;
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_metrics() {
        // H 722, e 556, l 222, v 500.
        assert!((width("Helv", 10.0) - 20.0).abs() < 1e-9);
        assert!((width("J·s", 10.0) - (5.0 + 2.78 + 5.0)).abs() < 1e-9);
        assert!((width("漢", 10.0) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn pdf_has_code_page_1252_and_what_is_near() {
        assert_eq!(encoded("± 5 %"), [0xb1, b' ', b'5', b' ', b'%']);
        assert_eq!(encoded("a ≤ b…漢"), [&b"a <= b"[..], &[0x85, b'?']].concat());
    }

    #[test]
    fn lines_end_between_words_and_within_long_ones() {
        assert_eq!(wrap("one two three", 10.0, width("one two", 10.0)), ["one two", "three"]);
        let lines = wrap("x incomprehensibilities", 10.0, 30.0);
        assert_eq!(lines.concat(), "xincomprehensibilities");
        assert!(lines.iter().all(|line| width(line, 10.0) <= 30.0), "{lines:?}");
        assert!(wrap("", 10.0, 30.0).is_empty());
    }
}
