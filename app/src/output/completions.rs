//! How calls of an async method complete, as columns: what each is called, and how it is written.
#![forbid(unsafe_code)]

use super::words;
use redial_protocol::times::{Completions, Times};

/// One of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionColumn {
    /// Calls that completed.
    Completed,
    /// Calls that have not.
    InFlight,
    /// The mean latency to completion.
    Mean,
}

impl CompletionColumn {
    /// All, in the order they stand in.
    pub const ALL: [CompletionColumn; 3] =
        [CompletionColumn::Completed, CompletionColumn::InFlight, CompletionColumn::Mean];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            CompletionColumn::Completed => "completed",
            CompletionColumn::InFlight => "not completed",
            CompletionColumn::Mean => "mean to completion",
        }
    }

    /// What it tells, as a sentence without its beginning.
    pub fn meaning(self) -> &'static str {
        match self {
            CompletionColumn::Completed => {
                "async calls that completed: with a result, by an exception, or cancelled"
            }
            CompletionColumn::InFlight => "async calls that have begun and not completed",
            CompletionColumn::Mean => {
                "mean latency of async calls to their completion: exact when all have completed, else with what the others have \
                 taken so far"
            }
        }
    }

    /// What stands in it; None where that is not known yet.
    pub fn cell(self, completions: &Completions) -> Option<String> {
        match self {
            CompletionColumn::Completed => Some(words::grouped(completions.completions)),
            CompletionColumn::InFlight => Some(words::grouped(completions.in_flight)),
            CompletionColumn::Mean => completions.mean_ns().map(words::duration),
        }
    }
}

/// What is known of them in a row of words; nothing of other methods.
pub fn in_words(times: &Times) -> Option<String> {
    let completions = times.completions?;
    let told = |column: CompletionColumn| Some(format!("{} {}", column.name(), column.cell(&completions)?));
    Some(CompletionColumn::ALL.into_iter().filter_map(told).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dials::tests::times;

    #[test]
    fn what_is_known_is_told() {
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
