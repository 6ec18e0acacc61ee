//! A change as the audit records it.
#![forbid(unsafe_code)]

use redial_protocol::diagnostics::{AuditAction, AuditedChange, AuditedOrder};

/// Orders of one change that the audit lists.
const MAX_LISTED: usize = 16;

/// A change as the audit records it.
pub(super) enum ChangeAudit {
    /// It set these orders.
    Orders(Vec<AuditedOrder>),
    /// It undid this change.
    Undo(AuditedChange),
}

impl ChangeAudit {
    /// Returns the change in one entry.
    pub(super) fn summary(&self) -> AuditedChange {
        match self {
            ChangeAudit::Orders(orders) => {
                let more = orders.len().saturating_sub(1) as u64;
                AuditedChange::Orders { first: orders.first().cloned().unwrap_or_default(), more }
            }
            ChangeAudit::Undo(change) => change.clone(),
        }
    }

    /// Returns the entries of a finished change; `refused`: for all its copies.
    pub(super) fn finished(self, refused: bool) -> Vec<AuditAction> {
        let orders = match self {
            ChangeAudit::Orders(orders) => orders,
            ChangeAudit::Undo(change) => return vec![AuditAction::Undone(change)],
        };
        // A large set must not push everything else out of the ring.
        let rest = orders.len().saturating_sub(MAX_LISTED) as u64;
        let action = if refused { AuditAction::Refused } else { AuditAction::Changed };
        let listed = orders.into_iter().take(MAX_LISTED);
        let mut entries: Vec<AuditAction> =
            listed.map(|first| action(AuditedChange::Orders { first, more: 0 })).collect();
        entries.extend((rest > 0).then_some(AuditAction::MoreOrders { orders: rest }));
        entries
    }

    /// Returns the entry of a cancelled change.
    pub(super) fn cancelled(self) -> AuditAction {
        match self {
            ChangeAudit::Orders(_) => AuditAction::Cancelled(self.summary()),
            ChangeAudit::Undo(change) => AuditAction::UndoCancelled(change),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(orders: usize) -> ChangeAudit {
        let order = |index: usize| AuditedOrder { line: format!("A.B{index} = count"), step: None };
        ChangeAudit::Orders((0..orders).map(order).collect())
    }

    #[test]
    fn lists_some_orders_of_a_large_set() {
        let change = |index: usize| AuditedChange::order(format!("A.B{index} = count"));
        assert_eq!(set(1).finished(true), [AuditAction::Refused(change(0))]);
        assert_eq!(set(MAX_LISTED).finished(false).len(), MAX_LISTED);
        let entries = set(MAX_LISTED + 3).finished(false);
        assert_eq!(entries.len(), MAX_LISTED + 1);
        assert_eq!(entries[MAX_LISTED - 1], AuditAction::Changed(change(MAX_LISTED - 1)));
        assert_eq!(entries[MAX_LISTED], AuditAction::MoreOrders { orders: 3 });
    }

    #[test]
    fn sums_up_a_set_in_one_entry() {
        let first = AuditedOrder { line: "A.B0 = count".into(), step: None };
        assert_eq!(set(3).cancelled(), AuditAction::Cancelled(AuditedChange::Orders { first, more: 2 }));
        let undo = || ChangeAudit::Undo(AuditedChange::AllOff);
        assert_eq!(undo().cancelled(), AuditAction::UndoCancelled(AuditedChange::AllOff));
        assert_eq!(undo().finished(false), [AuditAction::Undone(AuditedChange::AllOff)]);
    }
}
