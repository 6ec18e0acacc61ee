//! Captures strings.

use super::entry::{ALIGN, Entry, PLACES};
use crate::capture::NO_ROOM;
use crate::clr::StringLayout;
use std::sync::atomic::{AtomicU32, Ordering};

/// UTF-16 units kept of a string.
pub(in crate::probes) const MAX_UNITS: usize = 255;

static LENGTH: AtomicU32 = AtomicU32::new(0);
static UNITS: AtomicU32 = AtomicU32::new(0);

/// Sets the layout; must be called before the first string is captured.
pub fn set_string_layout(layout: StringLayout) {
    LENGTH.store(layout.length, Ordering::Relaxed);
    UNITS.store(layout.units, Ordering::Relaxed);
}

/// Captures a string into a place of an entry. `at` is the entry's address plus the number of the place; `object` is
/// the address of a variable that refers to the string.
///
/// # Safety
/// Called by a traced body, with an entry that its begin returned and a place of its method. The calling thread is in
/// cooperative mode, so the string does not move meanwhile.
pub(super) unsafe extern "C" fn capture_string(at: usize, object: *const usize) {
    let entry = std::ptr::with_exposed_provenance_mut::<Entry>(at & !(ALIGN - 1));
    let place = at & (ALIGN - 1);
    // SAFETY: the caller's contract: the place exists. Characters are read within the length that the string has, and
    // written within the entry's capacity.
    unsafe {
        let place = entry.byte_add(PLACES + place * size_of::<u64>()).cast::<u64>();
        let limit = (*entry).begin_value();
        let text = std::ptr::with_exposed_provenance::<u8>(object.read());
        if text.is_null() {
            return place.write(0);
        }
        let (units, length) = string_units(text);
        let used = (*entry).used as usize;
        let room = limit.saturating_sub(used + size_of::<u32>()) / size_of::<u16>();
        let kept = (length as usize).min(MAX_UNITS).min(room);
        if kept == 0 && length > 0 || room == 0 {
            return place.write(NO_ROOM);
        }
        entry.byte_add(used).cast::<u32>().write(length);
        let to = entry.byte_add(used + size_of::<u32>()).cast::<u16>();
        std::ptr::copy_nonoverlapping(units, to, kept);
        (*entry).used = (used + size_of::<u32>() + kept * size_of::<u16>()).next_multiple_of(4) as u32;
        place.write(used as u64 | (kept as u64) << 32);
    }
}

/// Returns the offsets of a string's first unit and of its length.
pub(super) fn layout() -> (usize, usize) {
    (UNITS.load(Ordering::Relaxed) as usize, LENGTH.load(Ordering::Relaxed) as usize)
}

/// Returns the address of a string's first unit, and the number of its units.
///
/// # Safety
/// A string object.
pub(in crate::probes) unsafe fn string_units(text: *const u8) -> (*const u16, u32) {
    // SAFETY: the caller's contract; the layout is the runtime's.
    unsafe {
        let length = text.add(LENGTH.load(Ordering::Relaxed) as usize).cast::<u32>().read();
        (text.add(UNITS.load(Ordering::Relaxed) as usize).cast(), length)
    }
}
