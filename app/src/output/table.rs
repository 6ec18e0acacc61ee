//! Tables for people: aligned columns, numbers to the right, cut to the width of a terminal if there is one.
#![forbid(unsafe_code)]

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A column's heading, its alignment, and whether it may be cut when the table is too wide.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    heading: &'static str,
    align: Align,
    shrinks: bool,
}

/// A column of text that keeps its width.
pub const fn text(heading: &'static str) -> Column {
    Column { heading, align: Align::Left, shrinks: false }
}

/// A column of text that gives way when the terminal is narrow.
pub const fn wide(heading: &'static str) -> Column {
    Column { heading, align: Align::Left, shrinks: true }
}

/// A column of numbers.
pub const fn number(heading: &'static str) -> Column {
    Column { heading, align: Align::Right, shrinks: false }
}

/// Narrowest a shrinking column may become.
const NARROWEST: usize = 12;
const GAP: usize = 2;

/// Rows under headings.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[Column]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty, cells without a column are dropped. Control characters are shown
    /// escaped: names come from files and processes of others.
    pub fn row(&mut self, cells: Vec<String>) {
        let mut cells: Vec<String> = cells.iter().map(|cell| printable(cell)).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// The lines, heading first. With `columns` no line is longer, by cutting the shrinking columns in the
    /// middle; what still does not fit is left to the terminal.
    pub fn lines(&self, columns: Option<usize>) -> Vec<String> {
        let mut widths: Vec<usize> =
            self.columns.iter().map(|column| column.heading.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        if let Some(limit) = columns {
            self.shrink(&mut widths, limit);
        }
        let headings: Vec<String> = self.columns.iter().map(|column| column.heading.to_owned()).collect();
        std::iter::once(&headings).chain(&self.rows).map(|row| self.line(row, &widths)).collect()
    }

    fn shrink(&self, widths: &mut [usize], limit: usize) {
        let mut total: usize = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        while total > limit {
            let widest = self
                .columns
                .iter()
                .zip(widths.iter_mut())
                .filter(|(column, width)| column.shrinks && **width > NARROWEST)
                .max_by_key(|(_, width)| **width);
            let Some((_, width)) = widest else { return };
            *width -= 1;
            total -= 1;
        }
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), column) in row.iter().zip(widths).zip(&self.columns) {
            let cell = cut_middle(cell, *width);
            match column.align {
                Align::Left => line.push_str(&format!("{cell:<width$}")),
                Align::Right => line.push_str(&format!("{cell:>width$}")),
            }
            line.push_str(&" ".repeat(GAP));
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// A text of at most `width` characters, with `…` for what was cut out of its middle.
pub fn cut_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let tail = kept * 2 / 3; // the end of a qualified name says more than its beginning
    let head: String = text.chars().take(kept - tail).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{head}…{end}")
}

/// The text with control characters escaped.
pub fn printable(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&[number("CALLS"), text("STATE"), wide("METHOD")]);
        table.row(vec!["12".into(), "live".into(), "Shop!Shop.Cart.Add(int)".into()]);
        table.row(vec![
            "1,234,567".into(),
            "off".into(),
            "Shop!Shop.Cart.TotalOfEverythingThereIs(List<T>)".into(),
        ]);
        table
    }

    #[test]
    fn numbers_stand_to_the_right_and_nothing_trails() {
        assert_eq!(
            sample().lines(None),
            [
                "    CALLS  STATE  METHOD",
                "       12  live   Shop!Shop.Cart.Add(int)",
                "1,234,567  off    Shop!Shop.Cart.TotalOfEverythingThereIs(List<T>)",
            ]
        );
    }

    #[test]
    fn a_narrow_terminal_cuts_the_wide_column_only() {
        let lines = sample().lines(Some(41));
        assert!(lines.iter().all(|line| line.chars().count() <= 41), "{lines:#?}");
        assert_eq!(lines[1], "       12  live   Shop!Shop.Cart.Add(int)");
        assert!(lines[2].starts_with("1,234,567  off    Shop!") && lines[2].contains('…'), "{lines:#?}");
    }

    #[test]
    fn names_from_outside_cannot_steer_the_terminal() {
        let mut table = Table::new(&[wide("NAME")]);
        table.row(vec!["a\u{1b}[2Jb\n".into()]);
        assert_eq!(table.lines(None)[1], "a\\u{1b}[2Jb\\n");
    }

    #[test]
    fn cutting_keeps_the_width_for_any_width() {
        for width in 1..12 {
            assert_eq!(cut_middle("Größe.Äußerst.Lang", width).chars().count(), width);
        }
    }
}
