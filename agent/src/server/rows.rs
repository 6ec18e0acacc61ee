//! Rows of the ledger with their numbers, page by page. The ledger's lock is taken for one page at a time, and never
//! while patterns are compared.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::probes::blocks::{self, Slot};
use crate::rejit::row::{Identity, Row};
use redial_protocol::ids::RowId;
use redial_protocol::limits::ROWS_PER_PAGE;
use redial_protocol::message::StatusRow;
use redial_protocol::pattern::Pattern;
use std::ops::Range;
use std::sync::Arc;

/// Instances on one page at most: with names, far below what a frame holds.
const INSTANCES_PER_PAGE: usize = 32 << 10;

/// A page of rows.
pub struct Page {
    /// The rows, ascending.
    pub rows: Vec<StatusRow>,
    /// Number of the first transition that these rows do not tell of yet.
    pub told: u64,
}

/// Sends the rows of `range` (by [`RowId`]) that `pattern` means (absent: all), in pages; answers how many. `send`
/// answers whether to go on.
pub fn send_rows(
    agent: &Agent,
    range: Range<usize>,
    pattern: Option<&Pattern>,
    mut send: impl FnMut(Page) -> bool,
) -> u64 {
    let mut next = range.start;
    let mut sent = 0;
    loop {
        let candidates: Vec<(RowId, Arc<Identity>)> = {
            let book = agent.ledger.book();
            let end = range.end.min(book.rows().end());
            if next >= end {
                return sent;
            }
            let page = next..end.min(next + ROWS_PER_PAGE);
            next = page.end;
            book.rows().range(page).map(|row| (row.id, Arc::clone(&row.what))).collect()
        };
        let meant = |what: &Identity| pattern.is_none_or(|pattern| what.matches(pattern));
        let mut chosen: Vec<RowId> =
            candidates.into_iter().filter(|(_, what)| meant(what)).map(|(id, _)| id).collect();
        while !chosen.is_empty() {
            let page = page(agent, &mut chosen);
            sent += page.rows.len() as u64;
            if !send(page) {
                return sent;
            }
        }
    }
}

/// Takes as many of `chosen` as a page holds, with their numbers.
fn page(agent: &Agent, chosen: &mut Vec<RowId>) -> Page {
    let mut taken: Vec<(StatusRow, Counted, Arc<Identity>)> = Vec::new();
    let told = {
        let book = agent.ledger.book();
        let mut instances = 0;
        let mut looked_at = 0;
        for id in chosen.iter() {
            // A row may have been forgotten meanwhile.
            if let Some(row) = book.row(*id) {
                instances += row.instances.len();
                if instances > INSTANCES_PER_PAGE && !taken.is_empty() {
                    break;
                }
                taken.push((row.status(String::new(), 0), Counted::of(row), Arc::clone(&row.what)));
            }
            looked_at += 1;
        }
        chosen.drain(..looked_at);
        book.ring_end()
    };
    let slots: Vec<Slot> = taken.iter().filter_map(|(_, counted, _)| counted.slot).collect();
    let mut sums = Vec::new();
    blocks::sum(&slots, &mut sums);
    look_again(agent, &mut taken);
    let mut sums = sums.into_iter();
    let rows = taken.into_iter().map(|(mut row, counted, what)| {
        row.calls = match counted.slot {
            Some(_) => {
                let sum = sums.next().unwrap_or(counted.start);
                counted.lost.unwrap_or(sum.saturating_sub(counted.start))
            }
            None => counted.last,
        };
        row.domain = agent.modules.domain_of(&what.module);
        row
    });
    Page { rows: rows.collect(), told }
}

/// Notes which rows have no slot any more.
fn look_again(agent: &Agent, taken: &mut [(StatusRow, Counted, Arc<Identity>)]) {
    let book = agent.ledger.book();
    for (row, counted, _) in taken.iter_mut().filter(|(_, counted, _)| counted.slot.is_some()) {
        let now = book.row(row.row).filter(|now| now.slot != counted.slot);
        counted.lost = now.map(|now| now.final_calls);
    }
}

/// Where a row's calls come from.
struct Counted {
    slot: Option<Slot>,
    start: u64,
    last: u64,
    /// The last number of a row that lost its slot after it was looked up: what was read there may be another's.
    lost: Option<u64>,
}

impl Counted {
    fn of(row: &Row) -> Counted {
        Counted { slot: row.slot, start: row.slot_start, last: row.final_calls, lost: None }
    }
}
