//! Caches for the sums over groups of methods. A frame draws the same groups as the one before, and numbers change
//! only four times a second.

use crate::ids::Node;
use crate::live::RowTotals;
use crate::method_set::MethodSet;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The sums over a group, without pending changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Methods of the group that are shown.
    pub methods: u32,
    /// Those of them that are off and cannot be turned on.
    pub unavailable: u32,
    /// Those of the unavailable ones that have no body.
    pub bodyless: u32,
    /// Numbers of the methods with a row.
    pub sums: RowTotals,
}

/// The editions of all inputs of [`Totals`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Editions {
    /// The catalogue.
    pub catalogue: u64,
    /// The agent's rows.
    pub rows: u64,
    /// Their levels and states.
    pub states: u64,
    /// Their numbers.
    pub counters: u64,
    /// The inputs of the set of unavailable methods.
    pub unavailable: (u64, u64, u64),
    /// The methods shown.
    pub visible: u64,
}

/// The totals of groups, kept until an input changes.
#[derive(Debug, Default)]
pub struct TotalsCache {
    known: RefCell<(Editions, HashMap<Node, Totals>)>,
}

impl TotalsCache {
    /// Returns the totals of a group. Calls `compute` if they are unknown or an input changed.
    pub fn get(&self, node: Node, editions: Editions, compute: impl FnOnce() -> Totals) -> Totals {
        let (known_editions, known) = &mut *self.known.borrow_mut();
        if *known_editions != editions {
            *known_editions = editions;
            known.clear();
        }
        *known.entry(node).or_insert_with(compute)
    }
}

/// Editions of the catalogue and of the methods shown.
type CopyEditions = (u64, u64);

/// The copies behind merged groups. They depend on the modules loaded and the methods shown, not on numbers.
#[derive(Debug, Default)]
pub struct CopyCache {
    known: RefCell<(CopyEditions, HashMap<Node, Rc<MethodSet>>)>,
}

impl CopyCache {
    /// Returns the copies behind a group. Calls `compute` if they are unknown or `editions` changed.
    pub fn get(
        &self,
        node: Node,
        editions: CopyEditions,
        compute: impl FnOnce() -> MethodSet,
    ) -> Rc<MethodSet> {
        let (known_editions, known) = &mut *self.known.borrow_mut();
        if *known_editions != editions {
            *known_editions = editions;
            known.clear();
        }
        Rc::clone(known.entry(node).or_insert_with(|| Rc::new(compute())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ModuleIx;

    #[test]
    fn recomputes_totals_when_an_input_changes() {
        let cache = TotalsCache::default();
        let node = Node::Module(ModuleIx(3));
        let found = |methods| move || Totals { methods, ..Totals::default() };
        let base = Editions::default();
        assert_eq!(cache.get(node, base, found(1)).methods, 1);
        assert_eq!(cache.get(node, base, || unreachable!("it is known")).methods, 1);
        assert_eq!(cache.get(Node::Domain(3), base, found(2)).methods, 2);
        let changes = [
            Editions { catalogue: 1, ..base },
            Editions { rows: 1, ..base },
            Editions { states: 1, ..base },
            Editions { counters: 1, ..base },
            Editions { unavailable: (0, 1, 0), ..base },
            Editions { visible: 1, ..base },
        ];
        for (methods, editions) in (10..).zip(changes) {
            assert_eq!(cache.get(node, editions, found(methods)).methods, methods, "{editions:?}");
        }
    }
}
