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

/// A column's heading, its alignment, and what becomes of it when the table is too wide.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    heading: &'static str,
    short: &'static str,
    align: Align,
    gives: Gives,
    least: usize,
    goes: Option<u8>,
}

/// How far a column may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    Nothing,
    /// Down to [`NARROWEST`].
    Way,
    /// The same, once all has gone that may go; before it keeps [`share`] of a line.
    WayAtLast,
}

const fn column(heading: &'static str, align: Align, gives: Gives) -> Column {
    Column { heading, short: heading, align, gives, least: 0, goes: None }
}

/// A column of text that keeps its width.
pub const fn text(heading: &'static str) -> Column {
    column(heading, Align::Left, Gives::Nothing)
}

/// A column of text that gives way when the terminal is narrow.
pub const fn wide(heading: &'static str) -> Column {
    column(heading, Align::Left, Gives::Way)
}

/// A column of what rows are called: it gives way, but not before other columns have gone that may.
pub const fn name(heading: &'static str) -> Column {
    column(heading, Align::Left, Gives::WayAtLast)
}

/// A column of numbers.
pub const fn number(heading: &'static str) -> Column {
    column(heading, Align::Right, Gives::Nothing)
}

impl Column {
    /// With another heading for narrow terminals.
    pub const fn or(self, short: &'static str) -> Column {
        Column { short, ..self }
    }

    /// Never narrower, so that numbers that change move nothing.
    pub const fn at_least(self, least: usize) -> Column {
        Column { least, ..self }
    }

    /// Left out where there is no room for names, the lowest number first.
    pub const fn goes(self, turn: u8) -> Column {
        Column { goes: Some(turn), ..self }
    }

    fn heading(&self, short: bool) -> &'static str {
        if short { self.short } else { self.heading }
    }

    /// Characters that it needs of a line, of `width` that it would like.
    fn needs(&self, width: usize, line: usize) -> usize {
        match self.gives {
            Gives::Nothing => width,
            Gives::Way => width.min(NARROWEST),
            Gives::WayAtLast => width.min(share(line)),
        }
    }
}

/// Narrowest a column may become that gives way.
const NARROWEST: usize = 12;
const GAP: usize = 2;

/// What names keep of a line: 30 characters of 80.
fn share(line: usize) -> usize {
    (line * 3 / 8).max(NARROWEST)
}

/// Rows under headings.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// How a table stands on lines of some length.
struct Layout {
    /// The headings are the short ones.
    short: bool,
    /// Width of each column; None: it is left out.
    widths: Vec<Option<usize>>,
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

    /// The lines, heading first. With `line`, characters of a line, none is longer: short headings, then columns are left
    /// out that may go, then those that give way are cut in the middle; what still does not fit is left to the terminal.
    pub fn lines(&self, line: Option<usize>) -> Vec<String> {
        let Layout { short, widths } = self.layout(line);
        let headings: Vec<String> =
            self.columns.iter().map(|column| column.heading(short).to_owned()).collect();
        std::iter::once(&headings).chain(&self.rows).map(|row| self.line(row, &widths)).collect()
    }

    /// Headings of the columns that are left out of such lines.
    pub fn left_out(&self, line: Option<usize>) -> Vec<&'static str> {
        let layout = self.layout(line);
        let out = self.columns.iter().zip(layout.widths).filter(|(_, width)| width.is_none());
        out.map(|(column, _)| column.heading).collect()
    }

    /// Whether all of it stands on lines of so many characters.
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
            let Some((_, width)) = may_go.min_by_key(|(turn, _)| *turn) else { break };
            *width = None;
        }
        self.shrink(&mut layout.widths, line);
        layout
    }

    /// Characters of each column under such headings.
    fn widths(&self, short: bool) -> Vec<usize> {
        let least = |column: &Column| column.heading(short).chars().count().max(column.least);
        let mut widths: Vec<usize> = self.columns.iter().map(least).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }

    /// Characters of a line that it needs.
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
                .filter(|(column, _)| column.gives != Gives::Nothing)
                .filter_map(|(_, width)| width.as_mut().filter(|width| **width > NARROWEST))
                .max_by_key(|width| **width);
            let Some(width) = widest else { return };
            *width -= 1;
            total -= 1;
        }
    }

    fn line(&self, row: &[String], widths: &[Option<usize>]) -> String {
        let mut line = String::new();
        for ((cell, width), column) in row.iter().zip(widths).zip(&self.columns) {
            let Some(width) = *width else { continue };
            let cell = match column.gives {
                Gives::WayAtLast => cut_name(cell, width),
                _ => cut_middle(cell, width),
            };
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

/// Characters of a line that columns of these widths make.
fn total(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// A text in lines of at most `width` characters, broken between words where that can be.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
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

/// A method's name of at most `width` characters: its assembly goes, else its parameters, else both, and then its middle.
fn cut_name(name: &str, width: usize) -> String {
    let without_assembly = |name: &str| name.split_once('!').map(|(_, rest)| format!("…{rest}"));
    let parts = name.strip_suffix(')').and_then(|name| name.split_once('('));
    let parts = parts.filter(|(_, parameters)| !parameters.is_empty() && !parameters.contains('('));
    let short = parts.map_or_else(|| name.to_owned(), |(before, _)| format!("{before}(…)"));
    let shorter =
        [Some(name.to_owned()), without_assembly(name), Some(short.clone()), without_assembly(&short)];
    let fitting = shorter.into_iter().flatten().find(|name| name.chars().count() <= width);
    fitting.unwrap_or_else(|| cut_middle(short.split_once('!').map_or(&*short, |(_, rest)| rest), width))
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
    fn names_keep_their_room_and_other_columns_go_one_after_the_other() {
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
        assert!(first(Some(12)).ends_with("METHOD"), "what cannot go stays");
    }

    #[test]
    fn a_long_name_loses_its_assembly_and_its_parameters_before_its_middle() {
        let name = "Shop!Shop.Tally.Add(Shop.Known, long)";
        for (width, shown) in [
            (37, name),
            (36, "…Shop.Tally.Add(Shop.Known, long)"),
            (32, "Shop!Shop.Tally.Add(…)"),
            (20, "…Shop.Tally.Add(…)"),
            (16, "Shop.…lly.Add(…)"),
        ] {
            assert_eq!(cut_name(name, width), shown, "{width}");
        }
        assert_eq!(cut_name("Shop!Shop.Tally.AddThem()", 20).chars().count(), 20);
        let body = "Shop!Shop.Cart+<Add>d__1.MoveNext() (body of Shop.Cart.Add)";
        assert!(cut_name(body, 40).ends_with("(body of Shop.Cart.Add)"), "whose body it is stays");
    }

    #[test]
    fn a_long_text_is_broken_between_words() {
        assert_eq!(wrapped("it is a  long reason", 9), ["it is a", "long", "reason"]);
        assert_eq!(wrapped("unbreakable", 4), ["unbreakable"]);
        assert!(wrapped("", 4).is_empty());
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
