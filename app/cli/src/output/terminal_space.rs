//! The size of the terminal, if standard output is one.

use std::io::{self, IsTerminal};

/// Returns the width of the terminal, or `None` if stdout is not a terminal, so that scripts get whole names.
pub fn terminal_columns() -> Option<usize> {
    terminal().map(|(columns, _)| columns)
}

/// Returns the columns and lines of the terminal, or `None` if stdout is not a terminal.
pub fn terminal() -> Option<(usize, usize)> {
    if !io::stdout().is_terminal() {
        return None;
    }
    #[cfg(windows)]
    if !redial_link::console::understands_sequences() {
        return None;
    }
    let size = terminal_size::terminal_size();
    Some(
        size.map_or((80, 24), |(width, height)| (usize::from(width.0).max(20), usize::from(height.0).max(5))),
    )
}
