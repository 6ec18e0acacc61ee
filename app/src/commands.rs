//! Everything a user can make the window do, in one enum: menus, shortcuts, the palette, views and tests all go through
//! it. Here stand names, keys and reasons; what a command does is `desktop`'s.
#![forbid(unsafe_code)]

use crate::model::connection::Targets;
use crate::model::ids::{Node, Ticket};
use crate::model::list::Sort;
use crate::model::selection::Mode;
use crate::persist::ThemeChoice;
use eframe::egui::{Context, Key, KeyboardShortcut, Modifiers};
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Every dial of the process off, confirmed by the agent.
    AllOff,
    /// The dials of the selected methods on or off.
    ToggleSelected,
    /// The dials of the selected methods one level up.
    TurnUp,
    /// The dials of the selected methods one level down.
    TurnDown,
    /// The dials of these copies to a level.
    Turn {
        /// Which.
        targets: Targets,
        /// The level.
        level: Level,
    },
    /// A level was asked for that the agent does not offer.
    NotOffered(Level),
    /// Does the large turn that was asked about.
    ConfirmTurn,
    /// Turns methods for all the AppDomains that share them, as was asked.
    ShareTurn,
    /// Turns what was asked for without the methods that other AppDomains share.
    LeaveShared,
    /// Stops a turn that is under way, and undoes what it did so far.
    CancelTurn(Ticket),
    /// Takes the last change back, whoever made it.
    UndoOfAnyone,
    /// Copies of a method as one row, or each as its own.
    MergeCopies,
    /// Who has control, which orders stand, who turned what.
    Agent,
    /// Takes the last turn of dials back.
    Undo,
    /// Does again what was taken back.
    Redo,
    /// Takes control from whoever has it, and does what was refused because of it.
    TakeControl,
    /// Looks at a process and connects if there is an agent in it.
    Select(ProcessKey),
    /// Only processes with this in them.
    FindProcess(String),
    /// Processes without .NET shown or not.
    AllProcesses(bool),
    /// Loads the agent into the process looked at.
    Attach,
    /// Connects again to the process looked at.
    Reconnect,
    /// Closes the connection; held dials revert.
    Disconnect,
    /// Opens the dialog that starts a program with the agent in it.
    Launch,
    /// Starts what the dialog says.
    StartLaunch,
    /// Starts the demo.
    StartDemo,
    /// The keyboard goes to the filter.
    FocusFilter,
    /// Only methods with this in their names.
    Filter(String),
    /// A row clicked.
    Pick(Node, Mode),
    /// A group expanded or closed.
    Expand(Node),
    /// The order of the table.
    Sort(Sort),
    /// The filter is emptied.
    ClearFilter,
    /// Only methods with a dial.
    OnlyDialled,
    /// Methods of the framework hidden or shown.
    HideFramework,
    /// Tree or flat table.
    Tree,
    /// Keeps the order while numbers change.
    HoldOrder,
    /// Every shown method selected.
    SelectAll,
    /// The shown or selected rows to the clipboard.
    Copy(Form),
    /// The log shown or hidden.
    Log,
    /// A theme.
    Theme(ThemeChoice),
    /// Everything larger.
    ZoomIn,
    /// Everything smaller.
    ZoomOut,
    /// The desktop's own size.
    ZoomReset,
    /// The list of commands.
    Palette,
    /// The list of keys.
    Keys,
    /// Closes what is open on top: palette, dialog, sheet; else empties the filter.
    Escape,
    /// Ends the program; held dials revert.
    Quit,
}

/// How a table is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Columns of text.
    Text,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values (RFC 4180).
    Csv,
}

/// What decides whether a command can be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// A process is looked at.
    pub process: bool,
    /// The agent can be loaded into it.
    pub attachable: bool,
    /// Its agent is connected.
    pub connected: bool,
    /// It has ended.
    pub ended: bool,
    /// Number of selected methods.
    pub selected: usize,
    /// Number of methods shown.
    pub shown: usize,
    /// The filter has text.
    pub filtered: bool,
    /// A turn was refused because another controller has control.
    pub control_elsewhere: bool,
    /// A turn can be undone.
    pub undo: bool,
    /// A turn can be done again.
    pub redo: bool,
    /// Some change of somebody's can be taken back.
    pub undo_of_anyone: bool,
    /// The demo program was found.
    pub demo: bool,
    /// What can be switched and is on now.
    pub switches: Switches,
}

/// Switches, as they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Only methods with a dial are shown.
    pub only_dialled: bool,
    /// Methods of the framework are hidden.
    pub hide_framework: bool,
    /// Methods stand as a tree.
    pub tree: bool,
    /// Copies are merged.
    pub merge_copies: bool,
    /// The order is held.
    pub hold_order: bool,
    /// The log is shown.
    pub log: bool,
    /// The theme.
    pub theme: ThemeChoice,
}

/// The menus with what is in them, in their order; the palette and the sheet of keys list the same, one after another.
pub const MENUS: &[(&str, &[Command])] = &[
    (
        "Dials",
        &[
            Command::AllOff,
            Command::ToggleSelected,
            Command::TurnUp,
            Command::TurnDown,
            Command::Undo,
            Command::Redo,
            Command::UndoOfAnyone,
            Command::TakeControl,
            Command::Agent,
        ],
    ),
    (
        "Methods",
        &[
            Command::FocusFilter,
            Command::ClearFilter,
            Command::OnlyDialled,
            Command::HideFramework,
            Command::Tree,
            Command::MergeCopies,
            Command::HoldOrder,
            Command::SelectAll,
            Command::Copy(Form::Text),
            Command::Copy(Form::Markdown),
            Command::Copy(Form::Csv),
        ],
    ),
    (
        "Process",
        &[
            Command::Launch,
            Command::StartDemo,
            Command::Attach,
            Command::Reconnect,
            Command::Disconnect,
            Command::Quit,
        ],
    ),
    (
        "View",
        &[
            Command::Log,
            Command::Theme(ThemeChoice::Dark),
            Command::Theme(ThemeChoice::Light),
            Command::Theme(ThemeChoice::System),
            Command::ZoomIn,
            Command::ZoomOut,
            Command::ZoomReset,
            Command::Palette,
            Command::Keys,
        ],
    ),
];

/// Every command that stands in a menu.
pub fn listed() -> impl Iterator<Item = &'static Command> {
    MENUS.iter().flat_map(|(_, commands)| commands.iter())
}

impl Command {
    /// What it is called everywhere.
    pub fn name(&self) -> &'static str {
        match self {
            Command::AllOff => "All dials off",
            Command::ToggleSelected => "Turn the selected dials on or off",
            Command::TurnUp => "Turn the selected dials up",
            Command::TurnDown => "Turn the selected dials down",
            Command::Turn { .. } => "Turn dials",
            Command::NotOffered(_) => "Turn to a level that is not offered",
            Command::ConfirmTurn => "Turn many dials",
            Command::ShareTurn => "Dial for all of them",
            Command::LeaveShared => "Leave the shared methods out",
            Command::CancelTurn(_) => "Stop the turn",
            Command::UndoOfAnyone => "Undo the last change of anyone",
            Command::MergeCopies => "Merge copies",
            Command::Agent => "Control, orders and who turned what…",
            Command::Undo => "Undo the last turn",
            Command::Redo => "Redo",
            Command::TakeControl => "Take control",
            Command::Select(_) => "Look at a process",
            Command::FindProcess(_) => "Find a process",
            Command::AllProcesses(_) => "Show every process",
            Command::Filter(_) => "Filter by name",
            Command::Pick(..) => "Select a row",
            Command::Expand(_) => "Expand or close a group",
            Command::Sort(_) => "Sort the table",
            Command::Attach => "Load the agent into the process",
            Command::Reconnect => "Connect again",
            Command::Disconnect => "Disconnect",
            Command::Launch => "Launch a program…",
            Command::StartLaunch => "Launch",
            Command::StartDemo => "Start the demo",
            Command::FocusFilter => "Filter the methods",
            Command::ClearFilter => "Clear the filter",
            Command::OnlyDialled => "Only dialled methods",
            Command::HideFramework => "Hide framework methods",
            Command::Tree => "Tree instead of table",
            Command::HoldOrder => "Hold the order",
            Command::SelectAll => "Select every method shown",
            Command::Copy(Form::Text) => "Copy as text",
            Command::Copy(Form::Markdown) => "Copy as Markdown",
            Command::Copy(Form::Csv) => "Copy as CSV",
            Command::Log => "Show the log",
            Command::Theme(ThemeChoice::Dark) => "Dark theme",
            Command::Theme(ThemeChoice::Light) => "Light theme",
            Command::Theme(ThemeChoice::System) => "Theme of the desktop",
            Command::ZoomIn => "Zoom in",
            Command::ZoomOut => "Zoom out",
            Command::ZoomReset => "Zoom back to normal",
            Command::Palette => "Commands…",
            Command::Keys => "Keys",
            Command::Escape => "Close or clear",
            Command::Quit => "Quit",
        }
    }

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
            Command::Undo => ctrl(Key::Z),
            Command::Redo => shift(Key::Z),
            Command::Attach => ctrl(Key::E),
            Command::Reconnect => plain(Key::F5),
            Command::Disconnect => ctrl(Key::W),
            Command::Launch => ctrl(Key::N),
            Command::FocusFilter => plain(Key::Slash),
            Command::OnlyDialled => ctrl(Key::D),
            Command::HideFramework => ctrl(Key::H),
            Command::Tree => ctrl(Key::T),
            Command::MergeCopies => ctrl(Key::M),
            Command::Agent => ctrl(Key::I),
            Command::HoldOrder => ctrl(Key::O),
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
                | Command::FocusFilter
                | Command::Keys
                | Command::SelectAll
                | Command::Undo
                | Command::Redo
                | Command::Copy(Form::Text)
        )
    }

    /// What it does, where its name does not say all of it.
    pub fn explained(&self) -> Option<&'static str> {
        match self {
            Command::Undo => Some(
                "takes back the last turn made in this window; what others turned stays as it is, unless the same \
                 methods were turned here",
            ),
            Command::Redo => Some("does again what was undone last in this window"),
            Command::UndoOfAnyone => Some(
                "takes back the last change of anybody: of this window, of `redial dial`, of another user; the agent's \
                 list of who turned what names it",
            ),
            Command::Attach => Some(
                "through the diagnostics port of its runtime, .NET Core 3.0 or later; the agent stays until the process \
                 ends, idle while no dial is on",
            ),
            Command::MergeCopies => Some(
                "on: one row a method; its dial is for all its copies, in every AppDomain and load context, now and \
                 later. Off: a row a copy; its dial is for that copy or AppDomain alone",
            ),
            _ => None,
        }
    }

    /// Of a switch, whether it is on.
    pub fn is_on(&self, now: &Situation) -> Option<bool> {
        let switches = &now.switches;
        match self {
            Command::OnlyDialled => Some(switches.only_dialled),
            Command::HideFramework => Some(switches.hide_framework),
            Command::Tree => Some(switches.tree),
            Command::MergeCopies => Some(switches.merge_copies),
            Command::HoldOrder => Some(switches.hold_order),
            Command::Log => Some(switches.log),
            Command::Theme(theme) => Some(switches.theme == *theme),
            _ => None,
        }
    }

    /// Whether it can be given now, or why not.
    pub fn enabled(&self, now: &Situation) -> Result<(), &'static str> {
        let need = |held: bool, why: &'static str| if held { Ok(()) } else { Err(why) };
        match self {
            Command::ToggleSelected | Command::TurnUp | Command::TurnDown => {
                need(now.connected, "no agent is connected")?;
                need(now.selected > 0, "no method is selected")
            }
            Command::Turn { .. } | Command::ConfirmTurn | Command::ShareTurn | Command::LeaveShared => {
                need(now.connected, "no agent is connected")
            }
            Command::Agent => need(now.connected, "no agent is connected"),
            Command::UndoOfAnyone => {
                need(now.connected, "no agent is connected")?;
                need(now.undo_of_anyone, "there is no change to take back")
            }
            Command::TakeControl => {
                need(now.connected, "no agent is connected")?;
                need(now.control_elsewhere, "no turn was refused for want of control")
            }
            Command::Undo => need(now.undo, "there is nothing to undo"),
            Command::Redo => need(now.redo, "there is nothing to redo"),
            Command::Attach => {
                need(now.process, "no process was picked")?;
                need(now.attachable, "the agent cannot be loaded into the process, or is in it")
            }
            Command::Reconnect => {
                need(now.process, "no process was picked")?;
                need(!now.connected, "the agent is connected")?;
                need(!now.ended, "the process has ended")
            }
            Command::Disconnect => need(now.connected, "no agent is connected"),
            Command::ClearFilter => need(now.filtered, "there is no filter"),
            Command::SelectAll | Command::Copy(_) => need(now.shown > 0, "no method is shown"),
            Command::StartDemo => {
                need(now.demo, "the demo program was not found; in a checkout, `cargo xtask demo` builds it")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn names_and_keys_are_told_apart() {
        let mut names = BTreeMap::new();
        let mut keys = BTreeMap::new();
        for command in listed() {
            assert!(names.insert(command.name(), ()).is_none(), "two are called {}", command.name());
            if let Some(shortcut) = command.shortcut() {
                let key = format!("{shortcut:?}");
                assert!(keys.insert(key.clone(), ()).is_none(), "{key} is taken twice");
            }
        }
    }

    #[test]
    fn all_off_is_always_there_and_has_a_key() {
        assert_eq!(Command::AllOff.enabled(&Situation::default()), Ok(()));
        assert!(Command::AllOff.shortcut().is_some() && !Command::AllOff.gives_way_to_text());
    }

    #[test]
    fn what_cannot_be_done_says_why() {
        let nothing = Situation::default();
        for command in listed() {
            if let Err(why) = command.enabled(&nothing) {
                assert!(why.len() > 10 && !why.ends_with('.'), "{why}");
            }
        }
        assert_eq!(Command::ToggleSelected.enabled(&nothing), Err("no agent is connected"));
        let connected = Situation { connected: true, process: true, ..nothing };
        assert_eq!(Command::TurnUp.enabled(&connected), Err("no method is selected"));
        assert_eq!(Command::TurnUp.enabled(&Situation { selected: 1, ..connected }), Ok(()));
    }

    #[test]
    fn keys_that_write_give_way_to_text() {
        for command in listed().filter(|command| !command.gives_way_to_text()) {
            if let Some(shortcut) = command.shortcut() {
                let function = format!("{:?}", shortcut.logical_key).starts_with('F');
                let silent =
                    shortcut.logical_key == Key::Escape || (function && shortcut.logical_key != Key::F);
                assert!(shortcut.modifiers.command || silent, "{}", command.name());
            }
        }
    }
}
