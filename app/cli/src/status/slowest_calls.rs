//! The slowest calls of methods with a condition, listed below their rows.

use crate::output::table::{Table, number, text, wide};
use crate::traced_calls::at;
use redial_link::exit::Failure;
use redial_link::session::Session;
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::ids::RowId;
use redial_protocol::limits::CALLS_PER_REPLY;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::slowest_calls::SlowCall;
use redial_text::slowest_calls;
use redial_text::stack_lines::stack_lines;
use redial_text::words;
use redial_text::words::printable;
use std::collections::BTreeMap;

/// Asks for the slowest calls of the rows that have a condition; with stacks row by row, so that they fit into a reply.
pub fn ask(session: &mut Session, dials: &mut DialledCopies) -> Result<(), Failure> {
    let conditioned = dials.iter().filter(|dial| dial.row.options.keeps_calls());
    let (with_stacks, plain): (Vec<&DialledCopy>, Vec<&DialledCopy>) =
        conditioned.partition(|dial| dial.row.options.stack);
    let ids = |dials: Vec<&DialledCopy>| dials.into_iter().map(|dial| dial.row.row).collect::<Vec<RowId>>();
    let (with_stacks, plain) = (ids(with_stacks), ids(plain));
    for rows in plain.chunks(CALLS_PER_REPLY).chain(with_stacks.chunks(1)) {
        match session.ask(WireCommand::SlowestCalls { rows: rows.to_vec() }, &mut |_| {})? {
            Reply::SlowestCalls(calls) => dials.calls(calls),
            _ => return Err(session.wrong_reply().into()),
        }
    }
    Ok(())
}

/// Returns the lines below a row: how many calls met its condition and, with `list`, the slowest of them. A row whose
/// condition no call has met has none; see [`none_yet`].
pub fn lines(dial: &DialledCopy, list: bool) -> Vec<String> {
    let Some(kept) = dial.calls.as_ref().filter(|kept| kept.met > 0) else { return Vec::new() };
    let hint = if list || kept.calls.is_empty() { "" } else { " (--calls lists them)" };
    let mut lines = vec![format!("{}{hint}", slowest_calls::summary(&dial.row.options, kept))];
    if !list || kept.calls.is_empty() {
        return lines;
    }
    let stacks: Vec<Vec<String>> = kept.calls.iter().map(stack).collect();
    let mut table = Table::new(&[number("DURATION"), text("ENDED"), text("THREAD"), wide("OUTCOME")]);
    for call in &kept.calls {
        let thread = if call.thread == 0 { "unknown".to_owned() } else { call.thread.to_string() };
        table.row(vec![
            words::duration(call.took_ns),
            words::utc(call.ended_unix_ms),
            thread,
            printable(slowest_calls::outcome(call)),
        ]);
    }
    let mut table = table.lines(None).into_iter();
    lines.extend(table.next());
    lines.extend(table.zip(stacks).flat_map(|(call, stack)| std::iter::once(call).chain(stack)));
    lines
}

/// Returns a line for each caller of a call.
fn stack(call: &SlowCall) -> Vec<String> {
    stack_lines(&call.stack).iter().map(|line| format!("          {}", printable(&at(line)))).collect()
}

/// The most methods that a line of [`none_yet`] names.
const NAMED: usize = 3;

/// Returns a line for each condition that no call of some rows has met yet, with the names of these rows.
pub fn none_yet(rows: &[&DialledCopy]) -> Vec<String> {
    let mut without: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for dial in rows.iter().filter(|dial| dial.calls.as_ref().is_some_and(|kept| kept.met == 0)) {
        let summary = slowest_calls::none_yet(&dial.row.options);
        without.entry(summary).or_default().push(printable(&dial.row.method));
    }
    let line = |(summary, mut names): (String, Vec<String>)| {
        let more = names.len().saturating_sub(NAMED) as u64;
        names.truncate(NAMED);
        names.extend((more > 0).then(|| words::count(more, "other method", "other methods")));
        format!("{summary} ({})", words::all(&names))
    };
    without.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;
    use redial_protocol::callers::CallOrigin;
    use redial_protocol::message::StatusRow;
    use redial_protocol::order::TimeOptions;
    use redial_protocol::slowest_calls::{RowSlowestCalls, SlowCall};

    #[test]
    fn lists_the_slowest_calls_below_their_row() {
        let mut dials = DialledCopies::default();
        let options = TimeOptions { failed_only: true, ..TimeOptions::default() };
        dials.rows(vec![StatusRow { options, ..row(0, "Shop.Cart.Add", 5) }]);
        let below =
            |dials: &DialledCopies, list| dials.iter().flat_map(|dial| lines(dial, list)).collect::<Vec<_>>();
        assert!(below(&dials, true).is_empty(), "not asked for yet");
        let call = SlowCall {
            ended_unix_ms: 1_000,
            took_ns: 12_300_000,
            thread: 4711,
            failed: true,
            exception: Some("System.TimeoutException".into()),
            stack: vec![
                CallOrigin::Method {
                    copy: redial_model::fixtures::row(0, "", 0).copy,
                    module: "Shop".into(),
                    method: "Shop.Till.Ring".into(),
                    signature: "(Item)".into(),
                },
                CallOrigin::Native,
            ],
        };
        let other = SlowCall { thread: 0, exception: None, stack: vec![], ..call.clone() };
        dials.calls(vec![RowSlowestCalls { row: RowId(0), calls: vec![call, other], met: 2, missed: 0 }]);
        assert_eq!(below(&dials, false), ["calls that end with an exception: 2 (--calls lists them)"]);
        assert_eq!(
            below(&dials, true),
            [
                "calls that end with an exception: 2",
                "DURATION  ENDED                 THREAD   OUTCOME",
                " 12.3 ms  1970-01-01 00:00:01Z  4711     System.TimeoutException",
                "          at Shop!Shop.Till.Ring(Item)",
                "          at the runtime or native code",
                " 12.3 ms  1970-01-01 00:00:01Z  unknown  an exception of unknown type",
            ]
        );
    }

    #[test]
    fn one_line_names_the_methods_without_calls() {
        let mut dials = DialledCopies::default();
        let options = TimeOptions { failed_only: true, ..TimeOptions::default() };
        for (index, method) in (0..).zip(["A.One", "A.Two", "A.Three", "A.Four", "A.Five"]) {
            dials.rows(vec![StatusRow { options, ..row(index, method, 5) }]);
            let kept = RowSlowestCalls { row: RowId(index), calls: vec![], met: 0, missed: 0 };
            dials.calls(vec![kept]);
        }
        let rows: Vec<&DialledCopy> = dials.iter().collect();
        assert!(rows.iter().all(|dial| lines(dial, true).is_empty()));
        let some = "calls that end with an exception: none so far (A.One and A.Two)";
        assert_eq!(none_yet(&rows[..2]), [some]);
        let all = "calls that end with an exception: none so far (A.One, A.Two, A.Three and 2 other methods)";
        assert_eq!(none_yet(&rows), [all]);
        assert!(none_yet(&[]).is_empty());
    }
}
