//! What a turn would do in several processes: each agent is asked, and what they say is added up.

use super::{Connections, Fleet};
use crate::model::connection::Targets;
use crate::model::ids::{ConnectionId, FLEET, Ticket};
use crate::model::orders::Reach;
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::report::PlanReport;

/// What to ask an agent, or why it cannot be asked.
pub type Asked = (ConnectionId, Result<(Ticket, Vec<Order>), String>);

impl Fleet {
    /// Asks every process that a turn concerns: what to send to each.
    pub fn ask_plans(&self, connections: &mut Connections, targets: &Targets, level: Level) -> Vec<Asked> {
        let Some(all) = connections.remove(&FLEET) else { return Vec::new() };
        let reach = if targets.reach == Reach::Everywhere { Reach::Everywhere } else { Reach::Copies };
        let mut asked = Vec::new();
        for (id, methods) in self.part_wanted(&all, connections, targets, false) {
            if let Some(theirs) = connections.get_mut(&id) {
                asked.push((id, theirs.ask_plan(&Targets { methods, reach }, level)));
            }
        }
        connections.insert(FLEET, all);
        asked
    }
}

/// All of it together. Processes are turned at the same time: it takes as long as the slowest.
pub fn sum<'a>(plans: impl IntoIterator<Item = &'a PlanReport>) -> PlanReport {
    let mut sum = PlanReport::default();
    for plan in plans {
        sum.matched += plan.matched;
        sum.to_request += plan.to_request;
        sum.to_revert += plan.to_revert;
        sum.to_adjust += plan.to_adjust;
        sum.unchanged += plan.unchanged;
        sum.bodyless += plan.bodyless;
        sum.generic += plan.generic;
        for (reason, number) in &plan.refused_by_reason {
            match sum.refused_by_reason.iter_mut().find(|(known, _)| known == reason) {
                Some((_, known)) => *known += number,
                None => sum.refused_by_reason.push((*reason, *number)),
            }
        }
        sum.shared.extend(plan.shared.iter().cloned());
        sum.expected_us = sum.expected_us.max(plan.expected_us);
        sum.expected_clr_bytes += plan.expected_clr_bytes;
        sum.expected_agent_bytes += plan.expected_agent_bytes;
        let new = plan.warnings.iter().filter(|warning| !sum.warnings.contains(warning));
        let new: Vec<String> = new.cloned().collect();
        sum.warnings.extend(new);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::reason::Reason;

    #[test]
    fn numbers_are_sums_and_times_are_those_of_the_slowest() {
        let plan = |scale: u64, reason: Reason| PlanReport {
            matched: 10 * scale,
            to_request: 7 * scale,
            bodyless: scale,
            refused_by_reason: vec![(Reason::Dynamic, scale), (reason, 1)],
            expected_us: 100 * scale,
            expected_clr_bytes: 1_000 * scale,
            warnings: vec!["mind the gap".into(), format!("and the {scale}")],
            ..PlanReport::default()
        };
        let both = sum([&plan(1, Reason::Shared), &plan(2, Reason::Dynamic)]);
        assert_eq!((both.matched, both.to_request, both.bodyless), (30, 21, 3));
        assert_eq!(both.refused_by_reason, [(Reason::Dynamic, 4), (Reason::Shared, 1)]);
        assert_eq!((both.expected_us, both.expected_clr_bytes), (200, 3_000));
        assert_eq!(both.warnings, ["mind the gap", "and the 1", "and the 2"]);
    }
}
