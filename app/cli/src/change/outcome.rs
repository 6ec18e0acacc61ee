//! The totals of a change and the exit code that follows from them.

use redial_link::exit::Exit;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport, total};

/// The numbers of a change or of its plan.
pub struct ChangeTotals {
    pub(super) matched: u64,
    pub(super) accepted: u64,
    pub(super) refused: u64,
    /// The number of orders that were not set.
    pub(super) unmatched: usize,
}

impl ChangeTotals {
    /// Returns the numbers of a change.
    pub fn of(report: &DialReport) -> ChangeTotals {
        let refused = sum(&report.refused_by_reason);
        ChangeTotals {
            matched: report.matched,
            accepted: report.accepted,
            refused,
            unmatched: report.unmatched.len(),
        }
    }

    pub(super) fn planned(plan: &PlanReport) -> ChangeTotals {
        let accepted = plan.accepted();
        let refused = sum(&plan.refused_by_reason);
        ChangeTotals { matched: plan.matched, accepted, refused, unmatched: plan.unmatched.len() }
    }
}

fn sum(by_reason: &[(Reason, u64)]) -> u64 {
    total(by_reason.iter().map(|(_, number)| *number))
}

/// Returns the exit code of a change; with `later`, all orders were set. Copies without IL are no failure. A dial that
/// changed nothing is one, unless it matched nothing and only replaced a standing order.
pub fn outcome(sums: &ChangeTotals, later: bool) -> Exit {
    let all = sums.refused == 0 && (later || sums.unmatched == 0);
    match sums.accepted {
        0 if sums.refused > 0 => Exit::Failed,
        0 if !later && sums.matched > 0 => Exit::Failed,
        _ if all => Exit::Done,
        _ => Exit::Partly,
    }
}
