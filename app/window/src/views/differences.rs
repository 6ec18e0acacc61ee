//! Side by side, the numbers of a method that stand out among the processes on screen.

use super::columns::Columns;
use crate::settings::columns::TableColumn;
use redial_model::ids::Node;
use redial_model::live::LiveRow;
use redial_model::method_table::MethodTable;
use redial_model::visible_rows::VisibleRows;

/// A number stands out if it is at least this many times the smallest.
const RATIO: f64 = 1.5;
/// Least difference of counts and rates, and of times in nanoseconds, which chance does not explain.
const COUNTS: f64 = 10.0;
const TIMES: f64 = 100.0;

/// What the mark means, to append to the description of a column.
pub const MEANING: &str = "\nMarked where a process has the largest number, at least 1.5 times the smallest.";

/// Returns the columns in which the method has the largest number of all processes on screen, clearly above the
/// smallest. `others`: the rows of the other processes, in which the method stands at `place`.
pub fn standing_out(
    columns: &Columns,
    node: Node,
    (table, others, place): (&MethodTable, &[VisibleRows<'_>], usize),
) -> Vec<TableColumn> {
    if others.is_empty() {
        return Vec::new();
    }
    let Some(own) = single(table, node) else { return Vec::new() };
    let others: Vec<&LiveRow> =
        others.iter().filter_map(|lines| single(lines.own.table(), lines.at(place)?.node?)).collect();
    let shown = columns.shown().iter().map(|(column, _)| *column);
    shown
        .filter(|column| {
            let others = others.iter().filter_map(|row| number(row, *column));
            number(own, *column).is_some_and(|own| stands_out(*column, own, others))
        })
        .collect()
}

/// Returns the numbers of a method that stands for no other copies.
fn single(table: &MethodTable, node: Node) -> Option<&LiveRow> {
    let Node::Method(method) = node else { return None };
    table.live.of_method(method).filter(|_| table.merged(method).is_none())
}

fn number(row: &LiveRow, column: TableColumn) -> Option<f64> {
    match column {
        TableColumn::Calls => Some(row.shown_calls() as f64),
        TableColumn::Rate => row.counted_rate().map(f64::from),
        TableColumn::Time(time) => time.number(row.shown_times()?).map(|number| number as f64),
        TableColumn::State | TableColumn::Share | TableColumn::Spark => None,
    }
}

fn stands_out(column: TableColumn, own: f64, others: impl Iterator<Item = f64>) -> bool {
    let bounds = others.fold(None, |bounds: Option<(f64, f64)>, other| {
        let (least, most) = bounds.unwrap_or((other, other));
        Some((least.min(other), most.max(other)))
    });
    let apart = match column {
        TableColumn::Time(time) if time.is_duration() => TIMES,
        TableColumn::Time(_) => 1.0,
        _ => COUNTS,
    };
    bounds.is_some_and(|(least, most)| own >= most && own >= least * RATIO && own - least >= apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_text::times::TimeColumn;

    #[test]
    fn only_the_largest_of_clearly_different_numbers_stands_out() {
        let calls = |own: f64, others: &[f64]| stands_out(TableColumn::Calls, own, others.iter().copied());
        assert!(calls(150.0, &[100.0]) && calls(150.0, &[100.0, 150.0]));
        assert!(!calls(149.0, &[100.0]), "less than one and a half times");
        assert!(!calls(150.0, &[100.0, 151.0]), "another is larger");
        assert!(!calls(9.0, &[1.0]) && calls(11.0, &[0.0]), "few calls differ by chance");
        assert!(!calls(1_000.0, &[]), "nothing to compare with");
    }

    #[test]
    fn times_and_exceptions_have_their_own_least_difference() {
        let p99 = TableColumn::Time(TimeColumn::P99);
        assert!(stands_out(p99, 300.0, [150.0].into_iter()) && !stands_out(p99, 40.0, [20.0].into_iter()));
        let exceptions = TableColumn::Time(TimeColumn::Exceptions);
        assert!(
            stands_out(exceptions, 1.0, [0.0].into_iter()) && !stands_out(exceptions, 0.0, [0.0].into_iter())
        );
    }
}
