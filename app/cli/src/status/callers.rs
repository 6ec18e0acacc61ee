//! `redial status --callers`: lists the callers of methods whose callers are or were counted.

use super::queries::ask_rows;
use super::wording::{name, unmatched};
use crate::arguments;
use crate::output::json::CallersJson;
use crate::output::table::{self, Table, number};
use crate::output::{Out, terminal_columns};
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::callers::RowCallers;
use redial_protocol::diagnostics::MissingTimes;
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_text::callers;
use redial_text::diagnostics::Reader;
use redial_text::diagnostics::row_notes::times_note;
use redial_text::words;

/// Lists the callers.
pub fn show(
    session: &mut Session,
    arguments: &arguments::StatusArguments,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let dials = ask_rows(session, arguments.pattern.clone())?;
    if let Some(pattern) = arguments.pattern.as_deref().filter(|_| dials.is_empty()) {
        if arguments.json {
            out.json(&[(); 0])?;
        }
        out.flush()?;
        let why = unmatched(pattern, &ask_rows(session, None)?);
        return Err(Failure::new(Exit::NothingMatched, why));
    }
    let counted = ask(session, &dials)?;
    if arguments.json {
        let rows: Vec<CallersJson<'_>> =
            counted.iter().map(|(dial, callers)| CallersJson::new(session.pid(), dial, callers)).collect();
        out.json(&rows)?;
    } else if let Some(why) = uncountable(&dials).filter(|_| counted.is_empty()) {
        out.line(&why)?;
    } else {
        for line in lines(&counted, arguments.pattern.as_deref(), terminal_columns()) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Asks for the callers of every method that was ever timed. Returns them by descending calls.
fn ask<'a>(
    session: &mut Session,
    dials: &'a DialledCopies,
) -> Result<Vec<(&'a DialledCopy, RowCallers)>, Failure> {
    let mut counted = Vec::new();
    for dial in dials.iter().filter(|dial| dial.times.is_some() || dial.row.options.callers) {
        let row = dial.row.row;
        match session.ask(WireCommand::Callers { row }, &mut |_| {}) {
            Ok(Reply::Callers(callers)) if callers.row == row => counted.push((dial, callers)),
            // Its callers were never counted, or its module was unloaded meanwhile.
            Err(LinkError::Refused(Refusal::Unsupported(_))) => {}
            Ok(_) => return Err(session.wrong_reply().into()),
            Err(e) => return Err(e.into()),
        }
    }
    counted.sort_by_key(|(_, callers)| std::cmp::Reverse(callers.calls()));
    Ok(counted)
}

/// Returns why the first method that was dialled for its callers has none, where the agent cannot count any.
fn uncountable(dials: &DialledCopies) -> Option<String> {
    dials.iter().find_map(|dial| {
        let note = dial.row.times_note.as_ref()?;
        let is_uncountable = note.missing == Some(MissingTimes::Callers);
        is_uncountable.then(|| format!("{}: {}", name(dial), times_note(note, Reader::CommandLine)))
    })
}

fn lines(
    counted: &[(&DialledCopy, RowCallers)],
    pattern: Option<&str>,
    columns: Option<usize>,
) -> Vec<String> {
    if counted.is_empty() {
        let matching = pattern.map(|pattern| format!(" that matches '{pattern}'")).unwrap_or_default();
        return vec![format!(
            "no method{matching} has counted callers; `redial dial PID PATTERN time --callers` counts them"
        )];
    }
    let mut lines = Vec::new();
    for (number, (dial, callers)) in counted.iter().enumerate() {
        if number > 0 {
            lines.push(String::new());
        }
        lines.extend(of_one(dial, callers, columns));
    }
    if counted.iter().any(|(_, callers)| callers.others > 0) {
        lines.push(String::new());
        let note = callers::others_note();
        lines.extend(columns.map_or_else(|| vec![note.clone()], |columns| table::wrapped(&note, columns)));
    }
    lines
}

fn of_one(dial: &DialledCopy, counted: &RowCallers, columns: Option<usize>) -> Vec<String> {
    let all = counted.calls();
    let now = dial.row.options.callers;
    let over = if now { "" } else { " while callers were counted" };
    let mut lines = vec![match all {
        0 if now => format!("{}: no calls since callers are counted", name(dial)),
        0 => format!("{}: no calls while callers were counted", name(dial)),
        all => format!("{}: {}{over}", name(dial), words::count(all, "call", "calls")),
    }];
    if all == 0 {
        return lines;
    }
    let mut table = Table::new(&[number("CALLS"), number("SHARE"), number("SITES"), table::name("CALLER")]);
    let mut row = |calls: u64, sites: String, name: String| {
        let share = words::percent(callers::share(calls, all));
        table.row(vec![words::grouped(calls), share, sites, name]);
    };
    for caller in &counted.callers {
        row(caller.calls, words::grouped(caller.sites.into()), callers::name(&caller.origin));
    }
    if counted.others > 0 {
        row(counted.others, "-".to_owned(), callers::OTHERS.to_owned());
    }
    lines.extend(table.lines(columns));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;
    use redial_protocol::callers::{CallOrigin, Caller};
    use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, RowId};
    use redial_protocol::order::TimeOptions;
    use serde_json::json;

    fn dials() -> DialledCopies {
        let options = TimeOptions { callers: true, ..TimeOptions::default() };
        let mut dials = DialledCopies::default();
        let mut add = row(0, "Shop.Cart.Add", 1_000);
        add.options = options;
        dials.rows(vec![add, row(1, "Shop.Cart.Take", 5)]);
        dials
    }

    fn counted() -> RowCallers {
        let module = ModuleKey { module_id: 0x7f00, generation: 1 };
        let method = CallOrigin::Method {
            copy: CopyKey { module, token: MethodToken(0x0600_0007) },
            module: "Shop".into(),
            method: "Shop.Till.Ring".into(),
            signature: r"(byte\*)".into(),
        };
        let callers = vec![
            Caller { origin: method, sites: 2, calls: 900 },
            Caller { origin: CallOrigin::Dynamic { name: "Made".into() }, sites: 1, calls: 60 },
            Caller { origin: CallOrigin::Native, sites: 1, calls: 1 },
        ];
        RowCallers { row: RowId(0), callers, others: 39 }
    }

    #[test]
    fn lists_callers_below_their_method() {
        let dials = dials();
        let [add, take] = dials.iter().collect::<Vec<_>>()[..] else { panic!("two rows") };
        let none = RowCallers { row: RowId(1), callers: Vec::new(), others: 0 };
        assert_eq!(
            lines(&[(add, counted()), (take, none)], None, None),
            [
                "Shop!Shop.Cart.Add(): 1,000 calls",
                "CALLS  SHARE  SITES  CALLER",
                "  900   90 %      2  Shop!Shop.Till.Ring(byte*)",
                "   60  6.0 %      1  Made (generated at run time)",
                "    1  0.1 %      1  the runtime or native code",
                "   39  3.9 %      -  others",
                "",
                "Shop!Shop.Cart.Take(): no calls while callers were counted",
                "",
                "others: calls beyond 64 call sites on one thread, or for which the agent ran out of memory",
            ]
        );
        let nothing = lines(&[], Some("Shop.*"), None);
        assert!(nothing[0].contains("that matches 'Shop.*'") && nothing[0].contains("--callers"));
    }

    #[test]
    fn rows_have_every_documented_field() {
        let dials = dials();
        let counted = counted();
        let add = dials.iter().next().expect("a row");
        let value = serde_json::to_value(CallersJson::new(9, add, &counted)).expect("JSON");
        let by = |kind, method, more: [serde_json::Value; 4], sites, calls, share| {
            let [signature, module, module_id, token] = more;
            json!({"kind": kind, "method": method, "signature": signature, "module": module, "module_id": module_id,
                   "token": token, "sites": sites, "calls": calls, "share": share})
        };
        let ids = [json!(r"(byte\*)"), json!("Shop"), json!("0x7f00"), json!("0x06000007")];
        let none = || [json!(null), json!(null), json!(null), json!(null)];
        assert_eq!(
            value,
            json!({
                "pid": 9, "method": "Shop.Cart.Add", "signature": "()", "module": "Shop", "module_id": "0x7f001000",
                "token": "0x06000001", "domain": "clrhost", "wanted": "count", "state": "asked", "callers": true,
                "calls": 1000, "others": 39,
                "called_by": [
                    by("method", json!("Shop.Till.Ring"), ids, 2, 900, 0.9),
                    by("dynamic", json!("Made"), none(), 1, 60, 0.06),
                    by("native", json!(null), none(), 1, 1, 0.001),
                ],
            })
        );
    }
}
