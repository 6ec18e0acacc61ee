//! A text field that was just asked for has the focus some frames later. What is typed meanwhile is meant for it, and turns no
//! dial.

use super::App;
use crate::commands::Command;

/// A field that a command opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Filter,
    Palette,
    Launch,
}

impl Field {
    /// The field that a command opens, if it opens one.
    pub fn of(command: &Command) -> Option<Field> {
        match command {
            Command::FocusFilter => Some(Field::Filter),
            Command::Palette => Some(Field::Palette),
            Command::Launch => Some(Field::Launch),
            _ => None,
        }
    }
}

/// What was typed for a field that does not have the focus yet.
#[derive(Debug, Default)]
pub(super) struct Opening {
    /// The field that was asked for in this frame or, while its keys are read, in the one before.
    field: Option<Field>,
    text: String,
}

impl Opening {
    /// A frame's keys begin; whether they are a field's from the beginning.
    pub fn goes_on(&self) -> bool {
        self.field.is_some()
    }

    /// A field was asked for.
    pub fn asked(&mut self, field: Field) {
        (self.field, self.text) = (Some(field), String::new());
    }

    /// Something was typed. The filter's key comes as text, too.
    pub fn write(&mut self, text: &str) {
        let own = self.field == Some(Field::Filter) && self.text.is_empty() && text == "/";
        self.text.push_str(if own { "" } else { text });
    }
}

impl App {
    /// Gives a field what was typed for it, once it is there. `before`: it was asked for in an earlier frame, and has the focus
    /// from the next one on.
    pub(super) fn give_typed(&mut self, before: bool, commands: &mut Vec<Command>) {
        let Some(field) = self.opening.field else { return };
        let text = match field {
            // It is always there.
            Field::Filter => std::mem::take(&mut self.opening.text),
            Field::Palette | Field::Launch if before => std::mem::take(&mut self.opening.text),
            Field::Palette | Field::Launch => String::new(),
        };
        match (field, self.palette.as_mut()) {
            _ if text.is_empty() => {}
            (Field::Filter, _) => {
                self.methods.text.push_str(&text);
                commands.push(Command::Filter(self.methods.text.clone()));
            }
            (Field::Palette, Some(palette)) => palette.write(&text),
            (Field::Launch, _) if self.launch => self.settings.launch.program.push_str(&text),
            (Field::Palette | Field::Launch, _) => {}
        }
        if before {
            self.opening = Opening::default();
        }
    }
}
