//! The lines of a list that contain all words of a filter.

use std::collections::VecDeque;

/// Most lines tested in a frame.
const AT_ONCE: u64 = 1_000;

/// A filter and the lines that match it. Tests each line once.
#[derive(Debug, Default)]
pub struct LineFilter {
    /// The filter as typed.
    pub text: String,
    /// The words of the filter that `lines` match, in lower case.
    words: Vec<String>,
    /// Numbers of the lines that match.
    lines: VecDeque<u64>,
    /// The number after the last line tested.
    seen: u64,
}

impl LineFilter {
    /// Tests lines in `first..end` that are new since the last call; after a change of the filter, all of them. `line`
    /// returns a line's text. Returns whether there are more to test than fit into a frame.
    pub fn update(&mut self, first: u64, end: u64, line: impl Fn(u64) -> String) -> bool {
        let words: Vec<String> = self.text.split_whitespace().map(str::to_lowercase).collect();
        if words != self.words {
            self.lines.clear();
            (self.words, self.seen) = (words, first);
        }
        if self.words.is_empty() {
            return false;
        }
        while self.lines.front().is_some_and(|number| *number < first) {
            self.lines.pop_front();
        }
        let from = self.seen.max(first);
        self.seen = end.min(from + AT_ONCE);
        for number in from..self.seen {
            let text = line(number).to_lowercase();
            if self.words.iter().all(|word| text.contains(word)) {
                self.lines.push_back(number);
            }
        }
        self.seen < end
    }

    /// Returns the numbers of the lines that match, in order; `None` without a filter, as all do.
    pub fn matching(&self) -> Option<&VecDeque<u64>> {
        (!self.words.is_empty()).then_some(&self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: u64) -> String {
        format!("Line {number} of {}", if number.is_multiple_of(2) { "Shop" } else { "Cart" })
    }

    #[test]
    fn keeps_matches_while_lines_come_and_go() {
        let mut filter = LineFilter::default();
        assert!(!filter.update(0, 6, text));
        assert_eq!(filter.matching(), None, "no filter");
        filter.text = " shop  LINE ".to_owned();
        let found = |filter: &mut LineFilter, first, end| {
            assert!(!filter.update(first, end, text));
            filter.matching().expect("a filter").iter().copied().collect::<Vec<_>>()
        };
        assert_eq!(found(&mut filter, 0, 6), [0, 2, 4], "all words in any order and case");
        assert_eq!(found(&mut filter, 3, 9), [4, 6, 8], "older lines were dropped and new ones came");
        assert_eq!(found(&mut filter, 20, 23), [20, 22], "everything before was dropped");
        filter.text = "cart".to_owned();
        assert_eq!(found(&mut filter, 20, 24), [21, 23]);
        let tested = std::cell::Cell::new(0);
        filter.update(20, 25, |number| {
            tested.set(tested.get() + 1);
            text(number)
        });
        assert_eq!(tested.get(), 1, "only the new line");
    }

    #[test]
    fn many_lines_take_several_frames() {
        let mut filter = LineFilter { text: "shop".to_owned(), ..LineFilter::default() };
        let end = 2 * AT_ONCE + 10;
        assert!(filter.update(0, end, text) && filter.update(0, end, text));
        assert!(!filter.update(0, end, text));
        assert_eq!(filter.matching().map(VecDeque::len), Some(end as usize / 2));
    }
}
