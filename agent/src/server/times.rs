//! Reads the times of rows without the ledger's lock, and checks afterwards that a slot still belongs to its row: a
//! row never gets another slot, so if it still has the slot, it had it before.
#![forbid(unsafe_code)]

use crate::context::Context;
use crate::ledger::Ledger;
use crate::ledger::async_role::AsyncRole;
use crate::probes::blocks::Slot;
use crate::probes::clock;
use crate::probes::histogram::Histogram;
use crate::probes::timers::{self, SlotTimes};
use redial_protocol::ids::RowId;
use redial_protocol::limits::TIMES_PER_PAGE;
use redial_protocol::times::{Completions, Percentiles, Times};
use std::collections::HashSet;

/// Reads times, reusing its memory.
#[derive(Default)]
pub struct TimesReader {
    histogram: Histogram,
    ns_per_tick: f64,
}

impl TimesReader {
    /// Compares the clocks anew. Call it before the first times, and now and then; not on threads of the host.
    pub fn calibrate(&mut self) {
        self.ns_per_tick = clock::ns_per_tick();
    }

    /// Returns the times of rows with these slots, except rows that had lost their slot by the time they were read.
    pub fn of_slots(&mut self, ledger: &Ledger, rows: &[(RowId, Slot)]) -> Vec<Times> {
        let slots: Vec<Slot> = rows.iter().map(|(_, slot)| *slot).collect();
        let taken = timers::slot_times(&slots, &mut self.histogram);
        let roles = async_roles(ledger, rows.iter().map(|(id, _)| *id));
        let locked = ledger.lock();
        let still = |(id, slot): &(RowId, Slot)| {
            locked.row(*id).is_some_and(|row| row.counters.slot() == Some(*slot))
        };
        let read = rows.iter().zip(taken).zip(roles).filter(|((row, _), _)| still(row));
        // Release the lock before reading completion counters, which sums them up.
        let read: Vec<_> = read.collect();
        drop(locked);
        read.into_iter().map(|(((id, _), taken), role)| self.in_ns(*id, &taken, role.as_ref())).collect()
    }

    /// Converts sums taken before.
    pub fn in_ns(&self, row: RowId, taken: &SlotTimes, role: Option<&AsyncRole>) -> Times {
        let ns = |ticks: u64| (ticks as f64 * self.ns_per_tick) as u64;
        let SlotTimes { sums, percentiles, .. } = taken;
        Times {
            row,
            in_flight: sums.in_flight,
            exits: sums.exits,
            exceptions: sums.exceptions,
            total_ns: ns(sums.total),
            self_ns: ns(sums.own),
            max_ns: ns(sums.max),
            percentiles: percentiles.map(|[p50, p90, p99]| Percentiles {
                p50_ns: ns(p50),
                p90_ns: ns(p90),
                p99_ns: ns(p99),
            }),
            completions: role.and_then(|role| role.account()?.read()).map(|completions| Completions {
                starts: completions.starts,
                completions: completions.completions,
                in_flight: completions.in_flight,
                before: completions.before,
                waited_ns: ns(completions.waited),
            }),
            move_next: role.and_then(AsyncRole::move_next),
        }
    }
}

/// Returns the async role of each of these rows, if it has one.
pub fn async_roles(ledger: &Ledger, rows: impl Iterator<Item = RowId>) -> Vec<Option<AsyncRole>> {
    let locked = ledger.lock();
    rows.map(|id| locked.row(id)?.timing.async_role.clone()).collect()
}

/// Sends the times of those of these rows that have some, in pages. `send` returns whether to go on.
pub fn send_times(context: &Context, rows: &[RowId], mut send: impl FnMut(Vec<Times>) -> bool) {
    let mut reader = TimesReader::default();
    reader.calibrate();
    for part in rows.chunks(TIMES_PER_PAGE) {
        let mut page = Vec::new();
        let mut left = part.to_vec();
        // Twice: rows that lose their slot while they are read have final times by then.
        for _ in 0..2 {
            let mut last = Vec::new();
            let slots = look_up(&context.ledger, &left, |id, taken| last.push((id, *taken)));
            let roles = async_roles(&context.ledger, last.iter().map(|(id, _)| *id));
            let read = last.iter().zip(&roles);
            page.extend(read.map(|((id, taken), role)| reader.in_ns(*id, taken, role.as_ref())));
            page.extend(reader.of_slots(&context.ledger, &slots));
            let read_rows: HashSet<RowId> = page.iter().map(|times| times.row).collect();
            left = slots.into_iter().map(|(id, _)| id).filter(|id| !read_rows.contains(id)).collect();
        }
        if !page.is_empty() && !send(page) {
            return;
        }
    }
}

/// Returns those of these rows that are timed, with their slots; calls `last` with the final times of lost rows.
fn look_up(ledger: &Ledger, rows: &[RowId], mut last: impl FnMut(RowId, &SlotTimes)) -> Vec<(RowId, Slot)> {
    let mut slots = Vec::new();
    let locked = ledger.lock();
    for row in rows.iter().filter_map(|id| locked.row(*id)) {
        let final_times = row.counters.last().and_then(|last| last.times.as_deref());
        match (row.counters.timed_slot(), final_times) {
            (Some(slot), _) => slots.push((row.id, slot)),
            (None, Some(taken)) => last(row.id, taken),
            (None, None) => {}
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::unloading::tests::{calls, ledger, timed};
    use crate::server::watched_times::{WatchedRow, WatchedTimes};

    #[test]
    fn omits_rows_that_lost_their_slot_while_read() {
        let ledger = ledger(160);
        let (key, row, slot) = timed(&ledger, 1);
        calls(slot, 4);
        let mut reader = TimesReader::default();
        reader.calibrate();
        let looked_up = look_up(&ledger, &[row], |_, _| panic!("it is there"));
        assert_eq!(looked_up, [(row, slot)]);
        assert_eq!(reader.of_slots(&ledger, &looked_up).first().map(|times| times.exits), Some(4));
        // Between the look-up and the reading, its module goes and another row gets the slot.
        ledger.finish_unload(ledger.unload(key));
        let (_, other, again) = timed(&ledger, 2);
        assert_eq!(again, slot);
        calls(slot, 1);
        assert!(reader.of_slots(&ledger, &looked_up).is_empty());
        assert_eq!(reader.of_slots(&ledger, &[(other, slot)]).first().map(|times| times.exits), Some(1));
        let mut last = Vec::new();
        let slots = look_up(&ledger, &[row, other], |id, taken| last.push((id, taken.sums.exits)));
        assert_eq!((slots, last), (vec![(other, slot)], vec![(row, 4)]));
    }

    #[test]
    fn sends_changed_times_once() {
        let ledger = ledger(170);
        let rows: Vec<(RowId, Slot)> =
            (1..=3).map(|module| timed(&ledger, module)).map(|(_, id, slot)| (id, slot)).collect();
        let mut watched = WatchedTimes::default();
        let sent = |watched: &mut WatchedTimes, until| {
            let mut all = Vec::new();
            assert!(watched.send(&ledger, until, |times| {
                all.extend(times.iter().map(|one| (one.row, one.exits)));
                true
            }));
            all
        };
        watched.watch(rows.iter().map(|(id, slot)| WatchedRow::own(*id, *slot)).collect());
        assert!(sent(&mut watched, None).is_empty());
        calls(rows[1].1, 2);
        assert_eq!(sent(&mut watched, None), [(rows[1].0, 2)]);
        assert!(sent(&mut watched, None).is_empty());
        // More rows are watched, which sends nothing again.
        watched.watch(rows.iter().map(|(id, slot)| WatchedRow::own(*id, *slot)).collect());
        assert!(sent(&mut watched, None).is_empty());
        calls(rows[1].1, 1);
        calls(rows[2].1, 7);
        assert_eq!(
            sent(&mut watched, None),
            [(rows[2].0, 7), (rows[1].0, 3)],
            "the next in turn comes first"
        );
        let mut refuse = |_| false;
        calls(rows[0].1, 1);
        assert!(!watched.send(&ledger, None, &mut refuse), "the session has ended");
    }

    #[test]
    fn sends_many_changing_rows_in_turn() {
        let ledger = ledger(1000);
        let rows: Vec<(RowId, Slot)> =
            (1..=200).map(|module| timed(&ledger, module)).map(|(_, id, slot)| (id, slot)).collect();
        let mut watched = WatchedTimes::default();
        watched.watch(rows.iter().map(|(id, slot)| WatchedRow::own(*id, *slot)).collect());
        let mut seen = HashSet::new();
        let past = Some(std::time::Instant::now());
        for pass in 1..=4 {
            rows.iter().for_each(|(_, slot)| calls(*slot, 1));
            let mut number = 0;
            watched.send(&ledger, past, |times| {
                number += times.len();
                seen.extend(times.into_iter().map(|one| one.row));
                true
            });
            assert_eq!(number, 64, "pass {pass}");
        }
        assert_eq!(seen.len(), 200);
    }
}
