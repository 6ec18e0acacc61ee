//! What groups amount to, found once for each state of what it is found from: a frame draws the same groups as the one
//! before, and numbers change four times a second.

use crate::model::ids::Node;
use crate::model::live::Sums;
use std::cell::RefCell;
use std::collections::HashMap;

/// What a group amounts to, turns under way apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Methods of it that are shown.
    pub methods: u32,
    /// Those of them that are off and cannot be on.
    pub unable: u32,
    /// Those of these that have no body.
    pub bodyless: u32,
    /// Numbers of those with a row.
    pub sums: Sums,
}

/// Editions of all that [`Totals`] are found from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct From {
    /// Of the catalogue.
    pub catalogue: u64,
    /// Of the agent's rows.
    pub rows: u64,
    /// Of their levels and states.
    pub states: u64,
    /// Of their numbers.
    pub folds: u64,
    /// Of what the methods that cannot be on were found from.
    pub unable: (u64, u64, u64),
    /// Of the methods shown.
    pub visible: u64,
}

/// Totals of the groups asked for since something changed.
#[derive(Debug, Default)]
pub struct Grouped {
    of: RefCell<(From, HashMap<Node, Totals>)>,
}

impl Grouped {
    /// The totals of a group; `find` is asked where they are not known, or were found from something else.
    pub fn of(&self, node: Node, from: From, find: impl FnOnce() -> Totals) -> Totals {
        let (known_from, known) = &mut *self.of.borrow_mut();
        if *known_from != from {
            *known_from = from;
            known.clear();
        }
        *known.entry(node).or_insert_with(find)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::ModuleIx;

    #[test]
    fn totals_are_found_again_when_anything_changed() {
        let grouped = Grouped::default();
        let node = Node::Module(ModuleIx(3));
        let found = |methods| move || Totals { methods, ..Totals::default() };
        let base = From::default();
        assert_eq!(grouped.of(node, base, found(1)).methods, 1);
        assert_eq!(grouped.of(node, base, || unreachable!("it is known")).methods, 1);
        assert_eq!(grouped.of(Node::Domain(3), base, found(2)).methods, 2);
        let changes = [
            From { catalogue: 1, ..base },
            From { rows: 1, ..base },
            From { states: 1, ..base },
            From { folds: 1, ..base },
            From { unable: (0, 1, 0), ..base },
            From { visible: 1, ..base },
        ];
        for (methods, from) in (10..).zip(changes) {
            assert_eq!(grouped.of(node, from, found(methods)).methods, methods, "{from:?}");
        }
    }
}
