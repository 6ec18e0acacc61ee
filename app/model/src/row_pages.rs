//! Rows by number, in pages. Numbers are never reused, so a page is freed once all its rows are removed.

use super::live::row::LiveRow;
use redial_protocol::ids::RowId;

/// Rows per page.
const PAGE: usize = 64;

/// Rows by number.
#[derive(Debug, Default)]
pub struct LiveRows {
    pages: Vec<Option<Box<Page>>>,
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

    /// Inserts a row.
    pub fn insert(&mut self, row: LiveRow) {
        let index = row.id.0 as usize;
        if self.pages.len() <= index / PAGE {
            self.pages.resize_with(index / PAGE + 1, || None);
        }
        let Some(page) = self.pages.get_mut(index / PAGE) else { return };
        let fresh = || Box::new(Page { rows: std::iter::repeat_with(|| None).take(PAGE).collect(), used: 0 });
        let page = page.get_or_insert_with(fresh);
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
            }
        }
    }

    /// Returns the rows by ascending number.
    pub fn iter(&self) -> impl Iterator<Item = &LiveRow> {
        let pages = self.pages.iter().flatten();
        pages.flat_map(|page| page.rows.iter().flatten())
    }
}
