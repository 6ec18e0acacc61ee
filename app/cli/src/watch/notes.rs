//! Notes below a table that is redrawn in place.

use crate::output::table::wrapped;
use crate::times;

/// The height of the smallest table: head, headings, a row, the number of further rows, and the cursor's line.
const TABLE: usize = 5;

/// The notes below a table, with lines reserved for them so that the table never moves.
pub struct Notes<'a> {
    remarks: &'a [&'static str],
    columns: usize,
    lines: usize,
}

impl<'a> Notes<'a> {
    /// Reserves lines for these remarks and, if `timed`, for a note on hidden time columns, even if none is hidden: a
    /// table that jumps cannot be read. The notes take at most a third of the terminal, and no line that the table
    /// needs.
    pub fn new(remarks: &'a [&'static str], timed: bool, (columns, rows): (usize, usize)) -> Notes<'a> {
        let mut notes = Notes { remarks, columns, lines: (rows / 3).min(rows.saturating_sub(TABLE)) };
        let longest = if timed { times::all_headings() } else { Vec::new() };
        notes.lines = notes.beneath(&longest).len();
        notes
    }

    /// Returns the number of reserved lines.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Returns the notes when these columns are hidden. A note is shown whole or not at all.
    pub fn beneath(&self, left_out: &[&str]) -> Vec<String> {
        let mut lines = Vec::new();
        let remarks = self.remarks.iter().map(|remark| (*remark).to_owned());
        for note in times::no_room(left_out).into_iter().chain(remarks) {
            let note = wrapped(&note, self.columns);
            if lines.len() + note.len() <= self.lines {
                lines.extend(note);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_whole_and_never_move_the_table() {
        let remarks = ["one of thirty characters or so"];
        let notes = Notes::new(&remarks, true, (40, 24));
        assert_eq!(notes.lines(), 4, "three for hidden columns, and the remark");
        assert_eq!(
            notes.beneath(&["P90", "EXCEPTIONS", "IN FLIGHT"]),
            ["no room for P90, EXCEPTIONS, IN FLIGHT;", "--json has them", remarks[0]]
        );
        assert_eq!(notes.beneath(&[]), remarks);
        assert_eq!(Notes::new(&remarks, true, (40, 8)).lines(), 1, "a low terminal has no room for all");
        assert_eq!([5, 6].map(|rows| Notes::new(&remarks, true, (80, rows)).lines()), [0, 1]);
        assert_eq!(Notes::new(&[], false, (40, 24)).lines(), 0);
    }
}
