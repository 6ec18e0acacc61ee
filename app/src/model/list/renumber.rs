//! The table while methods get other numbers.

use super::List;
use super::which::all;
use crate::model::catalogue::Catalogue;
use crate::model::catalogue::forget::Renumbering;
use crate::model::ids::MethodIx;
use crate::model::live::Live;

/// Editions of a catalogue and of the agent's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Editions {
    catalogue: u64,
    modules: u64,
    rows: u64,
}

impl Editions {
    /// Those of now.
    pub fn of(catalogue: &Catalogue, live: &Live) -> Editions {
        Editions {
            catalogue: catalogue.edition(),
            modules: catalogue.modules_edition(),
            rows: live.rows_edition(),
        }
    }
}

impl List {
    /// Methods were renumbered, and none of those shown is gone: it shows what it showed, and where it was up to date at the
    /// editions before, it still is. `catalogue` and `live` are renumbered already.
    pub fn renumber(&mut self, to: &Renumbering, before: Editions, catalogue: &Catalogue, live: &Live) {
        let now = Editions::of(catalogue, live);
        let method = |method: MethodIx| to.method(method);
        self.matching = to.bits(&self.matching, catalogue.len());
        self.visible = to.bits(&self.visible, catalogue.len());
        self.picked = self.picked.and_then(method);
        self.lingers = self.lingers.map(|(still, picked)| (still, picked.and_then(method)));
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
        self.all = all(catalogue);
        self.edition += 1;
        if let Some(at) = self.arranged_at.as_mut().filter(|at| at.edition + 1 == self.edition) {
            at.edition = self.edition;
            at.rows = if at.rows == before.rows { now.rows } else { at.rows };
            at.stays = at.stays.and_then(method);
        }
    }
}
