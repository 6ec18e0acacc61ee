//! Plans turning rows off: which copies other rows need recompiled, and which recompiled callers are no longer
//! needed.
#![forbid(unsafe_code)]

use super::recompiled_callers::DiscoveredBy;
use super::row::Row;
use super::state::LedgerState;
use crate::inlining::{Inlined, Method};
use redial_protocol::ids::RowId;
use std::collections::HashSet;

/// The effects of turning rows off, on them and on recompiled callers.
#[derive(Default)]
pub struct TurnOffPlan {
    /// Rows that get their own code back.
    pub off: Vec<RowId>,
    /// Rows that other rows need recompiled: they become recompiled callers.
    pub stay: Vec<(RowId, Method, DiscoveredBy)>,
    /// Recompiled callers that are no longer needed.
    pub dismissed: Vec<Method>,
    /// Recompiled callers that stay, but may inline again the methods turned off.
    pub recompile: Vec<Method>,
}

/// Returns the copies in `of` that rows need recompiled. Considers the rows that are on and not in `plan_turn_off`.
fn needed(ledger: &LedgerState, of: &HashSet<Method>, plan_turn_off: &HashSet<RowId>) -> HashSet<Method> {
    let mut needed = HashSet::new();
    let mut by_runtime = false;
    for row in ledger.rows().iter().filter(|row| row.counts() && !plan_turn_off.contains(&row.id)) {
        by_runtime |= row.inlining.searched_by_runtime;
        needed.extend(row.inlining.inliners.iter().filter(|method| of.contains(method)));
    }
    if by_runtime {
        let row_of = |method: &Method| ledger.find(method.0, method.1).and_then(|id| ledger.row(id));
        let found_by_runtime = |method: &&Method| {
            ledger.recompiled_callers.0.get(method) == Some(&DiscoveredBy::Runtime)
                || row_of(method).is_some_and(|row| row.inlining.found_by_runtime)
        };
        needed.extend(of.iter().filter(found_by_runtime));
    }
    needed
}

/// Sorts rows that are to be turned off, and all recompiled callers, since the rows that needed them may also have
/// failed meanwhile.
pub fn plan_turn_off(ledger: &LedgerState, rows: &[RowId]) -> TurnOffPlan {
    let of_rows: Vec<&Row> = rows.iter().filter_map(|id| ledger.row(*id)).collect();
    let mut asked: HashSet<Method> = of_rows.iter().map(|row| row.method()).collect();
    asked.extend(ledger.recompiled_callers.0.keys());
    let needed = needed(ledger, &asked, &rows.iter().copied().collect());
    let inliners: HashSet<&Method> = of_rows.iter().flat_map(|row| row.inlining.inliners.iter()).collect();
    let mut plan_turn_off = TurnOffPlan::default();
    for row in &of_rows {
        let method = row.method();
        asked.remove(&method);
        if needed.contains(&method) {
            let found =
                if row.inlining.found_by_runtime { DiscoveredBy::Runtime } else { DiscoveredBy::Agent };
            plan_turn_off.stay.push((row.id, method, found));
        } else {
            plan_turn_off.off.push(row.id);
        }
    }
    let (stay, go): (Vec<Method>, Vec<Method>) =
        asked.into_iter().partition(|method| needed.contains(method));
    plan_turn_off.dismissed = go;
    plan_turn_off.recompile = stay.into_iter().filter(|method| inliners.contains(method)).collect();
    plan_turn_off
}

/// Records the copies about to be recompiled for rows, before the request. Rows among them with an instrumented
/// body get it again. `by_runtime`: the runtime will look for more, and may find copies that wait for their first
/// call.
pub fn mark_for_recompilation(ledger: &mut LedgerState, methods: &HashSet<Method>, by_runtime: bool) {
    for method in methods {
        let row = ledger.find(method.0, method.1).and_then(|id| ledger.row_mut(id));
        match row.filter(|row| row.counts()) {
            Some(row) => row.bodies.expect_again(),
            None => ledger.recompiled_callers.add(*method, DiscoveredBy::Agent),
        }
    }
    if by_runtime {
        let waiting = |row: &&Row| row.counts() && !row.bodies.is_delivered() && !row.is_requesting();
        let waiting: Vec<RowId> = ledger.rows().iter().filter(waiting).map(|row| row.id).collect();
        for id in waiting {
            if let Some(row) = ledger.row_mut(id) {
                row.inlining.found_by_runtime = true;
            }
        }
    }
}

/// Records that methods cannot be recompiled: calls from them to the methods they inlined are not counted.
pub fn mark_unrecompilable(ledger: &mut LedgerState, methods: &HashSet<Method>) {
    if methods.is_empty() {
        return;
    }
    ledger.recompiled_callers.0.retain(|method, _| !methods.contains(method));
    let holds = |row: &&Row| row.inlining.inliners.iter().any(|method| methods.contains(method));
    let held: Vec<RowId> = ledger.rows().iter().filter(holds).map(|row| row.id).collect();
    for id in held {
        if let Some(row) = ledger.row_mut(id) {
            row.inlining.inlined = Inlined::Yes;
        }
    }
}
