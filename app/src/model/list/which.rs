//! Which methods have a row in the table, and which of them one of the agent's.

use crate::model::catalogue::bits::Bits;
use crate::model::catalogue::{Catalogue, Module};
use crate::model::live::Live;
use redial_protocol::level::Level;
use redial_protocol::state::State;
use std::ops::Range;

/// Rows that there are without any filter: merged copies have one.
pub(super) fn all(catalogue: &Catalogue) -> usize {
    let away = catalogue.merged_away().into_iter().map(|(copy, _)| copy);
    catalogue.len() - away.chain(over(catalogue)).map(|range| range.len()).sum::<usize>()
}

/// The methods that have no rows any more.
pub(super) fn over(catalogue: &Catalogue) -> impl Iterator<Item = Range<u32>> {
    let ended = |module: &&Module| catalogue.has_lost_rows(module);
    catalogue.modules().iter().filter(ended).map(|module| module.methods.clone())
}

/// Methods with a row of the agent's. Of merged copies the first stands for all, whichever has one.
pub(super) fn with_row(catalogue: &Catalogue, live: &Live) -> Bits {
    by_leads(live.known().clone(), catalogue)
}

/// Those of them that were dialled and are no more: nothing is wanted of them, and nothing of ours runs. Of processes out of
/// reach nobody knows that.
pub(super) fn off_again(catalogue: &Catalogue, live: &Live) -> Bits {
    let mut rests = Bits::none(live.known().len());
    let states = [State::Off, State::Refused, State::Lost];
    states.into_iter().filter_map(|state| live.in_state(state)).for_each(|bits| rests.unite(bits));
    if let Some(unwanted) = live.wanted(Level::Off) {
        rests.intersect(unwanted);
    }
    for module in catalogue.modules().iter().filter(|module| catalogue.beyond(module).is_some()) {
        rests.set_range(module.methods.clone(), false);
    }
    let mut on = live.known().clone();
    on.subtract(&rests);
    let mut over = with_row(catalogue, live);
    over.subtract(&by_leads(on, catalogue));
    over
}

/// Marks of merged copies at the first of them, too.
fn by_leads(mut marks: Bits, catalogue: &Catalogue) -> Bits {
    for (copy, lead) in catalogue.merged_away() {
        let marked: Vec<u32> = marks.iter_in(copy.clone()).collect();
        marked.into_iter().for_each(|method| marks.set(method - copy.start + lead.start, true));
    }
    marks
}
