//! Keys: shortcuts of commands, and moving through the methods.

use super::App;
use super::opening::{Field, Opening};
use crate::commands::{Command, Form, Situation, listed};
use crate::model::connection::Connection;
use crate::views::methods::filter_id;
use eframe::egui::{self, Event, Key, KeyboardShortcut, Modifiers, Popup};

impl App {
    /// Turns this frame's keys into commands, and moves the selection.
    pub(super) fn input(&mut self, context: &egui::Context, commands: &mut Vec<Command>) {
        let focused = context.memory(|memory| memory.focused());
        let typing = context.text_edit_focused();
        let asked = self.confirm.is_some() || self.sharing.is_some();
        let overlay = asked
            || self.set_up.is_some()
            || self.budget.is_some()
            || self.agent
            || self.palette.is_some()
            || self.keys
            || self.launch;
        let menu = Popup::is_any_open(context);
        let given = |command: &Command| {
            let not_now = command.gives_way_to_text() && (typing || overlay)
                // A button or knob that has the focus takes Space, the arrows and digits itself.
                || command.turns_selected() && focused.is_some()
                // A menu that is open takes Escape for itself, and that of a knob digits.
                || matches!(command, Command::Escape | Command::TurnTo(_)) && menu;
            !not_now
        };
        // Every press counts, in the order they came: two of one frame are two. What follows the key of a text field is meant for
        // that, which gets the focus only in the next frame.
        let before = self.opening.goes_on();
        let may_open = |field: &Field| match field {
            Field::Filter => self.model.list().is_some_and(|list| !list.catalogue.is_empty()),
            Field::Palette => true,
            Field::Launch => !self.launch,
        };
        let may_open =
            [Field::Filter, Field::Palette, Field::Launch].map(|field| may_open(&field).then_some(field));
        let (opening, mut again) = (&mut self.opening, false);
        context.input_mut(|input| {
            input.events.retain(|event| match (event, meant(event).filter(&given)) {
                (Event::Text(text), _) if opening.goes_on() => {
                    opening.write(text);
                    false
                }
                (_, Some(command)) if opening.goes_on() && command.gives_way_to_text() => true,
                (_, Some(command)) => {
                    match Field::of(&command).filter(|field| may_open.contains(&Some(*field))) {
                        Some(field) => {
                            opening.asked(field);
                            again = true;
                        }
                        // It closes what opens, and what was typed goes with it.
                        None if command == Command::Escape => *opening = Opening::default(),
                        None => {}
                    }
                    commands.push(command);
                    false
                }
                _ => true,
            });
        });
        if let Some(other) = focused.filter(|_| again) {
            // Whatever has the focus would take the keys that follow.
            context.memory_mut(|memory| memory.surrender_focus(other));
        }
        self.give_typed(context, before && !again, commands);
        // The desktop's own gesture for copying arrives as an event, not as a key.
        let copied = context.input(|input| input.events.contains(&Event::Copy));
        if copied && !typing && !overlay {
            commands.push(Command::Copy(Form::Text));
        }
        if !overlay && (focused.is_none() || focused == Some(filter_id())) {
            self.walk(context, typing);
        }
        // What was walked to is selected by now.
        let situation = self.situation();
        let mut selects = false;
        commands.retain(|command| {
            // What the same frame selects first is selected only once that is carried out; whether it can be turned is asked then.
            if selects && command.turns_selected() {
                return true;
            }
            let may = self.may(command, &situation);
            selects |= may && *command == Command::SelectAll;
            may
        });
    }

    /// Whether a command can be given; else it is told why not.
    pub(super) fn may(&mut self, command: &Command, now: &Situation) -> bool {
        let Err(why) = command.enabled(now) else { return true };
        // A level that is not offered is asked for in vain; all else only too early.
        match (command, now.connected && now.selected > 0) {
            (Command::TurnTo(_), true) => self.refuse(command, why),
            _ => self.hint(command, why),
        }
        false
    }

    fn walk(&mut self, context: &egui::Context, typing: bool) {
        let page = self.methods.page.max(2) as isize - 1;
        let mut moved = false;
        // The modifiers of each key, not those of the frame: Shift may be up again by then.
        let walk = |connection: &mut Connection| {
            context.input_mut(|input| {
                input.events.retain(|event| {
                    let Event::Key { key, pressed: true, modifiers, .. } = event else { return true };
                    let extend = *modifiers == Modifiers::SHIFT;
                    if !(*modifiers == Modifiers::NONE || extend && !typing) {
                        return true;
                    }
                    match key {
                        // Below the field the first row stands, whichever was picked before and is not shown.
                        Key::ArrowDown if typing && connection.focus_place().is_none() => {
                            connection.go(0, false);
                        }
                        Key::ArrowDown => connection.step(1, extend),
                        Key::ArrowUp => connection.step(-1, extend),
                        Key::PageDown => connection.step(page, extend),
                        Key::PageUp => connection.step(-page, extend),
                        Key::Home if !typing => connection.go(0, extend),
                        Key::End if !typing => connection.go(usize::MAX, extend),
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
            // So that Space turns the dial one has walked to.
            context.memory_mut(|memory| memory.surrender_focus(filter_id()));
        }
    }
}

/// The command whose key was pressed. A command with Shift is not the one without: of several that fit, the one whose
/// key needs the most modifiers is meant.
fn meant(event: &Event) -> Option<Command> {
    let Event::Key { key, pressed: true, modifiers, .. } = event else { return None };
    let fits = |shortcut: &KeyboardShortcut| {
        *key == shortcut.logical_key && modifiers.matches_logically(shortcut.modifiers)
    };
    listed()
        .chain([&Command::Escape])
        .filter_map(|command| command.shortcut().filter(fits).map(|shortcut| (command, shortcut)))
        .max_by_key(|(_, shortcut)| shortcut.modifiers.shift)
        .map(|(command, _)| command.clone())
}
