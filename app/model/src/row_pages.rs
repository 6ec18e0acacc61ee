//! Rows by number, in pages. Numbers are never reused, so a page is freed once all its rows are removed.

use super::live::row::LiveRow;
use redial_protocol::ids::RowId;
use redial_protocol::limits::MAX_STATUS_ROWS;

/// Rows per page.
const PAGE: usize = 64;
/// Maximum number of pages: twice as many as a full agent needs. Without it, one row per page, which no agent
/// has, would take 64 times the memory.
const MAX_PAGES: usize = 2 * MAX_STATUS_ROWS / PAGE;

/// Rows by number.
#[derive(Debug, Default)]
pub struct LiveRows {
    pages: Vec<Option<Box<Page>>>,
    used_pages: usize,
    len: usize,
}

#[derive(Debug)]
struct Page {
    /// Stored inline, because iterating over all rows is frequent and separate allocations would be far
    /// apart.
    rows: Vec<Option<LiveRow>>,
    used: usize,
}

impl LiveRows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns a row.
    pub fn get(&self, id: RowId) -> Option<&LiveRow> {
        let page = self.pages.get(id.0 as usize / PAGE)?.as_ref()?;
        page.rows.get(id.0 as usize % PAGE)?.as_ref()
    }

    /// Returns a row mutably.
    pub fn get_mut(&mut self, id: RowId) -> Option<&mut LiveRow> {
        let page = self.pages.get_mut(id.0 as usize / PAGE)?.as_mut()?;
        page.rows.get_mut(id.0 as usize % PAGE)?.as_mut()
    }

    /// Inserts a row. Ignores it if it needs a page beyond `MAX_PAGES`.
    pub fn insert(&mut self, row: LiveRow) {
        let index = row.id.0 as usize;
        if self.pages.len() <= index / PAGE {
            self.pages.resize_with(index / PAGE + 1, || None);
        }
        let Some(place) = self.pages.get_mut(index / PAGE) else { return };
        if place.is_none() && self.used_pages >= MAX_PAGES {
            return;
        }
        self.used_pages += usize::from(place.is_none());
        let fresh = || Box::new(Page { rows: std::iter::repeat_with(|| None).take(PAGE).collect(), used: 0 });
        let page = place.get_or_insert_with(fresh);
        if let Some(place) = page.rows.get_mut(index % PAGE)
            && place.replace(row).is_none()
        {
            page.used += 1;
            self.len += 1;
        }
    }

    /// Removes a row.
    pub fn remove(&mut self, id: RowId) {
        let Some(place) = self.pages.get_mut(id.0 as usize / PAGE) else { return };
        let Some(page) = place else { return };
        if page.rows.get_mut(id.0 as usize % PAGE).and_then(Option::take).is_some() {
            page.used -= 1;
            self.len -= 1;
            if page.used == 0 {
                *place = None;
                self.used_pages -= 1;
            }
        }
    }

    /// Returns the rows by ascending number.
    pub fn iter(&self) -> impl Iterator<Item = &LiveRow> {
        let pages = self.pages.iter().flatten();
        pages.flat_map(|page| page.rows.iter().flatten())
    }
}
