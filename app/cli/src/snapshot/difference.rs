//! The difference between two snapshots as a table, CSV, Markdown or JSON.

use super::title::title;
use crate::arguments::TableForm;
use crate::output::Out;
use crate::output::json::DifferenceJson;
use crate::output::page::{LEAST_ROWS, Page};
use crate::output::table::{Table, name, number, text};
use redial_link::exit::Failure;
use redial_model::process_snapshot::{
    Change, MethodDifference, MethodSum, ProcessSnapshot, SnapshotDifference,
};
use redial_text::{table_formats, words};

/// The lines beside the rows: titles, headings, the number of rows left out, the summary and the prompt.
const BESIDE_ROWS: usize = 6;

/// Prints a difference, at most `limit` of its methods.
pub(super) fn print(
    (before, after): (&ProcessSnapshot, &ProcessSnapshot),
    difference: &SnapshotDifference,
    form: TableForm,
    out: &mut Out,
    limit: Option<u64>,
) -> Result<(), Failure> {
    let most = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    match form {
        TableForm::Json => out.json(&DifferenceJson::new(before, after, difference, most)),
        TableForm::Text => {
            let titles = [format!("before: {}", title(before)), format!("after: {}", title(after))];
            let lines = lines(titles, difference, &out.page(limit));
            lines.iter().try_for_each(|line| out.line(line))
        }
        _ => {
            let rows: Vec<&MethodDifference> = difference.methods.iter().take(most).collect();
            out.text(&export(&rows, form))
        }
    }
}

/// Formats a signed duration: `+1.20 s`.
fn signed_duration(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "+" };
    if ns == 0 { words::duration(0) } else { format!("{sign}{}", words::duration(ns.unsigned_abs())) }
}

/// Formats both sides: `1,234 → 5,678`, or one value if they are the same.
fn both<T: PartialEq>(before: Option<T>, after: Option<T>, word: impl Fn(T) -> String) -> String {
    if before == after {
        return after.map_or_else(|| "-".to_owned(), word);
    }
    let [before, after] = [before, after].map(|side| side.map_or_else(|| "-".to_owned(), &word));
    format!("{before} → {after}")
}

fn changes(one: &MethodDifference) -> String {
    one.changes.iter().map(|change| change.word()).collect::<Vec<_>>().join(", ")
}

fn lines(titles: [String; 2], difference: &SnapshotDifference, page: &Page) -> Vec<String> {
    let mut lines = titles.to_vec();
    let changed: Vec<&MethodDifference> = difference.changed().collect();
    if changed.is_empty() {
        let same = words::methods(difference.methods.len() as u64);
        lines.push(format!("no differences in {same}"));
        return lines;
    }
    let fitting = page.lines.map(|all| all.saturating_sub(BESIDE_ROWS).max(LEAST_ROWS));
    let most = fitting.or(page.limit).unwrap_or(usize::MAX).min(changed.len());
    let headings = [
        number("SELF TIME").at_least(7),
        text("CALLS").goes(1),
        text("MEAN").goes(0),
        text("CHANGE"),
        name("METHOD"),
    ];
    let mut table = Table::new(&headings);
    for one in changed.iter().take(most) {
        let calls = |side: Option<MethodSum>| side.map(|sum| sum.calls);
        let mean = |side: Option<MethodSum>| side.and_then(|sum| sum.mean_ns());
        table.row(vec![
            one.cost_ns().map_or_else(|| "-".to_owned(), signed_duration),
            both(calls(one.before), calls(one.after), words::grouped),
            both(mean(one.before), mean(one.after), words::duration),
            changes(one),
            one.method.to_string(),
        ]);
    }
    let mut drawn = table.lines(page.columns);
    if let Some(headings) = drawn.first_mut() {
        *headings = page.paint.heading(std::mem::take(headings));
    }
    lines.extend(drawn);
    let more = changed.len() - most;
    if more > 0 {
        let more = words::grouped(more as u64);
        lines.push(format!("… and {more} with a smaller difference; --limit N or a file has more"));
    }
    lines.push(page.paint.dim(summary(difference)));
    lines
}

/// Returns the number of methods for each kind of change: `1 slower, 2 called more, 40 unchanged`.
fn summary(difference: &SnapshotDifference) -> String {
    const ALL: [Change; 6] = [
        Change::Slower,
        Change::Faster,
        Change::CalledMore,
        Change::CalledLess,
        Change::Appeared,
        Change::Vanished,
    ];
    let counted = ALL.into_iter().map(|change| (difference.count(change), change.word()));
    let mut parts: Vec<String> = counted
        .filter(|(methods, _)| *methods > 0)
        .map(|(methods, word)| format!("{} {word}", words::grouped(methods)))
        .collect();
    let same = difference.methods.len() - difference.changed().count();
    parts.push(format!("{} unchanged", words::grouped(same as u64)));
    parts.join(", ")
}

/// Formats the rows for another program.
fn export(rows: &[&MethodDifference], form: TableForm) -> String {
    let is_csv = form == TableForm::Csv;
    let sides = ["calls", "self", "mean", "exceptions"];
    let unit = |name: &str| match is_csv && matches!(name, "self" | "mean") {
        true => format!("{name} ns"),
        false => name.to_owned(),
    };
    let both = sides.iter().flat_map(|name| ["before", "after"].map(|side| format!("{} {side}", unit(name))));
    let cost = if is_csv { "self time change ns" } else { "self time change" };
    let headings: Vec<String> =
        ["method", "change", cost].map(str::to_owned).into_iter().chain(both).collect();
    let time = |ns: u64| if is_csv { ns.to_string() } else { words::duration(ns) };
    let row = |one: &&MethodDifference| -> Vec<String> {
        let cost = one.cost_ns().map(|ns| if is_csv { ns.to_string() } else { signed_duration(ns) });
        let timed = |sum: MethodSum, ns: u64| sum.timed.then(|| time(ns));
        let values: [&dyn Fn(MethodSum) -> Option<String>; 4] = [
            &|sum| Some(sum.calls.to_string()),
            &|sum| timed(sum, sum.self_ns),
            &|sum| sum.mean_ns().map(time),
            &|sum| sum.timed.then(|| sum.exceptions.to_string()),
        ];
        let both = values.iter().flat_map(|value| [one.before, one.after].map(|side| side.and_then(value)));
        let first = [Some(one.method.to_string()), Some(changes(one)), cost];
        first.into_iter().chain(both).map(|cell| words::printable(&cell.unwrap_or_default())).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    match is_csv {
        true => table_formats::csv(std::iter::once(&headings).chain(&rows).map(Vec::as_slice)),
        false => table_formats::markdown(&headings, rows.iter().map(Vec::as_slice), |at| at > 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::dials::DialledCopies;
    use redial_model::fixtures::row;
    use redial_model::process_snapshot::SavedMethod;
    use redial_text::fixtures::times;

    fn snapshot(rows: &[(&str, u64, u64)]) -> ProcessSnapshot {
        let mut dials = DialledCopies::default();
        for (index, (name, calls, ns)) in (0..).zip(rows) {
            dials.rows(vec![row(index, name, *calls)]);
            let sums = redial_protocol::times::Times {
                exits: *calls,
                total_ns: *ns,
                self_ns: *ns,
                exceptions: 0,
                ..times(index)
            };
            dials.times(vec![sums]);
        }
        let methods = dials.iter().map(|dial| SavedMethod::of(dial, None)).collect();
        ProcessSnapshot { methods, ..ProcessSnapshot::default() }
    }

    fn compared() -> SnapshotDifference {
        let before = snapshot(&[("A.Slow", 10, 10_000), ("A.Same", 5, 50), ("A.Gone", 1, 900)]);
        let after = snapshot(&[("A.Slow", 10, 40_000), ("A.Same", 5, 50)]);
        SnapshotDifference::of(&before, &after)
    }

    #[test]
    fn lists_what_changed_by_its_cost() {
        let lines = lines(["before: a".into(), "after: b".into()], &compared(), &Page::default());
        assert_eq!(
            lines,
            [
                "before: a",
                "after: b",
                "SELF TIME  CALLS  MEAN               CHANGE    METHOD",
                " +30.0 µs  10     1.00 µs → 4.00 µs  slower    Shop!A.Slow()",
                "  -900 ns  1 → -  900 ns → -         vanished  Shop!A.Gone()",
                "1 slower, 1 vanished, 1 unchanged",
            ]
        );
        let one = snapshot(&[("A.Same", 5, 50)]);
        let none = SnapshotDifference::of(&one, &one);
        let lines = super::lines(["before: a".into(), "after: a".into()], &none, &Page::default());
        assert_eq!(lines[2], "no differences in 1 method");
    }

    #[test]
    fn exports_both_sides() {
        let difference = compared();
        let rows: Vec<&MethodDifference> = difference.methods.iter().take(2).collect();
        assert_eq!(
            export(&rows, TableForm::Csv),
            "method,change,self time change ns,calls before,calls after,self ns before,self ns after,mean ns before,mean ns \
             after,exceptions before,exceptions after\r\n\
             Shop!A.Slow(),slower,30000,10,10,10000,40000,1000,4000,0,0\r\n\
             Shop!A.Gone(),vanished,-900,1,,900,,900,,0,\r\n"
        );
        let markdown = export(&rows, TableForm::Markdown);
        assert!(
            markdown.contains("| Shop!A.Slow() | slower | +30.0 µs | 10 | 10 | 10.0 µs | 40.0 µs |"),
            "{markdown}"
        );
    }
}
