//! Many strings in two allocations: the original text, and a folded copy for searching. A line break follows
//! each string, so that no search hit can span two strings.

use super::bit_set::BitSet;
use super::compaction::Compaction;
use crate::query::fold_into;
use std::ops::Range;

/// The strings; at most 4 GiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arena {
    text: String,
    /// The same in lower case, with every byte at the same place.
    folded: String,
    /// The position of the line break after each string.
    ends: Vec<u32>,
    /// Letters in each folded string: one bit for each of [`LETTERS`], and one for all others.
    letters: Vec<u64>,
    /// Capitals in each string, one bit each.
    capitals: Vec<u32>,
    /// Letter pairs in each folded string: one bit for each of [`PAIRS`], and one for all others.
    pairs: Vec<u64>,
    /// Word beginnings in each string: one bit for each of [`BEGINNINGS`].
    beginnings: Vec<u32>,
    /// For each [`BLOCK`] of bytes: the first string that does not end before it.
    blocks: Vec<u32>,
}

/// Bytes per entry in `blocks`: about two names.
const BLOCK: usize = 32;

/// The letters of most names.
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789_.<>(),[]&*+-`|!$=/:;@#? ";

/// The bit of each byte in `letters`.
const BITS: [u8; 256] = {
    let mut bits = [63; 256];
    let mut at = 0;
    while at < LETTERS.len() {
        bits[LETTERS[at] as usize] = at as u8;
        at += 1;
    }
    bits
};

/// The most common pairs of letters (each in at least 7 of 100 names of .NET 8's framework): a text search
/// for one of these would stop at every other name. All other pairs are rare enough to search for.
const PAIRS: [&[u8; 2]; 63] = [
    b"te", b"et", b"er", b"at", b"in", b"ge", b"on", b"ti", b"re", b"en", b"st", b"nt", b"le", b"ri", b"co",
    b"me", b"t_", b"se", b"al", b"es", b"tr", b"io", b"em", b"de", b"or", b"ar", b"it", b"ec", b"ta", b"ed",
    b"na", b"ra", b"ea", b"ng", b"pe", b"li", b"an", b"as", b"ce", b"ct", b"to", b"tt", b"nd", b"ut", b"is",
    b"ro", b"ve", b"ty", b"ex", b"sy", b"ne", b"ac", b"si", b"bu", b"pa", b"ic", b"ma", b"th", b"el", b"ns",
    b"ad", b"nc", b"ss",
];

/// The bit of each pair, indexed by the bits of its letters; 63 if it has none.
const PAIR_BITS: [[u8; 64]; 64] = {
    let mut bits = [[63; 64]; 64];
    let mut at = 0;
    while at < PAIRS.len() {
        bits[BITS[PAIRS[at][0] as usize] as usize][BITS[PAIRS[at][1] as usize] as usize] = at as u8;
        at += 1;
    }
    bits
};

fn pair_bit(one: u8, other: u8) -> u64 {
    let [one, other] = [one, other].map(|byte| usize::from(*BITS.get(usize::from(byte)).unwrap_or(&63)));
    PAIR_BITS.get(one).and_then(|bits| bits.get(other)).map_or(OTHERS, |bit| 1 << bit)
}

fn pairs_of(folded: &[u8]) -> u64 {
    folded.windows(2).fold(0, |pairs, pair| match *pair {
        [one, other] => pairs | pair_bit(one, other),
        _ => pairs,
    })
}

/// The most common beginnings of the words in names; see `PAIRS`.
const BEGINNINGS: [&[u8; 2]; 32] = [
    b"Co", b"In", b"Re", b"Ge", b"Sy", b"At", b"St", b"Se", b"De", b"Ty", b"Ex", b"As", b"En", b"Na", b"Pa",
    b"Pr", b"Fi", b"Va", b"Me", b"No", b"Ar", b"Is", b"Ma", b"To", b"Ch", b"Ca", b"Di", b"Nu", b"Ba", b"Ha",
    b"Da", b"Tr",
];

/// The bit of each beginning, indexed by its capital and the bit of its second letter; 32 if it has none.
const BEGINNING_BITS: [[u8; 64]; 26] = {
    let mut bits = [[32; 64]; 26];
    let mut at = 0;
    while at < BEGINNINGS.len() {
        let [capital, other] = *BEGINNINGS[at];
        bits[(capital - b'A') as usize][BITS[other as usize] as usize] = at as u8;
        at += 1;
    }
    bits
};

/// Returns the bit of a capital and a letter; 0 if they have none.
fn beginning_bit(capital: u8, other: u8) -> u32 {
    let bits = BEGINNING_BITS.get(usize::from(capital.wrapping_sub(b'A')));
    let bit = bits.zip(BITS.get(usize::from(other))).and_then(|(bits, other)| bits.get(usize::from(*other)));
    bit.and_then(|bit| 1u32.checked_shl(u32::from(*bit))).unwrap_or(0)
}

fn beginnings_of(text: &[u8]) -> u32 {
    text.windows(2).fold(0, |found, pair| match *pair {
        [capital @ b'A'..=b'Z', other] => found | beginning_bit(capital, other),
        _ => found,
    })
}

/// The shared bit of all letters and pairs without one of their own.
const OTHERS: u64 = 1 << 63;

fn capitals_of(text: &[u8]) -> u32 {
    let capitals = text.iter().filter(|byte| byte.is_ascii_uppercase());
    capitals.fold(0, |capitals, byte| capitals | 1 << (byte - b'A'))
}

/// Returns one bit per string, set where `such` holds for its letters.
fn having<T>(letters: &[T], such: impl Fn(&T) -> bool) -> BitSet {
    let words = letters.chunks(64).map(|letters| {
        let letters = letters.iter().enumerate();
        letters.fold(0, |word, (at, letters)| word | u64::from(such(letters)) << at)
    });
    BitSet::of_words(words, letters.len())
}

fn letters_of(folded: &[u8]) -> u64 {
    folded.iter().fold(0, |letters, byte| letters | 1 << BITS.get(usize::from(*byte)).unwrap_or(&63))
}

/// Keeps only some ranges of a text; they must begin and end between characters.
fn compact_text(text: &mut String, ranges: &[Range<usize>]) {
    let mut bytes = std::mem::take(text).into_bytes();
    let (all, mut length) = (bytes.len(), 0);
    for range in ranges.iter().filter(|range| range.end <= all) {
        bytes.copy_within(range.clone(), length);
        length += range.len();
    }
    bytes.truncate(length);
    *text = String::from_utf8(bytes).unwrap_or_default();
}

impl Arena {
    /// Appends a string; line breaks in it become spaces. Returns false and changes nothing if the arena is
    /// full.
    pub fn push(&mut self, parts: &[&str]) -> bool {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let Ok(end) = u32::try_from(self.text.len() + length) else { return false };
        let start = self.folded.len();
        for part in parts {
            if part.contains('\n') {
                let clean = part.replace('\n', " ");
                self.text.push_str(&clean);
                fold_into(&clean, &mut self.folded);
            } else {
                self.text.push_str(part);
                fold_into(part, &mut self.folded);
            }
        }
        let folded = self.folded.as_bytes().get(start..).unwrap_or_default();
        self.letters.push(letters_of(folded));
        self.pairs.push(pairs_of(folded));
        let plain = self.text.as_bytes().get(start..).unwrap_or_default();
        self.capitals.push(capitals_of(plain));
        self.beginnings.push(beginnings_of(plain));
        self.text.push('\n');
        self.folded.push('\n');
        self.ends.push(end);
        self.note_blocks(end);
        true
    }

    /// Adds the blocks that begin in the last string.
    fn note_blocks(&mut self, end: u32) {
        let last = self.ends.len() as u32 - 1;
        self.blocks.resize((end as usize / BLOCK + 1).max(self.blocks.len()), last);
    }

    /// Returns whether all strings of another arena fit.
    pub fn fits(&self, other: &Arena) -> bool {
        self.fits_part(other, 0..other.len() as u32)
    }

    /// Returns whether a range of another arena's strings fits.
    pub fn fits_part(&self, other: &Arena, strings: Range<u32>) -> bool {
        let bytes = other.start(strings.end as usize).saturating_sub(other.start(strings.start as usize));
        u32::try_from(self.text.len() + bytes).is_ok()
    }

    /// Appends all strings of another arena, or nothing if they do not fit.
    pub fn append(&mut self, other: &Arena) {
        self.append_part(other, 0..other.len() as u32);
    }

    /// Appends a range of another arena's strings, or nothing if the range is too long or does not fit.
    pub fn append_part(&mut self, other: &Arena, strings: Range<u32>) {
        let part = strings.start as usize..strings.end as usize;
        let Some(ends) = other.ends.get(part.clone()).filter(|_| self.fits_part(other, strings)) else {
            return;
        };
        let bytes = other.start(part.start)..other.start(part.end);
        let before = self.text.len();
        self.text.push_str(other.text.get(bytes.clone()).unwrap_or_default());
        self.folded.push_str(other.folded.get(bytes.clone()).unwrap_or_default());
        self.letters.extend_from_slice(other.letters.get(part.clone()).unwrap_or_default());
        self.capitals.extend_from_slice(other.capitals.get(part.clone()).unwrap_or_default());
        self.pairs.extend_from_slice(other.pairs.get(part.clone()).unwrap_or_default());
        self.beginnings.extend_from_slice(other.beginnings.get(part).unwrap_or_default());
        for end in ends {
            let end = (*end as usize - bytes.start + before) as u32;
            self.ends.push(end);
            self.note_blocks(end);
        }
    }

    /// Keeps only some strings.
    pub(super) fn compact(&mut self, strings: &Compaction) {
        if strings.len() == self.len() {
            return;
        }
        let bytes = |(run, _): (Range<usize>, usize)| self.start(run.start)..self.start(run.end);
        let bytes: Vec<Range<usize>> = strings.runs().map(bytes).collect();
        compact_text(&mut self.text, &bytes);
        compact_text(&mut self.folded, &bytes);
        strings.compact(&mut self.letters);
        strings.compact(&mut self.capitals);
        strings.compact(&mut self.pairs);
        strings.compact(&mut self.beginnings);
        let before = std::mem::take(&mut self.ends);
        self.blocks.clear();
        let mut start = 0;
        for ((run, _), bytes) in strings.runs().zip(&bytes) {
            for end in before.get(run).unwrap_or_default() {
                let end = end - (bytes.start - start) as u32;
                self.ends.push(end);
                self.note_blocks(end);
            }
            start += bytes.len();
        }
    }

    /// Returns whether a range of strings equals all strings of another arena.
    pub fn has_at(&self, strings: Range<u32>, other: &Arena) -> bool {
        self.has_part_at(strings, other, 0..other.len() as u32)
    }

    /// Returns whether a range of strings equals a range of another arena's strings.
    pub fn has_part_at(&self, strings: Range<u32>, other: &Arena, theirs: Range<u32>) -> bool {
        strings.len() == theirs.len() && self.text_of(strings) == other.text_of(theirs)
    }

    /// Returns a range of strings including the line breaks between them; `None` if it is out of range.
    fn text_of(&self, strings: Range<u32>) -> Option<&str> {
        let known = strings.end as usize <= self.len();
        self.text.get(self.start(strings.start as usize)..self.start(strings.end as usize)).filter(|_| known)
    }

    /// Returns the string at an index; empty if out of range.
    pub fn get(&self, index: usize) -> &str {
        let (start, end) = self.span(index);
        self.text.get(start..end).unwrap_or_default()
    }

    /// Returns the folded string at an index; empty if out of range.
    pub fn folded(&self, index: usize) -> &str {
        let (start, end) = self.span(index);
        self.folded.get(start..end).unwrap_or_default()
    }

    /// Returns the position of the string at an index in the whole text; `(0, 0)` if out of range.
    pub fn span(&self, index: usize) -> (usize, usize) {
        let Some(end) = self.ends.get(index) else { return (0, 0) };
        (self.start(index), *end as usize)
    }

    /// Returns the start of the string at an index. For the number of strings, returns the start of the next
    /// one.
    pub fn start(&self, index: usize) -> usize {
        match index.checked_sub(1) {
            Some(before) => self.ends.get(before).map_or(self.text.len(), |end| *end as usize + 1),
            None => 0,
        }
    }

    /// Returns the whole text, original or folded: all strings, each with a line break after it.
    pub fn whole(&self, exact_case: bool) -> &[u8] {
        if exact_case { self.text.as_bytes() } else { self.folded.as_bytes() }
    }

    /// Returns the end of each string in [`Arena::whole`].
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Returns the string that contains the byte at `place` in [`Arena::whole`], or that ends there.
    pub fn index_at(&self, place: usize) -> usize {
        let mut index = self.blocks.get(place / BLOCK).map_or(self.len(), |index| *index as usize);
        while self.ends.get(index).is_some_and(|end| (*end as usize) < place) {
            index += 1;
        }
        index
    }

    /// Returns the strings with a letter (one byte, folded unless case counts) from the bits alone; `None` if
    /// that requires reading the strings.
    pub fn with_letter(&self, letter: u8, exact_case: bool) -> Option<BitSet> {
        if exact_case {
            let bit = capitals_of(&[letter]);
            return (bit != 0).then(|| having(&self.capitals, |has| has & bit != 0));
        }
        let bit = letters_of(&[letter]);
        (bit != OTHERS).then(|| having(&self.letters, |has| has & bit != 0))
    }

    /// Returns the strings with a pair of letters (folded unless case counts) from the bits alone; `None` if
    /// that requires reading the strings.
    pub fn with_pair(&self, [one, other]: [u8; 2], exact_case: bool) -> Option<BitSet> {
        if exact_case {
            let bit = beginning_bit(one, other);
            return (bit != 0).then(|| having(&self.beginnings, |has| has & bit != 0));
        }
        let bit = pair_bit(one, other);
        (bit != OTHERS).then(|| having(&self.pairs, |has| has & bit != 0))
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the memory used in bytes.
    pub fn bytes(&self) -> usize {
        self.text.capacity()
            + self.folded.capacity()
            + self.ends.capacity() * size_of::<u32>()
            + (self.letters.capacity() + self.pairs.capacity()) * size_of::<u64>()
            + (self.capitals.capacity() + self.beginnings.capacity()) * size_of::<u32>()
            + self.blocks.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_and_joins_strings() {
        let mut arena = Arena::default();
        assert!(arena.push(&["Shop", ".", "Cart"]) && arena.push(&[""]) && arena.push(&["a\nb"]));
        let mut other = Arena::default();
        assert!(other.push(&["ÄX"]));
        assert!(arena.fits(&other));
        arena.append(&other);
        let all: Vec<&str> = (0..arena.len()).map(|index| arena.get(index)).collect();
        assert_eq!(all, ["Shop.Cart", "", "a b", "ÄX"]);
        assert_eq!((arena.folded(0), arena.folded(3), arena.get(9)), ("shop.cart", "äx", ""));
        assert_eq!(arena.whole(false), "shop.cart\n\na b\näx\n".as_bytes());
        assert_eq!((arena.start(0), arena.start(1), arena.start(4)), (0, 10, arena.whole(true).len()));
        assert_eq!(arena.whole(true).len(), arena.whole(false).len());
    }

    #[test]
    fn appends_a_part_of_another_arena() {
        let (mut arena, mut other) = (Arena::default(), Arena::default());
        assert!(arena.push(&["Shop"]));
        for text in ["Left", "Größe", "", "Zoo", "Right"] {
            assert!(other.push(&[text]));
        }
        arena.append_part(&other, 1..4);
        let all: Vec<(&str, &str)> = (0..arena.len()).map(|at| (arena.get(at), arena.folded(at))).collect();
        assert_eq!(all, [("Shop", "shop"), ("Größe", "größe"), ("", ""), ("Zoo", "zoo")]);
        assert_eq!(arena.index_at(arena.span(3).0), 3);
        let with_z = arena.with_letter(b'z', false).expect("a letter");
        assert_eq!(with_z.iter_in(0..u32::MAX).collect::<Vec<u32>>(), [3]);
        arena.append_part(&other, 4..6);
        assert_eq!(arena.len(), 4, "there is no sixth");
    }

    #[test]
    fn finds_the_string_of_every_byte() {
        let text = "abcdefghijklmnopqrstuvwxyz".repeat(4);
        let mut halves = [Arena::default(), Arena::default()];
        for length in [0, 1, 31, 0, 0, 32, 33, 100, 2, 3, 0, 64, 0] {
            halves.iter_mut().for_each(|half| assert!(half.push(&[&text[..length]])));
        }
        let [mut arena, other] = halves;
        arena.append(&other);
        for index in 0..arena.len() {
            let (start, end) = arena.span(index);
            for place in start..=end {
                assert_eq!(arena.index_at(place), index, "{place}");
            }
        }
        assert_eq!(arena.index_at(arena.whole(true).len()), arena.len());
        let with = |letter, exact| {
            let strings = arena.with_letter(letter, exact).expect("a letter");
            strings.iter_in(0..u32::MAX).collect::<Vec<u32>>()
        };
        let with_z = with(b'z', false);
        assert_eq!(with_z, [2, 5, 6, 7, 11, 15, 18, 19, 20, 24]);
        assert_eq!(with(b'Z', true), [0u32; 0]);
        assert!([0xc3, b'~'].iter().all(|letter| arena.with_letter(*letter, false).is_none()));
        assert!(arena.with_letter(0xc3, true).is_none());
    }

    #[test]
    fn only_common_pairs_have_bits() {
        let mut arena = Arena::default();
        for text in ["GetOrder", "set_Re", "e", "", "Größe", "Erste", "eR", "r e"] {
            assert!(arena.push(&[text]));
        }
        let pairs = [
            (*b"et", false),
            (*b"er", false),
            (*b"t_", false),
            (*b"ss", false),
            (*b"Ge", true),
            (*b"Re", true),
        ];
        for (pair, exact) in pairs {
            let known: Vec<u32> =
                arena.with_pair(pair, exact).expect("common").iter_in(0..u32::MAX).collect();
            let has = |index: &u32| {
                let index = *index as usize;
                let text = if exact { arena.get(index) } else { arena.folded(index) };
                text.as_bytes().windows(2).any(|two| two == pair)
            };
            let expected: Vec<u32> = (0..arena.len() as u32).filter(has).collect();
            assert_eq!(known, expected, "{pair:?}");
        }
        for (rare, exact) in [
            (*b"zz", false),
            ([0xc3, 0xb6], false),
            (*b"~e", false),
            (*b"er", true),
            (*b"eR", true),
            (*b"GE", true),
        ] {
            assert!(arena.with_pair(rare, exact).is_none(), "{rare:?}");
        }
    }
}
