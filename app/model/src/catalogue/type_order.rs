//! The order of types by name, across modules.

use super::Catalogue;
use super::builder::NameOrder;
use crate::ids::{MethodIx, TypeIx};

impl Catalogue {
    /// Marks the catalogue as complete and sets the order of its types. Ignores an order that does not fit.
    pub fn complete(&mut self, order: NameOrder) {
        self.complete = true;
        self.modules_changed();
        self.order_types(order.types);
    }

    /// Sets the order of types; missing ones follow at the end.
    pub(super) fn order_types(&mut self, mut types: Vec<u32>) {
        let mut places = vec![u32::MAX; self.types.len()];
        for (place, index) in types.iter().enumerate() {
            match places.get_mut(*index as usize) {
                Some(free) if *free == u32::MAX => *free = place as u32,
                _ => return,
            }
        }
        for (index, place) in places.iter_mut().enumerate().filter(|(_, place)| **place == u32::MAX) {
            *place = types.len() as u32;
            types.push(index as u32);
        }
        (self.order, self.places) = (types, places);
    }

    /// Returns types in name order.
    pub fn types_by_name(&self) -> impl Iterator<Item = TypeIx> + '_ {
        self.order.iter().map(|index| TypeIx(*index))
    }

    /// Returns a method's place in name order; only for comparisons.
    pub fn name_place(&self, method: MethodIx) -> (u32, u32) {
        let owner = self.type_of(method);
        (self.places.get(owner.0 as usize).copied().unwrap_or(u32::MAX), method.0)
    }
}
