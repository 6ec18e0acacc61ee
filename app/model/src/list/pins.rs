//! Pinned methods: they stand above all others in every order.

use crate::catalogue::Catalogue;
use crate::catalogue::bit_set::BitSet;
use crate::ids::MethodIx;

/// The pinned methods of a list.
#[derive(Debug, Default)]
pub(super) struct Pins {
    /// All of them.
    all: BitSet,
    /// Those shown, in order.
    top: Vec<u32>,
}

impl Pins {
    /// Returns these pins, not yet in order.
    pub(super) fn of(all: BitSet) -> Pins {
        Pins { all, top: Vec::new() }
    }

    /// Returns all of them.
    pub(super) fn all(&self) -> &BitSet {
        &self.all
    }

    pub(super) fn contains(&self, method: u32) -> bool {
        self.all.get(method)
    }

    /// Removes pinned methods from the others.
    pub(super) fn take_from(&self, others: &mut BitSet) {
        if self.all.any() {
            others.subtract(&self.all);
        }
    }

    /// Moves the pinned ones out of the ranked methods, and puts pinned methods without a rank behind them.
    pub(super) fn arrange(&mut self, ranked: &mut Vec<u32>, visible: &BitSet, catalogue: &Catalogue) {
        self.top.clear();
        if !self.all.any() {
            return;
        }
        self.top.extend(ranked.extract_if(.., |method| self.all.get(*method)));
        let ranked = self.top.len();
        let shown = self.all.iter_in(0..u32::MAX).filter(|method| visible.get(*method));
        let unranked: Vec<u32> = shown.filter(|method| !self.top.contains(method)).collect();
        self.top.extend(unranked);
        if let Some(unranked) = self.top.get_mut(ranked..) {
            unranked.sort_by_cached_key(|method| catalogue.full_name(MethodIx(*method)).text);
        }
    }

    /// Returns those shown, in order.
    pub(super) fn top(&self) -> &[u32] {
        &self.top
    }
}
