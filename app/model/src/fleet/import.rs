//! The progress of the import of modules and rows.

use crate::method_table::Arrivals;
use std::time::Duration;

/// The time between sums of new numbers: twenty agents send theirs eighty times a second.
pub(super) const PACE: Duration = Duration::from_millis(100);

/// The progress of the import.
#[derive(Debug, Default)]
pub(super) struct ImportProgress {
    pub(super) last_slot: u64,
    pub(super) last_module: u64,
    pub(super) last_row: u32,
    /// The member whose rows come first in the next frame.
    pub(super) first_for_rows: usize,
    /// Numbers were imported that sums and orders do not include yet.
    pub(super) has_unsummed: bool,
    /// When the last sums were made, on the clock of `Now::mono`.
    pub(super) summed_at: Option<Duration>,
    /// Modules were imported in the last frame.
    pub(super) imported_modules: bool,
    /// Imported types are not in the order of the others yet.
    pub(super) is_unordered: bool,
    /// A gesture is answered, so updates of the processes wait for the next frame.
    pub is_suspended: bool,
    /// The data imported in this frame that leaves no time for ordering rows.
    pub arrivals: Arrivals,
}

impl ImportProgress {
    /// Returns an id for the domain of a new member.
    pub fn next_slot(&mut self) -> u64 {
        self.last_slot += 1;
        self.last_slot
    }

    /// When sums of new numbers will be made, on the clock of `Now::mono`. None if there are no new numbers.
    pub fn sums_due(&self) -> Option<Duration> {
        self.summed_at.filter(|_| self.has_unsummed).map(|before| before + PACE)
    }
}
