//! `redial status`: every copy that is or was dialled, and with `--agent` the agent's account of itself.

mod agent;
mod callers;
mod calls;

use super::places::Places;
use super::sums::Sums;
use super::times::{self, TimeColumns};
use super::{arguments, order, several};
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::session::{Page, Session};
use crate::model::dials::{Dial, Dials};
use crate::output::json::DialJson;
use crate::output::table::{self, Table, number, text, wide};
use crate::output::{Out, budget, terminal_columns, words};
use redial_protocol::cost::Cost;
use redial_protocol::message::{AgentStatus, Command, Reply};
use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

/// Shows the status.
pub fn run(arguments: &arguments::Status) -> Result<Exit, Failure> {
    if let Some(pattern) = &arguments.pattern {
        arguments::check_pattern(pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    if arguments.sum {
        return summed(arguments);
    }
    several::each(&arguments.target, arguments.json, |pid, out| {
        let mut session = connect::open(pid, "redial status")?;
        match (arguments.agent, arguments.callers) {
            (true, _) => agent::show(&mut session, arguments, out),
            (false, true) => callers::show(&mut session, arguments, out),
            (false, false) => copies(&mut session, arguments, out),
        }
    })
}

pub fn ask_agent(session: &mut Session) -> Result<AgentStatus, Failure> {
    match session.ask(Command::AgentStatus, &mut |_| {})? {
        Reply::AgentStatus(status) => Ok(status),
        _ => Err(session.wrong_reply().into()),
    }
}

/// What calls cost in a process.
pub fn ask_costs(session: &mut Session) -> Result<Vec<Cost>, Failure> {
    ask_agent(session).map(|status| status.costs)
}

fn copies(session: &mut Session, arguments: &arguments::Status, out: &mut Out) -> Result<Exit, Failure> {
    let mut dials = ask_rows(session, arguments.pattern.clone())?;
    calls::ask(session, &mut dials)?;
    let unmatched = match &arguments.pattern {
        Some(pattern) if dials.is_empty() => Some(unmatched(pattern, &ask_rows(session, None)?)),
        _ => None,
    };
    if arguments.json {
        let rows: Vec<DialJson<'_>> = dials.iter().map(|dial| DialJson::new(session.pid(), dial)).collect();
        out.json(&rows)?;
    } else if unmatched.is_none() {
        let status = ask_agent(session)?;
        let pattern = arguments.pattern.as_deref();
        let shown = (pattern, arguments.all, arguments.calls);
        for line in copies_lines(&dials, &status, shown, terminal_columns()) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    unmatched.map_or(Ok(Exit::Done), |why| Err(Failure::new(Exit::NothingMatched, why)))
}

/// What all the processes say of each method, added up.
fn summed(arguments: &arguments::Status) -> Result<Exit, Failure> {
    let sums = Mutex::new(Sums::default());
    let reports = several::side_by_side(arguments.target.find()?, &|member, _: &mut Out| {
        let mut session = connect::open(member.key.pid, "redial status")?;
        let rows = Sums::of(&ask_rows(&mut session, arguments.pattern.clone())?);
        sums.lock().unwrap_or_else(PoisonError::into_inner).add(&rows);
        Ok(Exit::Done)
    });
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let asked = reports.iter().filter(|report| report.outcome.is_ok()).count();
    let mut out = Out::new();
    if arguments.json {
        out.json(&sums.json())?;
    } else if asked > 0 {
        let columns = terminal_columns();
        let table = sums.table(arguments.all, false, usize::MAX, columns);
        table.lines.iter().try_for_each(|line| out.line(line))?;
        let remarks = sums.remarks(arguments.all);
        beneath(&table.left_out, &remarks, columns).iter().try_for_each(|line| out.line(line))?;
        out.line(&sums.line(0, arguments.all))?;
    }
    out.flush()?;
    drop(out);
    reports.iter().for_each(several::Report::say);
    if let Some(pattern) = arguments.pattern.as_deref().filter(|_| asked > 0 && sums.is_empty()) {
        let why = format!("no dialled method matches '{pattern}' in any of the processes");
        return Err(Failure::new(Exit::NothingMatched, why));
    }
    Ok(several::combined(reports.iter().map(several::Report::exit)))
}

/// The rows that match, all without a pattern.
pub fn ask_rows(session: &mut Session, pattern: Option<String>) -> Result<Dials, Failure> {
    let mut dials = Dials::default();
    let reply = session.ask(Command::Status { pattern }, &mut |page| match page {
        Page::Rows(rows) => dials.rows(rows),
        Page::Times(times) => dials.times(times),
        _ => {}
    })?;
    if !matches!(reply, Reply::Status { .. }) {
        return Err(session.wrong_reply().into());
    }
    Ok(dials)
}

/// The sentence for a pattern that none of these matches.
pub fn unmatched(pattern: &str, dialled: &Dials) -> String {
    let over = dialled.iter().filter(|dial| dial.is_over()).count() as u64;
    let before = words::grouped(over);
    match (dialled.len() as u64 - over, over) {
        (0, 0) => format!("no dialled method matches '{pattern}': none is or was dialled"),
        (0, 1) => format!("no method is dialled, and the one that was does not match '{pattern}'"),
        (0, _) => format!("no method is dialled, and none of the {before} that were matches '{pattern}'"),
        (1, 0) => format!("the one dialled method does not match '{pattern}'"),
        (on, 0) => format!("none of the {} dialled methods matches '{pattern}'", words::grouped(on)),
        (on, over) => {
            let all = words::grouped(on + over);
            format!("none of the {all} methods that are or were dialled matches '{pattern}'")
        }
    }
}

fn copies_lines(
    dials: &Dials,
    status: &AgentStatus,
    (pattern, all, calls): (Option<&str>, bool, bool),
    columns: Option<usize>,
) -> Vec<String> {
    let mut lines = Vec::new();
    let (rows, over) = order::on_first(order::by_calls(dials), all);
    if !rows.is_empty() {
        lines.extend(rows_lines(&rows, dials, calls, columns));
        lines.push(String::new());
    } else if over.methods > 0 {
        let of_those = pattern.map(|pattern| format!(" that matches '{pattern}'")).unwrap_or_default();
        lines.push(format!("no method{of_those} is dialled"));
    } else {
        lines.push("no method is or was dialled".to_owned());
    }
    lines.extend(over.line());
    lines.push(control_line(status));
    lines.push(kept_line(status));
    if status.cost_budget.limit.is_some() || status.cost_budget.stepped > 0 {
        lines.push(budget::standing(&status.cost_budget));
        lines.extend(budget::effects(&status.cost_budget));
    }
    lines.extend(status.remains.iter().map(|sentence| words::one_line(sentence)));
    lines
}

/// Some of the dials as a table. Where reasons do not fit beside the rest, each stands below its row.
fn rows_lines(rows: &[&Dial], dials: &Dials, calls: bool, columns: Option<usize>) -> Vec<String> {
    let beside = rows_table(rows, dials, true);
    let (fitting, below) = match columns.filter(|columns| !beside.fits(*columns)) {
        Some(columns) => (rows_table(rows, dials, false), Some(columns)),
        None => (beside, None),
    };
    let mut drawn = fitting.lines(columns).into_iter();
    let mut lines: Vec<String> = drawn.next().into_iter().collect();
    for (dial, line) in rows.iter().zip(drawn) {
        lines.push(line);
        if let Some((columns, reason)) = below.zip(reason(dial)) {
            let reason = table::wrapped(&table::printable(&reason), columns.saturating_sub(INDENT.len()));
            lines.extend(reason.into_iter().map(|part| format!("{INDENT}{part}")));
        }
        lines.extend(calls::lines(dial, calls).into_iter().map(|line| format!("{INDENT}{line}")));
    }
    let remarks = times::remarks(rows.iter().copied());
    lines.extend(beneath(&fitting.left_out(columns), &remarks, columns));
    lines
}

/// What is said beneath a table: which columns are left out, and remarks.
fn beneath(left_out: &[&str], remarks: &[&str], columns: Option<usize>) -> Vec<String> {
    let remarks = remarks.iter().map(|remark| (*remark).to_owned());
    let notes = times::no_room(left_out).into_iter().chain(remarks);
    let lines =
        |note: String| columns.map_or_else(|| vec![note.clone()], |columns| table::wrapped(&note, columns));
    notes.flat_map(lines).collect()
}

/// Before a reason that stands below its row.
const INDENT: &str = "    ";

fn rows_table(rows: &[&Dial], dials: &Dials, reasons: bool) -> Table {
    let reasons = reasons && rows.iter().any(|dial| reason(dial).is_some());
    let places = Places::of(dials);
    let mut headings = vec![number("CALLS"), text("WANTED"), text("STATE")];
    let times = TimeColumns::of(rows.iter().copied());
    headings.extend(times.headings());
    headings.extend(places.headings());
    headings.push(table::name("METHOD"));
    headings.extend(reasons.then(|| wide("REASON")));
    let mut table = Table::new(&headings);
    for dial in rows {
        let row = &dial.row;
        let mut cells = vec![words::grouped(row.calls), row.wanted.to_string(), state(dial)];
        cells.extend(times.cells(dial));
        cells.extend(places.cells(dial));
        let body = words::body_of(&row.method).map(|of| format!(" ({of})")).unwrap_or_default();
        cells.extend([name(dial) + &body, reason(dial).unwrap_or_default()]);
        table.row(cells);
    }
    table
}

/// Why a dial was refused or failed, or what its numbers leave out.
fn reason(dial: &Dial) -> Option<String> {
    words::notes(dial.row.note.as_deref(), dial.row.times_note.as_deref()).map(Cow::into_owned)
}

/// The state with the version that is live: `live v2`.
pub fn state(dial: &Dial) -> String {
    match dial.row.version {
        Some(version) => format!("{} v{version}", dial.row.state),
        None => dial.row.state.to_string(),
    }
}

/// What the method is called: a pattern for it too, but for pointers' stars, which a pattern has as `\\*`.
pub fn name(dial: &Dial) -> String {
    format!("{}!{}{}", dial.row.module, dial.row.method, words::plain_parameters(&dial.row.signature))
}

fn control_line(status: &AgentStatus) -> String {
    match &status.control {
        Some(holder) => {
            format!("control: {} (pid {})", words::one_line(&holder.program), holder.pid)
        }
        None => "control: free".to_owned(),
    }
}

fn kept_line(status: &AgentStatus) -> String {
    format!("dialled: {} kept, {} held", words::grouped(status.kept), words::grouped(status.held))
}

#[cfg(test)]
mod tests {
    use super::agent::tests::agent_status;
    use super::*;
    use crate::model::dials::tests::{row, times as timed};
    use redial_protocol::ids::InstanceId;
    use redial_protocol::level::Level;
    use redial_protocol::message::{Instance, StatusRow};
    use redial_protocol::state::State;
    use serde_json::json;

    fn dials() -> Dials {
        let mut live = row(0, "Shop.Cart.Add", 1234);
        live.state = State::Live;
        live.version = Some(2);
        live.instances =
            vec![Instance { id: InstanceId { function_id: 0x7f00, rejit_id: 3 }, state: State::Live }];
        let mut refused = row(1, "Shop.Cart.Native", 0);
        refused.state = State::Refused;
        refused.note = Some("it is a P/Invoke".into());
        let mut dials = Dials::default();
        dials.rows(vec![live, refused]);
        dials
    }

    #[test]
    fn rows_have_every_documented_field() {
        let dials = dials();
        let rows: Vec<_> = dials.iter().map(|dial| DialJson::new(9, dial)).collect();
        let rows = serde_json::to_value(rows).expect("JSON");
        assert_eq!(
            rows[0],
            json!({
                "pid": 9, "method": "Shop.Cart.Add", "signature": "()", "module": "Shop", "module_id": "0x7f001000",
                "token": "0x06000001", "domain": "clrhost", "wanted": "count",
                "slower_than_ns": null, "failed_only": false, "callers": false, "state": "live", "version": 2,
                "instances": [{"function_id": "0x7f00", "rejit_id": "0x3", "state": "live"}], "reason": null,
                "times_reason": null, "calls": 1234, "rate": null, "in_flight": null, "exceptions": null, "total_ns": null,
                "self_ns": null, "p50_ns": null, "p90_ns": null, "p99_ns": null, "max_ns": null, "async_starts": null,
                "async_completions": null, "async_in_flight": null, "async_mean_ns": null, "kept_calls": null,
            })
        );
        assert_eq!(rows[1]["reason"], "it is a P/Invoke");
        assert_eq!(rows[1]["version"], json!(null));
    }

    #[test]
    fn the_table_says_wanted_and_actual() {
        let lines = copies_lines(&dials(), &agent_status(), (None, false, false), None);
        assert_eq!(
            lines,
            [
                "CALLS  WANTED  STATE    METHOD                   REASON",
                "1,234  count   live v2  Shop!Shop.Cart.Add()",
                "    0  count   refused  Shop!Shop.Cart.Native()  it is a P/Invoke",
                "",
                "control: redial app (pid 7)",
                "dialled: 2 kept, 0 held",
                "1 caller was inlined",
            ]
        );
        let narrow = copies_lines(&dials(), &agent_status(), (None, false, false), Some(50));
        assert_eq!(
            narrow[..4],
            [
                "CALLS  WANTED  STATE    METHOD",
                "1,234  count   live v2  Shop!Shop.Cart.Add()",
                "    0  count   refused  Shop!Shop.Cart.Native()",
                "    it is a P/Invoke",
            ],
            "no room beside"
        );
    }

    #[test]
    fn names_and_reasons_are_read_beside_times_on_any_terminal() {
        let mut dials = Dials::default();
        let reason = "other code may stand in the place of its calls: the compiler's own, or that of precompiled modules";
        let long = "Shop.Cart.TotalOfEverythingThereIsToBeSold";
        let mut slow = row(0, long, 1_234_567);
        (slow.wanted, slow.state, slow.note) = (Level::Time, State::Live, Some(reason.into()));
        let mut was = row(1, "Shop.Cart.Take", 12);
        was.state = State::Live;
        dials.rows(vec![slow, was]);
        dials.times(vec![timed(0), timed(1)]);
        let whole = copies_lines(&dials, &agent_status(), (None, false, false), None);
        assert!(
            whole[1].contains("8.59 s") && whole[1].contains(long) && whole[1].ends_with(reason),
            "{whole:#?}"
        );
        assert!(whole[2].contains("(8.59 s)") && whole[3..5] == [times::TIMED, times::LAST], "{whole:#?}");
        for columns in [60, 80, 100, 120, 160] {
            let lines = copies_lines(&dials, &agent_status(), (None, false, false), Some(columns));
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}: {lines:#?}");
            let before = lines[0].find("METHOD").expect("a heading");
            let room = lines[1].chars().count() - before;
            assert!(room >= (columns * 3 / 8).min("Shop!()".len() + long.len()), "{columns}: {lines:#?}");
            assert!(lines[2].starts_with("    other code may stand"), "{columns}: {lines:#?}");
            let left_out = lines.iter().any(|line| line.starts_with("no room for P90, "));
            assert_eq!(left_out, columns < 160, "{columns}: {lines:#?}");
        }
    }

    #[test]
    fn copies_in_several_domains_are_told_apart() {
        let mut dials = dials();
        let mut other = row(2, "Shop.Cart.Add", 7);
        other.domain = "Shop-2".into();
        dials.rows(vec![other]);
        let lines = copies_lines(&dials, &agent_status(), (None, false, false), None);
        assert_eq!(lines[0], "CALLS  WANTED  STATE    DOMAIN   METHOD                   REASON");
        assert_eq!(lines[2], "    7  count   asked    Shop-2   Shop!Shop.Cart.Add()");
    }

    #[test]
    fn a_pattern_without_a_match_hears_of_how_many() {
        let said = |on: u32, over: u32| {
            let mut dials = Dials::default();
            dials.rows((0..on).map(|index| row(index, "A.B", 1)).collect());
            dials.rows((on..on + over).map(|index| off(row(index, "A.B", 1))).collect());
            unmatched("Nope.*", &dials)
        };
        assert_eq!(said(1_174, 0), "none of the 1,174 dialled methods matches 'Nope.*'");
        assert_eq!(said(1, 0), "the one dialled method does not match 'Nope.*'");
        assert_eq!(said(0, 0), "no dialled method matches 'Nope.*': none is or was dialled");
        assert_eq!(said(0, 176), "no method is dialled, and none of the 176 that were matches 'Nope.*'");
        assert_eq!(said(0, 1), "no method is dialled, and the one that was does not match 'Nope.*'");
        for (on, over) in [(2, 174), (175, 1), (1, 175)] {
            assert_eq!(said(on, over), "none of the 176 methods that are or were dialled matches 'Nope.*'");
        }
    }

    fn off(mut row: StatusRow) -> StatusRow {
        (row.wanted, row.state) = (Level::Off, State::Off);
        row
    }

    #[test]
    fn one_long_name_pushes_no_number_out_of_a_terminal() {
        let long = format!("Shop.{}.Add", "VeryLongNamespace.".repeat(20));
        let mut dials = Dials::default();
        dials.rows(vec![
            row(0, "Shop.Cart.Add", 1_234),
            StatusRow { wanted: Level::Time, ..row(1, &long, 5) },
        ]);
        dials.times(vec![timed(1)]);
        for columns in [60, 80, 120] {
            let lines = copies_lines(&dials, &agent_status(), (None, false, false), Some(columns));
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}: {lines:#?}");
            assert!(lines[2].contains('…') && lines[2].ends_with(".Add()"), "{columns}: {lines:#?}");
            assert!(lines.iter().any(|line| line.contains(times::TIMED)), "{columns}: {lines:#?}");
        }
        let whole = copies_lines(&dials, &agent_status(), (None, false, false), None);
        assert!(whole[2].ends_with(&format!("Shop!{long}()")), "a file gets all of it: {whole:#?}");
    }

    #[test]
    fn what_is_off_again_is_counted_unless_all_is_asked_for() {
        let mut dials = Dials::default();
        dials.rows(vec![off(row(0, "Shop.Cart.Add", 900)), off(row(1, "Shop.Cart.Take", 34))]);
        let lines = copies_lines(&dials, &agent_status(), (None, false, false), None);
        assert_eq!(
            lines[..2],
            ["no method is dialled", "2 methods were dialled and are off now (934 calls); --all lists them"]
        );
        let lines = copies_lines(&dials, &agent_status(), (Some("Shop.*"), false, false), None);
        assert_eq!(lines[0], "no method that matches 'Shop.*' is dialled", "others may be");
        dials.rows(vec![row(2, "Shop.Cart.Clear", 1)]);
        let lines = copies_lines(&dials, &agent_status(), (None, false, false), None);
        assert!(lines[1].ends_with("Clear()") && lines[3].starts_with("2 methods were"), "{lines:#?}");
        let lines = copies_lines(&dials, &agent_status(), (None, true, false), None);
        assert!(lines[1].ends_with("Clear()") && lines[2].ends_with("Add()"), "{lines:#?}");
    }
}
