//! Which row a method has, in pages: few of a million methods have one, and those that have stand together.

use super::ids::MethodIx;
use redial_protocol::ids::RowId;

/// Methods a page has room for.
const PAGE: usize = 1024;
/// No row; no agent gets that far.
const NONE: RowId = RowId(u32::MAX);

/// Rows by the methods they are of. It is asked for every method of a group, of which there may be 20,000.
#[derive(Debug, Default)]
pub struct RowOf {
    pages: Vec<Option<Box<[RowId; PAGE]>>>,
}

impl RowOf {
    /// The row of a method.
    pub fn get(&self, MethodIx(method): MethodIx) -> Option<RowId> {
        let page = self.pages.get(method as usize / PAGE)?.as_ref()?;
        page.get(method as usize % PAGE).copied().filter(|row| *row != NONE)
    }

    /// Notes the row of a method; the one it had before.
    pub fn insert(&mut self, MethodIx(method): MethodIx, row: RowId) -> Option<RowId> {
        let number = method as usize / PAGE;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        let page = self.pages.get_mut(number)?.get_or_insert_with(|| Box::new([NONE; PAGE]));
        let place = page.get_mut(method as usize % PAGE)?;
        Some(std::mem::replace(place, row)).filter(|before| *before != NONE)
    }

    /// Forgets the row of a method.
    pub fn remove(&mut self, MethodIx(method): MethodIx) {
        let page = self.pages.get_mut(method as usize / PAGE).and_then(Option::as_mut);
        if let Some(place) = page.and_then(|page| page.get_mut(method as usize % PAGE)) {
            *place = NONE;
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        // Pages are kept: who forgets all mostly notes as many anew.
        self.pages.iter_mut().flatten().for_each(|page| page.fill(NONE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_the_row_noted_last() {
        let mut rows = RowOf::default();
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
