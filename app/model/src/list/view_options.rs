//! Options of the table: filter and sort order.

use redial_text::times::TimeColumn;

/// The column to sort by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortKey {
    /// Namespace, type, name.
    #[default]
    Name,
    /// The wanted level.
    Wanted,
    /// The actual state.
    State,
    /// Calls.
    Calls,
    /// Calls per second.
    Rate,
    /// One of the times.
    Time(TimeColumn),
}

/// The sort order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sort {
    /// The column.
    pub key: SortKey,
    /// Largest first.
    pub descending: bool,
}

/// Filters the methods of a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The text as typed.
    pub text: String,
    /// Shows only dialled methods.
    pub only_dialled: bool,
    /// With `only_dialled`, also shows methods whose dials are off again.
    pub off_again: bool,
    /// Hides framework modules.
    pub hide_framework: bool,
    /// Hides methods that the compiler wrote, except those that are or were dialled.
    pub hide_generated: bool,
}

impl Filter {
    /// Returns whether it may exclude anything.
    pub fn is_active(&self) -> bool {
        self.only_dialled || self.hide_framework || self.hide_generated || !self.text.trim().is_empty()
    }
}
