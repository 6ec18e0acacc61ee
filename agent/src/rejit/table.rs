//! Rows by number. A number is given once: what a session knows a row by means that row for ever.
#![forbid(unsafe_code)]

use super::row::{Identity, Row};
use redial_protocol::ids::RowId;
use redial_protocol::reason::Reason;
use std::collections::VecDeque;
use std::ops::Range;

/// Rows there may be: what is refused under `*` in a large program included.
pub const MAX_ROWS: usize = 400_000;

/// Unloaded modules whose rows are still there to be looked at. Modules may come and go for ever; without a bound
/// their rows would fill the memory.
const UNLOADED_KEPT: usize = 16;

/// The rows.
#[derive(Default)]
pub struct Table {
    /// By number; nothing where a row was forgotten.
    rows: Vec<Option<Box<Row>>>,
    present: usize,
    /// Rows of dynamic and collectible modules.
    fleeting: usize,
    /// Rows of the latest unloaded modules that had any, oldest first.
    unloaded: VecDeque<Vec<RowId>>,
}

impl Table {
    /// Adds a row. None when [`MAX_ROWS`] are there, or all numbers are used.
    pub fn add(&mut self, what: Identity, ineligible: Option<Reason>) -> Option<RowId> {
        if self.present >= MAX_ROWS {
            return None;
        }
        let id = RowId(u32::try_from(self.rows.len()).ok()?);
        self.fleeting += usize::from(is_fleeting(&what));
        self.present += 1;
        self.rows.push(Some(Box::new(Row::new(id, what, ineligible))));
        Some(id)
    }

    /// A row, unless it was forgotten.
    pub fn get(&self, id: RowId) -> Option<&Row> {
        self.rows.get(id.0 as usize)?.as_deref()
    }

    /// A row, to change.
    pub fn get_mut(&mut self, id: RowId) -> Option<&mut Row> {
        self.rows.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// Every row there is, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter_map(Option::as_deref)
    }

    /// The rows with these numbers, as far as there are any.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = &Row> {
        let end = range.end.min(self.rows.len());
        let start = range.start.min(end);
        self.rows.get(start..end).unwrap_or_default().iter().filter_map(Option::as_deref)
    }

    /// Number of rows there are.
    pub fn present(&self) -> usize {
        self.present
    }

    /// The number the next row gets.
    pub fn end(&self) -> usize {
        self.rows.len()
    }

    /// Rows of dynamic and collectible modules, those that have gone included while they are kept.
    pub fn fleeting(&self) -> usize {
        self.fleeting
    }

    /// A module's rows are lost: they stay to be looked at, and those of a module long gone are forgotten.
    pub fn retire(&mut self, rows: Vec<RowId>) {
        if rows.is_empty() {
            return;
        }
        self.unloaded.push_back(rows);
        let surplus = self.unloaded.len().saturating_sub(UNLOADED_KEPT);
        for id in self.unloaded.drain(..surplus).flatten() {
            if let Some(row) = self.rows.get_mut(id.0 as usize).and_then(Option::take) {
                self.present -= 1;
                self.fleeting -= usize::from(is_fleeting(&row.what));
            }
        }
    }

    /// Bytes of the table and of what its rows own, each allocation with what the allocator keeps beside it.
    pub fn bytes(&self) -> usize {
        let of_row = |row: &Row| size_of::<Row>() + row.bytes_behind();
        self.rows.capacity() * size_of::<Option<Box<Row>>>() + self.iter().map(of_row).sum::<usize>()
    }
}

fn is_fleeting(what: &Identity) -> bool {
    what.module.dynamic || what.module.collectible
}
