//! Sentences beneath a table that is drawn over itself, on a terminal of some columns and lines.
#![forbid(unsafe_code)]

use crate::cli::times;
use crate::output::table::wrapped;

/// Lines that the least table takes: its head, headings, a row, how many more there are, and that of the cursor.
const TABLE: usize = 5;

/// Lines kept free beneath a table for its notes, which then never move it, and what the notes are.
pub struct Notes<'a> {
    remarks: &'a [&'static str],
    columns: usize,
    lines: usize,
}

impl<'a> Notes<'a> {
    /// These remarks, and, `timed`, one on columns of times that there is no room for, whether it will be there or not: a
    /// table that jumps cannot be read. They take a third of the terminal at most,
    /// and nothing that the table needs.
    pub fn new(remarks: &'a [&'static str], timed: bool, (columns, rows): (usize, usize)) -> Notes<'a> {
        let mut notes = Notes { remarks, columns, lines: (rows / 3).min(rows.saturating_sub(TABLE)) };
        let longest = if timed { times::all_headings() } else { Vec::new() };
        notes.lines = notes.beneath(&longest).len();
        notes
    }

    /// How many lines are kept free.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The notes where these columns are left out: each is whole, or there is no room for it.
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
    fn notes_are_whole_and_leave_the_table_where_it_is() {
        let remarks = ["one of thirty characters or so"];
        let notes = Notes::new(&remarks, true, (40, 24));
        assert_eq!(notes.lines(), 4, "three for what there is no room for, and the remark");
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
