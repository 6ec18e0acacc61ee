//! Plans turning rows off: which copies other rows need recompiled, and which recompiled callers are no longer
//! needed.
#![forbid(unsafe_code)]

use super::recompiled_callers::DiscoveredBy;
use super::row::Row;
use super::state::LedgerState;
use crate::inlining::{Inlined, Method};
use redial_protocol::ids::RowId;
use std::collections::HashSet;
use std::time::Instant;

/// The effects of turning rows off, on them and on recompiled callers.
#[derive(Default)]
pub struct TurnOffPlan {
    /// Rows that get their own code back.
    pub off: Vec<RowId>,
    /// Rows that other rows need recompiled: they become recompiled callers.
    pub stay: Vec<(RowId, Method, DiscoveredBy)>,
    /// Recompiled callers that are no longer needed.
    pub dismissed: Vec<Method>,
    /// Cancelled requests that the runtime still has, in order.
    pub cancelled: Vec<Method>,
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
    let is_cancelled =
        |method: &Method| ledger.recompiled_callers.0.get(method) == Some(&DiscoveredBy::Cancellation);
    (plan_turn_off.cancelled, plan_turn_off.dismissed) = go.into_iter().partition(is_cancelled);
    plan_turn_off.cancelled.sort_unstable();
    plan_turn_off.recompile = stay.into_iter().filter(|method| inliners.contains(method)).collect();
    plan_turn_off
}

/// Turns off at once those of these rows whose body the CLR has not asked for: it never gets one, since they are not
/// wanted any more. Their requests stay with the recompiled callers until they are reverted. `in_flight` are the
/// rows with calls in bodies of earlier requests. Returns the rows turned off.
pub fn cancel_requests(
    ledger: &mut LedgerState,
    rows: &[RowId],
    in_flight: &HashSet<RowId>,
    now: u64,
) -> HashSet<RowId> {
    let mut cancelled = HashSet::new();
    let changed_at = Some(Instant::now());
    for id in rows {
        let Some(row) = ledger.row_mut(*id).filter(|row| row.awaits_unwanted_body()) else { continue };
        row.changed_at = changed_at;
        let method = row.method();
        ledger.recompiled_callers.add(method, DiscoveredBy::Cancellation);
        ledger.mark_off(*id, in_flight.contains(id), now);
        cancelled.insert(*id);
    }
    cancelled
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Module;
    use crate::ledger::Ledger;
    use crate::ledger::compilations::RequestedBody;
    use crate::ledger::copy_identity::CopyIdentity;
    use crate::ledger::request_state::{ActiveRequest, RequestProgress, RequestState};
    use crate::ledger::row_timing::BodyTiming;
    use redial_protocol::ids::ModuleKey;
    use redial_protocol::level::Level;
    use std::sync::Arc;

    const REQUEST: ActiveRequest = ActiveRequest { level: Level::Count, body: BodyTiming::NotWanted };

    /// Adds rows that were requested, and should be off since.
    fn asked<const N: usize>(ledger: &mut LedgerState) -> [RowId; N] {
        let module = Arc::new(Module::sample(ModuleKey { module_id: 1, generation: 1 }, "Sample"));
        let mut token = 0x0600_0000;
        [(); N].map(|()| {
            token += 1;
            let id = ledger.add_row(CopyIdentity::sample(Arc::clone(&module), token), None).unwrap();
            assert!(ledger.assign_slot(id));
            ledger.row_mut(id).unwrap().state = RequestState::Asked { request: REQUEST, live_version: None };
            id
        })
    }

    fn state(ledger: &LedgerState, id: RowId) -> RequestState {
        ledger.row(id).unwrap().state
    }

    #[test]
    fn rows_without_instrumented_code_are_off_before_their_revert() {
        let ledger = Ledger::default();
        let mut ledger = ledger.lock();
        let rows: [RowId; 6] = asked(&mut ledger);
        let [never_called, in_flight, given, wanted, live, requesting] = rows;
        ledger.row_mut(given).unwrap().bodies.deliver();
        ledger.row_mut(wanted).unwrap().wanted.level = Level::Count;
        ledger.row_mut(live).unwrap().state = RequestState::Asked { request: REQUEST, live_version: Some(1) };
        ledger.row_mut(requesting).unwrap().progress = RequestProgress::Requesting;
        let cancelled = cancel_requests(&mut ledger, &rows, &HashSet::from([in_flight]), 0);
        assert_eq!(cancelled, HashSet::from([never_called, in_flight]));
        assert_eq!(state(&ledger, never_called), RequestState::Off);
        assert_eq!(state(&ledger, in_flight), RequestState::Reverting);
        assert!([given, wanted, live, requesting].iter().all(|id| ledger.row(*id).unwrap().is_on()));
        // The CLR never gets an instrumented body for them.
        let (module, token) = ledger.row(never_called).unwrap().method();
        assert_eq!(ledger.requested_body(module, token), RequestedBody::Original);
        let callers = &ledger.recompiled_callers;
        assert_eq!((callers.count(), callers.cancelled()), (0, 2));
        let plan = plan_turn_off(&ledger, &[given]);
        assert_eq!((plan.off, plan.dismissed.len()), (vec![given], 0));
        assert_eq!(plan.cancelled, [(1, 0x0600_0001), (1, 0x0600_0002)]);
    }

    #[test]
    fn cancelled_request_that_a_row_needs_is_a_recompiled_caller() {
        let ledger = Ledger::default();
        let mut ledger = ledger.lock();
        let [cancelled, other] = asked(&mut ledger);
        let method = ledger.row(cancelled).unwrap().method();
        assert_eq!(cancel_requests(&mut ledger, &[cancelled], &HashSet::new(), 0).len(), 1);
        let row = ledger.row_mut(other).unwrap();
        (row.wanted.level, row.inlining.inliners) = (Level::Count, [method].into());
        mark_for_recompilation(&mut ledger, &HashSet::from([method]), false);
        assert_eq!((ledger.recompiled_callers.count(), ledger.recompiled_callers.cancelled()), (1, 0));
        assert!(plan_turn_off(&ledger, &[]).cancelled.is_empty());
    }
}
