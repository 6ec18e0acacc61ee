//! Measures the cost of dials, from their counters at two moments.
#![forbid(unsafe_code)]

use crate::ledger::row::Row;
use crate::planner::budget::{Budget, Costs, DialledRow};
use crate::probes::blocks::{self, Slot};
use redial_protocol::cost::{BudgetStep, Share};
use redial_protocol::diagnostics::BudgetProblem;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use std::collections::HashMap;
use std::time::Instant;

/// The budget, and the cost of dials at the last check.
pub(super) struct CostMeter {
    pub(super) budget: Budget,
    /// The earliest time of the next check.
    pub(super) due: Instant,
    pub(super) last_snapshot: Option<CounterSnapshot>,
    pub(super) costs: Option<Costs>,
    pub(super) problem: Option<BudgetProblem>,
    pub(super) last: Option<BudgetStep>,
}

/// Sums of the counters of dials that were on.
pub(super) struct CounterSnapshot {
    pub(super) at: Instant,
    pub(super) sums: HashMap<RowId, (Slot, u64)>,
}

/// A dial that is on.
pub(super) struct ActiveDial {
    pub(super) row: RowId,
    pub(super) slot: Slot,
    pub(super) runs: Level,
    pub(super) spared: bool,
}

impl ActiveDial {
    pub(super) fn of(row: &Row) -> Option<ActiveDial> {
        let slot = row.counters.slot()?;
        let requested = row.state.active()?.level;
        // Methods that cannot be timed are only counted.
        let is_timed = row.timing.body.timing().is_some();
        let runs = if is_timed { requested } else { requested.min(Level::Count) };
        Some(ActiveDial { row: row.id, slot, runs, spared: row.wanted.spared })
    }
}

impl CostMeter {
    pub(super) fn new(limit: Option<Share>) -> CostMeter {
        let (budget, due) = (Budget::of(limit), Instant::now());
        CostMeter { budget, due, last_snapshot: None, costs: None, problem: None, last: None }
    }

    /// Returns when to check next, if there is something to check.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.last_snapshot.as_ref().map(|_| self.due)
    }

    /// Reads the counters of running dials; returns their call rates since the last time, if there was one.
    pub(super) fn read(&mut self, running: &[ActiveDial]) -> Vec<DialledRow> {
        let slots: Vec<Slot> = running.iter().map(|one| one.slot).collect();
        let mut sums = Vec::new();
        let at = Instant::now();
        blocks::sum(&slots, &mut sums);
        let sums: HashMap<RowId, (Slot, u64)> =
            running.iter().zip(sums).map(|(one, sum)| (one.row, (one.slot, sum))).collect();
        let before = self.last_snapshot.replace(CounterSnapshot { at, sums });
        let (Some(before), Some(now)) = (before, &self.last_snapshot) else { return Vec::new() };
        let passed = at.saturating_duration_since(before.at).as_nanos().max(1);
        let dialled = running.iter().filter_map(|one| {
            let (slot, sum) = now.sums.get(&one.row)?;
            // Dials turned on since then wait for the next check.
            let (_, then) = before.sums.get(&one.row).filter(|(then, _)| then == slot)?;
            let rate = u128::from(sum.saturating_sub(*then)) * 1_000_000_000 / passed;
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            Some(DialledRow { row: one.row, runs: one.runs, rate, spared: one.spared })
        });
        dialled.collect()
    }
}
