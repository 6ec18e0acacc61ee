//! A text field gets the focus some frames after its key. Text typed meanwhile belongs to it and must not
//! turn dials.

use super::App;
use super::pending_focus::{Field, PendingFocus};
use crate::commands::UiCommand;
use crate::views::methods_toolbar::filter_id;
use crate::views::{launch_dialog, palette};
use eframe::egui::text::{CCursor, CCursorRange};
use eframe::egui::text_edit::TextEditState;
use eframe::egui::{Context, Id};

impl App {
    /// Gives a field the text typed for it once it exists. `before`: it was requested in an earlier frame and
    /// has the focus from the next one on.
    pub(super) fn give_typed(&mut self, context: &Context, before: bool, commands: &mut Vec<UiCommand>) {
        let Some(field) = self.opening.field else { return };
        self.opening.is_own_key &= !before;
        let text = match field {
            // The filter field always exists.
            Field::Filter => std::mem::take(&mut self.opening.text),
            Field::Palette | Field::Launch if before => std::mem::take(&mut self.opening.text),
            Field::Palette | Field::Launch => String::new(),
        };
        match (field, self.dialogs.palette.as_mut()) {
            _ if text.is_empty() => {}
            (Field::Filter, _) => {
                self.methods.text.push_str(&text);
                cursor_behind(context, filter_id(), &self.methods.text);
                commands.push(UiCommand::Filter(self.methods.text.clone()));
            }
            (Field::Palette, Some(palette)) => {
                palette.write(&text);
                cursor_behind(context, palette::field_id(), palette.text());
            }
            (Field::Launch, _) if self.dialogs.launch => {
                let program = &mut self.settings.launch.program;
                program.push_str(&text);
                cursor_behind(context, launch_dialog::program_id(), program);
            }
            (Field::Palette | Field::Launch, _) => {}
        }
        if before {
            self.opening = PendingFocus::default();
        }
    }
}

/// Moves a field's cursor to the end of its text; it may have been elsewhere when the field last had the
/// focus.
fn cursor_behind(context: &Context, field: Id, text: &str) {
    let mut state = TextEditState::load(context, field).unwrap_or_default();
    let end = CCursor::new(text.chars().count());
    state.cursor.set_char_range(Some(CCursorRange::one(end)));
    state.store(context, field);
}
