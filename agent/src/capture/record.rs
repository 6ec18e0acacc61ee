//! How a probe writes captured objects: records, one after another, without padding. [`super::decode`] reads them.
//!
//! A record begins with a word of four bytes: a kind in the upper four bits, and a number below. What follows depends
//! on the kind. The bytes of an object are the leaves of its class's [`super::Shape`], in order: values copied as they
//! are, and a record for each reference.

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RecordKind {
    /// A null reference.
    Null,
    /// A string; the number of units kept. The whole length (4 bytes) and the units follow.
    String,
    /// An object or struct; number of its class. Its leaves follow.
    Object,
    /// A value that was not captured; index of the reason in `OmittedReason::ALL`.
    Omitted,
    /// An object of a class that has no shape yet; number of the class.
    Pending,
    /// An array, list or span; number of its class. A [`COLLECTION_HEADER`] and the items follow.
    Collection,
    /// A dictionary; number of its class. A [`COLLECTION_HEADER`] and the entries follow, of which some may be unused.
    Dictionary,
}

/// Bytes of a record's first word.
pub const WORD: usize = size_of::<u32>();
/// Bytes between the word and the items of a collection: the whole length, the number of the class that has the shape
/// of items, and the number of items kept, four bytes each.
pub const COLLECTION_HEADER: usize = 12;
/// Largest number in a word.
pub const MAX_NUMBER: u32 = (1 << 28) - 1;

impl RecordKind {
    const ALL: [RecordKind; 7] = [
        RecordKind::Null,
        RecordKind::String,
        RecordKind::Object,
        RecordKind::Omitted,
        RecordKind::Pending,
        RecordKind::Collection,
        RecordKind::Dictionary,
    ];

    /// Returns the first word of a record.
    pub const fn word(self, number: u32) -> u32 {
        (self as u32) << 28 | number & MAX_NUMBER
    }

    /// Returns the kind and number of a first word; None if there is no such kind.
    pub fn of_word(word: u32) -> Option<(RecordKind, u32)> {
        let kind = RecordKind::ALL.get((word >> 28) as usize)?;
        Some((*kind, word & MAX_NUMBER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_kind_and_number() {
        for kind in RecordKind::ALL {
            assert_eq!(RecordKind::of_word(kind.word(MAX_NUMBER)), Some((kind, MAX_NUMBER)));
            assert_eq!(RecordKind::of_word(kind.word(0)), Some((kind, 0)));
        }
        assert_eq!(RecordKind::of_word(7 << 28), None);
    }
}
