//! Determines which methods have rows in the table, and which of these the agent has dialled.

use crate::catalogue::bit_set::BitSet;
use crate::catalogue::{Catalogue, Module};
use crate::live::Live;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use std::ops::Range;

/// Returns the number of rows without any filter; merged copies have one row.
pub(super) fn row_count(catalogue: &Catalogue) -> usize {
    let away = catalogue.merged_away().into_iter().map(|(copy, _)| copy);
    catalogue.len() - away.chain(rowless_methods(catalogue)).map(|range| range.len()).sum::<usize>()
}

/// Returns the methods that no longer have rows.
pub(super) fn rowless_methods(catalogue: &Catalogue) -> impl Iterator<Item = Range<u32>> {
    let ended = |module: &&Module| catalogue.has_lost_rows(module);
    catalogue.modules().iter().filter(ended).map(|module| module.methods.clone())
}

/// Returns the methods with a row in the agent's ledger. For merged copies, the first one represents all.
pub(super) fn methods_with_row(catalogue: &Catalogue, live: &Live) -> BitSet {
    with_leads(live.known().clone(), catalogue)
}

/// Returns those that were dialled and are off again: level off is wanted, and no instrumented body is
/// active. Excludes unavailable processes, whose state is unknown.
pub(super) fn methods_turned_off(catalogue: &Catalogue, live: &Live) -> BitSet {
    let mut off = BitSet::none(live.known().len());
    let states = [CopyState::Off, CopyState::Refused, CopyState::Lost];
    states.into_iter().filter_map(|state| live.in_state(state)).for_each(|bits| off.unite(bits));
    if let Some(unwanted) = live.wanted(Level::Off) {
        off.intersect(unwanted);
    }
    for module in catalogue.modules().iter().filter(|module| catalogue.unavailable_reason(module).is_some()) {
        off.set_range(module.methods.clone(), false);
    }
    let mut on = live.known().clone();
    on.subtract(&off);
    let mut turned_off = methods_with_row(catalogue, live);
    turned_off.subtract(&with_leads(on, catalogue));
    turned_off
}

/// Also sets the first of merged copies if any copy is set.
fn with_leads(mut marks: BitSet, catalogue: &Catalogue) -> BitSet {
    for (copy, lead) in catalogue.merged_away() {
        let marked: Vec<u32> = marks.iter_in(copy.clone()).collect();
        marked.into_iter().for_each(|method| marks.set(method - copy.start + lead.start, true));
    }
    marks
}
