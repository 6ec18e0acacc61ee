//! The worst calls of a method, in words.
#![forbid(unsafe_code)]

use super::words;
use redial_protocol::calls::{KeptCall, RowCalls};
use redial_protocol::order::TimeOptions;

/// Which calls are kept: `calls that take longer than 10 ms`.
pub fn which(options: &TimeOptions) -> String {
    match (options.slower_than_ns.map(words::round_duration), options.failed_only) {
        (None, false) => "no calls".to_owned(),
        (Some(than), false) => format!("calls that take longer than {than}"),
        (None, true) => "calls that end by an exception".to_owned(),
        (Some(than), true) => format!("calls that take longer than {than} and end by an exception"),
    }
}

/// How many there were, and how many are told.
pub fn summary(options: &TimeOptions, kept: &RowCalls) -> String {
    let which = which(options);
    let told = kept.calls.len() as u64;
    let missed = match kept.missed {
        0 => String::new(),
        missed => format!("; {} more could not be written down", words::grouped(missed)),
    };
    match (kept.met, told) {
        (0, _) => format!("{which}: none so far"),
        (met, 0) => format!("{which}: {}, none in the last five minutes{missed}", words::grouped(met)),
        (met, told) if met == told => format!("{which}: {}{missed}", words::grouped(met)),
        (met, told) => {
            format!("{which}: {}, the {told} longest of the last minutes{missed}", words::grouped(met))
        }
    }
}

/// How a call ended.
pub fn outcome(call: &KeptCall) -> &str {
    match (&call.exception, call.failed) {
        (Some(exception), _) => exception,
        (None, true) => "an exception of unknown type",
        (None, false) => "returned",
    }
}

/// Its thread: `thread 4711`.
pub fn thread(call: &KeptCall) -> String {
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
    fn lists_say_what_they_leave_out() {
        let options = TimeOptions { slower_than_ns: Some(10_000_000), ..TimeOptions::default() };
        let call = |exception: Option<&str>, failed| KeptCall {
            ended_unix_ms: 0,
            took_ns: 1,
            thread: 0,
            failed,
            exception: exception.map(str::to_owned),
        };
        let kept = |calls: usize, met, missed| {
            summary(&options, &RowCalls { row: RowId(0), calls: vec![call(None, false); calls], met, missed })
        };
        assert_eq!(kept(0, 0, 0), "calls that take longer than 10 ms: none so far");
        assert_eq!(kept(0, 3, 0), "calls that take longer than 10 ms: 3, none in the last five minutes");
        assert_eq!(kept(3, 3, 0), "calls that take longer than 10 ms: 3");
        assert!(
            kept(16, 1_234, 2)
                .ends_with("1,234, the 16 longest of the last minutes; 2 more could not be written down")
        );
        let both = TimeOptions { failed_only: true, ..options };
        assert_eq!(which(&both), "calls that take longer than 10 ms and end by an exception");
        let ended = [call(None, false), call(None, true), call(Some("A.B"), true)];
        assert_eq!(ended.each_ref().map(outcome), ["returned", "an exception of unknown type", "A.B"]);
        assert_eq!(thread(&ended[0]), "thread unknown");
    }
}
