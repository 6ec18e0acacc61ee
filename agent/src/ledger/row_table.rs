//! Rows by number. Each number is used once, so that a row id means the same row for ever.
#![forbid(unsafe_code)]

use super::copy_identity::CopyIdentity;
use super::row::Row;
use redial_protocol::ids::RowId;
use redial_protocol::reason::Reason;
use std::collections::VecDeque;
use std::ops::Range;

/// Limit of rows, including those refused under `*` in a large program.
pub const MAX_ROWS: usize = 400_000;

/// Number of unloaded modules whose rows are kept for viewing. Modules may come and go for ever; without a limit
/// their rows would fill the memory.
const UNLOADED_KEPT: usize = 16;

/// The rows.
#[derive(Default)]
pub struct RowTable {
    /// Indexed by number; None for forgotten rows.
    rows: Vec<Option<Box<Row>>>,
    present: usize,
    /// Rows of dynamic and collectible modules.
    fleeting: usize,
    /// Rows of the latest unloaded modules that had any, oldest first.
    unloaded: VecDeque<Vec<RowId>>,
}

impl RowTable {
    /// Adds a row. None if [`MAX_ROWS`] exist, or all numbers are used.
    pub fn add(&mut self, identity: CopyIdentity, ineligible: Option<Reason>) -> Option<RowId> {
        if self.present >= MAX_ROWS {
            return None;
        }
        let id = RowId(u32::try_from(self.rows.len()).ok()?);
        self.fleeting += usize::from(is_fleeting(&identity));
        self.present += 1;
        self.rows.push(Some(Box::new(Row::new(id, identity, ineligible))));
        Some(id)
    }

    /// Returns a row, unless it was forgotten.
    pub fn get(&self, id: RowId) -> Option<&Row> {
        self.rows.get(id.0 as usize)?.as_deref()
    }

    /// Returns a row for changing.
    pub fn get_mut(&mut self, id: RowId) -> Option<&mut Row> {
        self.rows.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// Returns all rows, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter_map(Option::as_deref)
    }

    /// Returns the existing rows with these numbers.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = &Row> {
        let end = range.end.min(self.rows.len());
        let start = range.start.min(end);
        self.rows.get(start..end).unwrap_or_default().iter().filter_map(Option::as_deref)
    }

    /// Returns the number of existing rows.
    pub fn present(&self) -> usize {
        self.present
    }

    /// Returns the number that the next row gets.
    pub fn end(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of rows of dynamic and collectible modules, including kept rows of unloaded ones.
    pub fn fleeting(&self) -> usize {
        self.fleeting
    }

    /// Keeps the rows of an unloaded module for viewing, and forgets those of the oldest unloaded modules.
    pub fn retire(&mut self, rows: Vec<RowId>) {
        if rows.is_empty() {
            return;
        }
        self.unloaded.push_back(rows);
        let surplus = self.unloaded.len().saturating_sub(UNLOADED_KEPT);
        for id in self.unloaded.drain(..surplus).flatten() {
            if let Some(row) = self.rows.get_mut(id.0 as usize).and_then(Option::take) {
                self.present -= 1;
                self.fleeting -= usize::from(is_fleeting(&row.identity));
            }
        }
    }

    /// Returns the bytes of the table and of data that its rows own, with allocation overhead.
    pub fn bytes(&self) -> usize {
        let of_row = |row: &Row| size_of::<Row>() + row.bytes_behind();
        self.rows.capacity() * size_of::<Option<Box<Row>>>() + self.iter().map(of_row).sum::<usize>()
    }
}

fn is_fleeting(identity: &CopyIdentity) -> bool {
    identity.module.dynamic || identity.module.collectible
}
