//! What launched programs wrote, line by line; bounded.

use super::update::{Now, Written};
use std::collections::VecDeque;

/// Lines kept; older ones go.
pub const KEPT: usize = 5_000;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it was read.
    pub at: Now,
    /// The program's process id.
    pub pid: u32,
    /// What it wrote, and where to.
    pub written: Written,
}

/// The lines.
#[derive(Debug, Default)]
pub struct Output {
    lines: VecDeque<Line>,
    total: u64,
    left_out: u64,
}

impl Output {
    /// Adds lines of a program, and how many more it wrote that nobody kept up with.
    pub fn add(&mut self, at: Now, pid: u32, lines: Vec<Written>, left_out: u64) {
        self.total += lines.len() as u64;
        self.left_out += left_out;
        self.lines.extend(lines.into_iter().map(|written| Line { at, pid, written }));
        let over = self.lines.len().saturating_sub(KEPT);
        self.lines.drain(..over);
    }

    /// The lines kept, oldest first.
    pub fn lines(&self) -> &VecDeque<Line> {
        &self.lines
    }

    /// Lines that ever came, those gone included.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Lines that are not here any more, or never were.
    pub fn gone(&self) -> u64 {
        self.left_out + self.total - self.lines.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_counts_what_is_gone() {
        let mut output = Output::default();
        for number in 0..KEPT + 3 {
            let text = format!("line {number}");
            output.add(Now::default(), 7, vec![Written { error: false, text }], 0);
        }
        output.add(Now::default(), 7, Vec::new(), 10);
        assert_eq!((output.lines().len(), output.total(), output.gone()), (KEPT, KEPT as u64 + 3, 13));
        assert_eq!(output.lines().front().map(|line| line.written.text.as_str()), Some("line 3"));
    }
}
