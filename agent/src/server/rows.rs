//! Reads the ledger's rows with their numbers, page by page. Takes the ledger's lock for one page at a time, and
//! never while comparing patterns.
#![forbid(unsafe_code)]

use crate::context::Context;
use crate::ledger::copy_identity::CopyIdentity;
use crate::ledger::counters::Counters;
use crate::ledger::row::Row;
use crate::ledger::row_filter::RowFilter;
use crate::probes::blocks::{self, Slot};
use redial_protocol::ids::RowId;
use redial_protocol::limits::ROWS_PER_PAGE;
use redial_protocol::message::StatusRow;
use std::ops::Range;
use std::sync::Arc;

/// Most instances on one page: with names, far below the frame limit.
const INSTANCES_PER_PAGE: usize = 32 << 10;

/// A page of rows.
pub struct Page {
    /// The rows, ascending.
    pub rows: Vec<StatusRow>,
    /// Number of the first transition that these rows do not include yet.
    pub next_transition: u64,
}

/// Sends the rows of `range` (by [`RowId`]) that `filter` lets pass (None: all), in pages; returns their number.
/// `send` returns whether to go on.
pub fn send_rows(
    context: &Context,
    range: Range<RowId>,
    filter: Option<&RowFilter>,
    mut send: impl FnMut(Page) -> bool,
) -> u64 {
    let mut next = range.start;
    let mut sent = 0;
    loop {
        let candidates: Vec<(RowId, Arc<CopyIdentity>)> = {
            let ledger = context.ledger.lock();
            let rows = ledger.rows().range(next..range.end).take(ROWS_PER_PAGE);
            rows.map(|row| (row.id, Arc::clone(&row.identity))).collect()
        };
        let Some((last, _)) = candidates.last() else { return sent };
        next = RowId(last.0.saturating_add(1));
        let meant = |identity: &CopyIdentity| filter.is_none_or(|filter| filter.matches(identity));
        let mut chosen: Vec<RowId> =
            candidates.into_iter().filter(|(_, identity)| meant(identity)).map(|(id, _)| id).collect();
        while !chosen.is_empty() {
            let page = page(context, &mut chosen);
            sent += page.rows.len() as u64;
            if !send(page) {
                return sent;
            }
        }
    }
}

/// Removes as many of `chosen` as fit on a page, and reads their numbers.
fn page(context: &Context, chosen: &mut Vec<RowId>) -> Page {
    let mut taken: Vec<(StatusRow, CallSource, Arc<CopyIdentity>)> = Vec::new();
    let next_transition = {
        let ledger = context.ledger.lock();
        let mut instances = 0;
        let mut looked_at = 0;
        for id in chosen.iter() {
            // The ledger may have forgotten a row meanwhile.
            if let Some(row) = ledger.row(*id) {
                instances += row.bodies.instances().len();
                if instances > INSTANCES_PER_PAGE && !taken.is_empty() {
                    break;
                }
                taken.push((row.status(String::new(), 0), CallSource::of(row), Arc::clone(&row.identity)));
            }
            looked_at += 1;
        }
        chosen.drain(..looked_at);
        ledger.ring_end()
    };
    let slots: Vec<Slot> = taken.iter().filter_map(|(_, source, _)| source.slot()).collect();
    let mut sums = Vec::new();
    blocks::sum(&slots, &mut sums);
    note_lost_slots(context, &mut taken);
    let mut sums = sums.into_iter();
    let rows = taken.into_iter().map(|(mut row, source, identity)| {
        row.calls = match source {
            CallSource::Slot { start, lost, .. } => {
                let sum = sums.next().unwrap_or(start);
                lost.unwrap_or(sum.saturating_sub(start))
            }
            CallSource::Final(calls) => calls,
        };
        row.domain = context.modules.domain_of(&identity.module);
        row
    });
    Page { rows: rows.collect(), next_transition }
}

/// Records which rows have lost their slot.
fn note_lost_slots(context: &Context, taken: &mut [(StatusRow, CallSource, Arc<CopyIdentity>)]) {
    let ledger = context.ledger.lock();
    for (row, source, _) in taken {
        if let CallSource::Slot { slot, lost, .. } = source {
            let now = ledger.row(row.row).filter(|now| now.counters.slot() != Some(*slot));
            *lost = now.map(|now| now.counters.final_calls());
        }
    }
}

/// The source of a row's number of calls.
enum CallSource {
    /// A slot.
    Slot {
        slot: Slot,
        start: u64,
        /// The final number of a row that lost the slot after the look-up: its value may be another row's.
        lost: Option<u64>,
    },
    /// The number is final.
    Final(u64),
}

impl CallSource {
    fn of(row: &Row) -> CallSource {
        match row.counters {
            Counters::Active { slot, start, .. } => CallSource::Slot { slot, start, lost: None },
            _ => CallSource::Final(row.counters.final_calls()),
        }
    }

    fn slot(&self) -> Option<Slot> {
        match self {
            CallSource::Slot { slot, .. } => Some(*slot),
            CallSource::Final(_) => None,
        }
    }
}
