//! Orders: the level a user wants, for which copies, and for how long.

use crate::duration;
use crate::holder::Holder;
use crate::level::Level;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// One line of a dial set: the level wanted for the copies that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Order {
    /// The pattern as typed (`pattern::Pattern` parses it).
    pub pattern: String,
    /// Wanted level.
    pub level: Level,
    /// AppDomain name prefix; absent: every domain.
    pub domain: Option<String>,
    /// ModuleID of one copy; absent: every copy.
    pub copy: Option<u64>,
    /// Dials a shared copy of a module for all its AppDomains, even if `domain` names only one.
    pub all_domains: bool,
    /// Options for levels that time calls.
    pub options: TimeOptions,
    /// At level *trace*: the condition that captured calls meet, as typed (`condition::Condition` parses it).
    pub when: Option<String>,
}

/// Options for timed calls beyond their times. The agent evaluates all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeOptions {
    /// Record the slowest calls among those that take longer than this many nanoseconds.
    pub slower_than_ns: Option<u64>,
    /// Record the slowest calls that end with an exception; with `slower_than_ns`, only those that also took
    /// longer.
    pub failed_only: bool,
    /// Count calls by caller.
    pub callers: bool,
    /// At level *trace*: calls of the method that may be captured in a second, instead of the usual number.
    pub rate: Option<u32>,
    /// At level *trace*: objects within objects that are captured, at most [`crate::limits::MAX_CAPTURE_DEPTH`], instead
    /// of the usual number.
    pub depth: Option<u8>,
    /// Capture stacks: at level *trace* of each call, at level *time* of the slowest calls.
    pub stack: bool,
}

impl TimeOptions {
    /// Returns whether a condition is set, so that the agent records the slowest calls.
    pub fn keeps_calls(&self) -> bool {
        self.slower_than_ns.is_some() || self.failed_only
    }

    /// Returns whether no option is set.
    pub fn is_none(&self) -> bool {
        *self == TimeOptions::default()
    }

    /// Returns whether an option is set that means something at level *trace* only.
    pub fn needs_trace(&self) -> bool {
        self.rate.is_some() || self.depth.is_some()
    }

    /// Returns whether stacks are asked for, but no calls that could have one at level *time*.
    pub fn lacks_calls(&self) -> bool {
        self.stack && !self.keeps_calls()
    }

    /// Returns the options that mean something at a level: at *time*, those of *trace* are left out, and below *time* all.
    pub fn at(self, level: Level) -> TimeOptions {
        match level {
            Level::Off | Level::Count => TimeOptions::default(),
            Level::Time => {
                TimeOptions { rate: None, depth: None, stack: self.stack && self.keeps_calls(), ..self }
            }
            Level::Trace => self,
        }
    }

    /// Returns the union of both; where both have a threshold, the one of `others`.
    pub fn with(self, others: TimeOptions) -> TimeOptions {
        TimeOptions {
            slower_than_ns: others.slower_than_ns.or(self.slower_than_ns),
            failed_only: self.failed_only || others.failed_only,
            callers: self.callers || others.callers,
            rate: others.rate.or(self.rate),
            depth: others.depth.or(self.depth),
            stack: self.stack || others.stack,
        }
    }
}

/// Formats the options as they follow a level in a dial set, separated by spaces.
impl Display for TimeOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let threshold = self.slower_than_ns.map(|ns| format!("{SLOWER_THAN}{}", duration::format(ns)));
        let failed = self.failed_only.then(|| FAILED_ONLY.to_owned());
        let callers = self.callers.then(|| CALLERS.to_owned());
        let rate = self.rate.map(|rate| format!("{RATE}{rate}"));
        let depth = self.depth.map(|depth| format!("{DEPTH}{depth}"));
        let stack = self.stack.then(|| STACK.to_owned());
        let words: Vec<String> =
            [threshold, failed, callers, rate, depth, stack].into_iter().flatten().collect();
        f.write_str(&words.join(" "))
    }
}

/// Prefix of the word for a threshold.
pub(crate) const SLOWER_THAN: &str = "slower-than=";
/// The word for [`TimeOptions::failed_only`].
pub(crate) const FAILED_ONLY: &str = "failed-only";
/// Prefix of the word for [`TimeOptions::rate`].
pub(crate) const RATE: &str = "rate=";
/// Prefix of the word for [`TimeOptions::depth`].
pub(crate) const DEPTH: &str = "depth=";
/// The word for [`TimeOptions::stack`].
pub(crate) const STACK: &str = "stack";
/// Prefix of the word for [`Order::when`].
pub(crate) const WHEN: &str = "when=";
/// The word for [`TimeOptions::callers`].
pub(crate) const CALLERS: &str = "callers";

impl Order {
    /// Returns an order for every copy in every domain.
    pub fn new(pattern: impl Into<String>, level: Level) -> Order {
        Order {
            pattern: pattern.into(),
            level,
            domain: None,
            copy: None,
            all_domains: false,
            options: TimeOptions::default(),
            when: None,
        }
    }
}

/// How long orders apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lifetime {
    /// Until the session that set them ends.
    Held,
    /// Until turned off.
    Kept,
    /// Until turned off or until the time has passed.
    KeptFor {
        /// Milliseconds.
        ms: u64,
    },
}

/// An order that currently applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingOrder {
    /// The order.
    pub order: Order,
    /// Remaining lifetime.
    pub lifetime: Lifetime,
    /// User (a name or uid) that set the order; empty for orders of the launcher.
    pub user: String,
    /// Program that set the order. Its session may have ended, unless the order is held.
    pub by: Holder,
}
