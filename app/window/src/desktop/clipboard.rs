//! Tables for the clipboard: exactly the rows shown, with full names that work as patterns.

use crate::commands::CopyFormat;
use redial_model::ids::{MethodIx, Node};
use redial_model::live::LiveRow;
use redial_model::method_table::MethodTable;
use redial_model::visible_rows::VisibleRows;
use redial_text::diagnostics::{Reader, row_notes};
use redial_text::table_formats;
use redial_text::times::TimeColumn;
use redial_text::width::width as text_columns;

/// Most rows copied; nobody can use a clipboard of hundreds of megabytes.
pub const MOST: usize = 100_000;

/// The columns before and after the times.
const BEFORE: [&str; 5] = ["method", "dial", "state", "calls", "per second"];
const NOTE: &str = "note";

/// Returns whether a column has numbers, which are right-aligned.
fn is_number(column: usize, columns: usize) -> bool {
    (3..columns - 1).contains(&column)
}

/// Returns the selected rows, or all rows if none is selected, as text; and their number.
pub fn table(lines: VisibleRows<'_>, form: CopyFormat) -> (String, usize) {
    let own = lines.own.table();
    let timed = own.live.is_timed();
    let rows: Vec<Vec<String>> =
        methods(lines).into_iter().map(|method| row(own, method, timed, form)).collect();
    (write(&heads(timed, form), &rows, form), rows.len())
}

fn methods(lines: VisibleRows<'_>) -> Vec<MethodIx> {
    let picked = &lines.list.table().selection;
    let any = !picked.is_empty();
    let all = (0..lines.len()).filter_map(|place| lines.at(place));
    all.filter(|line| !any || picked.contains(line.row))
        .filter_map(|line| match line.node {
            Some(Node::Method(method)) => Some(method),
            _ => None,
        })
        .take(MOST)
        .collect()
}

fn times(timed: bool) -> impl Iterator<Item = TimeColumn> {
    TimeColumn::ALL.into_iter().filter(move |_| timed)
}

/// Returns the column headers. For programs (CSV) durations are whole numbers, so the header names the unit.
fn heads(timed: bool, form: CopyFormat) -> Vec<String> {
    let head = |column: TimeColumn| match form {
        CopyFormat::Csv if column.is_duration() => format!("{} ns", column.name()),
        _ => column.name().to_owned(),
    };
    let before = BEFORE.into_iter().map(str::to_owned);
    before.chain(times(timed).map(head)).chain([NOTE.to_owned()]).collect()
}

fn row(table: &MethodTable, method: MethodIx, timed: bool, form: CopyFormat) -> Vec<String> {
    let dial = table.dial(method);
    let (mut calls, mut rate, mut note) = (String::new(), String::new(), String::new());
    if let Some(row) = dial.row {
        calls = row.shown_calls().to_string();
        rate = row.counted_rate().map(|rate| format!("{rate:.1}")).unwrap_or_default();
        let notes = row_notes::notes(row.note, row.times_note.as_deref(), Reader::Window);
        note = notes.unwrap_or_default();
    }
    let state = match dial.row {
        Some(_) => dial.state.word(),
        None if dial.bodyless.is_some() => "no body",
        None => "",
    };
    let known = dial.row.and_then(LiveRow::shown_times);
    let cell = |column: TimeColumn| match form {
        CopyFormat::Csv => column.number(known?).map(|number| number.to_string()),
        CopyFormat::Text | CopyFormat::Markdown => column.cell(known?),
    };
    let times = times(timed).map(|column| cell(column).unwrap_or_default());
    let before = [table.catalogue.pattern(method), dial.wanted.to_string(), state.to_owned(), calls, rate];
    before.into_iter().chain(times).chain([note]).collect()
}

fn write(heads: &[String], rows: &[Vec<String>], form: CopyFormat) -> String {
    let all = std::iter::once(heads).chain(rows.iter().map(Vec::as_slice));
    match form {
        CopyFormat::Csv => table_formats::csv(all),
        CopyFormat::Markdown => {
            let columns = heads.len();
            table_formats::markdown(heads, rows.iter().map(Vec::as_slice), |column| {
                is_number(column, columns)
            })
        }
        CopyFormat::Text => {
            let cells = |column: usize| all.clone().filter_map(move |row| row.get(column));
            let width = |column: usize| cells(column).map(|cell| text_columns(cell)).max().unwrap_or(0);
            let widths: Vec<usize> = (0..heads.len()).map(width).collect();
            all.map(|row| {
                let mut line = String::new();
                for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                    let space = width - text_columns(cell);
                    let right = is_number(column, widths.len());
                    let (before, after) = if right { (space, 0) } else { (0, space) };
                    line.push_str(&" ".repeat(before));
                    line.push_str(cell);
                    line.push_str(&" ".repeat(after + 2));
                }
                line.trim_end().to_owned() + "\n"
            })
            .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = ["Shop!A.B(int, string)", "count", "live", "12", "3.5", "a|b"].map(str::to_owned);
        vec![row.to_vec()]
    }

    fn write(rows: &[Vec<String>], form: CopyFormat) -> String {
        super::write(&heads(false, form), rows, form)
    }

    #[test]
    fn times_stand_before_the_note() {
        let mut row = rows().remove(0);
        row.splice(5..5, TimeColumn::ALL.map(|column| format!("{}!", column.name())));
        let text = super::write(&heads(true, CopyFormat::Text), &[row.clone()], CopyFormat::Text);
        let [head, line] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(head.find("p50").map(|at| at + 3), line.find("p50!").map(|at| at + 4), "{text}");
        let csv = super::write(&heads(true, CopyFormat::Csv), &[], CopyFormat::Csv);
        assert!(
            csv.contains(",per second,p50 ns,") && csv.ends_with(",exceptions,in flight,note\r\n"),
            "{csv}"
        );
        let markdown = super::write(&heads(true, CopyFormat::Markdown), &[row], CopyFormat::Markdown);
        assert!(markdown.contains("|---|---|---|---:|---:|---:|"), "{markdown}");
        assert!(markdown.contains("in flight! | a\\|b |"), "{markdown}");
    }

    #[test]
    fn each_form_is_well_formed() {
        let csv = write(&rows(), CopyFormat::Csv);
        assert_eq!(
            csv,
            "method,dial,state,calls,per second,note\r\n\"Shop!A.B(int, string)\",count,live,12,3.5,a|b\r\n"
        );
        let markdown = write(&rows(), CopyFormat::Markdown);
        assert!(
            markdown.contains("| Shop!A.B(int, string) | count | live | 12 | 3.5 | a\\|b |\n"),
            "{markdown}"
        );
        let text = write(&rows(), CopyFormat::Text);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "method                 dial   state  calls  per second  note");
        assert_eq!(lines[1], "Shop!A.B(int, string)  count  live      12         3.5  a|b");
    }
}
