//! Hides methods that the compiler wrote.

use super::membership::methods_with_row;
use super::view_options::Filter;
use crate::catalogue::Catalogue;
use crate::catalogue::bit_set::BitSet;
use crate::live::Live;

/// Removes methods that the compiler wrote if the filter hides them, and returns how many. Methods that are or were dialled
/// stay: no dial is out of sight.
pub(super) fn hide(visible: &mut BitSet, filter: &Filter, catalogue: &Catalogue, live: &Live) -> usize {
    if !filter.hide_generated {
        return 0;
    }
    let mut hidden = catalogue.generated().clone();
    hidden.intersect(visible);
    if !hidden.any() {
        return 0;
    }
    hidden.subtract(&methods_with_row(catalogue, live));
    visible.subtract(&hidden);
    hidden.count()
}
