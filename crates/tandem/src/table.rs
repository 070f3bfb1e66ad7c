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
    /// Whether the first row has the columns' titles.
    titled: bool,
}

impl Table {
    /// A table with these columns.
    pub fn new<const N: usize>(columns: [(&str, Align); N]) -> Self {
        Self::with_columns(columns.into_iter().map(|(title, align)| (title.to_owned(), align)))
    }

    /// A table without a header.
    pub fn headless<const N: usize>(align: [Align; N]) -> Self {
        Self { align: align.into(), rows: Vec::new(), titled: false }
    }

    /// A table with columns that are only known at run time.
    pub fn with_columns(columns: impl IntoIterator<Item = (String, Align)>) -> Self {
        let (header, align) = columns.into_iter().unzip();
        Self { align, rows: vec![header], titled: true }
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

    /// The table for a terminal of `width` columns; without a width as wide as it is.
    #[must_use]
    pub fn fitting(self, width: Option<usize>) -> Fitted {
        Fitted { table: self, width }
    }

    /// The table for a terminal of `width` columns. Where it does not fit, each row is a paragraph of its own: for tables whose
    /// first column does not tell rows apart.
    pub fn whole_rows(&self, width: Option<usize>) -> String {
        match width.filter(|width| self.width() > *width) {
            None => self.render(),
            Some(width) => stacked(self, width),
        }
    }

    /// The table as Markdown has it, each line ended.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let dashes = self.align.iter().map(|align| if *align == Align::Right { "---:" } else { "---" }.to_owned());
        let mut lines = self.rows.iter().map(|row| line(row.iter().map(|cell| cell.replace('|', "\\|")).collect()));
        let header = lines.next().unwrap_or_default();
        [header, line(dashes.collect())].into_iter().chain(lines).collect()
    }

    /// The table with these columns only.
    fn only(&self, columns: &[usize]) -> Self {
        let row = |row: &Vec<String>| {
            columns.iter().map(|column| row.get(*column).cloned().unwrap_or_default()).collect::<Vec<_>>()
        };
        let align = columns.iter().filter_map(|column| self.align.get(*column).copied()).collect();
        Self { align, rows: self.rows.iter().map(row).collect(), titled: self.titled }
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

/// A table for a terminal of limited width. Where the table does not fit, it takes more lines; no cell is broken or left out.
#[derive(Debug)]
pub struct Fitted {
    table: Table,
    width: Option<usize>,
}

impl Fitted {
    /// The text, each line ended.
    pub fn render(&self) -> String {
        match self.width.filter(|width| self.table.width() > *width) {
            None => self.table.render(),
            Some(width) if self.table.titled => self.parts(width).unwrap_or_else(|| stacked(&self.table, width)),
            Some(width) => self.remarks(width),
        }
    }

    /// As many columns beside the first as there is room for, the next ones below; `None` if some column does not even fit
    /// beside the first alone.
    fn parts(&self, width: usize) -> Option<String> {
        let widths = self.table.widths();
        let (first, others) = widths.split_first()?;
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut used = usize::MAX;
        for (index, own) in others.iter().enumerate() {
            if used.saturating_add(own + 2) > width {
                used = *first;
                parts.push(vec![0]);
            }
            used += own + 2;
            if used > width {
                return None;
            }
            parts.last_mut()?.push(index + 1);
        }
        Some(parts.iter().map(|columns| self.table.only(columns).render()).collect())
    }

    /// The first two columns, and what is behind them in the same line if there is room, else below.
    fn remarks(&self, width: usize) -> String {
        let pairs = self.table.only(&[0, 1]);
        if pairs.width() > width {
            let row = |row: &Vec<String>| labelled(&row[0], &row[1..].join(" "), width);
            return self.table.rows.iter().map(row).collect();
        }
        let lines = pairs.render();
        let mut text = String::new();
        for (line, row) in lines.lines().zip(&self.table.rows) {
            let remarks = row.iter().skip(2).filter(|cell| !cell.is_empty()).cloned().collect::<Vec<_>>().join("  ");
            let room = width.saturating_sub(pairs.width() + 2);
            text += line;
            if !remarks.is_empty() && measure_text_width(&remarks) <= room {
                let blank = (pairs.width() + 2).saturating_sub(measure_text_width(line));
                text += &format!("{}{remarks}", " ".repeat(blank));
            } else if !remarks.is_empty() {
                text.push('\n');
                text += below(&remarks, width).trim_end();
            }
            text.push('\n');
        }
        text
    }
}

/// Each row as its first cell, and the others below with their titles.
fn stacked(table: &Table, width: usize) -> String {
    let Some((titles, rows)) = table.rows.split_first() else { return String::new() };
    let mut text = String::new();
    for row in rows {
        text += &paragraph(row.first().map_or("", String::as_str), Some(width));
        for (title, cell) in titles.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty()) {
            text += &labelled(title, cell, width);
        }
    }
    text
}

/// `  title value`, or the value below its title if a line is too short for both.
fn labelled(title: &str, value: &str, width: usize) -> String {
    let line = format!("  {title} {value}");
    if measure_text_width(&line) <= width { line + "\n" } else { format!("  {title}\n{}", below(value, width)) }
}

/// A paragraph four columns from the left.
fn below(text: &str, width: usize) -> String {
    let text = paragraph(text, Some(width.saturating_sub(4)));
    text.lines().map(|line| format!("    {line}\n")).collect()
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
                text += untied(&textwrap::fill(&tied(description), options)).trim_end();
            }
            // Too little room beside the name: the description stands below.
            Some(width) => text += format!("{}\n{}", name.trim_end(), below(description, width)).trim_end(),
            None => text += format!("{first}{description}").trim_end(),
        }
        text.push('\n');
    }
    text
}

/// `text` in lines of at most `width` columns, those after the first indented; unbroken without a width.
pub fn paragraph(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return format!("{text}\n") };
    let options = textwrap::Options::new(width.max(20)).subsequent_indent("  ").break_words(false);
    untied(&textwrap::fill(&tied(text), options)) + "\n"
}

/// What stands between words that are one: a number's groups of three, a value and its interval, a value and its unit.
const TIE: &str = "\u{a0}";

/// Units that stay on the line of their number.
const UNITS: [&str; 12] = ["%", "s", "ms", "µs", "us", "ns", "J", "mJ", "kJ", "W", "mW", "J·s"];

/// `text` with ties in place of the spaces at which no line may be broken.
fn tied(text: &str) -> String {
    let mut tied = String::new();
    let mut before = "";
    for (index, word) in text.split(' ').enumerate() {
        let number = before.ends_with(|c: char| c.is_ascii_digit());
        let goes_on = word.starts_with(|c: char| c.is_ascii_digit());
        let unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
        let one = (number && (goes_on || unit || word == "±")) || before == "±";
        tied += if index == 0 {
            ""
        } else if one {
            TIE
        } else {
            " "
        };
        tied += word;
        before = word;
    }
    tied
}

fn untied(text: &str) -> String {
    text.replace(TIE, " ")
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

    fn wide() -> Table {
        let mut table = Table::new([("name", Align::Left), ("energy", Align::Right), ("power", Align::Right)]);
        table.row(["first".to_owned(), "12 345.6 J".to_owned(), "1.250 ± 0.031 W".to_owned()]);
        table.row(["second".to_owned(), "7.5 J".to_owned(), String::new()]);
        table
    }

    #[test]
    fn columns_without_room_continue_below_with_the_first_one() {
        assert_eq!(wide().fitting(Some(35)).render(), wide().render());
        insta::assert_snapshot!(wide().fitting(Some(34)).render(), @r"
        name        energy
        first   12 345.6 J
        second       7.5 J
        name              power
        first   1.250 ± 0.031 W
        second
        ");
    }

    #[test]
    fn columns_without_room_beside_the_first_stand_below_each_name() {
        insta::assert_snapshot!(wide().fitting(Some(20)).render(), @r"
        first
          energy 12 345.6 J
          power
            1.250 ± 0.031 W
        second
          energy 7.5 J
        ");
    }

    #[test]
    fn a_remark_without_room_stands_below_its_value() {
        let mut table = Table::headless([Align::Left, Align::Right, Align::Left]);
        table.row(["time".to_owned(), "500.0 ms".to_owned(), "the time limit, no measure of speed".to_owned()]);
        table.row(["idle".to_owned(), "25.0 %".to_owned(), "of all time".to_owned()]);
        insta::assert_snapshot!(table.fitting(Some(30)).render(), @r"
        time  500.0 ms
            the time limit, no measure
              of speed
        idle    25.0 %  of all time
        ");
    }

    #[test]
    fn no_number_is_broken_however_narrow_the_terminal() {
        for width in 24..60 {
            let text = wide().fitting(Some(width)).render()
                + paragraph("It took 12 345 678 turns and 1.250 ± 0.031 s of the time, 98.5 %.", Some(width)).as_str()
                + descriptions(&[("counted".to_owned(), "12 345 678 turns, 9.5 ms".to_owned())], Some(width)).as_str();
            for number in ["12 345.6 J", "1.250 ± 0.031 W", "12 345 678", "1.250 ± 0.031 s", "98.5 %", "9.5 ms"] {
                assert!(text.contains(number), "{width}: {number}: {text}");
            }
            assert!(text.lines().all(|line| measure_text_width(line) <= width), "{width}: {text}");
        }
    }

    #[test]
    fn markdown_says_how_columns_are_aligned_and_keeps_bars_in_cells() {
        let mut table = Table::new([("name", Align::Left), ("time", Align::Right)]);
        table.row(["a|b".to_owned(), "1 s".to_owned()]);
        assert_eq!(table.markdown(), "| name | time |\n| --- | ---: |\n| a\\|b | 1 s |\n");
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
