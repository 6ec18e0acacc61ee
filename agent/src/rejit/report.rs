//! What became of a turn, in numbers of copies.
#![forbid(unsafe_code)]

use super::ledger::Book;
use super::scan::Scan;
use crate::inlining::Inlined;
use crate::planner::Orders;
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_REFUSALS, MAX_SHARED, MAX_UNMATCHED_NAMED};
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
    let (mut inlined, mut expanded, mut untimed, mut starts) = (0, 0, 0, 0);
    for row in found.rows.iter().filter_map(|id| book.row(*id)) {
        let (wanted, _) = orders.wanted(row.decides);
        let done = if wanted == Level::Off {
            !row.is_on()
        } else {
            row.runs() == wanted && (wanted < Level::Time || row.fits())
        };
        if done {
            report.accepted += 1;
            inlined += u64::from(wanted > Level::Off && row.inlined != Inlined::No);
            expanded += u64::from(wanted > Level::Off && row.what.expanded);
            untimed += u64::from(wanted > Level::Count && row.untimed.is_some());
            starts += u64::from(wanted > Level::Count && row.completes_elsewhere());
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
    report.warnings.extend((inlined > 0).then(|| left_out(inlined)));
    report.warnings.extend((expanded > 0).then(|| may_be_expanded(expanded)));
    report.warnings.extend((untimed > 0).then(|| only_counted(untimed)));
    report.warnings.extend((starts > 0).then(|| only_starts(starts)));
    report
}

/// The sentence about copies whose calls other code may stand in for.
pub fn may_be_expanded(copies: u64) -> String {
    let (of, their) = counted(copies);
    format!(
        "calls of {of} may be missing: the JIT, or precompiled code of other modules, may have its own code in {their} \
         place (`redial status` says of which)"
    )
}

fn counted(copies: u64) -> (String, &'static str) {
    if copies == 1 { ("1 copy".to_owned(), "its") } else { (format!("{} copies", grouped(copies)), "their") }
}

/// A number with its thousands apart: `4,866`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let apart = |(at, digit): (usize, char)| {
        let thousands = at > 0 && (digits.len() - at).is_multiple_of(3);
        thousands.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(apart).collect()
}

/// The sentence about copies that are counted where times are wanted.
fn only_counted(copies: u64) -> String {
    let they = if copies == 1 { "1 copy is".to_owned() } else { format!("{} copies are", grouped(copies)) };
    format!("{they} only counted, not timed (`redial status` says of which, and why)")
}

/// The sentence about async methods whose calls are not seen to complete.
fn only_starts(copies: u64) -> String {
    let they = if copies == 1 { "1 copy is".to_owned() } else { format!("{} copies are", grouped(copies)) };
    format!(
        "{they} async, and timed until it first waits: to see calls complete dial what does the work of it, too \
         (`redial dial` does with --completions; `redial status` says what that is)"
    )
}

/// The sentence about copies of which calls may be missing.
fn left_out(copies: u64) -> String {
    let (of, they) = counted(copies);
    format!(
        "calls of {of} may be missing: {they} code was, or may have been, inlined before into callers that are not \
         recompiled; the state of each copy says whether they are"
    )
}

/// A sentence for each order that matches nothing; a list that the other side would refuse to read helps nobody.
pub fn unmatched_named(sentences: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = sentences.len().saturating_sub(MAX_UNMATCHED_NAMED);
    let mut named: Vec<String> = sentences.take(MAX_UNMATCHED_NAMED).collect();
    let patterns = if more == 1 { "pattern matches" } else { "patterns match" };
    named.extend((more > 0).then(|| format!("and {more} more {patterns} nothing yet")));
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_match_nothing_some_are_named() {
        let named = |number: usize| unmatched_named((0..number).map(|index| index.to_string()));
        assert_eq!(named(MAX_UNMATCHED_NAMED).len(), MAX_UNMATCHED_NAMED);
        let one_more = named(MAX_UNMATCHED_NAMED + 1);
        assert_eq!(one_more[MAX_UNMATCHED_NAMED], "and 1 more pattern matches nothing yet");
        let more = named(1024);
        assert_eq!(more.len(), MAX_UNMATCHED_NAMED + 1);
        assert_eq!(more[MAX_UNMATCHED_NAMED], "and 896 more patterns match nothing yet");
    }
}
