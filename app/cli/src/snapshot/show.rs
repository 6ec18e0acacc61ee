//! The numbers of a snapshot as a table, CSV, Markdown or JSON.

use super::title::title;
use crate::arguments::TableForm;
use crate::output::Out;
use crate::output::json::SnapshotJson;
use crate::output::page::Page;
use crate::{row_order, status};
use redial_link::exit::Failure;
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_model::process_snapshot::ProcessSnapshot;
use redial_text::times::TimeColumn;
use redial_text::{table_formats, words};
use std::collections::BTreeMap;

/// Prints a snapshot, at most `limit` of its methods.
pub(super) fn print(
    snapshot: &ProcessSnapshot,
    form: TableForm,
    out: &mut Out,
    limit: Option<u64>,
) -> Result<(), Failure> {
    let dials = snapshot.dials();
    let mut rows = row_order::by_calls(&dials);
    match form {
        TableForm::Text => {
            let lines = lines(snapshot, &dials, rows, &out.page(limit));
            return lines.iter().try_for_each(|line| out.line(line));
        }
        TableForm::Json if limit.is_none() => rows = dials.iter().collect(),
        _ => {}
    }
    rows.truncate(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)));
    match form {
        TableForm::Json => out.json(&SnapshotJson::new(snapshot, rows)),
        _ => out.text(&export(snapshot, &rows, form)),
    }
}

fn lines(
    snapshot: &ProcessSnapshot,
    dials: &DialledCopies,
    rows: Vec<&DialledCopy>,
    page: &Page,
) -> Vec<String> {
    let all = rows.len();
    let (mut rows, _) = row_order::on_first(rows, true);
    rows.retain(|dial| dial.row.calls > 0 || !dial.is_over());
    let mut below = reasons(snapshot);
    let idle = words::methods((all - rows.len()) as u64);
    below.extend(
        (rows.len() < all).then(|| format!("{idle} without calls and off; --json and --csv have them")),
    );
    let kept = [
        words::count(snapshot.calls.len() as u64, "traced call", "traced calls"),
        words::count(snapshot.orders.len() as u64, "order", "orders"),
        words::count(snapshot.changes.len() as u64, "change", "changes"),
    ];
    below.push(format!("also saved: {}; --json has them", words::all(&kept)));
    let mut lines = vec![format!("saved numbers of {}", title(snapshot))];
    match rows.is_empty() {
        true => lines.push("no method had been dialled".to_owned()),
        // The title, an empty line and the prompt.
        false => {
            let room = page.lines.map(|all| all.saturating_sub(below.len() + 3));
            lines.extend(status::table(&rows, dials, false, &Page { lines: room, ..*page }));
        }
    }
    lines.push(String::new());
    lines.extend(below.into_iter().map(|line| page.paint.dim(line)));
    lines
}

/// Returns why methods were refused or failed, or which calls their numbers miss, with the number of methods for each
/// reason.
fn reasons(snapshot: &ProcessSnapshot) -> Vec<String> {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for note in snapshot.methods.iter().filter_map(|method| method.note.as_deref()) {
        *reasons.entry(note).or_default() += 1;
    }
    let line = |(reason, methods)| format!("{}: {}", words::methods(methods), words::printable(reason));
    reasons.into_iter().map(line).collect()
}

const BEFORE: [&str; 5] = ["method", "domain", "dial", "state", "calls"];

/// Formats the rows for another program.
fn export(snapshot: &ProcessSnapshot, rows: &[&DialledCopy], form: TableForm) -> String {
    let is_csv = form == TableForm::Csv;
    let head = |column: TimeColumn| match is_csv && column.is_duration() {
        true => format!("{} ns", column.name()),
        false => column.name().to_owned(),
    };
    let before = BEFORE.map(str::to_owned).into_iter();
    let headings: Vec<String> = before.chain(TimeColumn::ALL.map(head)).chain(["note".to_owned()]).collect();
    let cell = |dial: &DialledCopy, column: TimeColumn| {
        let times = dial.times.as_ref()?;
        if is_csv { Some(column.number(times)?.to_string()) } else { column.cell(times) }
    };
    let row = |dial: &&DialledCopy| -> Vec<String> {
        let row = &dial.row;
        let note = snapshot.methods.get(row.row.0 as usize).and_then(|method| method.note.clone());
        let before = [
            status::name(dial),
            row.domain.clone(),
            row.wanted.to_string(),
            row.state.to_string(),
            row.calls.to_string(),
        ];
        let times = TimeColumn::ALL.map(|column| cell(dial, column).unwrap_or_default());
        let cells = before.into_iter().chain(times).chain([note.unwrap_or_default()]);
        cells.map(|cell| words::printable(&cell)).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let numbers = BEFORE.len() - 1..headings.len() - 1;
    match is_csv {
        true => table_formats::csv(std::iter::once(&headings).chain(&rows).map(Vec::as_slice)),
        false => {
            table_formats::markdown(&headings, rows.iter().map(Vec::as_slice), |at| numbers.contains(&at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;
    use redial_model::process_snapshot::{SavedMethod, SnapshotHeader};
    use redial_text::fixtures::times;

    fn snapshot() -> ProcessSnapshot {
        let mut dials = DialledCopies::default();
        dials.rows(vec![row(0, "Shop.Cart.Add", 12), row(1, "Shop.Cart.Take", 1_234)]);
        dials.times(vec![times(1)]);
        let mut methods: Vec<SavedMethod> = dials.iter().map(|dial| SavedMethod::of(dial, None)).collect();
        methods[0].note = Some("its module was unloaded".to_owned());
        let header = SnapshotHeader {
            taken_unix_ms: 1_000,
            pid: 42,
            name: Some("Shop".to_owned()),
            host: Some("shop-1".to_owned()),
            ..SnapshotHeader::default()
        };
        ProcessSnapshot { header, methods, ..ProcessSnapshot::default() }
    }

    #[test]
    fn shows_saved_numbers_like_status() {
        let snapshot = snapshot();
        let dials = snapshot.dials();
        let lines = lines(&snapshot, &dials, row_order::by_calls(&dials), &Page::default());
        assert_eq!(lines[0], "saved numbers of process 42 (Shop) on shop-1 at 1970-01-01 00:00:01Z");
        assert!(lines[2].starts_with("1,234") && lines[2].ends_with("Shop!Shop.Cart.Take()"), "{lines:#?}");
        assert!(lines.contains(&"1 method: its module was unloaded".to_owned()), "{lines:#?}");
        assert_eq!(
            lines.last().map(String::as_str),
            Some("also saved: 0 traced calls, 0 orders and 0 changes; --json has them")
        );
    }

    #[test]
    fn exports_every_number() {
        let snapshot = snapshot();
        let dials = snapshot.dials();
        let rows = row_order::by_calls(&dials);
        let csv = export(&snapshot, &rows, TableForm::Csv);
        assert_eq!(
            csv,
            "method,domain,dial,state,calls,p50 ns,p90 ns,p99 ns,max ns,total ns,self ns,exceptions,in flight,note\r\n\
             Shop!Shop.Cart.Take(),clrhost,count,asked,1234,1200,250000,8590000000,17180000000,1100000000000,550000000000,20,3,\r\n\
             Shop!Shop.Cart.Add(),clrhost,count,asked,12,,,,,,,,,its module was unloaded\r\n"
        );
        let markdown = export(&snapshot, &rows, TableForm::Markdown);
        assert!(
            markdown.contains("| Shop!Shop.Cart.Take() | clrhost | count | asked | 1234 | 1.20 µs |"),
            "{markdown}"
        );
    }
}
