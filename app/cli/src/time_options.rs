//! Options of `redial dial` at level time.

use clap::Args;
use redial_protocol::duration;
use redial_protocol::order::TimeOptions;

/// Options that need level time.
#[derive(Debug, Default, Args)]
pub struct TimeArguments {
    /// With level time: keep the slowest calls that take longer than DURATION (500us, 10ms, 2s)
    #[arg(long, value_name = "DURATION", value_parser = duration::parse_threshold)]
    slower_than: Option<u64>,
    /// With level time: keep the slowest calls that end with an exception
    #[arg(long)]
    failed_only: bool,
    /// With level time: count calls by caller
    #[arg(long)]
    callers: bool,
    /// Capture the callers of calls, up to 32: with level trace of each call, with level time of the slowest calls
    #[arg(long)]
    stack: bool,
}

impl TimeArguments {
    /// Returns the options in their wire form.
    pub fn options(&self) -> TimeOptions {
        let TimeArguments { slower_than, failed_only, callers, stack } = *self;
        TimeOptions { slower_than_ns: slower_than, failed_only, callers, stack, ..TimeOptions::default() }
    }

    /// Returns the options as typed, for messages.
    pub fn flags(&self) -> String {
        let threshold = self.slower_than.map(|ns| format!("--slower-than {}", duration::format(ns)));
        let failed = self.failed_only.then(|| "--failed-only".to_owned());
        let callers = self.callers.then(|| "--callers".to_owned());
        let stack = self.stack.then(|| "--stack".to_owned());
        [threshold, failed, callers, stack].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
