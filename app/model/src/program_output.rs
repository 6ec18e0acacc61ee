//! The output of launched programs, line by line; bounded.

use super::update::{Now, ProgramLine};
use std::collections::VecDeque;

/// Maximum number of lines; older ones are dropped.
pub const KEPT: usize = 5_000;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLine {
    /// When it was read.
    pub at: Now,
    /// The program's process id.
    pub pid: u32,
    /// Its text and stream.
    pub written: ProgramLine,
}

/// The lines.
#[derive(Debug, Default)]
pub struct ProgramOutput {
    lines: VecDeque<OutputLine>,
    total: u64,
    left_out: u64,
    /// Number of lines received before they were last cleared.
    cleared: u64,
}

impl ProgramOutput {
    /// Adds lines of a program, and the number of lines that were dropped because nobody kept up.
    pub fn add(&mut self, at: Now, pid: u32, lines: Vec<ProgramLine>, left_out: u64) {
        self.total += lines.len() as u64;
        self.left_out += left_out;
        self.lines.extend(lines.into_iter().map(|written| OutputLine { at, pid, written }));
        let over = self.lines.len().saturating_sub(KEPT);
        self.lines.drain(..over);
    }

    /// Returns the kept lines, oldest first.
    pub fn lines(&self) -> &VecDeque<OutputLine> {
        &self.lines
    }

    /// Removes all lines; they do not count as dropped.
    pub fn clear(&mut self) {
        self.lines.clear();
        (self.cleared, self.left_out) = (self.total, 0);
    }

    /// Returns the number of lines received, including dropped and removed ones.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of lines that were dropped.
    pub fn gone(&self) -> u64 {
        self.left_out + self.total - self.cleared - self.lines.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_old_lines_and_counts_them() {
        let mut output = ProgramOutput::default();
        for number in 0..KEPT + 3 {
            let text = format!("line {number}");
            output.add(Now::default(), 7, vec![ProgramLine { error: false, text }], 0);
        }
        output.add(Now::default(), 7, Vec::new(), 10);
        assert_eq!((output.lines().len(), output.total(), output.gone()), (KEPT, KEPT as u64 + 3, 13));
        assert_eq!(output.lines().front().map(|line| line.written.text.as_str()), Some("line 3"));
        output.clear();
        let text = "after".to_owned();
        output.add(Now::default(), 7, vec![ProgramLine { error: false, text }], 0);
        assert_eq!((output.lines().len(), output.total(), output.gone()), (1, KEPT as u64 + 4, 0));
    }
}
