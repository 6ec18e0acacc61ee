//! What is asked of the table: which methods, in which order.

use crate::output::times::TimeColumn;

/// What the table is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Key {
    /// Namespace, type, name.
    #[default]
    Name,
    /// The level wanted.
    Wanted,
    /// What the runtime does.
    State,
    /// Calls.
    Calls,
    /// Calls a second.
    Rate,
    /// One of the times.
    Time(TimeColumn),
}

/// The table's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sort {
    /// By what.
    pub key: Key,
    /// Largest first.
    pub descending: bool,
}

/// What is shown of a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// As typed.
    pub text: String,
    /// Only methods that are dialled.
    pub only_dialled: bool,
    /// With them those that were dialled and are off again.
    pub off_again: bool,
    /// No modules of frameworks.
    pub hide_framework: bool,
}

impl Filter {
    /// Whether it may leave something out.
    pub fn is_active(&self) -> bool {
        self.only_dialled || self.hide_framework || !self.text.trim().is_empty()
    }
}
