//! What became of a turn, in numbers of copies.
#![forbid(unsafe_code)]

use super::ledger::Book;
use super::scan::Scan;
use crate::planner::Orders;
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_REFUSALS, MAX_SENTENCES, MAX_SHARED};
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, RefusedMethod};
use std::collections::BTreeMap;

/// The report of a turn that found this, as the ledger stands now.
pub fn report(book: &Book, orders: &Orders, found: &Scan, warnings: Vec<String>) -> DialReport {
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
    for row in found.rows.iter().filter_map(|id| book.row(*id)) {
        let (wanted, _) = orders.wanted(row.decides);
        let done = if wanted == Level::Off { !row.is_on() } else { row.is_on() };
        if done {
            report.accepted += 1;
            continue;
        }
        let (reason, hresult) = row.reason.unwrap_or((Reason::Hresult, 0));
        *reasons.entry(reason).or_default() += 1;
        if report.refused.len() < MAX_REFUSALS {
            report.refused.push(RefusedMethod { method: row.what.full_name(), reason, hresult });
        }
    }
    if found.no_room > 0 {
        *reasons.entry(Reason::Budget).or_default() += found.no_room;
    }
    for (reason, count) in &found.not_entered {
        *reasons.entry(*reason).or_default() += count;
    }
    report.refused_by_reason = reasons.into_iter().collect();
    report
}

/// A list that the other side would refuse to read helps nobody.
pub fn shortened(mut warnings: Vec<String>) -> Vec<String> {
    let more = warnings.len().saturating_sub(MAX_SENTENCES - 1);
    if more > 1 {
        warnings.truncate(MAX_SENTENCES - 1);
        warnings.push(format!("and {more} more patterns match nothing yet"));
    }
    warnings
}
