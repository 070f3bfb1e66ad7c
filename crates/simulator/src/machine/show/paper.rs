// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of limited width: wrapping, boxes, boxes beside each other. A character counts as one column.

use super::units::TIE;

/// Columns that a box takes on both sides of its content.
pub(super) const FRAME: usize = 4;
/// Columns between boxes.
pub(super) const GAP: usize = 1;

/// Columns of a text.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// The words of `text` in lines of at most `width` columns, all but the first indented by `hanging`.
///
/// A word longer than a line, such as a list of CPUs, is parted after commas, or anywhere if it has none.
pub(super) fn wrap(text: &str, width: usize, hanging: usize) -> Vec<String> {
    let hanging = hanging.min(width / 2);
    let lead = text.chars().take_while(|c| *c == ' ').count().min(width / 2);
    let mut lines = vec![" ".repeat(lead)];
    let mut is_fresh = true;
    for word in text.split(|c: char| c != TIE && (c.is_whitespace() || c.is_control())).filter(|word| !word.is_empty())
    {
        let pieces: Vec<&str> = match columns(word) <= width - hanging {
            true => vec![word],
            false => word.split_inclusive(',').collect(),
        };
        for (place, piece) in pieces.into_iter().enumerate() {
            let blank = if place == 0 && !is_fresh { " " } else { "" };
            let full = lines.last().is_some_and(|line| columns(line) + columns(blank) + columns(piece) > width);
            if full && !is_fresh {
                lines.push(" ".repeat(hanging));
                append(&mut lines, piece, width, hanging);
            } else {
                append(&mut lines, &format!("{blank}{piece}"), width, hanging);
            }
            is_fresh = false;
        }
    }
    lines
}

/// Adds `text` to the last line, and to new ones where that is full.
fn append(lines: &mut Vec<String>, text: &str, width: usize, hanging: usize) {
    for c in text.chars() {
        if lines.last().is_none_or(|line| columns(line) >= width) {
            lines.push(" ".repeat(hanging));
        }
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
}

/// `text` in lines of at most `width` columns, the first with `label` in a column of `column` before it.
pub(super) fn labelled(label: &str, text: &str, column: usize, width: usize) -> Vec<String> {
    let lines = wrap(text, width - column, 0);
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels.zip(lines).map(|(label, line)| format!("{label:<column$}{line}")).collect()
}

/// `text` cut to `width` columns, the cut marked.
pub(super) fn cut(text: &str, width: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if columns(&text) <= width {
        return text;
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn pad(text: &str, width: usize) -> String {
    let text = cut(text, width);
    format!("{text}{}", " ".repeat(width - columns(&text)))
}

/// A box of `width` columns around `lines`.
pub(super) fn framed(title: &str, lines: &[String], width: usize) -> Vec<String> {
    let title = cut(title, width - FRAME - 1);
    let rest = "─".repeat(width - FRAME - 1 - columns(&title));
    let mut frame = vec![format!("┌─ {title} {rest}┐")];
    frame.extend(lines.iter().map(|line| format!("│ {} │", pad(line, width - FRAME))));
    frame.push(format!("└{}┘", "─".repeat(width - 2)));
    frame
}

/// What is shared, as a bar of `width` columns: `╘═ L3 30 MiB ═══╛`; a long text takes several lines.
pub(super) fn bar(text: &str, width: usize) -> Vec<String> {
    let lines = wrap(text, width - FRAME - 2, 0);
    let last = lines.len() - 1;
    let one = |(index, line): (usize, &String)| match index == last {
        true => format!("╘═ {line} {}╛", "═".repeat(width - FRAME - 1 - columns(line))),
        false => format!("│  {} │", pad(line, width - FRAME - 1)),
    };
    lines.iter().enumerate().map(one).collect()
}

/// Boxes of one width and one height beside each other.
pub(super) fn beside(boxes: &[(String, Vec<String>)], width: usize) -> Vec<String> {
    let height = boxes.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
    let frames: Vec<Vec<String>> = boxes
        .iter()
        .map(|(title, lines)| {
            let mut lines = lines.clone();
            lines.resize(height, String::new());
            framed(title, &lines, width)
        })
        .collect();
    let row =
        |index: usize| frames.iter().map(|frame| frame[index].as_str()).collect::<Vec<_>>().join(&" ".repeat(GAP));
    (0..height + 2).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_list_is_parted_after_commas() {
        assert_eq!(wrap("CPUs 0-7,128-135,9", 12, 2), ["CPUs 0-7,", "  128-135,9"]);
        assert_eq!(wrap("CPUs 0-7,9", 12, 2), ["CPUs 0-7,9"]);
    }

    #[test]
    fn a_box_holds_its_lines() {
        let lines = framed("big", &["[4] [5]".to_owned()], 16);
        assert_eq!(lines, ["┌─ big ────────┐", "│ [4] [5]      │", "└──────────────┘"]);
        assert_eq!(bar("L3 4 MiB", 16), ["╘═ L3 4 MiB ═══╛"]);
    }

    proptest! {
        #[test]
        fn wrapping_keeps_the_width_and_every_character(text in "[a-z0-9,\u{e9} ]{0,80}", width in 4usize..40, hanging in 0usize..8) {
            let lines = wrap(&text, width, hanging);
            prop_assert!(lines.iter().all(|line| columns(line) <= width));
            let solid = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(solid(&lines.concat()), solid(&text));
        }

        #[test]
        fn boxes_and_bars_are_exactly_as_wide_as_asked(title in ".{0,30}", text in "[a-z ]{0,60}", width in 12usize..60) {
            for line in framed(&title, std::slice::from_ref(&text), width).iter().chain(&bar(&text, width)) {
                prop_assert_eq!(columns(line), width);
            }
        }
    }
}
