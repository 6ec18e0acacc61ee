//! Orders: what a user wants, of which copies, and for how long.

use crate::level::Level;
use crate::message::Holder;
use serde::{Deserialize, Serialize};

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
}

impl Order {
    /// An order for every copy, in every domain.
    pub fn new(pattern: impl Into<String>, level: Level) -> Order {
        Order { pattern: pattern.into(), level, domain: None, copy: None, all_domains: false }
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
