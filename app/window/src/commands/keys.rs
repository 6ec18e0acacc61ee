//! Keyboard shortcuts of commands.

use super::{CallFormat, CopyFormat, UiCommand};
use crate::settings::LowerTab;
use crate::ui::knob::digit;
use eframe::egui::{Context, Key, KeyboardShortcut, Modifiers};
use redial_model::process_choice::Arrangement;

impl UiCommand {
    /// Returns the command's shortcut.
    pub fn shortcut(&self) -> Option<KeyboardShortcut> {
        let plain = |key| Some(KeyboardShortcut::new(Modifiers::NONE, key));
        let ctrl = |key| Some(KeyboardShortcut::new(Modifiers::COMMAND, key));
        let shift = |key| Some(KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key));
        match self {
            UiCommand::AllOff => plain(Key::F9),
            UiCommand::ToggleSelected => plain(Key::Space),
            UiCommand::TurnUp => plain(Key::ArrowRight),
            UiCommand::TurnDown => plain(Key::ArrowLeft),
            UiCommand::TurnTo(level) => plain(digit(*level)),
            UiCommand::Back => Some(KeyboardShortcut::new(Modifiers::ALT, Key::ArrowLeft)),
            UiCommand::Forward => Some(KeyboardShortcut::new(Modifiers::ALT, Key::ArrowRight)),
            UiCommand::Undo => ctrl(Key::Z),
            UiCommand::Redo => shift(Key::Z),
            UiCommand::Attach => ctrl(Key::E),
            UiCommand::Reconnect => plain(Key::F5),
            UiCommand::Disconnect => ctrl(Key::W),
            UiCommand::Launch => ctrl(Key::N),
            UiCommand::ChooseNamesakes => shift(Key::A),
            UiCommand::Arrange(Arrangement::Merged) => shift(Key::M),
            UiCommand::Arrange(Arrangement::SideBySide) => shift(Key::S),
            UiCommand::FocusFilter => plain(Key::Slash),
            UiCommand::OnlyDialled => ctrl(Key::D),
            UiCommand::HideFramework => ctrl(Key::H),
            UiCommand::Tree => ctrl(Key::T),
            UiCommand::MergeCopies => ctrl(Key::M),
            UiCommand::Agent => ctrl(Key::I),
            UiCommand::Pin => ctrl(Key::K),
            UiCommand::FreezeOrder => ctrl(Key::O),
            UiCommand::SortAgain => ctrl(Key::R),
            UiCommand::SelectAll => ctrl(Key::A),
            UiCommand::Copy(CopyFormat::Text) => ctrl(Key::C),
            UiCommand::Copy(CopyFormat::Markdown) => shift(Key::C),
            UiCommand::Events => shift(Key::E),
            UiCommand::Lower(LowerTab::Timeline) => shift(Key::T),
            UiCommand::Lower(LowerTab::Calls) => shift(Key::G),
            UiCommand::Lower(LowerTab::Charts) => shift(Key::H),
            UiCommand::Lower(LowerTab::Code) => shift(Key::I),
            UiCommand::PauseEvents => ctrl(Key::P),
            UiCommand::CopyEvent(CallFormat::Json) => shift(Key::J),
            UiCommand::Log => ctrl(Key::L),
            UiCommand::ProcessList => ctrl(Key::B),
            UiCommand::Details => shift(Key::B),
            UiCommand::ZoomIn => ctrl(Key::Plus),
            UiCommand::ZoomOut => ctrl(Key::Minus),
            UiCommand::ZoomReset => ctrl(Key::Num0),
            UiCommand::Palette => shift(Key::P),
            UiCommand::Keys => plain(Key::Questionmark),
            UiCommand::Escape => plain(Key::Escape),
            UiCommand::Quit => ctrl(Key::Q),
            _ => None,
        }
    }

    /// Returns the shortcut as labelled on this system's keyboards: `Ctrl+Shift+P`, `/`.
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

    /// Returns whether text fields take the shortcut first, because it types or edits text there.
    pub fn gives_way_to_text(&self) -> bool {
        matches!(
            self,
            UiCommand::ToggleSelected
                | UiCommand::TurnUp
                | UiCommand::TurnDown
                | UiCommand::TurnTo(_)
                | UiCommand::FocusFilter
                | UiCommand::Keys
                | UiCommand::SelectAll
                | UiCommand::Undo
                | UiCommand::Redo
                | UiCommand::Copy(CopyFormat::Text)
        )
    }
}
