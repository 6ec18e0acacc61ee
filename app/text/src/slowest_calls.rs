//! Wording of a method's slowest calls.

use super::words;
use redial_protocol::order::TimeOptions;
use redial_protocol::slowest_calls::{RowSlowestCalls, SlowCall};

/// Describes the kept calls: `calls that take longer than 10 ms`.
pub fn condition(options: &TimeOptions) -> String {
    match (options.slower_than_ns.map(words::round_duration), options.failed_only) {
        (None, false) => "no calls".to_owned(),
        (Some(than), false) => format!("calls that take longer than {than}"),
        (None, true) => "calls that end with an exception".to_owned(),
        (Some(than), true) => format!("calls that take longer than {than} and end with an exception"),
    }
}

/// Returns how many calls met the condition and how many are kept.
pub fn summary(options: &TimeOptions, kept: &RowSlowestCalls) -> String {
    let which = condition(options);
    let listed = kept.calls.len() as u64;
    let missed = match kept.missed {
        0 => String::new(),
        missed => format!("; {} more were not recorded", words::grouped(missed)),
    };
    match (kept.met, listed) {
        (0, _) => none_yet(options),
        (met, 0) => format!("{which}: {}, none in the last five minutes{missed}", words::grouped(met)),
        (met, listed) if met == listed => format!("{which}: {}{missed}", words::grouped(met)),
        (met, listed) => {
            format!("{which}: {}, the {listed} longest of the last minutes{missed}", words::grouped(met))
        }
    }
}

/// Returns the summary of a condition that no call has met.
pub fn none_yet(options: &TimeOptions) -> String {
    format!("{}: none so far", condition(options))
}

/// Returns the outcome of a call: its exception, or `returned`.
pub fn outcome(call: &SlowCall) -> &str {
    match (&call.exception, call.failed) {
        (Some(exception), _) => exception,
        (None, true) => "an exception of unknown type",
        (None, false) => "returned",
    }
}

/// Names the thread of a call: `thread 4711`.
pub fn thread(call: &SlowCall) -> String {
    match call.thread {
        0 => "thread unknown".to_owned(),
        number => format!("thread {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::RowId;

    #[test]
    fn summaries_count_calls_that_are_not_listed() {
        let options = TimeOptions { slower_than_ns: Some(10_000_000), ..TimeOptions::default() };
        let call = |exception: Option<&str>, failed| SlowCall {
            ended_unix_ms: 0,
            took_ns: 1,
            thread: 0,
            failed,
            exception: exception.map(str::to_owned),
            stack: vec![],
        };
        let kept = |calls: usize, met, missed| {
            summary(
                &options,
                &RowSlowestCalls { row: RowId(0), calls: vec![call(None, false); calls], met, missed },
            )
        };
        assert_eq!(kept(0, 0, 0), "calls that take longer than 10 ms: none so far");
        assert_eq!(kept(0, 3, 0), "calls that take longer than 10 ms: 3, none in the last five minutes");
        assert_eq!(kept(3, 3, 0), "calls that take longer than 10 ms: 3");
        assert!(
            kept(16, 1_234, 2)
                .ends_with("1,234, the 16 longest of the last minutes; 2 more were not recorded")
        );
        let both = TimeOptions { failed_only: true, ..options };
        assert_eq!(condition(&both), "calls that take longer than 10 ms and end with an exception");
        let ended = [call(None, false), call(None, true), call(Some("A.B"), true)];
        assert_eq!(ended.each_ref().map(outcome), ["returned", "an exception of unknown type", "A.B"]);
        assert_eq!(thread(&ended[0]), "thread unknown");
    }
}
