//! Types in the order of their names, across modules.

use super::Catalogue;
use super::builder::NameOrder;
use crate::model::ids::{MethodIx, TypeIx};

impl Catalogue {
    /// Everything that was loaded is there; types are ordered so. An order that does not fit is ignored.
    pub fn complete(&mut self, order: NameOrder) {
        self.complete = true;
        self.modules_changed();
        self.put_in_order(order.types);
    }

    /// Orders types so; those that are left out stand behind them.
    pub(super) fn put_in_order(&mut self, mut types: Vec<u32>) {
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

    /// Types in the order of their names.
    pub fn types_by_name(&self) -> impl Iterator<Item = TypeIx> + '_ {
        self.order.iter().map(|index| TypeIx(*index))
    }

    /// A method's place in the order of names: to compare, not to count.
    pub fn name_place(&self, method: MethodIx) -> (u32, u32) {
        let owner = self.type_of(method);
        (self.places.get(owner.0 as usize).copied().unwrap_or(u32::MAX), method.0)
    }
}
