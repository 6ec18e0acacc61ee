//! Orders: what a user wants, of which copies, and for how long.

use crate::duration;
use crate::level::Level;
use crate::message::Holder;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// One line of a dial set: what the user wants of the copies a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Order {
    /// The pattern as typed (`pattern::Pattern` parses it).
    pub pattern: String,
    /// The level wanted.
    pub level: Level,
    /// AppDomain name prefix; absent: every domain.
    pub domain: Option<String>,
    /// ModuleID of the one copy meant; absent: every copy.
    pub copy: Option<u64>,
    /// Where one copy of a module serves several AppDomains: dial it for all of them, though `domain` names one.
    pub all_domains: bool,
    /// What is asked for beyond times, where the level has them.
    pub options: TimeOptions,
}

/// What of timed calls is asked for beyond their times. Each of it is evaluated in the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeOptions {
    /// Keep the worst of the calls that take longer, nanoseconds.
    pub slower_than_ns: Option<u64>,
    /// Keep the worst of the calls that end by an exception; with `slower_than_ns`, of those that took longer.
    pub failed_only: bool,
    /// Count who calls, and how often.
    pub callers: bool,
}

impl TimeOptions {
    /// Whether the worst calls are kept: there is a condition for it.
    pub fn keeps_calls(&self) -> bool {
        self.slower_than_ns.is_some() || self.failed_only
    }

    /// Whether nothing is asked for.
    pub fn is_none(&self) -> bool {
        *self == TimeOptions::default()
    }

    /// These and those, the others' threshold where both have one.
    pub fn with(self, others: TimeOptions) -> TimeOptions {
        TimeOptions {
            slower_than_ns: others.slower_than_ns.or(self.slower_than_ns),
            failed_only: self.failed_only || others.failed_only,
            callers: self.callers || others.callers,
        }
    }
}

/// As they follow a level in a dial set, with spaces in between.
impl Display for TimeOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let threshold = self.slower_than_ns.map(|ns| format!("{SLOWER_THAN}{}", duration::word(ns)));
        let failed = self.failed_only.then(|| FAILED_ONLY.to_owned());
        let callers = self.callers.then(|| CALLERS.to_owned());
        let words: Vec<String> = [threshold, failed, callers].into_iter().flatten().collect();
        f.write_str(&words.join(" "))
    }
}

/// Begins the word for a threshold.
pub(crate) const SLOWER_THAN: &str = "slower-than=";
/// The word for [`TimeOptions::failed_only`].
pub(crate) const FAILED_ONLY: &str = "failed-only";
/// The word for [`TimeOptions::callers`].
pub(crate) const CALLERS: &str = "callers";

impl Order {
    /// An order for every copy, in every domain.
    pub fn new(pattern: impl Into<String>, level: Level) -> Order {
        Order {
            pattern: pattern.into(),
            level,
            domain: None,
            copy: None,
            all_domains: false,
            options: TimeOptions::default(),
        }
    }
}

/// How long orders stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stand {
    /// Until the session that set them ends.
    Held,
    /// Until turned off.
    Kept,
    /// Until turned off, or until this time has passed.
    KeptFor {
        /// Milliseconds.
        ms: u64,
    },
}

/// An order that stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingOrder {
    /// The order.
    pub order: Order,
    /// How long it still stands.
    pub stand: Stand,
    /// The user (a name or uid) who set it; empty for orders of the launcher.
    pub user: String,
    /// The program that set it. Its session may have ended, unless the order is held.
    pub by: Holder,
}
