//! The keys of commands.

use super::{Command, Form};
use crate::model::several::Arrangement;
use crate::ui::knob::digit;
use eframe::egui::{Context, Key, KeyboardShortcut, Modifiers};

impl Command {
    /// Its key.
    pub fn shortcut(&self) -> Option<KeyboardShortcut> {
        let plain = |key| Some(KeyboardShortcut::new(Modifiers::NONE, key));
        let ctrl = |key| Some(KeyboardShortcut::new(Modifiers::COMMAND, key));
        let shift = |key| Some(KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key));
        match self {
            Command::AllOff => plain(Key::F9),
            Command::ToggleSelected => plain(Key::Space),
            Command::TurnUp => plain(Key::ArrowRight),
            Command::TurnDown => plain(Key::ArrowLeft),
            Command::TurnTo(level) => plain(digit(*level)),
            Command::Undo => ctrl(Key::Z),
            Command::Redo => shift(Key::Z),
            Command::Attach => ctrl(Key::E),
            Command::Reconnect => plain(Key::F5),
            Command::Disconnect => ctrl(Key::W),
            Command::Launch => ctrl(Key::N),
            Command::ChooseNamesakes => shift(Key::A),
            Command::Arrange(Arrangement::Merged) => shift(Key::M),
            Command::Arrange(Arrangement::Beside) => shift(Key::S),
            Command::FocusFilter => plain(Key::Slash),
            Command::OnlyDialled => ctrl(Key::D),
            Command::HideFramework => ctrl(Key::H),
            Command::Tree => ctrl(Key::T),
            Command::MergeCopies => ctrl(Key::M),
            Command::Agent => ctrl(Key::I),
            Command::HoldOrder => ctrl(Key::O),
            Command::SortAgain => ctrl(Key::R),
            Command::SelectAll => ctrl(Key::A),
            Command::Copy(Form::Text) => ctrl(Key::C),
            Command::Copy(Form::Markdown) => shift(Key::C),
            Command::Log => ctrl(Key::L),
            Command::ZoomIn => ctrl(Key::Plus),
            Command::ZoomOut => ctrl(Key::Minus),
            Command::ZoomReset => ctrl(Key::Num0),
            Command::Palette => shift(Key::P),
            Command::Keys => plain(Key::Questionmark),
            Command::Escape => plain(Key::Escape),
            Command::Quit => ctrl(Key::Q),
            _ => None,
        }
    }

    /// Its key as it stands on a keyboard of this system: `Ctrl+Shift+P`, `/`.
    pub fn keys(&self, context: &Context) -> Option<String> {
        let shortcut = self.shortcut()?;
        let mut text = context.format_shortcut(&shortcut);
        for (name, sign) in [("Slash", "/"), ("Questionmark", "?"), ("Plus", "+"), ("Minus", "-")] {
            if let Some(before) = text.strip_suffix(name) {
                text = format!("{before}{sign}");
            }
        }
        Some(text)
    }

    /// Whether its key writes something in a text field, so that it is the command's only outside of one.
    pub fn gives_way_to_text(&self) -> bool {
        matches!(
            self,
            Command::ToggleSelected
                | Command::TurnUp
                | Command::TurnDown
                | Command::TurnTo(_)
                | Command::FocusFilter
                | Command::Keys
                | Command::SelectAll
                | Command::Undo
                | Command::Redo
                | Command::Copy(Form::Text)
        )
    }
}
