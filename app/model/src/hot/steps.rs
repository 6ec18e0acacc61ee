//! The progress of a search for hot methods.

use super::report::HotReport;
use redial_text::words;

/// A step of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HotStep {
    /// Dials are being turned.
    Turning {
        /// Copies so far.
        done: u64,
        /// All copies.
        total: u64,
    },
    /// Calls are counted.
    Counting {
        /// Methods.
        methods: u64,
        /// Milliseconds that this takes.
        ms: u64,
    },
    /// Calls are timed.
    Timing {
        /// Methods.
        methods: u64,
        /// Milliseconds that this takes.
        ms: u64,
    },
    /// The search was cancelled; its dials go off.
    Reverting,
}

/// News of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum HotUpdate {
    /// A step began or went on.
    Step(HotStep),
    /// The search is complete.
    Found(Box<HotReport>),
    /// It was cancelled, and its dials are off again.
    Cancelled,
    /// It failed; the reason, as a sentence.
    Failed(String),
}

impl HotStep {
    /// Returns the text for a log or status bar.
    pub fn sentence(&self) -> String {
        let time = |ms: &u64| words::short_time(ms.saturating_mul(1_000));
        match self {
            HotStep::Turning { done, total } => {
                format!("dialling {} of {}", words::grouped(*done), words::methods(*total))
            }
            HotStep::Counting { methods, ms } => {
                format!("counting the calls of {} for {}", words::methods(*methods), time(ms))
            }
            HotStep::Timing { methods, ms } => {
                format!("timing {} for {}", words::methods(*methods), time(ms))
            }
            HotStep::Reverting => "turning the dials off again".to_owned(),
        }
    }
}
