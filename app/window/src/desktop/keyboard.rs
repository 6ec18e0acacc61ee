//! Keyboard input: shortcuts of commands, and movement through the methods.

use super::App;
use super::pending_focus::{Field, PendingFocus};
use crate::commands::{CallFormat, CommandContext, CopyFormat, UiCommand, listed};
use crate::views::methods_toolbar::filter_id;
use crate::views::{calls, events};
use eframe::egui::{self, Event, Key, KeyboardShortcut, Modifiers, PointerButton, Popup};
use redial_model::method_table::MethodTable;

impl App {
    /// Turns this frame's keys into commands, and moves the selection.
    pub(super) fn input(&mut self, context: &egui::Context, commands: &mut Vec<UiCommand>) {
        let focused = context.memory(|memory| memory.focused());
        let typing = context.text_edit_focused();
        let overlay = self.dialogs.is_any_open();
        let menu = Popup::is_any_open(context);
        let given = |command: &UiCommand| {
            let not_now = command.gives_way_to_text() && (typing || overlay)
                // A focused button or knob takes Space, arrows and digits itself.
                || command.changes_selected() && focused.is_some()
                // The calls have their own way back.
                || matches!(command, UiCommand::Back | UiCommand::Forward) && focused == Some(calls::canvas_id())
                // An open menu takes Escape itself; a knob's menu also takes digits.
                || matches!(command, UiCommand::Escape | UiCommand::TurnTo(_)) && menu;
            !not_now
        };
        // Every key press counts, in order, also two in one frame. Keys after the one that opens a text field
        // belong to that field, which gets the focus only in the next frame.
        let before = self.opening.goes_on();
        let may_open = |field: &Field| match field {
            Field::Filter => self.model.list().is_some_and(|list| !list.catalogue.is_empty()),
            Field::Palette => true,
            Field::Launch => !self.dialogs.launch,
        };
        let may_open =
            [Field::Filter, Field::Palette, Field::Launch].map(|field| may_open(&field).then_some(field));
        let (opening, mut again) = (&mut self.opening, false);
        context.input_mut(|input| {
            input.events.retain(|event| match (event, command_for(event).filter(&given)) {
                (Event::Text(text), _) if opening.goes_on() => {
                    opening.write(text);
                    false
                }
                (_, Some(command)) if opening.goes_on() && command.gives_way_to_text() => true,
                (_, Some(command)) => {
                    match Field::of(&command).filter(|field| may_open.contains(&Some(*field))) {
                        Some(field) => {
                            opening.request(field);
                            again = true;
                        }
                        // It closes what is opening, and discards the text typed for it.
                        None if command == UiCommand::Escape => *opening = PendingFocus::default(),
                        None => {}
                    }
                    commands.push(command);
                    false
                }
                _ => true,
            });
        });
        if let Some(other) = focused.filter(|_| again) {
            // The focused widget would take the following keys.
            context.memory_mut(|memory| memory.surrender_focus(other));
        }
        self.give_typed(context, before && !again, commands);
        // The desktop's copy gesture arrives as an event, not as a key.
        let copied = context.input(|input| input.events.contains(&Event::Copy));
        if copied && !typing && !overlay {
            let is_call = focused == Some(events::rows_id());
            let call = UiCommand::CopyEvent(CallFormat::Text);
            commands.push(if is_call { call } else { UiCommand::Copy(CopyFormat::Text) });
        }
        if !overlay && (focused.is_none() || focused == Some(filter_id())) {
            self.walk(context, typing);
        }
        // The rows moved to are selected by now.
        let now = self.command_context();
        let mut selects = false;
        commands.retain(|command| {
            // A command of this frame may select methods first, so the availability of later ones is checked
            // afterwards.
            if selects && command.changes_selected() {
                return true;
            }
            let may = self.may(command, &now);
            selects |= may && *command == UiCommand::SelectAll;
            may
        });
    }

    /// Returns whether a command is available; otherwise reports the reason.
    pub(super) fn may(&mut self, command: &UiCommand, now: &CommandContext) -> bool {
        let Err(why) = command.enabled(now) else { return true };
        // A level that is not offered is a refusal; any other reason is a hint.
        match (command, now.selection().is_ok()) {
            (UiCommand::TurnTo(_), true) => self.refuse(command, why),
            _ => self.hint(command, why),
        }
        false
    }

    fn walk(&mut self, context: &egui::Context, typing: bool) {
        let page = self.methods.page.max(2) as isize - 1;
        let mut moved = false;
        // Uses each key's own modifiers, because Shift may be released by the end of the frame.
        let walk = |table: &mut MethodTable| {
            context.input_mut(|input| {
                input.events.retain(|event| {
                    let Event::Key { key, pressed: true, modifiers, .. } = event else { return true };
                    let extend = *modifiers == Modifiers::SHIFT;
                    if !(*modifiers == Modifiers::NONE || extend && !typing) {
                        return true;
                    }
                    match key {
                        // Down in the filter goes to the first row if the focused one is not shown.
                        Key::ArrowDown if typing && table.focus_place().is_none() => {
                            table.go(0, false);
                        }
                        Key::ArrowDown => table.step(1, extend),
                        Key::ArrowUp => table.step(-1, extend),
                        Key::PageDown => table.step(page, extend),
                        Key::PageUp => table.step(-page, extend),
                        Key::Home if !typing => table.go(0, extend),
                        Key::End if !typing => table.go(usize::MAX, extend),
                        _ => return true,
                    }
                    moved = true;
                    false
                });
            })
        };
        self.model.change_list(walk);
        if moved {
            self.methods.follow = true;
            self.methods.keep_still(context);
            // Space must turn the dial of the row moved to.
            context.memory_mut(|memory| memory.surrender_focus(filter_id()));
        }
    }
}

/// Returns the command of a pressed key or mouse button. If several match, the one with Shift or Alt wins.
fn command_for(event: &Event) -> Option<UiCommand> {
    let (key, modifiers) = match event {
        Event::Key { key, pressed: true, modifiers, .. } => (key, modifiers),
        Event::PointerButton { button: PointerButton::Extra1, pressed: true, .. } => {
            return Some(UiCommand::Back);
        }
        Event::PointerButton { button: PointerButton::Extra2, pressed: true, .. } => {
            return Some(UiCommand::Forward);
        }
        _ => return None,
    };
    let fits = |shortcut: &KeyboardShortcut| {
        *key == shortcut.logical_key && modifiers.matches_logically(shortcut.modifiers)
    };
    listed()
        .chain([&UiCommand::Escape])
        .filter_map(|command| command.shortcut().filter(fits).map(|shortcut| (command, shortcut)))
        .max_by_key(|(_, shortcut)| shortcut.modifiers.shift || shortcut.modifiers.alt)
        .map(|(command, _)| command.clone())
}
