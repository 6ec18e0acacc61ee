//! What a dial at level time asks for beyond times, as it is typed.

use clap::Args;
use redial_protocol::duration;
use redial_protocol::order::TimeOptions;

/// Options of `dial`.
#[derive(Debug, Default, Args)]
pub struct Beyond {
    /// With level time: keep the worst of the calls that take longer than DURATION (500us, 10ms, 2s)
    #[arg(long, value_name = "DURATION", value_parser = duration::threshold)]
    slower_than: Option<u64>,
    /// With level time: keep the worst of the calls that end by an exception
    #[arg(long)]
    failed_only: bool,
    /// With level time: count who calls, and how often
    #[arg(long)]
    callers: bool,
}

impl Beyond {
    /// As they travel.
    pub fn options(&self) -> TimeOptions {
        let Beyond { slower_than, failed_only, callers } = *self;
        TimeOptions { slower_than_ns: slower_than, failed_only, callers }
    }

    /// As they were typed.
    pub fn flags(&self) -> String {
        let threshold = self.slower_than.map(|ns| format!("--slower-than {}", duration::word(ns)));
        let failed = self.failed_only.then(|| "--failed-only".to_owned());
        let callers = self.callers.then(|| "--callers".to_owned());
        [threshold, failed, callers].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}
