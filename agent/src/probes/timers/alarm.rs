//! Calls that are looked at as they end: longer than the thread's longest so far, longer than a condition's threshold, or
//! ended by an exception.

use super::super::blocks::Slot;
use super::super::conditions::OfSlot;
use super::super::lacks::{self, Lacks};
use super::super::thrown::Event;
use super::super::worst::{self, Kept};
use super::{Record, Timer, add, all};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

impl Timer {
    /// Looks at a call of the owner's thread that ended at `now` ticks.
    #[cold]
    #[inline(never)]
    pub(super) fn look_at(&self, slot_offset: usize, record: &Record, (now, took): (u64, u64), failed: bool) {
        if took > record.max.load(Ordering::Relaxed) {
            record.max.store(took, Ordering::Relaxed);
        }
        if failed {
            add(&record.exceptions, 1);
        }
        let Some(of_slot) = OfSlot::at(slot_offset) else { return };
        let generation = of_slot.generation();
        let condition = of_slot.condition();
        let mut alarm = condition.alarm();
        loop {
            // Before the threshold is looked at again: either a new one is seen, or who set it lowers this.
            record.usual.store(alarm.min(record.max.load(Ordering::Relaxed)), Ordering::SeqCst);
            let again = of_slot.condition().alarm();
            if std::mem::replace(&mut alarm, again) == again {
                break;
            }
        }
        if condition.holds(took, failed) {
            let ended_ms =
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
            let class = if failed { self.thrown.class() } else { None };
            let call = Kept { ended_ms, took, thread: self.thread.get(), failed, class };
            if !worst::enter(of_slot, generation, now, &call) {
                lacks::note(slot_offset, Lacks::Calls);
            }
        }
    }

    /// Takes in what the runtime tells of exceptions on the owner's thread, heard at `address` in its stack.
    pub fn hear(&self, event: Event, address: usize) {
        self.thrown.hear(event, address);
    }
}

/// Has every thread look at calls of a slot that take longer, from now on. One that raises its alarm meanwhile sees the
/// condition that stands.
pub fn lower_alarms(slot: Slot, alarm: u64) {
    if alarm == u64::MAX {
        // The next one that is looked at raises it.
        return;
    }
    for record in all().filter_map(|timer| timer.record(slot)) {
        record.usual.fetch_min(alarm, Ordering::SeqCst);
    }
}
