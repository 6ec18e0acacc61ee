//! Tables for the clipboard: exactly what is shown, with full names that are patterns.

use crate::commands::Form;
use crate::model::connection::Connection;
use crate::model::ids::{MethodIx, Node};
use crate::output::words;

/// Rows copied at most: a clipboard of hundreds of megabytes helps nobody.
pub const MOST: usize = 100_000;

const HEADS: [&str; 6] = ["method", "dial", "state", "calls", "per second", "note"];

/// The selected rows, or all that are shown when fewer than two are selected; and how many there are.
pub fn table(connection: &Connection, form: Form) -> (String, usize) {
    let rows: Vec<[String; 6]> =
        methods(connection).into_iter().map(|method| row(connection, method)).collect();
    (write(&rows, form), rows.len())
}

fn methods(connection: &Connection) -> Vec<MethodIx> {
    let all = (0..connection.row_count()).filter_map(|place| connection.row_at(place));
    let several = connection.selection.len() > 1;
    let wanted = all.filter(|node| !several || connection.selection.contains(*node));
    wanted
        .filter_map(|node| match node {
            Node::Method(method) => Some(method),
            _ => None,
        })
        .take(MOST)
        .collect()
}

fn row(connection: &Connection, method: MethodIx) -> [String; 6] {
    let dial = connection.dial(method);
    let (mut calls, mut rate, mut note) = (String::new(), String::new(), String::new());
    if let Some(row) = dial.row {
        calls = row.calls.to_string();
        rate = row.counted_rate().map(|rate| format!("{rate:.1}")).unwrap_or_default();
        let notes = words::notes(row.note.as_deref(), row.times_note.as_deref());
        note = notes.unwrap_or_default().into_owned();
    }
    let state = match dial.row {
        Some(_) => dial.state.word(),
        None if dial.bodyless.is_some() => "no body",
        None => "",
    };
    [connection.catalogue.pattern(method), dial.wanted.to_string(), state.to_owned(), calls, rate, note]
}

fn write(rows: &[[String; 6]], form: Form) -> String {
    let heads = HEADS.map(str::to_owned);
    let all = std::iter::once(&heads).chain(rows);
    match form {
        Form::Csv => all.map(|row| row.each_ref().map(|cell| quoted(cell)).join(",") + "\r\n").collect(),
        Form::Markdown => {
            let line = |row: &[String; 6]| {
                format!("| {} |\n", row.each_ref().map(|cell| cell.replace('|', "\\|")).join(" | "))
            };
            let rule = "|---|---|---|---:|---:|---|\n";
            std::iter::once(line(&heads) + rule).chain(rows.iter().map(line)).collect()
        }
        Form::Text => {
            let width = |column: usize| {
                std::iter::once(&heads).chain(rows).map(|row| row[column].chars().count()).max().unwrap_or(0)
            };
            let widths: [usize; 6] = std::array::from_fn(width);
            all.map(|row| {
                let mut line = String::new();
                for (column, cell) in row.iter().enumerate() {
                    let space = widths[column] - cell.chars().count();
                    let right = (3..5).contains(&column);
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

/// A field of RFC 4180.
fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<[String; 6]> {
        vec![["Shop!A.B(int, string)", "count", "live", "12", "3.5", "a|b"].map(str::to_owned)]
    }

    #[test]
    fn each_form_is_well_formed() {
        let csv = write(&rows(), Form::Csv);
        assert_eq!(
            csv,
            "method,dial,state,calls,per second,note\r\n\"Shop!A.B(int, string)\",count,live,12,3.5,a|b\r\n"
        );
        let markdown = write(&rows(), Form::Markdown);
        assert!(
            markdown.contains("| Shop!A.B(int, string) | count | live | 12 | 3.5 | a\\|b |\n"),
            "{markdown}"
        );
        let text = write(&rows(), Form::Text);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "method                 dial   state  calls  per second  note");
        assert_eq!(lines[1], "Shop!A.B(int, string)  count  live      12         3.5  a|b");
    }
}
