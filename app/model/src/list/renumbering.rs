//! Keeps the table consistent when methods are renumbered.

use super::List;
use super::membership::row_count;
use crate::catalogue::Catalogue;
use crate::catalogue::module_removal::Renumbering;
use crate::ids::MethodIx;
use crate::live::Live;

/// Editions of a catalogue and of the agent's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEditions {
    catalogue: u64,
    modules: u64,
    rows: u64,
}

impl TableEditions {
    /// Returns the current editions.
    pub fn of(catalogue: &Catalogue, live: &Live) -> TableEditions {
        TableEditions {
            catalogue: catalogue.edition(),
            modules: catalogue.modules_edition(),
            rows: live.rows_edition(),
        }
    }
}

impl List {
    /// Renumbers the table; none of the shown methods may be gone. It keeps showing the same rows, and parts
    /// that were up to date at the editions before remain up to date. `catalogue` and `live` must already be
    /// renumbered.
    pub fn renumber(&mut self, to: &Renumbering, before: TableEditions, catalogue: &Catalogue, live: &Live) {
        let now = TableEditions::of(catalogue, live);
        let method = |method: MethodIx| to.method(method);
        self.matching = to.bits(&self.matching, catalogue.len());
        self.visible = to.bits(&self.visible, catalogue.len());
        self.selected = self.selected.and_then(method);
        self.exempted_at = self.exempted_at.map(|(still, selected)| (still, selected.and_then(method)));
        self.ranked = self.ranked.iter().filter_map(|one| Some(method(MethodIx(*one))?.0)).collect();
        self.rest = self.rest.renumbered(to, catalogue);
        self.ranking.renumber(to, (before.modules, before.rows), (now.modules, now.rows));
        if let Some((edition, _)) = self.matched_at.as_mut().filter(|(edition, _)| *edition == before.modules)
        {
            *edition = now.modules;
        }
        if let Some(at) = &mut self.filtered_at {
            let follow = |at: &mut u64, before, now| *at = if *at == before { now } else { *at };
            follow(&mut at.edition, before.catalogue, now.catalogue);
            follow(&mut at.modules, before.modules, now.modules);
            follow(&mut at.rows, before.rows, now.rows);
        }
        self.all = row_count(catalogue);
        self.edition += 1;
        if let Some(at) = self.arranged_at.as_mut().filter(|at| at.edition + 1 == self.edition) {
            at.edition = self.edition;
            at.rows = if at.rows == before.rows { now.rows } else { at.rows };
            at.pinned = at.pinned.and_then(method);
        }
        // Whoever knows their names sets them again.
        self.forget_pins();
    }
}
