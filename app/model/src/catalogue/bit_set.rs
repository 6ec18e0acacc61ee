//! A set of methods with one bit per method.

use std::ops::Range;

/// A set of methods as bits; suits the result of filtering a million methods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
    length: usize,
}

impl BitSet {
    /// Creates `length` bits, none set.
    pub fn none(length: usize) -> BitSet {
        BitSet { words: vec![0; length.div_ceil(64)], length }
    }

    /// Creates `length` bits, all set.
    pub fn all(length: usize) -> BitSet {
        let mut bits = BitSet::none(length);
        bits.set_range(0..length as u32, true);
        bits
    }

    /// Creates `length` bits from words of 64, lowest bit first.
    pub fn of_words(words: impl Iterator<Item = u64>, length: usize) -> BitSet {
        let mut bits = BitSet { words: words.collect(), length };
        bits.words.resize(length.div_ceil(64), 0);
        bits
    }

    /// Returns the number of bits, set or not.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there are no bits at all.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Grows to `length` bits; the new ones are not set.
    pub fn grow(&mut self, length: usize) {
        if length > self.length {
            self.words.resize(length.div_ceil(64), 0);
            self.length = length;
        }
    }

    /// Returns whether a bit is set; false if out of range.
    pub fn get(&self, index: u32) -> bool {
        self.words.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Sets or clears a bit; does nothing out of range.
    pub fn set(&mut self, index: u32, on: bool) {
        if (index as usize) < self.length
            && let Some(word) = self.words.get_mut(index as usize / 64)
        {
            let bit = 1u64 << (index % 64);
            if on { *word |= bit } else { *word &= !bit }
        }
    }

    /// Sets or clears the part of a range that exists.
    pub fn set_range(&mut self, range: Range<u32>, on: bool) {
        for (index, mask) in masks(range, self.length) {
            if let Some(word) = self.words.get_mut(index) {
                if on { *word |= mask } else { *word &= !mask }
            }
        }
    }

    /// Copies the bits set in a range of another set to `to` and the following bits.
    pub fn set_as_in(&mut self, other: &BitSet, range: Range<u32>, to: u32) {
        for at in (range.start..range.end).step_by(64) {
            let left = range.end - at;
            let mask = if left < 64 { (1u64 << left) - 1 } else { u64::MAX };
            self.set_word(to + (at - range.start), other.word_from(at) & mask);
        }
    }

    /// Returns the 64 bits from `at`; those past the end are clear.
    fn word_from(&self, at: u32) -> u64 {
        let word = |index: usize| self.words.get(index).copied().unwrap_or(0);
        let (index, shift) = (at as usize / 64, at % 64);
        match shift {
            0 => word(index),
            _ => word(index) >> shift | word(index + 1) << (64 - shift),
        }
    }

    /// Sets bits from `at`, as far as they exist.
    fn set_word(&mut self, at: u32, bits: u64) {
        let within = self.length.saturating_sub(at as usize);
        let bits = if within < 64 { bits & ((1u64 << within) - 1) } else { bits };
        let (index, shift) = (at as usize / 64, at % 64);
        let parts = [bits << shift, if shift == 0 { 0 } else { bits >> (64 - shift) }];
        for (word, part) in self.words.iter_mut().skip(index).zip(parts) {
            *word |= part;
        }
    }

    /// Sets each bit in `ranges` whose entry in `places` is set in `hits`. May also set bits beside the
    /// ranges for which that is true.
    pub fn set_by(&mut self, ranges: &[Range<u32>], places: &[u32], hits: &BitSet) {
        if !hits.any() {
            return;
        }
        for touched in ranges.iter().map(touched) {
            let places = places.chunks(64).skip(touched.start);
            for (word, places) in self.words.iter_mut().take(touched.end).skip(touched.start).zip(places) {
                *word |= hits.gathered(places);
            }
        }
    }

    /// Sets each bit in `ranges` whose places are set in both; see `set_by`.
    pub fn set_by_both(&mut self, ranges: &[Range<u32>], one: (&[u32], &BitSet), two: (&[u32], &BitSet)) {
        if !one.1.any() || !two.1.any() {
            return;
        }
        for touched in ranges.iter().map(touched) {
            let places = one.0.chunks(64).zip(two.0.chunks(64)).skip(touched.start);
            let words = self.words.iter_mut().take(touched.end).skip(touched.start);
            for (word, (these, those)) in words.zip(places) {
                *word |= one.1.gathered(these) & two.1.gathered(those);
            }
        }
    }

    /// Returns the bits at up to 64 places as a word.
    fn gathered(&self, places: &[u32]) -> u64 {
        let bit = |place: &u32| {
            let word = self.words.get(*place as usize / 64).copied().unwrap_or(0);
            word >> (place % 64) & 1
        };
        // Shift each bit separately, so that the operations do not depend on each other.
        places.iter().enumerate().fold(0, |word, (at, place)| word | bit(place) << at)
    }

    /// Keeps only bits that are set in both.
    pub fn intersect(&mut self, other: &BitSet) {
        for (index, word) in self.words.iter_mut().enumerate() {
            *word &= other.words.get(index).copied().unwrap_or(0);
        }
    }

    /// Sets the bits that are set in another set, as far as they exist.
    pub fn unite(&mut self, other: &BitSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
        // Keep the bits past the end clear.
        if let (Some(last), used @ 1..) = (self.words.last_mut(), self.length % 64) {
            *last &= (1 << used) - 1;
        }
    }

    /// Clears the bits that are set in another set.
    pub fn subtract(&mut self, other: &BitSet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Returns whether any bit is set.
    pub fn any(&self) -> bool {
        self.words.iter().any(|word| *word != 0)
    }

    /// Returns the number of bits set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the number of bits set in a range.
    pub fn count_in(&self, range: Range<u32>) -> u32 {
        let count = |(index, mask): (usize, u64)| {
            self.words.get(index).map_or(0, |word: &u64| (word & mask).count_ones())
        };
        masks(range, self.length).map(count).sum()
    }

    /// Returns the number of bits set in both, in a range.
    pub fn count_both(&self, other: &BitSet, range: Range<u32>) -> u32 {
        let count = |(index, mask): (usize, u64)| match (self.words.get(index), other.words.get(index)) {
            (Some(one), Some(two)) => (one & two & mask).count_ones(),
            _ => 0,
        };
        masks(range, self.length).map(count).sum()
    }

    /// Prepares for many queries of [`BitRanks::before`].
    pub fn ranks(&self) -> BitRanks<'_> {
        let mut sum = 0;
        let before = |word: &u64| {
            let before = sum;
            sum += word.count_ones();
            before
        };
        let before = self.words.iter().map(before).collect();
        BitRanks { bits: self, before, all: sum }
    }

    /// Returns the indices of the bits set in a range, ascending.
    pub fn iter_in(&self, range: Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let end = range.end.min(self.length as u32);
        let first = range.start.min(end);
        let words = first as usize / 64..(end as usize).div_ceil(64);
        words.flat_map(move |index| {
            let mut word = self.words.get(index).copied().unwrap_or(0);
            let base = index as u32 * 64;
            if base < first {
                word &= u64::MAX << (first - base);
            }
            if end - base < 64 {
                word &= (1u64 << (end - base)) - 1;
            }
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(base + bit)
            })
        })
    }
}

/// Answers how many bits are set before a place.
pub struct BitRanks<'a> {
    bits: &'a BitSet,
    /// The number of bits set before each word, and in total.
    before: Vec<u32>,
    all: u32,
}

impl BitRanks<'_> {
    /// Returns the number of bits set before a place, which may be past the end.
    pub fn before(&self, place: u32) -> u32 {
        let word = place as usize / 64;
        match (self.before.get(word), self.bits.words.get(word)) {
            (Some(before), Some(bits)) => before + (bits & ((1u64 << (place % 64)) - 1)).count_ones(),
            _ => self.all,
        }
    }
}

/// Returns the words that a range touches.
fn touched(range: &Range<u32>) -> Range<usize> {
    range.start as usize / 64..(range.end as usize).div_ceil(64)
}

/// Returns the words that a range touches, each with a mask of the range's bits.
fn masks(range: Range<u32>, length: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = (range.end as usize).min(length);
    let start = (range.start as usize).min(end);
    let words = if start < end { start / 64..end.div_ceil(64) } else { 0..0 };
    words.map(move |index| {
        let low = if index == start / 64 { u64::MAX << (start % 64) } else { u64::MAX };
        let high = if index == end / 64 { (1u64 << (end % 64)) - 1 } else { u64::MAX };
        (index, low & high)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_bits_by_their_places() {
        let places: Vec<u32> = (0..200u32).map(|bit| bit * 7 % 50).collect();
        let others: Vec<u32> = (0..200u32).map(|bit| bit * 3 % 20).collect();
        let (mut hits, mut more) = (BitSet::none(50), BitSet::none(20));
        [3, 4, 20, 49].iter().for_each(|place| hits.set(*place, true));
        [0, 7, 9].iter().for_each(|place| more.set(*place, true));
        let hit = |bit: u32| hits.get(places[bit as usize]);
        let both = |bit: u32| hit(bit) && more.get(others[bit as usize]);
        for ranges in [vec![0..0, 5..5], vec![63..65], vec![0..3, 64..128, 130..200], vec![199..200]] {
            let (mut one, mut two) = (BitSet::none(200), BitSet::none(200));
            one.set_by(&ranges, &places, &hits);
            two.set_by_both(&ranges, (&places, &hits), (&others, &more));
            let inside = |bit: u32| ranges.iter().any(|range| range.contains(&bit));
            for bit in 0..200 {
                assert!(one.get(bit) == hit(bit) || !inside(bit) && !one.get(bit), "{bit} of {ranges:?}");
                assert!(two.get(bit) == both(bit) || !inside(bit) && !two.get(bit), "{bit} of {ranges:?}");
            }
            let mut none = BitSet::none(200);
            none.set_by(&ranges, &places, &BitSet::none(50));
            assert!(!none.any());
        }
    }

    #[test]
    fn range_operations_agree_with_single_bits() {
        for length in [0u32, 1, 63, 64, 65, 200] {
            for start in [0u32, 1, 62, 63, 64, 65, 127, 128, 199, 200, 300] {
                for size in [0u32, 1, 2, 63, 64, 65, 130] {
                    let range = start..start + size;
                    let mut bits = BitSet::none(length as usize);
                    bits.set_range(range.clone(), true);
                    let expected: Vec<u32> = (0..length).filter(|index| range.contains(index)).collect();
                    let every: Vec<u32> = bits.iter_in(0..length).collect();
                    assert_eq!(every, expected, "{length} {range:?}");
                    assert_eq!(bits.count(), expected.len());
                    let mut all = BitSet::all(length as usize);
                    assert_eq!(all.count_in(range.clone()) as usize, expected.len());
                    assert_eq!(all.iter_in(range.clone()).collect::<Vec<_>>(), expected);
                    assert_eq!(all.count_both(&bits, 0..u32::MAX) as usize, expected.len());
                    let before = expected.iter().filter(|index| **index < start + 3).count();
                    assert_eq!(bits.ranks().before(start + 3) as usize, before);
                    all.set_range(range.clone(), false);
                    assert!((0..length).all(|index| all.get(index) != bits.get(index)));
                    let mut whole = all.clone();
                    whole.unite(&bits);
                    whole.unite(&BitSet::all(length as usize / 2));
                    assert_eq!(whole, BitSet::all(length as usize));
                    let mut short = BitSet::none(length as usize / 2);
                    short.unite(&whole);
                    assert_eq!(short, BitSet::all(length as usize / 2));
                    all.intersect(&bits);
                    assert_eq!(all.count(), 0);
                }
            }
        }
    }

    #[test]
    fn copies_a_range_to_any_offset() {
        let mut other = BitSet::none(300);
        (0..300u32).filter(|at| at * at % 7 < 3).for_each(|at| other.set(at, true));
        for start in [0u32, 1, 63, 64, 70, 200] {
            for size in [0u32, 1, 63, 64, 65, 130, 100] {
                for to in [0u32, 1, 63, 64, 90] {
                    for length in [50u32, 64, 250] {
                        let mut bits = BitSet::none(length as usize);
                        bits.set(5, true);
                        bits.set_as_in(&other, start..start + size, to);
                        let expected: Vec<u32> = (0..length)
                            .filter(|at| {
                                let there = to..to + size;
                                *at == 5 || there.contains(at) && other.get(at - to + start)
                            })
                            .collect();
                        assert_eq!(
                            bits.iter_in(0..u32::MAX).collect::<Vec<_>>(),
                            expected,
                            "{start} {size} {to} {length}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn single_bits_and_growth() {
        let mut bits = BitSet::none(10);
        bits.set(9, true);
        bits.set(10, true);
        assert!(bits.get(9) && !bits.get(10) && !bits.get(1_000));
        bits.grow(70);
        assert_eq!(bits.iter_in(0..70).collect::<Vec<_>>(), [9]);
        bits.set(69, true);
        bits.set(9, false);
        assert_eq!(bits.iter_in(0..70).collect::<Vec<_>>(), [69]);
        assert_eq!(bits.len(), 70);
    }
}
