//! Sets the condition of a slot for all threads at once.
#![forbid(unsafe_code)]

use super::blocks::Slot;
use super::conditions::{Condition, SlotCondition};
use super::{clock, slowest_calls, timers};
use crate::sync::lock;
use redial_protocol::order::TimeOptions;
use std::sync::Mutex;

/// Sets or clears the condition for recording calls of a slot, for all threads at once. A change discards
/// earlier recorded calls. May wait for milliseconds, so only for the ReJIT thread.
pub fn set(slot: Slot, options: TimeOptions) {
    static SETTING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = lock(&SETTING);
    let Some(of_slot) = SlotCondition::of(slot) else { return };
    if options.keeps_calls() {
        clock::begin();
        slowest_calls::begin(clock::ns_per_tick());
    }
    let condition = Condition::of(options, clock::ns_per_tick);
    if of_slot.set(condition) {
        // After the condition is set: if an owner missed it, this lowers its alarm (`alarm::examine`).
        timers::lower_alarms(slot, condition.alarm());
    }
}
