//! A set of methods as sorted, disjoint ranges: whole modules and types are one range each, however many
//! methods they have.

use super::catalogue::bit_set::BitSet;
use super::ids::MethodIx;
use std::ops::Range;

/// A set of methods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodSet {
    /// Ascending, disjoint, not adjacent, none empty.
    ranges: Vec<Range<u32>>,
}

impl MethodSet {
    /// Creates a set of one range.
    pub fn range(range: Range<u32>) -> MethodSet {
        let mut set = MethodSet::default();
        set.insert(range);
        set
    }

    /// Creates a set of one method.
    pub fn one(method: MethodIx) -> MethodSet {
        MethodSet::range(method.0..method.0.saturating_add(1))
    }

    /// Creates the set of the methods whose bits are set.
    pub fn from_bits(bits: &BitSet) -> MethodSet {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for index in bits.iter_in(0..u32::MAX) {
            match ranges.last_mut() {
                Some(last) if last.end == index => last.end += 1,
                _ => ranges.push(index..index + 1),
            }
        }
        MethodSet { ranges }
    }

    /// Returns the number of methods.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|range| u64::from(range.end - range.start)).sum()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns whether it contains a method.
    pub fn contains(&self, method: MethodIx) -> bool {
        let after = self.ranges.partition_point(|range| range.end <= method.0);
        self.ranges.get(after).is_some_and(|range| range.start <= method.0)
    }

    /// Returns its parts within a range.
    pub fn within(&self, wanted: &Range<u32>) -> Vec<Range<u32>> {
        let first = self.ranges.partition_point(|range| range.end <= wanted.start);
        let here = self.ranges.iter().skip(first).take_while(|range| range.start < wanted.end);
        here.map(|range| range.start.max(wanted.start)..range.end.min(wanted.end)).collect()
    }

    /// Returns the number of its methods in a range.
    pub fn count_in(&self, wanted: &Range<u32>) -> u32 {
        let first = self.ranges.partition_point(|range| range.end <= wanted.start);
        let here = self.ranges.iter().skip(first).take_while(|range| range.start < wanted.end);
        here.map(|range| range.end.min(wanted.end) - range.start.max(wanted.start)).sum()
    }

    /// Returns whether it contains any method of a range.
    pub fn touches(&self, wanted: &Range<u32>) -> bool {
        let after = self.ranges.partition_point(|range| range.end <= wanted.start);
        !wanted.is_empty() && self.ranges.get(after).is_some_and(|range| range.start < wanted.end)
    }

    /// Returns whether it contains every method of a range.
    pub fn contains_all(&self, wanted: &Range<u32>) -> bool {
        let after = self.ranges.partition_point(|range| range.end <= wanted.start);
        wanted.is_empty()
            || self
                .ranges
                .get(after)
                .is_some_and(|range| range.start <= wanted.start && wanted.end <= range.end)
    }

    /// Adds a range; fastest at the end.
    pub fn insert(&mut self, added: Range<u32>) {
        if added.is_empty() {
            return;
        }
        // Merge the ranges that touch or overlap the new one.
        let first = self.ranges.partition_point(|range| range.end < added.start);
        let last = self.ranges.partition_point(|range| range.start <= added.end);
        let start = self.ranges.get(first..last).and_then(|touched| touched.first());
        let start = start.map_or(added.start, |range| range.start.min(added.start));
        let end = self.ranges.get(first..last).and_then(|touched| touched.last());
        let end = end.map_or(added.end, |range| range.end.max(added.end));
        self.ranges.splice(first..last, std::iter::once(start..end));
    }

    /// Adds a method.
    pub fn insert_one(&mut self, method: MethodIx) {
        self.insert(method.0..method.0.saturating_add(1));
    }

    /// Removes a range.
    pub fn remove(&mut self, removed: Range<u32>) {
        if removed.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|range| range.end <= removed.start);
        let last = self.ranges.partition_point(|range| range.start < removed.end);
        let touched = self.ranges.get(first..last).unwrap_or_default();
        let before = touched.first().map(|range| range.start..removed.start);
        let after = touched.last().map(|range| removed.end..range.end);
        let kept: Vec<_> = before.into_iter().chain(after).filter(|range| !range.is_empty()).collect();
        self.ranges.splice(first..last, kept);
    }

    /// Returns the ranges, ascending.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        self.ranges.iter().cloned()
    }

    /// Returns the methods, ascending.
    pub fn iter(&self) -> impl Iterator<Item = MethodIx> + '_ {
        self.ranges().flatten().map(MethodIx)
    }
}

impl FromIterator<MethodIx> for MethodSet {
    fn from_iter<T: IntoIterator<Item = MethodIx>>(methods: T) -> MethodSet {
        let mut indices: Vec<u32> = methods.into_iter().map(|method| method.0).collect();
        indices.sort_unstable();
        let mut set = MethodSet::default();
        for index in indices {
            set.insert_one(MethodIx(index));
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn checked(set: &MethodSet) -> Vec<u32> {
        let ranges: Vec<_> = set.ranges().collect();
        assert!(ranges.iter().all(|range| !range.is_empty()), "{ranges:?}");
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
        set.iter().map(|method| method.0).collect()
    }

    #[test]
    fn agrees_with_a_set_of_single_methods() {
        // Compares every operation with a set of single numbers; small numbers make ranges touch often.
        let mut random = 12_345u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((random >> 33) % below) as u32
        };
        for _ in 0..200 {
            let (mut set, mut plain) = (MethodSet::default(), BTreeSet::new());
            for _ in 0..40 {
                let start = next(40);
                let range = start..start + next(8);
                if next(3) == 0 {
                    set.remove(range.clone());
                    plain.retain(|index| !range.contains(index));
                } else {
                    set.insert(range.clone());
                    plain.extend(range);
                }
                assert_eq!(checked(&set), plain.iter().copied().collect::<Vec<_>>());
                assert_eq!(set.len(), plain.len() as u64);
            }
            for index in 0..50 {
                assert_eq!(set.contains(MethodIx(index)), plain.contains(&index));
                let range = index..index + next(5);
                assert_eq!(set.touches(&range), range.clone().any(|index| plain.contains(&index)));
                assert_eq!(set.contains_all(&range), range.clone().all(|index| plain.contains(&index)));
            }
        }
    }

    #[test]
    fn collects_methods_in_any_order() {
        let set: MethodSet = [5, 1, 2, 9, 2].map(MethodIx).into_iter().collect();
        assert_eq!(checked(&set), [1, 2, 5, 9]);
        assert_eq!(set.ranges().count(), 3);
        let mut bits = BitSet::none(100);
        set.iter().for_each(|method| bits.set(method.0, true));
        assert_eq!(MethodSet::from_bits(&bits), set);
        assert!(MethodSet::default().is_empty() && !set.is_empty());
        assert_eq!(MethodSet::one(MethodIx(3)).len(), 1);
    }
}
