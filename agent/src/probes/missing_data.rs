//! Missing parts of a slot's times, with their reasons.
#![forbid(unsafe_code)]

use super::blocks::{MAX_SLOTS, Slot};
use super::timers::MAX_FRAMES;
use redial_protocol::diagnostics::MissingTimes;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bits for each slot.
static MISSING: [AtomicU8; MAX_SLOTS as usize] = [const { AtomicU8::new(0) }; MAX_SLOTS as usize];

/// Missing part of a slot's times; if there are several, the gravest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingData {
    /// Nothing is missing.
    #[default]
    Nothing,
    /// Its slowest calls are not recorded, because there was no memory left for them.
    Calls,
    /// Its histogram lacks calls, because there was no memory left for them.
    Buckets,
    /// Some calls were only counted, because they were nested too deeply.
    Deep,
    /// Some calls were only counted, because there was no memory left for their threads' records.
    Memory,
}

impl MissingData {
    /// Returns the code for the wire; None if nothing is missing.
    pub fn code(self) -> Option<MissingTimes> {
        match self {
            MissingData::Nothing => None,
            MissingData::Calls => Some(MissingTimes::SlowestCalls),
            MissingData::Buckets => Some(MissingTimes::Percentiles),
            MissingData::Deep => Some(MissingTimes::NestedCalls { limit: MAX_FRAMES as u32 - 1 }),
            MissingData::Memory => Some(MissingTimes::CallsWithoutMemory),
        }
    }

    fn bit(self) -> u8 {
        match self {
            MissingData::Nothing => 0,
            MissingData::Buckets => 1,
            MissingData::Deep => 2,
            MissingData::Memory => 4,
            MissingData::Calls => 8,
        }
    }
}

/// Records that something is missing.
pub(crate) fn note(slot_offset: usize, missing: MissingData) {
    if let Some(missing_data) = MISSING.get(slot_offset / size_of::<u64>()) {
        // Reads first, because threads that lack the same data share the cache line.
        if missing_data.load(Ordering::Relaxed) & missing.bit() == 0 {
            missing_data.fetch_or(missing.bit(), Ordering::Relaxed);
        }
    }
}

/// Returns the missing part of a slot's times.
pub fn of(slot: Slot) -> MissingData {
    let bits = MISSING.get(slot.0 as usize).map_or(0, |missing_data| missing_data.load(Ordering::Relaxed));
    let gravest = [MissingData::Memory, MissingData::Deep, MissingData::Buckets, MissingData::Calls]
        .into_iter()
        .find(|one| bits & one.bit() != 0);
    gravest.unwrap_or_default()
}

/// Resets a slot to nothing missing.
pub(super) fn forget(slot: Slot) {
    if let Some(missing_data) = MISSING.get(slot.0 as usize) {
        missing_data.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_the_gravest_problem_with_its_code() {
        let slot = Slot(120);
        assert_eq!((of(slot), MissingData::Nothing.code()), (MissingData::Nothing, None));
        let mut codes = Vec::new();
        for missing in [MissingData::Calls, MissingData::Buckets, MissingData::Deep, MissingData::Memory] {
            note(slot.0 as usize * 8, missing);
            assert_eq!(of(slot), missing);
            assert!(missing.code().is_some_and(|code| !codes.contains(&code)), "{missing:?}");
            codes.extend(missing.code());
        }
        note(slot.0 as usize * 8, MissingData::Buckets);
        assert_eq!(of(slot), MissingData::Memory);
        forget(slot);
        assert_eq!((of(slot), of(Slot(u32::MAX))), (MissingData::Nothing, MissingData::Nothing));
    }
}
