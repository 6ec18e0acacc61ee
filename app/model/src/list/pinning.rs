//! Pins methods of a list and unpins them.

use super::List;
use super::pins::Pins;
use crate::catalogue::Catalogue;
use crate::catalogue::bit_set::BitSet;
use crate::ids::MethodIx;

impl List {
    /// Pins these methods and no others.
    pub fn set_pins(&mut self, methods: impl Iterator<Item = MethodIx>, catalogue: &Catalogue) {
        let mut pins = BitSet::none(catalogue.len());
        methods.for_each(|method| pins.set(method.0, true));
        if pins.iter_in(0..u32::MAX).eq(self.pins.all().iter_in(0..u32::MAX)) {
            return;
        }
        self.pins = Pins::of(pins);
        self.rearrange();
    }

    /// Returns whether a method is pinned.
    pub fn is_pinned(&self, method: MethodIx) -> bool {
        self.pins.contains(method.0)
    }

    /// Forgets pins and order, which are made anew.
    pub(super) fn forget_pins(&mut self) {
        if self.pins.all().any() {
            self.pins = Pins::default();
            self.rearrange();
        }
    }

    fn rearrange(&mut self) {
        self.edition += 1;
        self.arranged_at = None;
    }
}
