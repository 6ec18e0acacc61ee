//! `redial status`: every copy that is or was dialled, and with `--agent` the agent's account of itself.

mod agent;

use super::places::Places;
use super::sums::Sums;
use super::times::TimeColumns;
use super::{arguments, order, several};
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::session::{Page, Session};
use crate::model::dials::{Dial, Dials};
use crate::output::json::DialJson;
use crate::output::table::{Table, number, text, wide};
use crate::output::{Out, terminal_columns, words};
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
        match arguments.agent {
            true => agent::show(&mut session, arguments, out),
            false => copies(&mut session, arguments, out),
        }
    })
}

fn ask_agent(session: &mut Session) -> Result<AgentStatus, Failure> {
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
    let dials = ask_rows(session, arguments.pattern.clone())?;
    let unmatched = match &arguments.pattern {
        Some(pattern) if dials.is_empty() => Some(unmatched(pattern, &ask_rows(session, None)?)),
        _ => None,
    };
    if arguments.json {
        let rows: Vec<DialJson<'_>> = dials.iter().map(|dial| DialJson::new(session.pid(), dial)).collect();
        out.json(&rows)?;
    } else if unmatched.is_none() {
        let status = ask_agent(session)?;
        for line in copies_lines(&dials, &status, arguments.all, terminal_columns()) {
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
        let table = sums.table(arguments.all, false, usize::MAX, terminal_columns());
        table.iter().try_for_each(|line| out.line(line))?;
        let explained = [sums.explained(arguments.all), sums.about_times(arguments.all)];
        explained.into_iter().flatten().try_for_each(|explained| out.line(explained))?;
        out.line(&sums.line((asked, 0), arguments.all))?;
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
        (0, _) => format!("no method is dialled, and none of the {before} that were matches '{pattern}'"),
        (1, 0) => format!("the one dialled method does not match '{pattern}'"),
        (on, 0) => format!("none of the {} dialled methods matches '{pattern}'", words::grouped(on)),
        (on, _) => format!(
            "none of the {} dialled methods matches '{pattern}', nor of the {before} that were",
            words::grouped(on)
        ),
    }
}

fn copies_lines(dials: &Dials, status: &AgentStatus, all: bool, columns: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let (rows, over) = order::on_first(order::by_calls(dials), all);
    if !rows.is_empty() {
        let notes = |dial: &Dial| {
            words::notes(dial.row.note.as_deref(), dial.row.times_note.as_deref()).map(Cow::into_owned)
        };
        let noted = rows.iter().any(|dial| notes(dial).is_some());
        let places = Places::of(dials);
        let mut headings = vec![number("CALLS"), text("WANTED"), text("STATE")];
        let times = TimeColumns::of_all(dials);
        headings.extend(times.headings());
        headings.extend(places.headings());
        headings.push(wide("METHOD"));
        headings.extend(noted.then(|| wide("REASON")));
        let mut table = Table::new(&headings);
        for dial in rows {
            let row = &dial.row;
            let mut cells = vec![words::grouped(row.calls), row.wanted.to_string(), state(dial)];
            cells.extend(times.cells(dial));
            cells.extend(places.cells(dial));
            let body = words::body_of(&row.method).map(|of| format!(" ({of})")).unwrap_or_default();
            cells.extend([name(dial) + &body, notes(dial).unwrap_or_default()]);
            table.row(cells);
        }
        lines.extend(table.lines(columns));
        lines.push(String::new());
    } else if over.methods > 0 {
        lines.push("no method is dialled".to_owned());
    } else {
        lines.push("no method is or was dialled".to_owned());
    }
    lines.extend(over.line());
    lines.push(control_line(status));
    lines.push(kept_line(status));
    lines.extend(status.remains.iter().map(|sentence| words::one_line(sentence)));
    lines
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
    use crate::model::dials::tests::row;
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
                "token": "0x06000001", "domain": "clrhost", "wanted": "count", "state": "live", "version": 2,
                "instances": [{"function_id": "0x7f00", "rejit_id": "0x3", "state": "live"}], "reason": null,
                "times_reason": null, "calls": 1234, "rate": null, "in_flight": null, "exceptions": null, "total_ns": null,
                "self_ns": null, "p50_ns": null, "p90_ns": null, "p99_ns": null, "max_ns": null,
            })
        );
        assert_eq!(rows[1]["reason"], "it is a P/Invoke");
        assert_eq!(rows[1]["version"], json!(null));
    }

    #[test]
    fn the_table_says_wanted_and_actual() {
        let lines = copies_lines(&dials(), &agent_status(), false, None);
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
        let narrow = copies_lines(&dials(), &agent_status(), false, Some(60));
        assert!(narrow[..3].iter().all(|line| line.chars().count() <= 60), "{narrow:#?}");
    }

    #[test]
    fn copies_in_several_domains_are_told_apart() {
        let mut dials = dials();
        let mut other = row(2, "Shop.Cart.Add", 7);
        other.domain = "Shop-2".into();
        dials.rows(vec![other]);
        let lines = copies_lines(&dials, &agent_status(), false, None);
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
        assert_eq!(said(2, 174), "none of the 2 dialled methods matches 'Nope.*', nor of the 174 that were");
    }

    fn off(mut row: StatusRow) -> StatusRow {
        (row.wanted, row.state) = (Level::Off, State::Off);
        row
    }

    #[test]
    fn what_is_off_again_is_counted_unless_all_is_asked_for() {
        let mut dials = Dials::default();
        dials.rows(vec![off(row(0, "Shop.Cart.Add", 900)), off(row(1, "Shop.Cart.Take", 34))]);
        let lines = copies_lines(&dials, &agent_status(), false, None);
        assert_eq!(
            lines[..2],
            [
                "no method is dialled",
                "2 methods were dialled and are off again (934 calls); --all lists them"
            ]
        );
        dials.rows(vec![row(2, "Shop.Cart.Clear", 1)]);
        let lines = copies_lines(&dials, &agent_status(), false, None);
        assert!(lines[1].ends_with("Clear()") && lines[3].starts_with("2 methods were"), "{lines:#?}");
        let lines = copies_lines(&dials, &agent_status(), true, None);
        assert!(lines[1].ends_with("Clear()") && lines[2].ends_with("Add()"), "{lines:#?}");
    }
}
