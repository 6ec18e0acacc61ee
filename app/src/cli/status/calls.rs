//! The worst calls of methods with a condition, below their rows.

use crate::exit::Failure;
use crate::link::session::Session;
use crate::model::dials::{Dial, Dials};
use crate::output::table::{Table, number, printable, text, wide};
use crate::output::{calls, words};
use redial_protocol::ids::RowId;
use redial_protocol::limits::CALLS_PER_REPLY;
use redial_protocol::message::{Command, Reply};

/// Asks for the worst calls of the rows that have a condition.
pub fn ask(session: &mut Session, dials: &mut Dials) -> Result<(), Failure> {
    let conditioned = |dial: &&Dial| dial.row.options.keeps_calls();
    let rows: Vec<RowId> = dials.iter().filter(conditioned).map(|dial| dial.row.row).collect();
    for rows in rows.chunks(CALLS_PER_REPLY) {
        match session.ask(Command::KeptCalls { rows: rows.to_vec() }, &mut |_| {})? {
            Reply::KeptCalls(calls) => dials.calls(calls),
            _ => return Err(session.wrong_reply().into()),
        }
    }
    Ok(())
}

/// What stands below a row: how many calls met its condition, and with `list` the worst of them.
pub fn lines(dial: &Dial, list: bool) -> Vec<String> {
    let Some(kept) = &dial.calls else { return Vec::new() };
    let hint = if list || kept.calls.is_empty() { "" } else { " (--calls lists them)" };
    let mut lines = vec![format!("{}{hint}", calls::summary(&dial.row.options, kept))];
    if !list || kept.calls.is_empty() {
        return lines;
    }
    let mut table = Table::new(&[number("TOOK"), text("ENDED"), text("THREAD"), wide("BY")]);
    for call in &kept.calls {
        let thread = if call.thread == 0 { "unknown".to_owned() } else { call.thread.to_string() };
        table.row(vec![
            words::duration(call.took_ns),
            words::utc(call.ended_unix_ms),
            thread,
            printable(calls::outcome(call)),
        ]);
    }
    lines.extend(table.lines(None));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::row;
    use redial_protocol::calls::{KeptCall, RowCalls};
    use redial_protocol::order::TimeOptions;

    #[test]
    fn the_worst_calls_stand_below_their_row_where_they_are_asked_for() {
        let mut dials = Dials::default();
        let options = TimeOptions { failed_only: true, ..TimeOptions::default() };
        dials.rows(vec![redial_protocol::message::StatusRow { options, ..row(0, "Shop.Cart.Add", 5) }]);
        let below = |dials: &Dials, list| dials.iter().flat_map(|dial| lines(dial, list)).collect::<Vec<_>>();
        assert!(below(&dials, true).is_empty(), "nobody asked");
        let call = KeptCall {
            ended_unix_ms: 1_000,
            took_ns: 12_300_000,
            thread: 4711,
            failed: true,
            exception: Some("System.TimeoutException".into()),
        };
        let other = KeptCall { thread: 0, exception: None, ..call.clone() };
        dials.calls(vec![RowCalls { row: RowId(0), calls: vec![call, other], met: 2, missed: 0 }]);
        assert_eq!(below(&dials, false), ["calls that end by an exception: 2 (--calls lists them)"]);
        assert_eq!(
            below(&dials, true),
            [
                "calls that end by an exception: 2",
                "   TOOK  ENDED                 THREAD   BY",
                "12.3 ms  1970-01-01 00:00:01Z  4711     System.TimeoutException",
                "12.3 ms  1970-01-01 00:00:01Z  unknown  an exception of unknown type",
            ]
        );
        dials.calls(vec![RowCalls { row: RowId(0), calls: vec![], met: 0, missed: 0 }]);
        assert_eq!(below(&dials, true), ["calls that end by an exception: none so far"]);
    }
}
