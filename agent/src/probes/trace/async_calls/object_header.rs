//! Marks objects with a number that survives every move of the garbage collector: their identity hash code.
//!
//! The runtime keeps the hash code of an object in the header before it, once somebody has asked for it
//! (`RuntimeHelpers.GetHashCode`). An object that has none gets one here, in the way that the runtime gives it; the only
//! difference is that the number is chosen. Source: coreclr/vm/syncblk.h, the constants of `ObjHeader`.

use std::sync::atomic::{AtomicU32, Ordering};

/// Bits of a hash code.
pub(super) const HASH_BITS: u32 = 26;
/// The header has a hash code, or the index of a sync block.
const HASH_OR_SYNC_BLOCK: u32 = 0x0800_0000;
/// It has a hash code.
const IS_HASH: u32 = 0x0400_0000;
const HASH_MASK: u32 = (1 << HASH_BITS) - 1;

/// The number of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marking {
    /// This number, which it had or has got.
    Number(u32),
    /// It has none.
    None,
    /// Its header is used otherwise.
    InUse,
}

/// Returns the number of an object.
///
/// # Safety
/// The address of an object, while no object moves.
pub(super) unsafe fn number(object: *const u8) -> Marking {
    // SAFETY: the caller's contract.
    of_header(unsafe { header(object) }.load(Ordering::Acquire))
}

/// Gives an object a number unless it has one; returns the number that it has then.
///
/// # Safety
/// As [`number`].
pub(super) unsafe fn give_number(object: *const u8, number: u32) -> Marking {
    let bits = HASH_OR_SYNC_BLOCK | IS_HASH | (number & HASH_MASK);
    // SAFETY: the caller's contract.
    match unsafe { header(object) }.compare_exchange(0, bits, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Marking::Number(number),
        Err(other) => of_header(other),
    }
}

fn of_header(bits: u32) -> Marking {
    match bits {
        0 => Marking::None,
        bits if bits & HASH_OR_SYNC_BLOCK != 0 && bits & IS_HASH != 0 => Marking::Number(bits & HASH_MASK),
        _ => Marking::InUse,
    }
}

/// # Safety
/// As [`number`].
unsafe fn header<'a>(object: *const u8) -> &'a AtomicU32 {
    // SAFETY: the header is the word before every object, and the runtime changes it atomically, too.
    unsafe { &*object.sub(size_of::<u32>()).cast::<AtomicU32>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_keep_their_first_number() {
        let object = [AtomicU32::new(0), AtomicU32::new(77)];
        let at = std::ptr::from_ref(&object[1]).cast::<u8>();
        // SAFETY: the header is the first word.
        unsafe {
            assert_eq!(number(at), Marking::None);
            assert_eq!(give_number(at, 0x123_4567), Marking::Number(0x123_4567));
            assert_eq!(give_number(at, 5), Marking::Number(0x123_4567));
            assert_eq!(number(at), Marking::Number(0x123_4567));
            assert_eq!(object[0].load(Ordering::Relaxed), 0x0D23_4567);
            // A thin lock, and the index of a sync block.
            for used in [1, 0x0800_0003] {
                object[0].store(used, Ordering::Relaxed);
                assert_eq!((number(at), give_number(at, 5)), (Marking::InUse, Marking::InUse));
                assert_eq!(object[0].load(Ordering::Relaxed), used);
            }
        }
    }
}
