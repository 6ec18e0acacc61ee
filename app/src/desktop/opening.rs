//! A text field that was just asked for has the focus some frames later. What is typed meanwhile is meant for it, and turns no
//! dial.

use super::App;
use crate::commands::Command;
use crate::views::methods::filter_id;
use crate::views::{launch, palette};
use eframe::egui::text::{CCursor, CCursorRange};
use eframe::egui::text_edit::TextEditState;
use eframe::egui::{Context, Id};

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
    /// The filter's own key, which comes as text too, did not come yet.
    own: bool,
    text: String,
}

impl Opening {
    /// A frame's keys begin; whether they are a field's from the beginning.
    pub fn goes_on(&self) -> bool {
        self.field.is_some()
    }

    /// A field was asked for.
    pub fn asked(&mut self, field: Field) {
        *self = Opening { field: Some(field), own: field == Field::Filter, text: String::new() };
    }

    /// Something was typed.
    pub fn write(&mut self, text: &str) {
        let own = std::mem::take(&mut self.own) && text == "/";
        self.text.push_str(if own { "" } else { text });
    }
}

impl App {
    /// Gives a field what was typed for it, once it is there. `before`: it was asked for in an earlier frame, and has the focus
    /// from the next one on.
    pub(super) fn give_typed(&mut self, context: &Context, before: bool, commands: &mut Vec<Command>) {
        let Some(field) = self.opening.field else { return };
        self.opening.own &= !before;
        let text = match field {
            // It is there already.
            Field::Filter => std::mem::take(&mut self.opening.text),
            Field::Palette | Field::Launch if before => std::mem::take(&mut self.opening.text),
            Field::Palette | Field::Launch => String::new(),
        };
        match (field, self.palette.as_mut()) {
            _ if text.is_empty() => {}
            (Field::Filter, _) => {
                self.methods.text.push_str(&text);
                cursor_behind(context, filter_id(), &self.methods.text);
                commands.push(Command::Filter(self.methods.text.clone()));
            }
            (Field::Palette, Some(palette)) => {
                palette.write(&text);
                cursor_behind(context, palette::field_id(), palette.text());
            }
            (Field::Launch, _) if self.launch => {
                let program = &mut self.settings.launch.program;
                program.push_str(&text);
                cursor_behind(context, launch::program_id(), program);
            }
            (Field::Palette | Field::Launch, _) => {}
        }
        if before {
            self.opening = Opening::default();
        }
    }
}

/// Puts the cursor of a field behind its text: it may have been left elsewhere when the field had the focus last.
fn cursor_behind(context: &Context, field: Id, text: &str) {
    let mut state = TextEditState::load(context, field).unwrap_or_default();
    let end = CCursor::new(text.chars().count());
    state.cursor.set_char_range(Some(CCursorRange::one(end)));
    state.store(context, field);
}
