//! The space that a listing has, and whether it may use colour: a terminal, or a file without limits.

use super::terminal_space::terminal;

/// The space of a listing. A file or pipe has no limits and no colour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    /// Characters in a line.
    pub columns: Option<usize>,
    /// Lines, with the one that the prompt takes.
    pub lines: Option<usize>,
    /// The number of rows that the user asked for.
    pub limit: Option<usize>,
    /// Colours.
    pub paint: Paint,
}

impl Page {
    /// Returns the space of standard output; `limit` is the number of rows that the user asked for.
    pub fn of_stdout(limit: Option<u64>) -> Page {
        let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let size = terminal();
        let columns = size.map(|(columns, _)| columns);
        let lines = size.map(|(_, lines)| lines).filter(|_| limit.is_none());
        Page { columns, lines, limit, paint: Paint::of_stdout() }
    }

    /// Returns the part of one of several listings that are printed together.
    #[must_use]
    pub fn shared(self, listings: usize) -> Page {
        Page { lines: self.lines.map(|lines| lines / listings.max(1)), ..self }
    }

    /// Returns a page with this number of columns and otherwise no limits.
    #[cfg(test)]
    pub fn wide(columns: Option<usize>) -> Page {
        Page { columns, ..Page::default() }
    }
}

/// The rows that fit on a page at least, even if the terminal is lower.
pub const LEAST_ROWS: usize = 5;

/// Returns the line about rows that a listing leaves out, if there are some.
pub fn left_out(rows: usize) -> Option<String> {
    let rows = redial_text::words::grouped(rows as u64);
    (rows != "0").then(|| format!("… and {rows} called less often; --limit N or a file has more"))
}

/// Colours text with the terminal's own colours, or leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Returns colours if standard output is a terminal that has them and the user wants them
    /// (the `NO_COLOR` convention).
    pub fn of_stdout() -> Paint {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|value| value != "dumb");
        Paint { on: wanted && able && terminal().is_some() }
    }

    /// Formats headings.
    pub fn heading(self, text: String) -> String {
        self.with("1", text)
    }

    /// Formats notes and rows of less interest.
    pub fn dim(self, text: String) -> String {
        self.with("2", text)
    }

    /// Formats rows with a problem.
    pub fn problem(self, text: String) -> String {
        self.with("33", text)
    }

    /// Wraps text in an SGR sequence (ECMA-48 8.3.117).
    fn with(self, code: &str, text: String) -> String {
        if self.on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_get_no_colour() {
        let plain = Paint::default();
        assert_eq!([plain.heading("A".into()), plain.problem("B".into())], ["A", "B"]);
        let colour = Paint { on: true };
        assert_eq!(colour.dim("A".into()), "\u{1b}[2mA\u{1b}[0m");
        assert_eq!(colour.dim(String::new()), "");
    }

    #[test]
    fn counts_rows_that_do_not_fit() {
        assert_eq!(left_out(0), None);
        let line = left_out(93_950);
        assert_eq!(line.as_deref(), Some("… and 93,950 called less often; --limit N or a file has more"));
    }
}
