//! Text typed for a field that does not have the focus yet.

use crate::commands::UiCommand;

/// A field that a command opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Filter,
    Palette,
    Launch,
}

impl Field {
    /// Returns the field that a command opens.
    pub fn of(command: &UiCommand) -> Option<Field> {
        match command {
            UiCommand::FocusFilter => Some(Field::Filter),
            UiCommand::Palette => Some(Field::Palette),
            UiCommand::Launch => Some(Field::Launch),
            _ => None,
        }
    }
}

/// Text typed for a field that does not have the focus yet.
#[derive(Debug, Default)]
pub(super) struct PendingFocus {
    /// The field requested in this frame or, while its keys are read, in the one before.
    pub(super) field: Option<Field>,
    /// The filter's own key, which also arrives as text, has not arrived yet.
    pub(super) is_own_key: bool,
    pub(super) text: String,
}

impl PendingFocus {
    /// Returns whether this frame's keys belong to a field from the start.
    pub fn goes_on(&self) -> bool {
        self.field.is_some()
    }

    /// Starts collecting text for a field.
    pub fn request(&mut self, field: Field) {
        *self = PendingFocus { field: Some(field), is_own_key: field == Field::Filter, text: String::new() };
    }

    /// Adds typed text.
    pub fn write(&mut self, text: &str) {
        let is_own_key = std::mem::take(&mut self.is_own_key) && text == "/";
        self.text.push_str(if is_own_key { "" } else { text });
    }
}
