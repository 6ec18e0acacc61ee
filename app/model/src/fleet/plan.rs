//! The plan of a change in several processes: the sum of the plans of each agent.

use super::Fleet;
use crate::connection::Connections;
use crate::ids::{ConnectionId, Ticket};
use crate::method_table::Targets;
use crate::orders::ChangeScope;
use redial_protocol::diagnostics::ChangeWarning;
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::report::PlanReport;

/// A request for an agent's plan, or why there can be none.
pub type PlanRequest = (ConnectionId, Result<(Ticket, Vec<Order>), String>);

impl Fleet {
    /// Prepares to ask every process that a change concerns for its plan: returns the requests to send.
    pub fn ask_plans(
        &self,
        connections: &mut Connections,
        targets: &Targets,
        level: Level,
    ) -> Vec<PlanRequest> {
        let scope = if targets.scope == ChangeScope::Everywhere {
            ChangeScope::Everywhere
        } else {
            ChangeScope::Copies
        };
        let mut requests = Vec::new();
        for (id, methods) in self.parts_of(connections, targets, false) {
            if let Some(theirs) = connections.get_mut(&id) {
                let targets =
                    Targets { methods, scope, options: targets.options, when: targets.when.clone() };
                requests.push((id, theirs.ask_plan(&targets, level)));
            }
        }
        requests
    }
}

/// Adds plans up. Processes change at the same time, so the expected time is that of the slowest.
pub fn sum<'a>(plans: impl IntoIterator<Item = &'a PlanReport>) -> PlanReport {
    let mut sum = PlanReport::default();
    for plan in plans {
        sum.matched = sum.matched.saturating_add(plan.matched);
        sum.to_request = sum.to_request.saturating_add(plan.to_request);
        sum.to_revert = sum.to_revert.saturating_add(plan.to_revert);
        sum.to_adjust = sum.to_adjust.saturating_add(plan.to_adjust);
        sum.unchanged = sum.unchanged.saturating_add(plan.unchanged);
        sum.bodyless = sum.bodyless.saturating_add(plan.bodyless);
        sum.generic = sum.generic.saturating_add(plan.generic);
        for (reason, number) in &plan.refused_by_reason {
            match sum.refused_by_reason.iter_mut().find(|(known, _)| known == reason) {
                Some((_, known)) => *known = known.saturating_add(*number),
                None => sum.refused_by_reason.push((*reason, *number)),
            }
        }
        sum.shared.extend(plan.shared.iter().cloned());
        sum.expected_us = sum.expected_us.max(plan.expected_us);
        sum.expected_clr_bytes = sum.expected_clr_bytes.saturating_add(plan.expected_clr_bytes);
        sum.expected_agent_bytes = sum.expected_agent_bytes.saturating_add(plan.expected_agent_bytes);
        let new = plan.warnings.iter().filter(|warning| !sum.warnings.contains(warning));
        let new: Vec<ChangeWarning> = new.cloned().collect();
        sum.warnings.extend(new);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::reason::Reason;

    #[test]
    fn adds_numbers_and_keeps_the_longest_time() {
        let plan = |scale: u64, reason: Reason| PlanReport {
            matched: 10 * scale,
            to_request: 7 * scale,
            bodyless: scale,
            refused_by_reason: vec![(Reason::Dynamic, scale), (reason, 1)],
            expected_us: 100 * scale,
            expected_clr_bytes: 1_000 * scale,
            warnings: vec![ChangeWarning::PausesProgram, ChangeWarning::CallsReplaced { copies: scale }],
            ..PlanReport::default()
        };
        let both = sum([&plan(1, Reason::Shared), &plan(2, Reason::Dynamic)]);
        assert_eq!((both.matched, both.to_request, both.bodyless), (30, 21, 3));
        assert_eq!(both.refused_by_reason, [(Reason::Dynamic, 4), (Reason::Shared, 1)]);
        assert_eq!((both.expected_us, both.expected_clr_bytes), (200, 3_000));
        let replaced = |copies| ChangeWarning::CallsReplaced { copies };
        assert_eq!(both.warnings, [ChangeWarning::PausesProgram, replaced(1), replaced(2)]);
    }
}
