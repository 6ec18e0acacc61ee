//! Times of rows, as they travel. They are read without the ledger's lock; that a slot was its row's all the while is
//! looked at afterwards: rows are not given another slot, so whoever still has it had it before.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::probes::blocks::Slot;
use crate::probes::clock;
use crate::probes::histogram::Histogram;
use crate::probes::timers::{self, Taken};
use crate::rejit::Ledger;
use crate::rejit::asynchronous::Asynchronous;
use redial_protocol::ids::RowId;
use redial_protocol::limits::TIMES_PER_PAGE;
use redial_protocol::times::{self as told, Percentiles, Times};
use std::collections::HashSet;

/// Reads times; keeps the memory for it.
#[derive(Default)]
pub struct TimesReader {
    histogram: Histogram,
    ns_per_tick: f64,
}

impl TimesReader {
    /// Compares the clocks anew. Before the first times, and now and then; not for threads of the host.
    pub fn calibrate(&mut self) {
        self.ns_per_tick = clock::ns_per_tick();
    }

    /// The times of rows whose calls are timed in these slots; without those that had theirs no more once they were read.
    pub fn of_slots(&mut self, ledger: &Ledger, rows: &[(RowId, Slot)]) -> Vec<Times> {
        let slots: Vec<Slot> = rows.iter().map(|(_, slot)| *slot).collect();
        let taken = timers::taken(&slots, &mut self.histogram);
        let waits = waits(ledger, rows.iter().map(|(id, _)| *id));
        let book = ledger.book();
        let still = |(id, slot): &(RowId, Slot)| book.row(*id).is_some_and(|row| row.slot == Some(*slot));
        let read = rows.iter().zip(taken).zip(waits).filter(|((row, _), _)| still(row));
        // Let go of before accounts are read: they add up.
        let read: Vec<_> = read.collect();
        drop(book);
        read.into_iter().map(|(((id, _), taken), waits)| self.in_ns(*id, &taken, waits.as_ref())).collect()
    }

    /// The same of what was taken before.
    pub fn in_ns(&self, row: RowId, taken: &Taken, waits: Option<&Asynchronous>) -> Times {
        let ns = |ticks: u64| (ticks as f64 * self.ns_per_tick) as u64;
        let Taken { sums, percentiles, .. } = taken;
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
            completions: waits.and_then(|waits| waits.account()?.read()).map(|told| told::Completions {
                starts: told.starts,
                completions: told.completions,
                in_flight: told.in_flight,
                before: told.before,
                waited_ns: ns(told.waited),
            }),
            move_next: waits.and_then(Asynchronous::move_next),
        }
    }
}

/// What these rows are, those of them that wait.
pub fn waits(ledger: &Ledger, rows: impl Iterator<Item = RowId>) -> Vec<Option<Asynchronous>> {
    let book = ledger.book();
    rows.map(|id| book.row(id)?.asynchronous.clone()).collect()
}

/// Sends the times of those of these rows that have some, in pages. `send` answers whether to go on.
pub fn send_times(agent: &Agent, rows: &[RowId], mut send: impl FnMut(Vec<Times>) -> bool) {
    let mut reader = TimesReader::default();
    reader.calibrate();
    for part in rows.chunks(TIMES_PER_PAGE) {
        let mut page = Vec::new();
        let mut left = part.to_vec();
        // Twice: rows that are lost while they are read have their last times by then.
        for _ in 0..2 {
            let mut last = Vec::new();
            let slots = look_up(&agent.ledger, &left, |id, taken| last.push((id, *taken)));
            let waits = waits(&agent.ledger, last.iter().map(|(id, _)| *id));
            let read = last.iter().zip(&waits);
            page.extend(read.map(|((id, taken), waits)| reader.in_ns(*id, taken, waits.as_ref())));
            page.extend(reader.of_slots(&agent.ledger, &slots));
            let told: HashSet<RowId> = page.iter().map(|times| times.row).collect();
            left = slots.into_iter().map(|(id, _)| id).filter(|id| !told.contains(id)).collect();
        }
        if !page.is_empty() && !send(page) {
            return;
        }
    }
}

/// Those of these rows that are timed, with their slots; of those that are lost `last` gets the last times.
fn look_up(ledger: &Ledger, rows: &[RowId], mut last: impl FnMut(RowId, &Taken)) -> Vec<(RowId, Slot)> {
    let mut slots = Vec::new();
    let book = ledger.book();
    for row in rows.iter().filter_map(|id| book.row(*id)) {
        match (row.slot.filter(|_| row.was_timed), row.final_times.as_deref()) {
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
    use crate::rejit::slots::tests::{calls, ledger, timed};
    use crate::server::watched::{Watched, WatchedTimes};

    #[test]
    fn what_is_read_of_a_slot_that_is_another_s_by_then_is_not_told() {
        let ledger = ledger(160);
        let (key, row, slot) = timed(&ledger, 1);
        calls(slot, 4);
        let mut reader = TimesReader::default();
        reader.calibrate();
        let looked_up = look_up(&ledger, &[row], |_, _| panic!("it is there"));
        assert_eq!(looked_up, [(row, slot)]);
        assert_eq!(reader.of_slots(&ledger, &looked_up).first().map(|times| times.exits), Some(4));
        // Its module goes, and the slot becomes another's, between looking it up and reading.
        ledger.lose(key);
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
    fn a_session_is_sent_what_changed_and_nothing_twice() {
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
        watched.watch(rows.iter().map(|(id, slot)| Watched::own(*id, *slot)).collect());
        assert!(sent(&mut watched, None).is_empty());
        calls(rows[1].1, 2);
        assert_eq!(sent(&mut watched, None), [(rows[1].0, 2)]);
        assert!(sent(&mut watched, None).is_empty());
        // Others are watched as well, which sends nothing anew.
        watched.watch(rows.iter().map(|(id, slot)| Watched::own(*id, *slot)).collect());
        assert!(sent(&mut watched, None).is_empty());
        calls(rows[1].1, 1);
        calls(rows[2].1, 7);
        assert_eq!(
            sent(&mut watched, None),
            [(rows[2].0, 7), (rows[1].0, 3)],
            "whose turn it is comes first"
        );
        let mut refuse = |_| false;
        calls(rows[0].1, 1);
        assert!(!watched.send(&ledger, None, &mut refuse), "the session has ended");
    }

    #[test]
    fn of_many_that_change_all_the_time_each_is_sent_in_its_turn() {
        let ledger = ledger(1000);
        let rows: Vec<(RowId, Slot)> =
            (1..=200).map(|module| timed(&ledger, module)).map(|(_, id, slot)| (id, slot)).collect();
        let mut watched = WatchedTimes::default();
        watched.watch(rows.iter().map(|(id, slot)| Watched::own(*id, *slot)).collect());
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
