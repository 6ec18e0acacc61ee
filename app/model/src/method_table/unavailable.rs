//! The methods that are off and cannot be turned on.

use crate::catalogue::bit_set::BitSet;
use crate::catalogue::{Catalogue, Module};
use crate::live::Live;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;

/// Methods that are off and cannot be turned on.
#[derive(Debug, Default)]
pub(super) struct Unavailable {
    pub(super) all: BitSet,
    /// Those without a body.
    pub(super) bodyless: BitSet,
    /// The editions of the catalogue, the rows and their states that this was computed from.
    pub(super) computed_from: (u64, u64, u64),
}

impl Unavailable {
    /// Computes the sets again if something changed.
    pub fn refresh(&mut self, catalogue: &Catalogue, live: &Live) {
        let now = (catalogue.edition(), live.rows_edition(), live.states_edition());
        if self.computed_from == now {
            return;
        }
        self.computed_from = now;
        self.bodyless.clone_from(catalogue.bodyless());
        self.all.clone_from(catalogue.bodyless());
        let cannot = |module: &&Module| {
            module.dynamic || module.unloaded || catalogue.unavailable_reason(module).is_some()
        };
        for module in catalogue.modules().iter().filter(cannot) {
            self.all.set_range(module.methods.clone(), true);
        }
        // A refused method stays refused after its level is set to off.
        for state in [CopyState::Refused, CopyState::Failed, CopyState::Lost] {
            live.in_state(state).into_iter().for_each(|methods| self.all.unite(methods));
        }
        for level in Level::ALL.into_iter().filter(|level| *level != Level::Off) {
            let Some(wanted) = live.wanted(level) else { continue };
            self.all.subtract(wanted);
            self.bodyless.subtract(wanted);
        }
    }
}
