//! The cost budget: its last step, the log lines about it, and its undo.

use super::Connection;
use crate::log::{Log, LogKind};
use crate::update::Now;
use redial_protocol::cost::{BudgetStep, CostBudget};
use redial_text::budget;

impl Connection {
    /// Takes in that the budget was set or acted. Steps from before this connection are in the audit only.
    pub(super) fn take_budget(&mut self, report: CostBudget, log: &mut Log, now: Now) {
        let change = report.last.as_ref().map(|last| last.change);
        let before = self.budget_change.replace(change);
        if let Some(last) = report.last.as_ref().filter(|_| before.is_some_and(|before| before != change)) {
            let name = self.table.live.row(last.costliest.0).map(|row| &*row.name);
            self.log_line(log, now, LogKind::Budget, budget::stepped(last, name));
        }
        let limit = self.agent.as_ref().map(|agent| agent.cost_budget.limit);
        if limit.is_some_and(|limit| limit != report.limit) {
            self.log_line(log, now, LogKind::Notice, budget::summary(&report));
        }
        if let Some(agent) = &mut self.agent {
            agent.cost_budget = report;
        }
    }

    /// Whether the budget made a step that can be undone.
    pub fn has_budget_step(&self) -> bool {
        self.undoable_budget_change().is_some()
    }

    /// The budget's last change, while any of its effect stands.
    pub(super) fn undoable_budget_change(&self) -> Option<u64> {
        let stands = self.budget_step().is_some();
        let some = stands || self.agent.as_ref().is_some_and(|agent| agent.cost_budget.stepped > 0);
        self.budget_change.flatten().filter(|_| some)
    }

    /// The budget's last step, while it stands.
    pub fn budget_step(&self) -> Option<&BudgetStep> {
        let last = self.agent.as_ref()?.cost_budget.last.as_ref()?;
        let wanted = self.table.live.row(last.costliest.0).map(|row| row.wanted);
        budget::still_applies(last, wanted).then_some(last)
    }
}
