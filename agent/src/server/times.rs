//! Times of rows, as they travel.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::probes::blocks::Slot;
use crate::probes::clock;
use crate::probes::histogram::Histogram;
use crate::probes::timers::{self, Taken};
use redial_protocol::ids::RowId;
use redial_protocol::limits::TIMES_PER_PAGE;
use redial_protocol::times::{Percentiles, Times};

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

    /// The times of a row whose calls are timed in this slot.
    pub fn of_slot(&mut self, row: RowId, slot: Slot) -> Times {
        let taken = timers::taken(slot, &mut self.histogram);
        self.in_ns(row, &taken)
    }

    /// The same of what was taken before.
    pub fn in_ns(&self, row: RowId, taken: &Taken) -> Times {
        let ns = |ticks: u64| (ticks as f64 * self.ns_per_tick) as u64;
        let Taken { sums, percentiles } = taken;
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
        }
    }
}

/// Sends the times of those of these rows that have some, in pages. `send` answers whether to go on.
pub fn send_times(agent: &Agent, rows: &[RowId], mut send: impl FnMut(Vec<Times>) -> bool) {
    let mut reader = TimesReader::default();
    reader.calibrate();
    for part in rows.chunks(TIMES_PER_PAGE) {
        let mut slots = Vec::new();
        let mut page = Vec::new();
        {
            let book = agent.ledger.book();
            for row in part.iter().filter_map(|id| book.row(*id)) {
                match row.slot.filter(|_| row.was_timed) {
                    Some(slot) => slots.push((row.id, slot)),
                    None => page.extend(row.final_times.as_deref().map(|taken| reader.in_ns(row.id, taken))),
                }
            }
        }
        page.extend(slots.into_iter().map(|(row, slot)| reader.of_slot(row, slot)));
        if !page.is_empty() && !send(page) {
            return;
        }
    }
}
