//! Side by side, the numbers of a method that stand out among the processes on screen.

use super::columns::Columns;
use crate::settings::columns::TableColumn;
use redial_model::ids::Node;
use redial_model::live::LiveRow;
use redial_model::method_table::MethodTable;
use redial_model::subject::Subject;
use redial_model::visible_rows::VisibleRows;
use redial_text::times::TimeColumn;

/// A number stands out from this ratio to the smallest on, and fully from the second. In between the mark grows, so that
/// a number at the limit does not blink.
const RATIOS: (f64, f64) = (1.25, 2.0);
/// Least difference of counts and rates, and of times in nanoseconds.
const COUNTS: f64 = 10.0;
const TIMES: f64 = 100.0;
/// Differences of counts and rates below this many standard deviations may be chance.
const DEVIATIONS: f64 = 3.0;

/// Explains the mark; to append to the description of a column.
pub const MEANING: &str = "\nMarked where a process has the largest number, clearly above the smallest.";

/// Returns whether the numbers of a column are compared. Calls in flight change too fast for it.
pub fn is_compared(column: TableColumn) -> bool {
    match column {
        TableColumn::Calls | TableColumn::Rate => true,
        TableColumn::Time(time) => time != TimeColumn::InFlight,
        TableColumn::State | TableColumn::Share | TableColumn::Spark => false,
    }
}

/// Returns the columns in which the method has the largest number of all processes on screen, clearly above the
/// smallest, with how much each stands out, from 0 to 1. None if a process has several copies of the method.
/// `others`: the rows of the other processes, in which the method is at `place`.
pub fn standing_out(
    columns: &Columns,
    node: Node,
    (subject, others, place): (Subject<'_>, &[VisibleRows<'_>], usize),
) -> Vec<(TableColumn, f32)> {
    if others.is_empty() {
        return Vec::new();
    }
    let Some(own) = Numbers::of(subject, node) else { return Vec::new() };
    let mut compared = Vec::with_capacity(others.len());
    for lines in others {
        let Some(node) = lines.at(place).and_then(|line| line.node) else { continue };
        if let Node::Method(method) = node
            && lines.own.table().merged(method).is_some()
        {
            return Vec::new();
        }
        compared.extend(Numbers::of(lines.own, node));
    }
    let shown = columns.shown().iter().map(|(column, _)| *column).filter(|column| is_compared(*column));
    let marked = shown.filter_map(|column| {
        let others = compared.iter().filter_map(|numbers| numbers.number(column));
        let strength = strength(column, own.number(column)?, others);
        (strength > 0.0).then_some((column, strength))
    });
    marked.collect()
}

/// The numbers of one method in one process.
struct Numbers<'a> {
    row: &'a LiveRow,
    /// Without a connection the rate is unknown.
    is_connected: bool,
}

impl<'a> Numbers<'a> {
    /// Returns the numbers of a method that stands for no other copies.
    fn of(subject: Subject<'a>, node: Node) -> Option<Numbers<'a>> {
        let Node::Method(method) = node else { return None };
        let table: &MethodTable = subject.table();
        let row = table.live.of_method(method).filter(|_| table.merged(method).is_none())?;
        Some(Numbers { row, is_connected: subject.obstacle().is_none() })
    }

    fn number(&self, column: TableColumn) -> Option<f64> {
        match column {
            TableColumn::Calls => Some(self.row.shown_calls() as f64),
            TableColumn::Rate => self.row.counted_rate().filter(|_| self.is_connected).map(f64::from),
            TableColumn::Time(time) => time.number(self.row.shown_times()?).map(|number| number as f64),
            TableColumn::State | TableColumn::Share | TableColumn::Spark => None,
        }
    }
}

/// Returns how much a number stands out among the others, from 0 to 1.
fn strength(column: TableColumn, own: f64, others: impl Iterator<Item = f64>) -> f32 {
    let bounds = others.fold(None, |bounds: Option<(f64, f64)>, other| {
        let (least, most) = bounds.unwrap_or((other, other));
        Some((least.min(other), most.max(other)))
    });
    let Some((least, most)) = bounds else { return 0.0 };
    let apart = match column {
        TableColumn::Time(time) if time.is_duration() => TIMES,
        TableColumn::Time(_) => 1.0,
        _ => COUNTS.max(DEVIATIONS * own.max(0.0).sqrt()),
    };
    if own < most || own - least < apart {
        return 0.0;
    }
    let (from, full) = RATIOS;
    if own >= least * full { 1.0 } else { ((own / least - from) / (full - from)).max(0.0) as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_largest_of_clearly_different_numbers_stands_out() {
        let calls = |own: f64, others: &[f64]| strength(TableColumn::Calls, own, others.iter().copied());
        assert_eq!((calls(200.0, &[100.0]), calls(200.0, &[100.0, 200.0])), (1.0, 1.0));
        assert_eq!(calls(1_250.0, &[1_000.0]), 0.0);
        assert!((0.3..0.4).contains(&calls(1_500.0, &[1_000.0])), "a third of the way");
        assert_eq!(calls(200.0, &[100.0, 201.0]), 0.0, "another is larger");
        assert_eq!((calls(30.0, &[20.0]), calls(9.0, &[1.0])), (0.0, 0.0), "few calls differ by chance");
        assert_eq!(calls(11.0, &[0.0]), 1.0);
        assert_eq!(calls(1_000.0, &[]), 0.0, "nothing to compare with");
    }

    #[test]
    fn times_and_exceptions_have_their_own_least_difference() {
        let of = |time, own, other| strength(TableColumn::Time(time), own, [other].into_iter());
        assert_eq!((of(TimeColumn::P99, 300.0, 150.0), of(TimeColumn::P99, 40.0, 20.0)), (1.0, 0.0));
        assert_eq!((of(TimeColumn::Exceptions, 1.0, 0.0), of(TimeColumn::Exceptions, 0.0, 0.0)), (1.0, 0.0));
    }
}
