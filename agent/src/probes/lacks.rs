//! What is missing of a slot's times, and why.
#![forbid(unsafe_code)]

use super::blocks::{MAX_SLOTS, Slot};
use super::timers::MAX_FRAMES;
use std::sync::atomic::{AtomicU8, Ordering};

/// By bits, for each slot.
static LACKS: [AtomicU8; MAX_SLOTS as usize] = [const { AtomicU8::new(0) }; MAX_SLOTS as usize];

/// What is missing of a slot's times; of several things the gravest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lacks {
    /// Nothing.
    #[default]
    Nothing,
    /// Its worst calls are not kept: there was no memory left for them.
    Calls,
    /// Calls are missing from its histogram, for which there was no memory left.
    Buckets,
    /// Calls were only counted: they were too deep.
    Deep,
    /// Calls were only counted: there was no memory left for what their threads know.
    Memory,
}

impl Lacks {
    /// One sentence with a way out, without a final period; None where nothing is missing.
    pub fn sentence(self) -> Option<String> {
        Some(match self {
            Lacks::Nothing => return None,
            Lacks::Calls => "its worst calls are not kept: the agent's memory for times is used up in this process (`redial \
                             status --agent`); to have them time fewer methods, from the process's next start on"
                .to_owned(),
            Lacks::Buckets => "there are no percentiles: the agent's memory for times is used up in this process \
                               (`redial status --agent`); for percentiles time fewer methods, from the process's next start on"
                .to_owned(),
            Lacks::Deep => format!(
                "some of its calls are only counted: on one thread more than {} timed calls were under way within one another; \
                 time fewer of the methods that call one another there",
                MAX_FRAMES - 1
            ),
            Lacks::Memory => "some of its calls are only counted: the agent's memory for times is used up in this process \
                              (`redial status --agent`); to time them all time fewer methods, from the process's next start on"
                .to_owned(),
        })
    }

    fn bit(self) -> u8 {
        match self {
            Lacks::Nothing => 0,
            Lacks::Buckets => 1,
            Lacks::Deep => 2,
            Lacks::Memory => 4,
            Lacks::Calls => 8,
        }
    }
}

/// Notes that something is missing.
pub(crate) fn note(slot_offset: usize, lack: Lacks) {
    if let Some(lacks) = LACKS.get(slot_offset / size_of::<u64>()) {
        // Read first: threads that all lack the same share the line.
        if lacks.load(Ordering::Relaxed) & lack.bit() == 0 {
            lacks.fetch_or(lack.bit(), Ordering::Relaxed);
        }
    }
}

/// What is missing of a slot's times.
pub fn lacks(slot: Slot) -> Lacks {
    let bits = LACKS.get(slot.0 as usize).map_or(0, |lacks| lacks.load(Ordering::Relaxed));
    let gravest = [Lacks::Memory, Lacks::Deep, Lacks::Buckets, Lacks::Calls]
        .into_iter()
        .find(|one| bits & one.bit() != 0);
    gravest.unwrap_or_default()
}

/// Nothing is missing any more.
pub(super) fn forget(slot: Slot) {
    if let Some(lacks) = LACKS.get(slot.0 as usize) {
        lacks.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_missing_the_gravest_is_told_with_a_way_out() {
        let slot = Slot(120);
        assert_eq!((lacks(slot), Lacks::Nothing.sentence()), (Lacks::Nothing, None));
        for lack in [Lacks::Calls, Lacks::Buckets, Lacks::Deep, Lacks::Memory] {
            note(slot.0 as usize * 8, lack);
            assert_eq!(lacks(slot), lack);
            assert!(lack.sentence().is_some_and(|sentence| sentence.contains("time fewer")));
        }
        note(slot.0 as usize * 8, Lacks::Buckets);
        assert_eq!(lacks(slot), Lacks::Memory);
        forget(slot);
        assert_eq!((lacks(slot), lacks(Slot(u32::MAX))), (Lacks::Nothing, Lacks::Nothing));
    }
}
