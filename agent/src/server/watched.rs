//! The times that a session watches: those that changed since they were sent last, and of many no more in one pass than
//! there is time for; the others come with the next ones.
#![forbid(unsafe_code)]

use super::times::{TimesReader, waits};
use crate::probes::blocks::Slot;
use crate::probes::changes::Changes;
use crate::probes::timers;
use crate::rejit::Ledger;
use crate::rejit::slots::Counted;
use redial_protocol::ids::RowId;
use redial_protocol::limits::TIMES_PER_PAGE;
use redial_protocol::times::Times;
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// Rows that are read before the time is looked at again.
const AT_ONCE: usize = 64;

/// A row, and what tells that its times changed.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    row: RowId,
    slot: Slot,
    looked_at: Slot,
}

impl Watched {
    /// By calls of its own, in its slot.
    pub fn own(row: RowId, slot: Slot) -> Watched {
        Watched { row, slot, looked_at: slot }
    }

    /// By calls of the `MoveNext` in which its calls complete as well.
    pub fn of(counted: &Counted) -> impl Iterator<Item = Watched> {
        let own = Watched::own(counted.row, counted.slot);
        let other = counted.completes_in.map(|slot| Watched { looked_at: slot, ..own });
        [Some(own), other].into_iter().flatten()
    }
}

/// What is watched, and what of it was sent.
#[derive(Default)]
pub struct WatchedTimes {
    rows: Vec<Watched>,
    /// Of what is looked at, in the same places.
    changes: Changes,
    /// Places of rows that changed and were not sent since.
    due: BTreeSet<usize>,
    /// Whose turn it is: none of them waits for ever.
    next: usize,
    /// Calls under way, and calls that ended, as sent last, and of an async method those that began and completed: where none
    /// of them changed, no time did.
    sent: HashMap<RowId, [u64; 4]>,
    reader: TimesReader,
}

impl WatchedTimes {
    /// From now on these are watched, and no others.
    pub fn watch(&mut self, rows: Vec<Watched>) {
        self.changes = Changes::of(rows.iter().map(|one| one.looked_at).collect());
        // Whatever changed at all is seen by the first look.
        self.due.clear();
        let before = std::mem::take(&mut self.sent);
        self.sent = rows.iter().filter_map(|one| Some((one.row, *before.get(&one.row)?))).collect();
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
        let mut rows: Vec<(RowId, Slot)> =
            places.iter().filter_map(|place| self.rows.get(*place)).map(|one| (one.row, one.slot)).collect();
        // The two places of an async method stand side by side.
        rows.dedup();
        for place in places {
            self.due.remove(place);
            self.next = place + 1;
        }
        let slots: Vec<Slot> = rows.iter().map(|(_, slot)| *slot).collect();
        let waits = waits(ledger, rows.iter().map(|(id, _)| *id));
        let sums = rows.into_iter().zip(timers::sums(&slots)).zip(waits);
        let news = sums.filter(|(((id, _), sums), waits)| {
            let of_calls = waits.as_ref().and_then(|waits| waits.account()?.read()).unwrap_or_default();
            let now = [sums.in_flight, sums.exits, of_calls.starts, of_calls.completions];
            self.sent.get(id).copied().unwrap_or_default() != now
        });
        let news: Vec<(RowId, Slot)> = news.map(|((row, _), _)| row).collect();
        let times = self.reader.of_slots(ledger, &news);
        let sent = |one: &Times| {
            let of_calls = one.completions.unwrap_or_default();
            (one.row, [one.in_flight, one.exits, of_calls.starts, of_calls.completions])
        };
        self.sent.extend(times.iter().map(sent));
        times
    }
}
