//! Reports the result of a change, as numbers of copies.
#![forbid(unsafe_code)]

use super::scan::ScanResult;
use crate::inlining::Inlined;
use crate::ledger::state::LedgerState;
use crate::planner::Orders;
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_REFUSALS, MAX_SHARED, MAX_UNMATCHED_NAMED};
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, RefusedMethod};
use std::collections::BTreeMap;

/// Makes the report of a change that matched `found`, from the present ledger.
pub fn report(
    ledger: &LedgerState,
    orders: &Orders,
    found: &ScanResult,
    warnings: Vec<String>,
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
        let (wanted, _) = orders.wanted(row.deciding_order);
        let done = if wanted == Level::Off {
            !row.is_on()
        } else {
            row.runs() == wanted && (wanted < Level::Time || row.fits())
        };
        if done {
            report.accepted += 1;
            inlined += u64::from(wanted > Level::Off && row.inlined != Inlined::No);
            expanded += u64::from(wanted > Level::Off && row.identity.expanded);
            untimed += u64::from(wanted > Level::Count && row.untimed.is_some());
            starts += u64::from(wanted > Level::Count && row.completes_elsewhere());
            continue;
        }
        let (reason, hresult) = row.reason.unwrap_or((Reason::Hresult, 0));
        *reasons.entry(reason).or_default() += 1;
        if report.refused.len() < MAX_REFUSALS {
            report.refused.push(RefusedMethod { method: row.identity.full_name(), reason, hresult });
        }
    }
    if found.no_room > 0 {
        *reasons.entry(Reason::Budget).or_default() += found.no_room;
    }
    for (reason, count) in &found.not_entered {
        *reasons.entry(*reason).or_default() += count;
    }
    report.refused_by_reason = reasons.into_iter().collect();
    report.warnings.extend((inlined > 0).then(|| left_out(inlined)));
    report.warnings.extend((expanded > 0).then(|| may_be_expanded(expanded)));
    report.warnings.extend((untimed > 0).then(|| only_counted(untimed)));
    report.warnings.extend((starts > 0).then(|| only_starts(starts)));
    report
}

/// Warns about copies with calls that other code may replace.
pub fn may_be_expanded(copies: u64) -> String {
    let (of, _) = counted(copies);
    format!(
        "calls of {of} may be missing: the JIT, or precompiled code of other modules, may replace calls by code of its \
         own (`redial status` lists the copies)"
    )
}

fn counted(copies: u64) -> (String, &'static str) {
    if copies == 1 { ("1 copy".to_owned(), "its") } else { (format!("{} copies", grouped(copies)), "their") }
}

/// Formats a number with thousands separators: `4,866`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let with_barrier = |(at, digit): (usize, char)| {
        let thousands = at > 0 && (digits.len() - at).is_multiple_of(3);
        thousands.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(with_barrier).collect()
}

/// Warns about copies that are only counted although times are wanted.
fn only_counted(copies: u64) -> String {
    let they = if copies == 1 { "1 copy is".to_owned() } else { format!("{} copies are", grouped(copies)) };
    format!("{they} only counted, not timed (`redial status` lists them, with reasons)")
}

/// Warns about async methods with unobserved completions.
fn only_starts(copies: u64) -> String {
    let they = if copies == 1 { "1 copy is".to_owned() } else { format!("{} copies are", grouped(copies)) };
    format!(
        "{they} async, and timed up to the first await: to see completions, dial the methods that do the work, too \
         (`redial dial --completions` does; `redial status` names them)"
    )
}

/// Warns about copies with missing calls.
fn left_out(copies: u64) -> String {
    let (of, their) = counted(copies);
    format!(
        "calls of {of} may be missing: {their} code was, or may have been, inlined into callers that are not \
         recompiled; the note of each copy says which applies"
    )
}

/// Returns a sentence for each unmatched order, limited so that the peer accepts the list.
pub fn unmatched_named(sentences: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = sentences.len().saturating_sub(MAX_UNMATCHED_NAMED);
    let mut named: Vec<String> = sentences.take(MAX_UNMATCHED_NAMED).collect();
    let patterns = if more == 1 { "pattern matches" } else { "patterns match" };
    named.extend((more > 0).then(|| format!("and {more} more {patterns} nothing yet")));
    named
}

/// Warns about raised dials that the budget had stepped down.
pub fn left_alone(number: usize) -> String {
    let (methods, them) = if number == 1 { ("method", "it") } else { ("methods", "them") };
    format!(
        "the budget had stepped {number} {methods} down; it leaves {them} alone from now on, until you set a new budget"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_some_of_many_unmatched_patterns() {
        let named = |number: usize| unmatched_named((0..number).map(|index| index.to_string()));
        assert_eq!(named(MAX_UNMATCHED_NAMED).len(), MAX_UNMATCHED_NAMED);
        let one_more = named(MAX_UNMATCHED_NAMED + 1);
        assert_eq!(one_more[MAX_UNMATCHED_NAMED], "and 1 more pattern matches nothing yet");
        let more = named(1024);
        assert_eq!(more.len(), MAX_UNMATCHED_NAMED + 1);
        assert_eq!(more[MAX_UNMATCHED_NAMED], "and 896 more patterns match nothing yet");
    }
}
