//! The budget's effects outside its own steps: spared dials, and the numbers that sessions see.
#![forbid(unsafe_code)]

use super::worker::Worker;
use redial_protocol::cost::{CostBudget, Share};
use redial_protocol::ids::RowId;

impl Worker {
    /// Exempts those of these rows that a user raises after the budget had stepped them down; returns them.
    pub(super) fn spare(&self, changed_at: impl Iterator<Item = RowId>) -> Vec<RowId> {
        let mut ledger = self.context.ledger.lock();
        let mut spared = Vec::new();
        for id in changed_at {
            let Some(row) = ledger.row_mut(id).filter(|row| row.wanted.stepped.is_some()) else { continue };
            if self.orders.wanted(row.wanted.deciding_order).0 > row.wanted.level {
                row.wanted.spared = true;
                spared.push(id);
            }
        }
        spared
    }

    /// Ends the exemption of rows that were not raised after all.
    pub(super) fn unspare(&self, rows: &[RowId]) {
        let mut ledger = self.context.ledger.lock();
        for id in rows {
            if let Some(row) = ledger.row_mut(*id) {
                row.wanted.spared = false;
            }
        }
    }

    pub(super) fn has_budget(&self) -> bool {
        self.meter.budget.limit().is_some()
    }

    /// Publishes the budget and the present cost.
    pub(super) fn publish_budget(&self) -> CostBudget {
        let (spared, stepped) = {
            let ledger = self.context.ledger.lock();
            let spared = ledger.rows().iter().filter(|row| row.wanted.spared && row.wanted.is_on()).count();
            (spared as u64, ledger.rows().iter().filter(|row| row.wanted.stepped.is_some()).count() as u64)
        };
        let costs = self.meter.costs;
        let published = CostBudget {
            limit: self.meter.budget.limit(),
            cost: costs.map(|costs| costs.all.rounded()),
            spared_cost: costs.map_or(Share(0), |costs| costs.spared.rounded()),
            spared,
            stepped,
            problem: self.meter.problem,
            last: self.meter.last.clone(),
        };
        if self.context.cost_budget.put(&published) {
            self.context.ledger.wake();
        }
        published
    }
}
