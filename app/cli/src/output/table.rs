//! Text tables: aligned columns, right-aligned numbers, fitted to the width of a terminal if there is one.

use redial_text::names;
use redial_text::width::{cut_middle, pad_left, pad_right, width as text_width};
use redial_text::words::printable;

/// The alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// A column's heading, alignment, and behaviour when the table is too wide.
#[derive(Clone, Copy, Debug)]
pub struct TableColumn {
    heading: &'static str,
    short: &'static str,
    align: Align,
    gives: CutPolicy,
    least: usize,
    goes: Option<u8>,
}

/// How far a column may shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CutPolicy {
    Nothing,
    /// Shrinks down to [`NARROWEST`].
    Way,
    /// Keeps [`share`] of a line until all columns that may be hidden are hidden, then shrinks like `Way`.
    WayAtLast,
}

const fn column(heading: &'static str, align: Align, gives: CutPolicy) -> TableColumn {
    TableColumn { heading, short: heading, align, gives, least: 0, goes: None }
}

/// Makes a text column with fixed width.
pub const fn text(heading: &'static str) -> TableColumn {
    column(heading, Align::Left, CutPolicy::Nothing)
}

/// Makes a text column that shrinks on a narrow terminal.
pub const fn wide(heading: &'static str) -> TableColumn {
    column(heading, Align::Left, CutPolicy::Way)
}

/// Makes a column for the names of rows. It shrinks only after other columns are hidden.
pub const fn name(heading: &'static str) -> TableColumn {
    column(heading, Align::Left, CutPolicy::WayAtLast)
}

/// Makes a column of numbers.
pub const fn number(heading: &'static str) -> TableColumn {
    column(heading, Align::Right, CutPolicy::Nothing)
}

impl TableColumn {
    /// Sets a shorter heading for narrow terminals.
    pub const fn or(self, short: &'static str) -> TableColumn {
        TableColumn { short, ..self }
    }

    /// Sets a minimum width, so that changing numbers do not move the table.
    pub const fn at_least(self, least: usize) -> TableColumn {
        TableColumn { least, ..self }
    }

    /// Allows hiding the column to make room for names; the lowest number is hidden first.
    pub const fn goes(self, place: u8) -> TableColumn {
        TableColumn { goes: Some(place), ..self }
    }

    fn heading(&self, short: bool) -> &'static str {
        if short { self.short } else { self.heading }
    }

    /// Returns the width that it needs at least, if its full width is `width`.
    fn needs(&self, width: usize, line: usize) -> usize {
        match self.gives {
            CutPolicy::Nothing => width,
            CutPolicy::Way => width.min(NARROWEST),
            CutPolicy::WayAtLast => width.min(share(line)),
        }
    }
}

/// The minimum width of a column that shrinks.
const NARROWEST: usize = 12;
/// The width to which other cells of a column are padded at most. Without it, one long name among many rows would
/// multiply the table. Outside a terminal, longer cells move the rest of their own row.
pub const WIDEST: usize = 240;
/// Separates the cells of a row; cells contain no controls.
const SEPARATOR: char = '\n';
const GAP: usize = 2;

/// Returns the part of a line that names keep: 30 characters of 80.
fn share(line: usize) -> usize {
    (line * 3 / 8).max(NARROWEST)
}

/// Rows under headings.
pub struct Table {
    columns: Vec<TableColumn>,
    /// The cells of each row, joined by [`SEPARATOR`]: a table may have a hundred thousand rows.
    rows: Vec<Box<str>>,
}

/// The layout of a table for a line length.
struct Layout {
    /// Whether headings are short.
    short: bool,
    /// The width of each column; `None` if it is hidden.
    widths: Vec<Option<usize>>,
}

impl Table {
    /// Makes a table without rows.
    pub fn new(columns: &[TableColumn]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells are empty, surplus cells are dropped. Control characters are escaped, because names
    /// come from other people's files and processes.
    pub fn row(&mut self, cells: Vec<String>) {
        let mut row = String::new();
        for (number, cell) in cells.iter().take(self.columns.len()).enumerate() {
            if number > 0 {
                row.push(SEPARATOR);
            }
            row.push_str(&printable(cell));
        }
        self.rows.push(row.into_boxed_str());
    }

    /// Returns the lines, headings first. To fit `line` characters, headings become short, then columns are hidden,
    /// then columns shrink by cutting cells in the middle. The terminal wraps lines that still do not fit.
    pub fn lines(&self, line: Option<usize>) -> Vec<String> {
        let Layout { short, widths } = self.layout(line);
        let headings = self.columns.iter().map(|column| column.heading(short));
        let headings = self.line(headings, &widths, line);
        let rows = self.rows.iter().map(|row| self.line(row.split(SEPARATOR), &widths, line));
        std::iter::once(headings).chain(rows).collect()
    }

    /// Returns the headings of the columns that are hidden at this line length.
    pub fn left_out(&self, line: Option<usize>) -> Vec<&'static str> {
        let layout = self.layout(line);
        let out = self.columns.iter().zip(layout.widths).filter(|(_, width)| width.is_none());
        out.map(|(column, _)| column.heading).collect()
    }

    /// Returns whether the whole table fits `line` characters.
    pub fn fits(&self, line: usize) -> bool {
        total(self.widths(false).into_iter()) <= line
    }

    fn layout(&self, line: Option<usize>) -> Layout {
        let some = |short| Layout { short, widths: self.widths(short).into_iter().map(Some).collect() };
        let Some(line) = line else { return some(false) };
        let mut layout = some(false);
        if self.needs(&layout, line) > line {
            layout = some(true);
        }
        while self.needs(&layout, line) > line {
            let shown = self.columns.iter().zip(&mut layout.widths).filter(|(_, width)| width.is_some());
            let may_go = shown.filter_map(|(column, width)| Some((column.goes?, width)));
            let Some((_, width)) = may_go.min_by_key(|(place, _)| *place) else { break };
            *width = None;
        }
        self.shrink(&mut layout.widths, line);
        layout
    }

    /// Returns the full width of each column.
    fn widths(&self, short: bool) -> Vec<usize> {
        let least = |column: &TableColumn| text_width(column.heading(short)).max(column.least);
        let mut widths: Vec<usize> = self.columns.iter().map(least).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row.split(SEPARATOR)) {
                *width = (*width).max(text_width(cell).min(WIDEST));
            }
        }
        widths
    }

    /// Returns the minimum width of the table.
    fn needs(&self, layout: &Layout, line: usize) -> usize {
        let each = self.columns.iter().zip(&layout.widths);
        total(each.filter_map(|(column, width)| Some(column.needs((*width)?, line))))
    }

    fn shrink(&self, widths: &mut [Option<usize>], line: usize) {
        let mut total = total(widths.iter().flatten().copied());
        while total > line {
            let widest = self
                .columns
                .iter()
                .zip(widths.iter_mut())
                .filter(|(column, _)| column.gives != CutPolicy::Nothing)
                .filter_map(|(_, width)| width.as_mut().filter(|width| **width > NARROWEST))
                .max_by_key(|width| **width);
            let Some(width) = widest else { return };
            *width -= 1;
            total -= 1;
        }
    }

    fn line<'a>(
        &self,
        row: impl Iterator<Item = &'a str>,
        widths: &[Option<usize>],
        most: Option<usize>,
    ) -> String {
        let mut line = String::new();
        let row = row.chain(std::iter::repeat(""));
        for ((cell, width), column) in row.zip(widths).zip(&self.columns) {
            let Some(width) = *width else { continue };
            let cell = match column.gives {
                _ if most.is_none() => cell.to_owned(),
                CutPolicy::WayAtLast => cut_name(cell, width),
                _ => cut_middle(cell, width),
            };
            match column.align {
                Align::Left => line.push_str(&pad_right(&cell, width)),
                Align::Right => line.push_str(&pad_left(&cell, width)),
            }
            line.push_str(&" ".repeat(GAP));
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Returns the width of a table with columns of these widths.
fn total(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Wraps text at `width` characters, between words where possible.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line) + 1 + text_width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Shortens a method's name to `width` characters: removes its assembly, then its namespaces, then its parameters, and at
/// last the middle of `Type.Method`.
fn cut_name(name: &str, width: usize) -> String {
    let parts = name.strip_suffix(')').and_then(|name| name.split_once('('));
    let parts = parts.filter(|(_, parameters)| !parameters.is_empty() && !parameters.contains('('));
    let without_parameters = parts.map_or_else(|| name.to_owned(), |(before, _)| format!("{before}(…)"));
    let shorter = names::shorter(name).chain(names::shorter(&without_parameters));
    let marked =
        shorter.map(|part| if part.len() < name.len() { format!("…{part}") } else { part.to_owned() });
    let fitting = std::iter::once(name.to_owned()).chain(marked).find(|name| text_width(name) <= width);
    let least = names::shorter(&without_parameters).last().unwrap_or_default();
    fitting.unwrap_or_else(|| cut_middle(least, width))
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
    fn aligns_numbers_right_without_trailing_spaces() {
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
    fn a_narrow_terminal_cuts_only_the_wide_column() {
        let lines = sample().lines(Some(41));
        assert!(lines.iter().all(|line| line.chars().count() <= 41), "{lines:#?}");
        assert_eq!(lines[1], "       12  live   Shop!Shop.Cart.Add(int)");
        assert!(lines[2].starts_with("1,234,567  off    Shop!") && lines[2].contains('…'), "{lines:#?}");
    }

    fn timed() -> Table {
        let mut table = Table::new(&[
            number("CALLS"),
            number("PER SECOND").or("PER S"),
            number("P90").at_least(7).goes(1),
            number("P50").at_least(7).goes(2),
            name("METHOD"),
        ]);
        let name = "Shop!Shop.Cart.TotalOfEverythingThereIs(List<T>)".to_owned();
        table.row(vec!["1,234,567".into(), "12".into(), "-".into(), "1.20 µs".into(), name]);
        table
    }

    #[test]
    fn hides_columns_in_order_to_keep_names() {
        let table = timed();
        let first = |line| table.lines(line).swap_remove(0);
        assert_eq!(first(None), "    CALLS  PER SECOND      P90      P50  METHOD");
        assert!(table.left_out(None).is_empty() && !table.fits(88) && table.fits(89));
        for (line, left_out) in
            [(80, &[][..]), (57, &[]), (56, &["P90"]), (43, &["P90"]), (40, &["P90", "P50"])]
        {
            assert_eq!(table.left_out(Some(line)), left_out, "{line}");
            let lines = table.lines(Some(line));
            assert!(lines.iter().all(|text| text.chars().count() <= line), "{line}: {lines:#?}");
            let before = first(Some(line)).find("METHOD").expect("a heading");
            let room = lines[1].chars().count() - before;
            assert!(room >= share(line), "{line}: {room} for a name: {lines:#?}");
        }
        assert_eq!(first(Some(56)), "    CALLS  PER S      P50  METHOD");
        assert!(first(Some(12)).ends_with("METHOD"), "columns that cannot be hidden stay");
    }

    #[test]
    fn a_long_name_keeps_type_and_method_longest() {
        let name = "Shop!Shop.Tally.Add(Shop.Known, long)";
        for (width, shown) in [
            (37, name),
            (36, "…Shop.Tally.Add(Shop.Known, long)"),
            (32, "…Tally.Add(Shop.Known, long)"),
            (20, "…Shop.Tally.Add(…)"),
            (16, "…Tally.Add(…)"),
            (12, "Tally.Add(…)"),
            (11, "Tall…Add(…)"),
        ] {
            assert_eq!(cut_name(name, width), shown, "{width}");
        }
        assert_eq!(cut_name("Shop!Shop.Tally.AddThem()", 20), "…Tally.AddThem()");
        assert_eq!(cut_name("Shop!Shop.Tally.AddThem()", 12).chars().count(), 12);
        let body = "Shop!Shop.Cart+<Add>d__1.MoveNext() (body of Shop.Cart.Add)";
        assert!(cut_name(body, 40).ends_with("(body of Shop.Cart.Add)"), "the owner of the body stays");
    }

    #[test]
    fn wraps_long_text_between_words() {
        assert_eq!(wrapped("it is a  long reason", 9), ["it is a", "long", "reason"]);
        assert_eq!(wrapped("unbreakable", 4), ["unbreakable"]);
        assert!(wrapped("", 4).is_empty());
    }

    #[test]
    fn escapes_control_characters_in_names() {
        let mut table = Table::new(&[wide("NAME")]);
        table.row(vec!["a\u{1b}[2Jb\n".into()]);
        assert_eq!(table.lines(None)[1], "a\\u{1b}[2Jb\\n");
    }

    #[test]
    fn cut_text_has_exactly_the_width() {
        for width in 1..12 {
            assert_eq!(cut_middle("Größe.Äußerst.Lang", width).chars().count(), width);
        }
    }
}
