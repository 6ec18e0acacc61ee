//! `redial status`: lists every copy that is or was dialled, or with `--agent` the status of the agent itself.

mod agent;
mod callers;
pub(super) mod queries;
mod slowest_calls;
mod table;
pub(super) mod wording;

use super::method_totals::{MethodTotals, TotalsTable};
use super::{arguments, multi_process, row_order};
use crate::output::Out;
use crate::output::json::DialsJson;
use crate::output::page::{self, LEAST_ROWS, Page};
use redial_link::connect;
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_model::dials::DialledCopies;
use redial_protocol::message::AgentStatus;
use redial_text::budget;
use redial_text::diagnostics::{Reader, agent_notes};
use std::sync::{Mutex, PoisonError};

pub use queries::{ask_agent, ask_costs, ask_rows};
pub use table::fitted as table;
use table::{beneath, wrapped};
use wording::{control_line, kept_line};
pub use wording::{name, unmatched};

/// Shows the status.
pub fn run(arguments: &arguments::StatusArguments) -> Result<Exit, Failure> {
    if let Some(pattern) = &arguments.pattern {
        arguments::check_pattern(pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    if arguments.sum {
        return summed(arguments);
    }
    multi_process::each(&arguments.target, arguments.json, |pid, out| {
        let mut session = connect::open(pid, "redial status")?;
        match (arguments.agent, arguments.callers) {
            (true, _) => agent::show(&mut session, arguments, out),
            (false, true) => callers::show(&mut session, arguments, out),
            (false, false) => copies(&mut session, arguments, out),
        }
    })
}

fn copies(
    session: &mut Session,
    arguments: &arguments::StatusArguments,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut dials = ask_rows(session, arguments.pattern.clone())?;
    slowest_calls::ask(session, &mut dials)?;
    let unmatched = match &arguments.pattern {
        Some(pattern) if dials.is_empty() => Some(unmatched(pattern, &ask_rows(session, None)?)),
        _ => None,
    };
    if arguments.json {
        out.json(&rows_json(session.pid(), &dials, arguments.limit))?;
    } else if unmatched.is_none() {
        let status = ask_agent(session)?;
        let pattern = arguments.pattern.as_deref();
        let shown = (pattern, arguments.all, arguments.calls);
        for line in copies_lines(&dials, &status, shown, &out.page(arguments.limit)) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    unmatched.map_or(Ok(Exit::Done), |why| Err(Failure::new(Exit::NothingMatched, why)))
}

/// Shows each method with the sums over all processes.
fn summed(arguments: &arguments::StatusArguments) -> Result<Exit, Failure> {
    let sums = Mutex::new(MethodTotals::default());
    let reports = multi_process::side_by_side(arguments.target.find()?, &|member, _: &mut Out| {
        let mut session = connect::open(member.key.pid, "redial status")?;
        let rows = MethodTotals::of(&ask_rows(&mut session, arguments.pattern.clone())?);
        sums.lock().unwrap_or_else(PoisonError::into_inner).add(&rows);
        Ok(Exit::Done)
    });
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let asked = reports.iter().filter(|report| report.outcome.is_ok()).count();
    let mut out = Out::new();
    let page = out.page(arguments.limit);
    if arguments.json {
        out.json(&sums.json(page.limit))?;
    } else if asked > 0 {
        sums_lines(&sums, arguments.all, &page).iter().try_for_each(|line| out.line(line))?;
    }
    out.flush()?;
    drop(out);
    reports.iter().for_each(multi_process::ProcessResult::print_remarks);
    if let Some(pattern) = arguments.pattern.as_deref().filter(|_| asked > 0 && sums.is_empty()) {
        let why = format!("no dialled method matches '{pattern}' in any of the processes");
        return Err(Failure::new(Exit::NothingMatched, why));
    }
    Ok(multi_process::combined(reports.iter().map(multi_process::ProcessResult::exit)))
}

/// Returns the rows for JSON: all in the order of the ledger, or the `limit` most called ones.
fn rows_json(pid: u32, dials: &DialledCopies, limit: Option<u64>) -> DialsJson<'_> {
    let Some(limit) = limit else { return DialsJson::new(pid, dials) };
    let mut rows = row_order::by_calls(dials);
    rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    DialsJson::of(pid, rows)
}

fn sums_lines(sums: &MethodTotals, all: bool, page: &Page) -> Vec<String> {
    let remarks = sums.remarks(all);
    let below = |table: &TotalsTable| beneath(&table.left_out, &remarks, page.columns);
    let whole = page.limit.unwrap_or(usize::MAX);
    // Headings, the summary, the number of rows left out, and the prompt.
    let fitting = |notes: usize| page.lines.map(|lines| lines.saturating_sub(4 + notes).max(LEAST_ROWS));
    let notes = beneath(&[], &remarks, page.columns).len() + usize::from(page.columns.is_some());
    let table = sums.table(all, false, fitting(notes).unwrap_or(whole), page.columns);
    let mut lines = table.lines.clone();
    lines.extend(page::left_out(table.more));
    lines.extend(below(&table));
    lines.push(sums.line(0, all));
    lines
}

fn copies_lines(
    dials: &DialledCopies,
    status: &AgentStatus,
    (pattern, all, calls): (Option<&str>, bool, bool),
    page: &Page,
) -> Vec<String> {
    let (rows, over) = row_order::on_first(row_order::by_calls(dials), all);
    let mut below: Vec<String> = over.line().into_iter().collect();
    below.extend(agent_notes::switched_off(status.guard_trips));
    below.extend([control_line(status), kept_line(status)]);
    if status.cost_budget.limit.is_some() || status.cost_budget.stepped > 0 {
        below.push(budget::summary(&status.cost_budget));
        below.extend(budget::effects(&status.cost_budget, Reader::CommandLine));
    }
    below.extend(agent_notes::remainders(&status.remains));
    let below: Vec<String> = below.into_iter().flat_map(|line| wrapped(line, page.columns)).collect();
    let mut lines = Vec::new();
    if !rows.is_empty() {
        // An empty line, and the prompt.
        let room = page.lines.map(|lines| lines.saturating_sub(below.len() + 2));
        lines.extend(table::fitted(&rows, dials, calls, &Page { lines: room, ..*page }));
        lines.push(String::new());
    } else if over.methods > 0 {
        let matching = pattern.map(|pattern| format!(" that matches '{pattern}'")).unwrap_or_default();
        lines.push(format!("no method{matching} is dialled"));
    } else {
        lines.push("no method has been dialled".to_owned());
    }
    lines.extend(below.into_iter().map(|line| page.paint.dim(line)));
    lines
}

#[cfg(test)]
mod tests {
    use super::agent::tests::agent_status;
    use super::*;
    use crate::times;
    use redial_model::fixtures::row;
    use redial_protocol::diagnostics::RowNote;
    use redial_protocol::ids::InstanceId;
    use redial_protocol::level::Level;
    use redial_protocol::message::{Instance, StatusRow};
    use redial_protocol::reason::Reason;
    use redial_protocol::state::CopyState;
    use redial_text::diagnostics::row_notes;
    use redial_text::fixtures::times as timed;
    use serde_json::json;

    fn dials() -> DialledCopies {
        let mut live = row(0, "Shop.Cart.Add", 1234);
        live.state = CopyState::Live;
        live.version = Some(2);
        live.instances =
            vec![Instance { id: InstanceId { function_id: 0x7f00, rejit_id: 3 }, state: CopyState::Live }];
        let mut refused = row(1, "Shop.Cart.Native", 0);
        refused.state = CopyState::Refused;
        refused.note = Some(RowNote::NotDialled { reason: Reason::Unloaded, hresult: 0 });
        let mut dials = DialledCopies::default();
        dials.rows(vec![live, refused]);
        dials
    }

    #[test]
    fn rows_have_every_documented_field() {
        let dials = dials();
        let rows = DialsJson::new(9, &dials);
        let rows = serde_json::to_value(rows).expect("JSON");
        assert_eq!(
            rows[0],
            json!({
                "pid": 9, "method": "Shop.Cart.Add", "signature": "()", "module": "Shop", "module_id": "0x7f001000",
                "token": "0x06000001", "domain": "clrhost", "wanted": "count",
                "slower_than_ns": null, "failed_only": false, "callers": false, "depth": null, "stack": false, "trace_rate": null,
                "state": "live", "version": 2,
                "instances": [{"function_id": "0x7f00", "rejit_id": "0x3", "state": "live"}], "reason": null,
                "times_reason": null, "calls": 1234, "rate": null, "in_flight": null, "exceptions": null, "total_ns": null,
                "self_ns": null, "p50_ns": null, "p90_ns": null, "p99_ns": null, "max_ns": null, "async_starts": null,
                "async_completions": null, "async_in_flight": null, "async_mean_ns": null, "kept_calls": null,
            })
        );
        assert_eq!(rows[1]["reason"], "its module was unloaded");
        assert_eq!(rows[1]["version"], json!(null));
    }

    #[test]
    fn the_table_shows_wanted_and_actual_state() {
        let lines = copies_lines(&dials(), &agent_status(), (None, false, false), &Page::wide(None));
        assert_eq!(
            lines,
            [
                "CALLS  WANTED  STATE    METHOD                   REASON",
                "1,234  count   live v2  Shop!Shop.Cart.Add()",
                "    0  count   refused  Shop!Shop.Cart.Native()  its module was unloaded",
                "",
                "control: the Redial window (pid 7)",
                "dialled: 2 kept, 0 held",
                "1 undialled method is recompiled, because dialled ones were inlined into it; the original code returns when \
                 the dials are off",
            ]
        );
        let narrow = copies_lines(&dials(), &agent_status(), (None, false, false), &Page::wide(Some(50)));
        assert_eq!(
            narrow[..4],
            [
                "CALLS  WANTED  STATE    METHOD",
                "1,234  count   live v2  Shop!Shop.Cart.Add()",
                "    0  count   refused  Shop!Shop.Cart.Native()",
                "    its module was unloaded",
            ],
            "reasons do not fit beside the rest"
        );
    }

    #[test]
    fn names_and_reasons_fit_beside_times_on_any_terminal() {
        let status = agent_status();
        let mut dials = DialledCopies::default();
        let reason = row_notes::note(RowNote::CallsReplaced, Reader::CommandLine);
        let long = "Shop.Cart.TotalOfEverythingThereIsToBeSold";
        let mut slow = row(0, long, 1_234_567);
        (slow.wanted, slow.state, slow.note) = (Level::Time, CopyState::Live, Some(RowNote::CallsReplaced));
        let mut was = row(1, "Shop.Cart.Take", 12);
        was.state = CopyState::Live;
        dials.rows(vec![slow, was]);
        dials.times(vec![timed(0), timed(1)]);
        let whole = copies_lines(&dials, &status, (None, false, false), &Page::wide(None));
        assert!(
            whole[1].contains("8.59 s") && whole[1].contains(long) && whole[1].ends_with(&*reason),
            "{whole:#?}"
        );
        assert!(whole[2].contains("(8.59 s)") && whole[3..5] == [times::TIMED, times::LAST], "{whole:#?}");
        for columns in [60, 80, 100, 120, 160] {
            let lines = copies_lines(&dials, &status, (None, false, false), &Page::wide(Some(columns)));
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}: {lines:#?}");
            let before = lines[0].find("METHOD").expect("a heading");
            let room = lines[1].chars().count() - before;
            assert!(room >= (columns * 3 / 8).min("Shop!()".len() + long.len()), "{columns}: {lines:#?}");
            assert!(lines[2].starts_with("    the JIT, or precompiled"), "{columns}: {lines:#?}");
            assert!(
                lines.iter().any(|line| line.starts_with("1 undialled method is")),
                "{columns}: {lines:#?}"
            );
            let left_out = lines.iter().any(|line| line.starts_with("no room for P90, "));
            assert_eq!(left_out, columns < 160, "{columns}: {lines:#?}");
        }
    }

    #[test]
    fn copies_in_several_domains_show_their_domain() {
        let mut dials = dials();
        let mut other = row(2, "Shop.Cart.Add", 7);
        other.domain = "Shop-2".into();
        dials.rows(vec![other]);
        let lines = copies_lines(&dials, &agent_status(), (None, false, false), &Page::wide(None));
        assert_eq!(lines[0], "CALLS  WANTED  STATE    DOMAIN   METHOD                   REASON");
        assert_eq!(lines[2], "    7  count   pending  Shop-2   Shop!Shop.Cart.Add()");
    }

    #[test]
    fn an_unmatched_pattern_reports_how_many_are_dialled() {
        let why = |on: u32, over: u32| {
            let mut dials = DialledCopies::default();
            dials.rows((0..on).map(|index| row(index, "A.B", 1)).collect());
            dials.rows((on..on + over).map(|index| off(row(index, "A.B", 1))).collect());
            unmatched("Nope.*", &dials)
        };
        assert_eq!(why(1_174, 0), "none of the 1,174 dialled methods matches 'Nope.*'");
        assert_eq!(why(1, 0), "the only dialled method does not match 'Nope.*'");
        assert_eq!(why(0, 0), "no dialled method matches 'Nope.*': no method has been dialled");
        assert_eq!(why(0, 176), "no method is dialled, and none of the 176 that were matches 'Nope.*'");
        assert_eq!(why(0, 1), "no method is dialled, and the one that was does not match 'Nope.*'");
        for (on, over) in [(2, 174), (175, 1), (1, 175)] {
            assert_eq!(why(on, over), "none of the 176 methods that are or were dialled matches 'Nope.*'");
        }
    }

    #[test]
    fn a_terminal_shows_the_most_called_rows_that_fit() {
        let mut dials = DialledCopies::default();
        dials.rows((0..500).map(|index| row(index, "Shop.Cart.Add", 10_000 - u64::from(index))).collect());
        let draw = |page: &Page| copies_lines(&dials, &agent_status(), (None, false, false), page);
        let shown = |lines: &[String]| lines.iter().filter(|line| line.contains("Cart.Add")).count();
        let page = |lines| Page { columns: Some(80), lines: Some(lines), ..Page::default() };
        for height in [24, 50] {
            let lines = draw(&page(height));
            assert_eq!(lines.len(), height - 1, "the prompt follows: {lines:#?}");
            assert!(lines[1].starts_with("10,000  count"), "{lines:#?}");
            let more = format!("… and {} called less often", 500 - shown(&lines));
            assert!(lines.iter().any(|line| line.starts_with(&more)), "{more}: {lines:#?}");
        }
        assert_eq!(shown(&draw(&page(4))), LEAST_ROWS, "however low the terminal is");
        assert_eq!(shown(&draw(&Page { limit: Some(30), ..Page::default() })), 30);
        assert_eq!(shown(&draw(&Page::default())), 500, "a file gets everything");
        let json = serde_json::to_value(rows_json(9, &dials, Some(2))).expect("JSON");
        assert_eq!(json.as_array().map(Vec::len), Some(2));
    }

    fn off(mut row: StatusRow) -> StatusRow {
        (row.wanted, row.state) = (Level::Off, CopyState::Off);
        row
    }

    #[test]
    fn a_long_name_hides_no_number() {
        let status = agent_status();
        let long = format!("Shop.{}.Add", "VeryLongNamespace.".repeat(20));
        let mut dials = DialledCopies::default();
        dials.rows(vec![
            row(0, "Shop.Cart.Add", 1_234),
            StatusRow { wanted: Level::Time, ..row(1, &long, 5) },
        ]);
        dials.times(vec![timed(1)]);
        for columns in [60, 80, 120] {
            let lines = copies_lines(&dials, &status, (None, false, false), &Page::wide(Some(columns)));
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}: {lines:#?}");
            assert!(lines[2].contains('…') && lines[2].ends_with(".Add()"), "{columns}: {lines:#?}");
            assert!(lines.iter().any(|line| line.contains(times::TIMED)), "{columns}: {lines:#?}");
            assert!(
                lines.iter().any(|line| line.starts_with("1 undialled method is")),
                "{columns}: {lines:#?}"
            );
        }
        let whole = copies_lines(&dials, &status, (None, false, false), &Page::wide(None));
        assert!(whole[2].ends_with(&format!("Shop!{long}()")), "a file gets the whole name: {whole:#?}");
    }

    #[test]
    fn counts_methods_off_again_without_all() {
        let mut dials = DialledCopies::default();
        dials.rows(vec![off(row(0, "Shop.Cart.Add", 900)), off(row(1, "Shop.Cart.Take", 34))]);
        let lines = copies_lines(&dials, &agent_status(), (None, false, false), &Page::wide(None));
        assert_eq!(
            lines[..2],
            ["no method is dialled", "2 methods are off again (934 calls); --all lists them"]
        );
        let lines = copies_lines(&dials, &agent_status(), (Some("Shop.*"), false, false), &Page::wide(None));
        assert_eq!(lines[0], "no method that matches 'Shop.*' is dialled", "others may be");
        dials.rows(vec![row(2, "Shop.Cart.Clear", 1)]);
        let lines = copies_lines(&dials, &agent_status(), (None, false, false), &Page::wide(None));
        assert!(lines[1].ends_with("Clear()") && lines[3].starts_with("2 methods are off"), "{lines:#?}");
        let lines = copies_lines(&dials, &agent_status(), (None, true, false), &Page::wide(None));
        assert!(lines[1].ends_with("Clear()") && lines[2].ends_with("Add()"), "{lines:#?}");
    }
}
