// SPDX-License-Identifier: GPL-2.0-only
//! Tables and paragraphs of plain text.

use console::measure_text_width;

/// Alignment of a column's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Left, for names.
    Left,
    /// Right, for numbers.
    Right,
}

/// Rows of cells under a header, columns two spaces apart.
#[derive(Debug)]
pub struct Table {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new<const N: usize>(columns: [(&str, Align); N]) -> Self {
        Self::with_columns(columns.into_iter().map(|(title, align)| (title.to_owned(), align)))
    }

    /// A table without a header.
    pub fn headless<const N: usize>(align: [Align; N]) -> Self {
        Self { align: align.into(), rows: Vec::new() }
    }

    /// A table with columns that are only known at run time.
    pub fn with_columns(columns: impl IntoIterator<Item = (String, Align)>) -> Self {
        let (header, align) = columns.into_iter().unzip();
        Self { align, rows: vec![header] }
    }

    /// Adds a row; cells that are missing are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    /// Width in columns of the terminal.
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
    }

    /// The table without as many of its last columns as do not fit `width`; the first two columns always stay.
    #[must_use]
    pub fn fitting(mut self, width: Option<usize>) -> Self {
        while self.align.len() > 2 && width.is_some_and(|width| self.width() > width) {
            self.align.pop();
            self.rows.iter_mut().for_each(|row| row.truncate(self.align.len()));
        }
        self
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| measure_text_width(cell)).max()
        };
        (0..self.align.len()).map(|column| width(column).unwrap_or(0)).collect()
    }

    /// The table as text, each line ended.
    pub fn render(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let padding = " ".repeat(width - measure_text_width(cell));
                let gap = if index == 0 { "" } else { "  " };
                line += gap;
                match self.align[index] {
                    Align::Left => line.extend([cell.as_str(), &padding]),
                    Align::Right => line.extend([padding.as_str(), cell]),
                }
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// `text` without anything that controls the terminal: names come from files that others wrote.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Names with a description each; a description that is longer than the line continues below itself.
pub fn descriptions(rows: &[(String, String)], width: Option<usize>) -> String {
    let names = rows.iter().map(|(name, _)| measure_text_width(name)).max().unwrap_or(0) + 2;
    let mut text = String::new();
    for (name, description) in rows {
        let first = format!("{name}{}", " ".repeat(names - measure_text_width(name)));
        match width {
            Some(width) if width > names + 20 => {
                let rest = " ".repeat(names);
                let options = textwrap::Options::new(width).initial_indent(&first).subsequent_indent(&rest);
                text += textwrap::fill(description, options).trim_end();
            }
            _ => text += format!("{first}{description}").trim_end(),
        }
        text.push('\n');
    }
    text
}

/// `text` in lines of at most `width` columns, those after the first indented; unbroken without a width.
pub fn paragraph(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return format!("{text}\n") };
    let options = textwrap::Options::new(width.max(20)).subsequent_indent("  ").break_words(false);
    // A value keeps its interval on the same line.
    let kept = text.replace(" ± ", "\u{a0}±\u{a0}");
    textwrap::fill(&kept, options).replace('\u{a0}', " ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_names_left() {
        let mut table = Table::new([("name", Align::Left), ("µs", Align::Right)]);
        table.row(["a".to_owned(), "1".to_owned()]);
        table.row(["longer".to_owned(), "1234".to_owned()]);
        insta::assert_snapshot!(table.render(), @r"
        name      µs
        a          1
        longer  1234
        ");
        assert_eq!(table.width(), 12);
    }

    #[test]
    fn a_cell_does_not_control_the_terminal() {
        let mut table = Table::headless([Align::Left]);
        table.row(["\u{1b}[31ma\nb".to_owned()]);
        assert_eq!(table.render(), "\u{fffd}[31ma\u{fffd}b\n");
    }

    #[test]
    fn descriptions_continue_under_themselves() {
        let rows = [("a".to_owned(), "one two three four five".to_owned()), ("longer".to_owned(), "six".to_owned())];
        insta::assert_snapshot!(descriptions(&rows, Some(29)), @r"
        a       one two three four
                five
        longer  six
        ");
        assert_eq!(descriptions(&rows, None), "a       one two three four five\nlonger  six\n");
    }

    #[test]
    fn paragraphs_keep_within_the_width_and_intervals_together() {
        insta::assert_snapshot!(paragraph("one two three four 5 ± 6 seven", Some(20)), @r"
        one two three four
          5 ± 6 seven
        ");
    }
}
