//! Conditions of traces: those that apply, and those that the agent refused.

use super::Connection;
use crate::connection::UndoStep;
use crate::ids::Ticket;
use crate::live::LiveRow;
use crate::log::Log;
use crate::update::Now;
use redial_protocol::condition::ConditionError;
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use redial_protocol::report::DialReport;

/// A condition that does not fit one of the methods it was set for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCondition {
    /// The change that set it.
    ticket: Ticket,
    /// The method, in full.
    pub method: String,
    /// Why not.
    pub error: ConditionError,
}

impl Connection {
    /// Returns the condition of a row's trace, as far as the agent's standing orders are known.
    pub fn condition_of(&self, row: &LiveRow) -> Option<&str> {
        let orders = &self.orders.as_ref()?.standing;
        let decisive = orders.iter().rev().map(|one| &one.order).find(|order| self.concerns(order, row))?;
        decisive.when.as_deref().filter(|_| decisive.level == Level::Trace)
    }

    /// Returns whether an order is for a row. Patterns with type parameters may be missed.
    fn concerns(&self, order: &Order, row: &LiveRow) -> bool {
        let catalogue = &self.table.catalogue;
        let (Some(method), Ok(pattern)) = (row.method, Pattern::parse(&order.pattern)) else { return false };
        let Some(module) = catalogue.module(catalogue.module_of(method)) else { return false };
        let in_scope = order.copy.is_none_or(|id| id == row.copy.module.module_id)
            && order.domain.as_ref().is_none_or(|prefix| row.domain.starts_with(prefix.as_str()))
            && pattern.matches_assembly(&module.name);
        let is_named = || match pattern.token() {
            Some(token) => token == row.copy.token.0,
            None => pattern.for_type(catalogue.type_name(catalogue.type_of(method))).is_some_and(|of_type| {
                let parameters = || catalogue.signature(method).replace(", ", ",");
                of_type.matches(catalogue.method_name(method), 0, parameters)
            }),
        };
        in_scope && is_named()
    }

    /// Notes that the condition of a change does not fit, so that the change is taken back.
    pub(super) fn note_refused_condition(&mut self, ticket: Ticket, report: &DialReport) {
        let refused = report.refused.iter().find_map(|one| Some((&one.method, one.condition.clone()?)));
        if let Some((method, error)) = refused.filter(|_| self.table.changes.can_undo(ticket)) {
            let method = method.clone();
            self.requests.refused_condition = Some(RefusedCondition { ticket, method, error });
        }
    }

    /// Takes back a change whose condition does not fit: returns the condition, and the request to send.
    pub fn take_back_condition(&mut self, log: &mut Log, now: Now) -> Option<(RefusedCondition, UndoStep)> {
        let refused = self.requests.refused_condition.take()?;
        let step = self.undo_of(refused.ticket, false, log, now).ok()?;
        self.table.changes.forget_redo();
        Some((refused, step))
    }
}
