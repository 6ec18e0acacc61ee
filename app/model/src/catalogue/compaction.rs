//! Compacts a column in place after parts of it were removed, and maps old positions to new ones.

use std::ops::Range;

/// The remaining ranges of a column, ascending and disjoint, each with its new start.
#[derive(Clone, Debug, Default)]
pub(super) struct Compaction {
    runs: Vec<(Range<u32>, u32)>,
    length: u32,
}

impl Compaction {
    /// Creates the mapping from ascending ranges, which may repeat but not otherwise overlap.
    pub fn only<'a>(ranges: impl Iterator<Item = &'a Range<u32>>) -> Compaction {
        let mut stay = Compaction::default();
        for range in ranges.filter(|range| !range.is_empty()) {
            match stay.runs.last_mut() {
                Some((last, _)) if range.start < last.end => continue,
                Some((last, _)) if last.end == range.start => last.end = range.end,
                _ => stay.runs.push((range.clone(), stay.length)),
            }
            stay.length += range.len() as u32;
        }
        stay
    }

    /// Returns the remaining length.
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Returns the ranges, each with its new start.
    pub fn runs(&self) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
        self.runs.iter().map(|(range, to)| (range.start as usize..range.end as usize, *to as usize))
    }

    /// Returns the new position of a range that remains as a whole. An empty range moves behind the parts
    /// that remain before it.
    pub fn moved(&self, range: &Range<u32>) -> Range<u32> {
        let at = self.runs.partition_point(|(run, _)| run.end <= range.start);
        let start =
            self.runs.get(at).map_or(self.length, |(run, to)| range.start.saturating_sub(run.start) + to);
        start..start + range.len() as u32
    }

    /// Maps numbers to their new values, omitting removed ones.
    pub fn renumbered(&self, numbers: &[u32]) -> Vec<u32> {
        // A table instead of a search for each, because the numbers cover about the whole column.
        let mut table = vec![u32::MAX; self.runs.last().map_or(0, |(range, _)| range.end as usize)];
        for (range, to) in self.runs() {
            let now = to as u32..;
            table.get_mut(range).into_iter().flatten().zip(now).for_each(|(place, now)| *place = now);
        }
        let now = |number: &u32| table.get(*number as usize).copied().filter(|now| *now != u32::MAX);
        numbers.iter().filter_map(now).collect()
    }

    /// Compacts a column.
    pub fn compact<T: Copy>(&self, column: &mut Vec<T>) {
        for (range, to) in self.runs().filter(|(range, to)| range.start != *to) {
            if range.end <= column.len() {
                column.copy_within(range, to);
            }
        }
        column.truncate(self.len());
    }

    /// Compacts a column of a type that is not `Copy`.
    pub fn compact_each<T>(&self, column: &mut Vec<T>) {
        let mut runs = self.runs.iter().map(|(range, _)| range).peekable();
        let mut index = 0;
        column.retain(|_| {
            while runs.next_if(|range| range.end <= index).is_some() {}
            let stays = runs.peek().is_some_and(|range| range.contains(&index));
            index += 1;
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacts_and_renumbers_columns() {
        let stay = Compaction::only([0..2, 2..3, 5..5, 6..8, 6..8, 9..10].iter());
        assert_eq!(stay.len(), 6);
        let runs: Vec<_> = stay.runs().collect();
        assert_eq!(runs, [(0..3, 0), (6..8, 3), (9..10, 5)]);
        let moved = |range: Range<u32>| stay.moved(&range);
        assert_eq!([moved(6..8), moved(1..3)], [3..5, 1..3]);
        let empty = [moved(0..0), moved(2..2), moved(4..4), moved(7..7), moved(8..8), moved(12..12)];
        assert_eq!(empty, [0..0, 2..2, 3..3, 4..4, 5..5, 6..6]);
        assert_eq!(stay.renumbered(&[9, 4, 0, 12, 7, 3, 2]), [5, 0, 4, 2]);
        let mut column: Vec<u32> = (0..10).collect();
        let mut names: Vec<String> = column.iter().map(u32::to_string).collect();
        stay.compact(&mut column);
        stay.compact_each(&mut names);
        assert_eq!(column, [0, 1, 2, 6, 7, 9]);
        assert_eq!(names, ["0", "1", "2", "6", "7", "9"]);
        Compaction::default().compact(&mut column);
        assert_eq!(column, [0u32; 0]);
    }
}
