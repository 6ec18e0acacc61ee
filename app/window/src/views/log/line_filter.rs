//! The lines of a list that contain all words of a filter.

use std::collections::VecDeque;

/// A filter, and the lines it lets through. Each new line is looked at once.
#[derive(Debug, Default)]
pub struct LineFilter {
    /// The filter as typed.
    pub text: String,
    /// The words of the filter that `lines` match, in lower case.
    words: Vec<String>,
    /// Numbers of the lines that match.
    lines: VecDeque<u64>,
    /// The number after the last line looked at.
    seen: u64,
}

impl LineFilter {
    /// Looks at the lines in `first..end` that it has not seen. `line` returns a line's text.
    pub fn update(&mut self, first: u64, end: u64, line: impl Fn(u64) -> String) {
        let words: Vec<String> = self.text.split_whitespace().map(str::to_lowercase).collect();
        if words != self.words || self.seen > end {
            self.lines.clear();
            (self.words, self.seen) = (words, 0);
        }
        if self.words.is_empty() {
            return;
        }
        while self.lines.front().is_some_and(|number| *number < first) {
            self.lines.pop_front();
        }
        for number in self.seen.max(first)..end {
            let text = line(number).to_lowercase();
            if self.words.iter().all(|word| text.contains(word)) {
                self.lines.push_back(number);
            }
        }
        self.seen = end;
    }

    /// Returns the numbers of the lines that match, in order; `None` without a filter, as all do.
    pub fn matching(&self) -> Option<&VecDeque<u64>> {
        (!self.words.is_empty()).then_some(&self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_matches_while_lines_come_and_go() {
        let mut filter = LineFilter::default();
        let text =
            |number: u64| format!("Line {number} of {}", if number % 2 == 0 { "Shop" } else { "Cart" });
        filter.update(0, 6, text);
        assert_eq!(filter.matching(), None, "no filter");
        filter.text = " shop  LINE ".to_owned();
        let found = |filter: &mut LineFilter, first, end| {
            filter.update(first, end, text);
            filter.matching().expect("a filter").iter().copied().collect::<Vec<_>>()
        };
        assert_eq!(found(&mut filter, 0, 6), [0, 2, 4], "all words in any order and case");
        assert_eq!(found(&mut filter, 3, 9), [4, 6, 8], "older lines were dropped and new ones came");
        assert_eq!(found(&mut filter, 20, 23), [20, 22], "everything before was dropped");
        filter.text = "cart".to_owned();
        assert_eq!(found(&mut filter, 20, 24), [21, 23]);
        let looked_at = std::cell::Cell::new(0);
        filter.update(20, 25, |number| {
            looked_at.set(looked_at.get() + 1);
            text(number)
        });
        assert_eq!(looked_at.get(), 1, "only the new line");
    }
}
