//! Rows by number. Each number is used once, so that a row id means the same row for ever. Forgotten rows take next to
//! no memory and time: a host may load and unload modules all day.
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

/// Rows with adjacent numbers in one piece of the table.
const PIECE: usize = 1024;

/// The present rows among [`PIECE`] numbers.
struct Piece {
    rows: [Option<Box<Row>>; PIECE],
    present: usize,
}

/// The rows.
#[derive(Default)]
pub struct RowTable {
    /// Pieces of the table; none where no row is present.
    pieces: Vec<Option<Box<Piece>>>,
    present: usize,
    /// The number that the next row gets.
    end: u32,
    /// Rows of dynamic and collectible modules.
    fleeting: usize,
    /// Rows of the latest unloaded modules that had any, oldest first.
    unloaded: VecDeque<Vec<RowId>>,
}

impl RowTable {
    /// Adds a row. None if [`MAX_ROWS`] exist, or all numbers are used.
    pub fn add(&mut self, identity: CopyIdentity, ineligible: Option<Reason>) -> Option<RowId> {
        if self.present() >= MAX_ROWS {
            return None;
        }
        let end = self.end.checked_add(1)?;
        let id = RowId(self.end);
        let (piece, place) = position(id);
        if piece >= self.pieces.len() {
            self.pieces.resize_with(piece.checked_add(1)?, || None);
        }
        let piece = self.pieces.get_mut(piece)?.get_or_insert_with(Piece::empty);
        self.fleeting += usize::from(is_fleeting(&identity));
        *piece.rows.get_mut(place)? = Some(Box::new(Row::new(id, identity, ineligible)));
        piece.present += 1;
        self.present += 1;
        self.end = end;
        Some(id)
    }

    /// Returns a row, unless it was forgotten.
    pub fn get(&self, id: RowId) -> Option<&Row> {
        let (piece, place) = position(id);
        self.pieces.get(piece)?.as_ref()?.rows.get(place)?.as_deref()
    }

    /// Returns a row for changing.
    pub fn get_mut(&mut self, id: RowId) -> Option<&mut Row> {
        let (piece, place) = position(id);
        self.pieces.get_mut(piece)?.as_mut()?.rows.get_mut(place)?.as_deref_mut()
    }

    /// Returns all rows, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.pieces.iter().flatten().flat_map(|piece| piece.rows.iter().flatten()).map(Box::as_ref)
    }

    /// Returns the existing rows with these numbers.
    pub fn range(&self, range: Range<RowId>) -> impl Iterator<Item = &Row> {
        let (first, place) = position(range.start);
        let skipped = move |number| if number == 0 { place } else { 0 };
        let pieces = self.pieces.iter().skip(first).enumerate();
        pieces
            .filter_map(|(number, piece)| Some((number, piece.as_ref()?)))
            .flat_map(move |(number, piece)| piece.rows.iter().skip(skipped(number)).flatten())
            .map(Box::as_ref)
            .take_while(move |row| row.id < range.end)
    }

    /// Returns the number of existing rows.
    pub fn present(&self) -> usize {
        self.present
    }

    /// Returns the number that the next row gets.
    pub fn end(&self) -> RowId {
        RowId(self.end)
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
        let forgotten: Vec<RowId> = self.unloaded.drain(..surplus).flatten().collect();
        for id in forgotten {
            if let Some(row) = self.remove(id) {
                self.fleeting -= usize::from(is_fleeting(&row.identity));
            }
        }
    }

    fn remove(&mut self, id: RowId) -> Option<Box<Row>> {
        let (number, place) = position(id);
        let piece = self.pieces.get_mut(number)?;
        let present = piece.as_mut()?;
        let row = present.rows.get_mut(place)?.take()?;
        present.present -= 1;
        if present.present == 0 {
            *piece = None;
        }
        self.present -= 1;
        Some(row)
    }
}

impl Piece {
    fn empty() -> Box<Piece> {
        Box::new(Piece { rows: [const { None }; PIECE], present: 0 })
    }
}

/// Returns the number of a row's piece, and its place there.
fn position(id: RowId) -> (usize, usize) {
    (id.0 as usize / PIECE, id.0 as usize % PIECE)
}

fn is_fleeting(identity: &CopyIdentity) -> bool {
    identity.module.dynamic || identity.module.collectible
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Module;
    use crate::platform::heap_bytes;
    use redial_protocol::ids::ModuleKey;
    use std::sync::Arc;

    #[test]
    fn forgotten_rows_cost_neither_memory_nor_scans() {
        const OF_EACH: u32 = 1000;
        let mut table = RowTable::default();
        let mut come_and_go = |modules: Range<u32>| {
            for generation in modules {
                let module = Arc::new(Module::sample(ModuleKey { module_id: 1, generation }, "Script"));
                let add = |token| table.add(CopyIdentity::sample(Arc::clone(&module), token), None);
                let rows = (0..OF_EACH).filter_map(add).collect();
                table.retire(rows);
            }
            let visited = table.range(RowId(0)..table.end()).count();
            assert_eq!((table.present(), table.iter().count()), (visited, visited));
            (visited, table.end(), heap_bytes())
        };
        let (visited, end, bytes) = come_and_go(0..20);
        assert_eq!((visited, end), (UNLOADED_KEPT * OF_EACH as usize, RowId(20 * OF_EACH)));
        let million = RowId(1000 * OF_EACH);
        let (later, end, more) = come_and_go(20..1000);
        assert_eq!((later, end), (visited, million), "no number is used again");
        assert!(more < bytes + (1 << 20), "{bytes} bytes became {more}");
        assert!(table.get(RowId(0)).is_none() && table.get(RowId(million.0 - 1)).is_some());
        assert_eq!(table.range(million..RowId(0)).count(), 0);
    }
}
