//! The columns about the completion of async calls: names and formats.

use super::words;
use redial_protocol::times::{Completions, Times};

/// A column about completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionColumn {
    /// The calls that completed.
    Completed,
    /// The calls that have not completed.
    InFlight,
    /// The mean latency to completion.
    Mean,
}

impl CompletionColumn {
    /// All columns, in table order.
    pub const ALL: [CompletionColumn; 3] =
        [CompletionColumn::Completed, CompletionColumn::InFlight, CompletionColumn::Mean];

    /// Returns the name of the column.
    pub fn name(self) -> &'static str {
        match self {
            CompletionColumn::Completed => "completed",
            CompletionColumn::InFlight => "not completed",
            CompletionColumn::Mean => "mean to completion",
        }
    }

    /// Explains the column, as a clause that starts in lower case.
    pub fn meaning(self) -> &'static str {
        match self {
            CompletionColumn::Completed => {
                "async calls that completed: with a result, with an exception, or cancelled"
            }
            CompletionColumn::InFlight => "async calls that have started and not completed",
            CompletionColumn::Mean => {
                "mean latency of async calls to completion: exact when all have completed, otherwise including the time that \
                 the others have taken so far"
            }
        }
    }

    /// Returns the cell, or `None` if the value is not known yet.
    pub fn cell(self, completions: &Completions) -> Option<String> {
        match self {
            CompletionColumn::Completed => Some(words::grouped(completions.completions)),
            CompletionColumn::InFlight => Some(words::grouped(completions.in_flight)),
            CompletionColumn::Mean => completions.mean_ns().map(words::duration),
        }
    }
}

/// Formats the known values as a list; `None` for methods that are not async.
pub fn in_words(times: &Times) -> Option<String> {
    let completions = times.completions?;
    let value = |column: CompletionColumn| Some(format!("{} {}", column.name(), column.cell(&completions)?));
    Some(CompletionColumn::ALL.into_iter().filter_map(value).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::times;

    #[test]
    fn lists_known_values() {
        let of = |completions, waited_ns| {
            let completions = Completions { starts: 9, completions, in_flight: 4, before: 0, waited_ns };
            in_words(&Times { completions: Some(completions), ..times(0) })
        };
        assert_eq!(
            of(5, 10_000_000).as_deref(),
            Some("completed 5, not completed 4, mean to completion 2.00 ms")
        );
        assert_eq!(of(0, 77).as_deref(), Some("completed 0, not completed 4"));
        assert_eq!(in_words(&times(0)), None);
    }
}
