//! Keys: shortcuts of commands, and moving through the methods.

use super::App;
use crate::commands::{Command, Form, LISTED};
use crate::views::methods::filter_id;
use eframe::egui::{self, Event, Key, Modifiers};

impl App {
    /// Turns this frame's keys into commands, and moves the selection.
    pub(super) fn input(&mut self, context: &egui::Context, commands: &mut Vec<Command>) {
        let focused = context.memory(|memory| memory.focused());
        let typing = context.text_edit_focused();
        let overlay = self.palette.is_some() || self.keys || self.launch;
        let situation = self.situation();
        for command in LISTED.iter().chain([&Command::Escape]) {
            let Some(shortcut) = command.shortcut() else { continue };
            let turning = matches!(command, Command::ToggleSelected | Command::TurnUp | Command::TurnDown);
            let not_now = command.gives_way_to_text() && (typing || overlay)
                // A button or knob that has the focus takes Space and the arrows itself.
                || turning && focused.is_some();
            if !not_now && context.input_mut(|input| input.consume_shortcut(&shortcut)) {
                commands.push(command.clone());
            }
        }
        // The desktop's own gesture for copying arrives as an event, not as a key.
        let copied = context.input(|input| input.events.contains(&Event::Copy));
        if copied && !typing && !overlay {
            commands.push(Command::Copy(Form::Text));
        }
        if !overlay && (focused.is_none() || focused == Some(filter_id())) {
            self.walk(context, typing);
        }
        commands.retain(|command| match command.enabled(&situation) {
            Ok(()) => true,
            Err(why) => {
                self.refuse(command, why);
                false
            }
        });
    }

    fn walk(&mut self, context: &egui::Context, typing: bool) {
        let page = self.methods.page.max(2) as isize - 1;
        let Some(connection) = self.model.current_mut() else { return };
        let mut moved = false;
        for extend in [false, true] {
            let modifiers = if extend { Modifiers::SHIFT } else { Modifiers::NONE };
            for (key, by) in [
                (Key::ArrowDown, 1),
                (Key::ArrowUp, -1),
                (Key::PageDown, page),
                (Key::PageUp, -page),
                (Key::Home, isize::MIN / 2),
                (Key::End, isize::MAX / 2),
            ] {
                if typing && matches!(key, Key::Home | Key::End) || typing && extend {
                    continue;
                }
                let times = context.input_mut(|input| {
                    let exact = input.modifiers.matches_exact(modifiers);
                    if exact { input.count_and_consume_key(modifiers, key) } else { 0 }
                });
                if times > 0 {
                    let by = by.saturating_mul(isize::try_from(times).unwrap_or(1));
                    connection.step(by, extend);
                    moved = true;
                }
            }
        }
        if moved {
            self.methods.follow = true;
            // So that Space turns the dial one has walked to.
            context.memory_mut(|memory| memory.surrender_focus(filter_id()));
        }
    }
}
