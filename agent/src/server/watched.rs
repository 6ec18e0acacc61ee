//! The times that a session watches: those that changed since they were sent last, and of many no more in one pass than
//! there is time for; the others come with the next ones.
#![forbid(unsafe_code)]

use super::times::TimesReader;
use crate::probes::blocks::Slot;
use crate::probes::changes::Changes;
use crate::probes::timers;
use crate::rejit::Ledger;
use redial_protocol::ids::RowId;
use redial_protocol::limits::TIMES_PER_PAGE;
use redial_protocol::times::Times;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// Rows that are read before the time is looked at again.
const AT_ONCE: usize = 64;

/// What is watched, and what of it was sent.
#[derive(Default)]
pub struct WatchedTimes {
    rows: Vec<(RowId, Slot)>,
    /// Of their slots, in the same places.
    changes: Changes,
    /// Places of rows that changed and were not sent since.
    due: BTreeSet<usize>,
    /// Whose turn it is: none of them waits for ever.
    next: usize,
    /// Calls under way, and calls that ended, as sent last: where neither changed, no time did.
    sent: HashMap<RowId, (u64, u64)>,
    reader: TimesReader,
}

impl WatchedTimes {
    /// From now on these are watched, and no others.
    pub fn watch(&mut self, rows: Vec<(RowId, Slot)>) {
        self.changes = Changes::of(rows.iter().map(|(_, slot)| *slot).collect());
        // Whatever changed at all is seen by the first look.
        self.due.clear();
        let before = std::mem::take(&mut self.sent);
        self.sent = rows.iter().filter_map(|(id, _)| Some((*id, *before.get(id)?))).collect();
        self.rows = rows;
    }

    /// Sends what changed; `until` bounds how long it reads, but for the first few. `send` answers whether to go on, and so
    /// does this.
    pub fn send(
        &mut self,
        ledger: &Ledger,
        until: Option<Instant>,
        mut send: impl FnMut(Vec<Times>) -> bool,
    ) -> bool {
        self.due.extend(self.changes.look());
        if self.due.is_empty() {
            return true;
        }
        self.reader.calibrate();
        let order: Vec<usize> =
            self.due.range(self.next..).chain(self.due.range(..self.next)).copied().collect();
        let mut page = Vec::new();
        for (part, places) in order.chunks(AT_ONCE).enumerate() {
            if part > 0 && until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            page.extend(self.read(ledger, places));
            if page.len() + AT_ONCE > TIMES_PER_PAGE && !send(std::mem::take(&mut page)) {
                return false;
            }
        }
        page.is_empty() || send(page)
    }

    /// The times of the rows in these places, of those that differ from what was sent.
    fn read(&mut self, ledger: &Ledger, places: &[usize]) -> Vec<Times> {
        let rows: Vec<(RowId, Slot)> =
            places.iter().filter_map(|place| self.rows.get(*place)).copied().collect();
        for place in places {
            self.due.remove(place);
            self.next = place + 1;
        }
        let slots: Vec<Slot> = rows.iter().map(|(_, slot)| *slot).collect();
        let sums = rows.into_iter().zip(timers::sums(&slots));
        let news = sums.filter(|((id, _), sums)| {
            self.sent.get(id).copied().unwrap_or_default() != (sums.in_flight, sums.exits)
        });
        let news: Vec<(RowId, Slot)> = news.map(|(row, _)| row).collect();
        let times = self.reader.of_slots(ledger, &news);
        self.sent.extend(times.iter().map(|one| (one.row, (one.in_flight, one.exits))));
        times
    }
}
