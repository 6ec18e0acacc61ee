//! Checks of finished calls: those longer than the thread's longest so far, longer than a condition's
//! threshold, or ended by an exception.

use super::record::{Record, add};
use crate::probes::conditions::SlotCondition;
use crate::probes::exception_stack::ExceptionClass;
use crate::probes::missing_data::{self, MissingData};
use crate::probes::slowest_calls::{self, KeptCall};
use crate::probes::stack_walk::{BodyFrame, CallStack};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// A call that has just ended.
pub(super) struct EndedCall {
    /// Time of its end, in ticks.
    pub(super) now: u64,
    /// Duration in ticks.
    pub(super) took: u64,
    /// Operating-system id of its thread.
    pub(super) thread: u32,
    /// Whether it ended with an exception.
    pub(super) failed: bool,
    /// Its frame, if its stack is kept.
    pub(super) body: Option<BodyFrame>,
}

/// Checks a call of the owner's thread. `class` returns the class of its exception.
#[cold]
#[inline(never)]
pub(super) fn examine(
    slot_offset: usize,
    record: &Record,
    ended: EndedCall,
    class: impl FnOnce() -> Option<ExceptionClass>,
) {
    let EndedCall { now, took, thread, failed, body } = ended;
    if took > record.max.load(Ordering::Relaxed) {
        record.max.store(took, Ordering::Relaxed);
    }
    if failed {
        add(&record.exceptions, 1);
    }
    let Some(of_slot) = SlotCondition::at(slot_offset) else { return };
    let generation = of_slot.generation();
    let condition = of_slot.condition();
    let mut alarm = condition.alarm();
    loop {
        // Before the threshold is read again: either this sees a new threshold, or the thread that sets it
        // lowers this value.
        record.usual.store(alarm.min(record.max.load(Ordering::Relaxed)), Ordering::SeqCst);
        let again = of_slot.condition().alarm();
        if std::mem::replace(&mut alarm, again) == again {
            break;
        }
    }
    if condition.holds(took, failed) {
        let ended_ms =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let class = if failed { class() } else { None };
        let call = KeptCall { ended_ms, took, thread, failed, class, stack: CallStack::default() };
        if !slowest_calls::enter(of_slot, generation, now, call, body) {
            missing_data::note(slot_offset, MissingData::Calls);
        }
    }
}
