//! Finds the rows that are off and have no call in flight any more.
#![forbid(unsafe_code)]

use crate::context::Context;
use crate::ledger::reverting_rows::Pace;
use crate::ledger::row::Row;
use crate::probes::blocks::Slot;
use crate::probes::timers;
use redial_protocol::ids::RowId;
use std::collections::HashSet;
use std::time::Instant;

/// Returns those of these rows that have calls in flight in timed bodies.
pub fn in_flight(context: &Context, rows: &[RowId]) -> HashSet<RowId> {
    let timed: Vec<(RowId, Slot)> = {
        let ledger = context.ledger.lock();
        let slot_of = |row: &Row| Some((row.id, row.counters.timed_slot()?));
        rows.iter().filter_map(|id| ledger.row(*id).and_then(slot_of)).collect()
    };
    let slots: Vec<Slot> = timed.iter().map(|(_, slot)| *slot).collect();
    let sums = timed.into_iter().zip(timers::sums(&slots));
    sums.filter(|(_, sums)| sums.in_flight > 0).map(|((id, _), _)| id).collect()
}

/// Checks which rows have no calls in flight any more, if it is time.
pub fn check_reverting(context: &Context, pace: &mut Pace) {
    let now = Instant::now();
    let (rows, added) = {
        let mut ledger = context.ledger.lock();
        if pace.next(&ledger.reverting).is_none_or(|due| due > now) {
            return;
        }
        ledger.still_reverting()
    };
    let running = in_flight(context, &rows);
    let ended: Vec<RowId> = rows.into_iter().filter(|id| !running.contains(id)).collect();
    if !ended.is_empty() {
        context.ledger.change(|ledger, t_ms| ledger.ended(&ended, t_ms));
    }
    pace.note_check(now, added, !ended.is_empty());
}
