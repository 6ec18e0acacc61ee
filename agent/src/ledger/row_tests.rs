//! Tests the notes and refusals of rows.

use super::*;
use crate::catalogue::Module;
use crate::ledger::counters::Recorded;
use crate::probes::blocks::Slot;
use redial_protocol::diagnostics::{MissingTimes, RowNote, TimesNote, UntimedReason};
use redial_protocol::ids::ModuleKey;

fn row() -> Row {
    let key = ModuleKey { module_id: 1, generation: 1 };
    Row::new(RowId(0), CopyIdentity::sample(Arc::new(Module::sample(key, "A")), 0x0600_0001), None)
}

#[test]
fn another_condition_may_succeed_without_memory_for_more() {
    let mut row = row();
    assert!(!row.refusal_depends_on_order());
    row.reason = Some((Reason::Budget, 0));
    assert!(!row.refusal_depends_on_order(), "no slot for its counters");
    row.counters = Counters::Active { slot: Slot(1), start: 0, recorded: Recorded::default() };
    assert!(row.refusal_depends_on_order());
    row.reason = Some((Reason::Quarantined, 0));
    assert!(!row.refusal_depends_on_order());
}

#[test]
fn missing_times_and_missing_calls_are_two_notes() {
    let mut row = row();
    let notes = |row: &Row| {
        let status = row.status(String::new(), 0);
        let transition = row.snapshot(0).transition(Vec::new());
        assert_eq!((&status.note, &status.times_note), (&transition.note, &transition.times_note));
        (status.note, status.times_note)
    };
    assert_eq!(notes(&row), (None, None));
    (row.wanted.level, row.timing.body) = (Level::Time, BodyTiming::Untimed(UntimedReason::NoRoom));
    let missing = Some(MissingTimes::Untimed(UntimedReason::NoRoom));
    let untimed = Some(TimesNote { missing, ..TimesNote::default() });
    assert_eq!(notes(&row), (None, untimed.clone()));
    row.inlining.inlined = Inlined::Yes;
    let (note, times_note) = notes(&row);
    assert_eq!((note, times_note), (Some(RowNote::Inlined), untimed));
}
