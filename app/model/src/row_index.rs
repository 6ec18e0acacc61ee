//! Maps methods to rows, in pages: few of a million methods have a row, and those are close together.

use super::ids::MethodIx;
use redial_protocol::ids::RowId;

/// Methods per page.
const PAGE: usize = 1024;
/// No row; no agent gets that far.
const NONE: RowId = RowId(u32::MAX);

/// Rows by method. Accessed for every method of a group, which may have 20,000.
#[derive(Debug, Default)]
pub struct RowIndex {
    pages: Vec<Option<Box<[RowId; PAGE]>>>,
}

impl RowIndex {
    /// Returns the row of a method.
    pub fn get(&self, MethodIx(method): MethodIx) -> Option<RowId> {
        let page = self.pages.get(method as usize / PAGE)?.as_ref()?;
        page.get(method as usize % PAGE).copied().filter(|row| *row != NONE)
    }

    /// Sets the row of a method; returns the previous one.
    pub fn insert(&mut self, MethodIx(method): MethodIx, row: RowId) -> Option<RowId> {
        let number = method as usize / PAGE;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        let page = self.pages.get_mut(number)?.get_or_insert_with(|| Box::new([NONE; PAGE]));
        let place = page.get_mut(method as usize % PAGE)?;
        Some(std::mem::replace(place, row)).filter(|before| *before != NONE)
    }

    /// Removes the row of a method.
    pub fn remove(&mut self, MethodIx(method): MethodIx) {
        let page = self.pages.get_mut(method as usize / PAGE).and_then(Option::as_mut);
        if let Some(place) = page.and_then(|page| page.get_mut(method as usize % PAGE)) {
            *place = NONE;
        }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        // Keep the pages: about as many rows usually follow.
        self.pages.iter_mut().flatten().for_each(|page| page.fill(NONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_the_last_row_of_a_method() {
        let mut rows = RowIndex::default();
        for method in [0, 1, 1_023, 1_024, 900_000] {
            assert_eq!(rows.insert(MethodIx(method), RowId(method + 1)), None);
        }
        assert_eq!(rows.insert(MethodIx(1_024), RowId(0)), Some(RowId(1_025)));
        rows.remove(MethodIx(0));
        rows.remove(MethodIx(5_000_000));
        let known = |method| rows.get(MethodIx(method));
        assert_eq!([0, 1, 2, 1_023].map(known), [None, Some(RowId(2)), None, Some(RowId(1_024))]);
        assert_eq!([1_024, 900_000, 900_001].map(known), [Some(RowId(0)), Some(RowId(900_001)), None]);
        rows.clear();
        assert_eq!(rows.get(MethodIx(1)), None);
    }
}
