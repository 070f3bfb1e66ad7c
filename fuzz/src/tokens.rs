// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes texts by their words, numbers and lines, so that what comes of it is nearly a valid file: few changes of bytes
//! get past a parser of TOML or JSON.

/// Numbers that code is wrong about.
const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "63",
    "64",
    "65",
    "1024",
    "8192",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1e300",
    "1e-300",
    "nan",
];

/// A generator of numbers that need only look random (Steele and others' SplitMix64).
struct Choices(u64);

impl Choices {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % most.max(1) as u64) as usize
    }
}

/// The text with a few changes, chosen by `seed`.
pub fn mutated(text: &str, seed: u64) -> String {
    let mut choices = Choices(seed);
    let mut tokens: Vec<&str> = split(text);
    for _ in 0..=choices.below(3) {
        change(&mut tokens, &mut choices);
    }
    tokens.concat()
}

/// Changes `data[..size]` for libFuzzer, which has `most` bytes of room: texts half of the time by their words, else as
/// `otherwise` does. The new size.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    most: usize,
    seed: u32,
    otherwise: impl FnOnce(&mut [u8], usize, usize) -> usize,
) -> usize {
    let changed = match std::str::from_utf8(&data[..size]) {
        Ok(text) if seed.is_multiple_of(2) && !text.is_empty() => mutated(text, u64::from(seed)),
        _ => return otherwise(data, size, most),
    };
    if changed.is_empty() || changed.len() > most {
        return otherwise(data, size, most);
    }
    data[..changed.len()].copy_from_slice(changed.as_bytes());
    changed.len()
}

/// Words, numbers, runs of blanks, and everything else one by one.
fn split(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '_' => 1,
        '0'..='9' | '.' => 2,
        ' ' => 3,
        _ => 0,
    };
    let (mut tokens, mut start) = (Vec::new(), 0);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let this = kind(c);
        if at > start && (this == 0 || before != Some(this)) {
            tokens.push(&text[start..at]);
            start = at;
        }
        before = Some(this);
    }
    tokens.push(&text[start..]);
    tokens
}

fn change(tokens: &mut Vec<&str>, choices: &mut Choices) {
    if tokens.is_empty() {
        return;
    }
    let (at, other) = (choices.below(tokens.len()), choices.below(tokens.len()));
    let numbers: Vec<usize> =
        (0..tokens.len()).filter(|at| tokens[*at].starts_with(|c: char| c.is_ascii_digit())).collect();
    match choices.below(8) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(at, tokens[other]),
        2 => tokens.swap(at, other),
        3 => tokens[at] = tokens[other],
        4 => drop(tokens.drain(line(tokens, at))),
        5 => {
            let copied = tokens[line(tokens, at)].to_vec();
            let place = line(tokens, other).start;
            tokens.splice(place..place, copied);
        }
        _ if numbers.is_empty() => tokens[at] = NUMBERS[choices.below(NUMBERS.len())],
        6 => tokens[numbers[choices.below(numbers.len())]] = NUMBERS[choices.below(NUMBERS.len())],
        _ => tokens[numbers[choices.below(numbers.len())]] = tokens[numbers[choices.below(numbers.len())]],
    }
}

/// The tokens of the line that the token `at` is in, with its end.
fn line(tokens: &[&str], at: usize) -> std::ops::Range<usize> {
    let start = tokens[..at].iter().rposition(|token| *token == "\n").map_or(0, |before| before + 1);
    let end = tokens[at..].iter().position(|token| *token == "\n").map_or(tokens.len(), |behind| at + behind + 1);
    start..end
}
