//! Reports the result of a change, as numbers of copies.
#![forbid(unsafe_code)]

use super::scan::ScanResult;
use crate::inlining::Inlined;
use crate::ledger::row::Row;
use crate::ledger::state::LedgerState;
use crate::planner::Orders;
use redial_protocol::diagnostics::ChangeWarning;
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_REFUSALS, MAX_SHARED, MAX_UNMATCHED_NAMED};
use redial_protocol::order::Order;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, RefusedMethod};
use std::collections::BTreeMap;

/// Makes the report of a change that matched `found`, from the present ledger.
pub fn report(
    ledger: &LedgerState,
    orders: &Orders,
    found: &ScanResult,
    warnings: Vec<ChangeWarning>,
) -> DialReport {
    let mut report = DialReport {
        matched: found.rows.len() as u64
            + found.off_already
            + found.bodyless
            + found.no_room
            + found.not_entered.values().sum::<u64>(),
        accepted: found.off_already,
        bodyless: found.bodyless,
        refused: found.not_entered_names.clone(),
        shared: found.shared.values().take(MAX_SHARED).cloned().collect(),
        warnings,
        ..DialReport::default()
    };
    let mut reasons: BTreeMap<Reason, u64> = BTreeMap::new();
    let (mut inlined, mut expanded, mut untimed, mut starts) = (0, 0, 0, 0);
    for row in found.rows.iter().filter_map(|id| ledger.row(*id)) {
        let (wanted, _) = orders.wanted(row.wanted.deciding_order);
        let done = if wanted == Level::Off {
            !row.is_on()
        } else {
            row.runs() == wanted && (wanted < Level::Time || row.fits())
        };
        if done {
            report.accepted += 1;
            inlined += u64::from(wanted > Level::Off && row.inlining.inlined != Inlined::No);
            expanded += u64::from(wanted > Level::Off && row.identity.expanded);
            untimed += u64::from(wanted > Level::Count && row.timing.body.untimed().is_some());
            starts += u64::from(wanted > Level::Count && row.completes_elsewhere());
            continue;
        }
        let (reason, hresult) = refusal(row);
        *reasons.entry(reason).or_default() += 1;
        if report.refused.len() < MAX_REFUSALS {
            let condition = row.misfit.as_deref().filter(|_| reason == Reason::Condition).cloned();
            let method = row.identity.full_name();
            report.refused.push(RefusedMethod { method, reason, hresult, condition });
        }
    }
    if found.no_room > 0 {
        *reasons.entry(Reason::Budget).or_default() += found.no_room;
    }
    for (reason, count) in &found.not_entered {
        *reasons.entry(*reason).or_default() += count;
    }
    report.refused_by_reason = reasons.into_iter().collect();
    let counted = [
        (inlined, ChangeWarning::CallsInlined { copies: inlined }),
        (expanded, ChangeWarning::CallsReplaced { copies: expanded }),
        (untimed, ChangeWarning::OnlyCounted { copies: untimed }),
        (starts, ChangeWarning::OnlyStarts { copies: starts }),
    ];
    report.warnings.extend(counted.into_iter().filter(|(copies, _)| *copies > 0).map(|(_, warning)| warning));
    report
}

/// Returns why a row does not run what was ordered.
fn refusal(row: &Row) -> (Reason, u32) {
    // The request of a copy whose module unloads meanwhile has no result.
    let is_gone = row.identity.module.is_gone();
    row.reason.unwrap_or((if is_gone { Reason::Unloaded } else { Reason::Hresult }, 0))
}

/// Returns a warning for each unmatched order, limited so that the peer accepts the list. `left_out`: the change
/// does not set these orders.
pub fn unmatched_warnings(orders: &[&Order], left_out: bool) -> Vec<ChangeWarning> {
    let named = orders.iter().take(MAX_UNMATCHED_NAMED).map(|order| ChangeWarning::NothingMatches {
        pattern: order.pattern.clone(),
        copy: order.copy,
        left_out,
    });
    let more = orders.len().saturating_sub(MAX_UNMATCHED_NAMED) as u64;
    named.chain((more > 0).then_some(ChangeWarning::MoreUnmatched { orders: more })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Module, Modules};
    use crate::ledger::copy_identity::CopyIdentity;
    use redial_protocol::ids::{ModuleKey, RowId};
    use std::sync::Arc;

    #[test]
    fn reports_unload_of_a_module_during_the_request() {
        let modules = Modules::default();
        let module = Arc::new(Module::sample(ModuleKey { module_id: 1, generation: 1 }, "Sample"));
        assert!(modules.publish(&module));
        let mut row = Row::new(RowId(0), CopyIdentity::sample(module, 0x0600_0001), None);
        assert_eq!(refusal(&row), (Reason::Hresult, 0));
        modules.unload(1);
        assert_eq!(refusal(&row), (Reason::Unloaded, 0));
        row.reason = Some((Reason::Metadata, 7));
        assert_eq!(refusal(&row), (Reason::Metadata, 7));
    }

    #[test]
    fn names_some_of_many_unmatched_patterns() {
        let orders: Vec<Order> = (0..1024).map(|index| Order::new(index.to_string(), Level::Count)).collect();
        let orders: Vec<&Order> = orders.iter().collect();
        let named = |number: usize| unmatched_warnings(&orders[..number], true);
        assert_eq!(named(MAX_UNMATCHED_NAMED).len(), MAX_UNMATCHED_NAMED);
        let one_more = named(MAX_UNMATCHED_NAMED + 1);
        assert_eq!(one_more[MAX_UNMATCHED_NAMED], ChangeWarning::MoreUnmatched { orders: 1 });
        let more = named(1024);
        assert_eq!(more.len(), MAX_UNMATCHED_NAMED + 1);
        assert_eq!(more[MAX_UNMATCHED_NAMED], ChangeWarning::MoreUnmatched { orders: 896 });
    }
}
