//! What commands are called, and what they do where that does not say it.

use super::{Command, Form};
use crate::model::several::Arrangement;
use crate::persist::ThemeChoice;
use redial_protocol::level::Level;

/// How a launched program is stopped.
#[cfg(unix)]
const STOP: &str =
    "asks the program that was launched from here to end (SIGTERM); done a second time, it is killed";
#[cfg(not(unix))]
const STOP: &str =
    "asks the program that was launched from here to end (Ctrl+Break); done a second time, it is killed";

impl Command {
    /// What it is called everywhere.
    pub fn name(&self) -> &'static str {
        match self {
            Command::AllOff => "All dials off",
            Command::ToggleSelected => "Turn the selected dials on or off",
            Command::TurnUp => "Turn the selected dials up",
            Command::TurnDown => "Turn the selected dials down",
            Command::TurnTo(Level::Off) => "Turn the selected dials off",
            Command::TurnTo(Level::Count) => "Turn the selected dials to count",
            Command::TurnTo(Level::Time) => "Turn the selected dials to time",
            Command::TurnTo(Level::Trace) => "Turn the selected dials to trace",
            Command::Turn { .. } => "Turn dials",
            Command::NotOffered(_) => "Turn to a level that is not offered",
            Command::ConfirmTurn => "Turn many dials",
            Command::ShareTurn => "Dial for all of them",
            Command::LeaveShared => "Leave the shared methods out",
            Command::CancelTurn(_) => "Stop the turn",
            Command::UndoOfAnyone => "Undo the last change of anyone",
            Command::UndoOfBudget(_) => "Undo the budget's last step",
            Command::Budget | Command::SetBudget(_) => "What dials may cost…",
            Command::MergeCopies => "Merge copies",
            Command::Agent => "Control, orders and who turned what…",
            Command::Undo => "Undo the last turn",
            Command::Redo => "Redo",
            Command::TakeControl | Command::TakeControlOf(_) => "Take control",
            Command::Select(_) => "Look at a process",
            Command::Choose(..) => "Choose a process",
            Command::ChooseNamed(_) => "Choose every process of a name",
            Command::ChooseNamesakes => "Choose all processes of that name",
            Command::Arrange(Arrangement::Merged) => "Several processes merged",
            Command::Arrange(Arrangement::Apart) => "Several processes, a row each",
            Command::Arrange(Arrangement::Beside) => "Several processes side by side",
            Command::Focus(_) => "Look at one of several",
            Command::BesideFrom(_) => "Show others of several",
            Command::Follow => "Also those that start later",
            Command::FollowAttach => "Load the agent into those that start later",
            Command::LastNumbers => "Last numbers of what has ended…",
            Command::DropEnded => "Take out what has ended",
            Command::SetUp => "How to start a program with the agent…",
            Command::CopyText(_) => "Copy",
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
            Command::Stop | Command::StopLaunched(_) => "Stop the launched program",
            Command::FocusFilter => "Filter the methods",
            Command::ClearFilter => "Clear the filter",
            Command::OnlyDialled => "Only dialled methods",
            Command::OffAgain => "Also those that are off again",
            Command::HideFramework => "Hide framework methods",
            Command::Tree => "Tree instead of table",
            Command::HoldOrder => "Hold the order",
            Command::SortAgain => "Sort again",
            Command::MarkHistogram(_) => "Mark the latency histogram",
            Command::ClearMark(_) => "Clear the mark",
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
            Command::UndoOfBudget(_) => Some(
                "takes back what the budget turned down last, not what it did before that; it leaves those methods alone \
                 then, until it is set anew",
            ),
            Command::TakeControlOf(_) => Some(
                "from whoever has it, so that dials are turned here again; what is on stays on, and nothing is turned",
            ),
            Command::Budget | Command::SetBudget(_) => Some(
                "a budget for the process: where its dials cost more, the agent turns the costliest down by itself, says so, \
                 and it can be undone",
            ),
            Command::Attach => Some(
                "through the diagnostics port of its runtime, .NET Core 3.0 or later; the agent stays until the process \
                 ends, idle while no dial is on",
            ),
            Command::OnlyDialled => Some(
                "those that are on, or meant to be; what is turned off goes when the pointer has left the rows, or a moment \
                 after the key",
            ),
            Command::OffAgain => {
                Some("of only dialled methods: those that were dialled and are off, with their last numbers")
            }
            Command::HoldOrder => {
                Some("rows keep their places while numbers change, until this is switched off")
            }
            Command::SortAgain => Some(
                "rows keep their places while the pointer is among them, for a moment after it or a key did something \
                 there, and while the order is held; this puts them in the order of the numbers now",
            ),
            Command::Stop | Command::StopLaunched(_) => Some(STOP),
            Command::AllOff => Some("in every process chosen, whoever turned the dials on"),
            Command::ChooseNamesakes => Some(
                "every process here that is called like the one looked at, with the agent or without, as far as it can \
                 be loaded",
            ),
            Command::Arrange(Arrangement::Merged) => Some(
                "one list: a method that several have is one row, its numbers are sums, its dial is for all of them",
            ),
            Command::Arrange(Arrangement::Apart) => Some(
                "one list: a method that several have is a row for each of them; a dial is for that process",
            ),
            Command::Arrange(Arrangement::Beside) => Some(
                "a list each, with the same method at the same height; a dial is for that process; filter, order (of the \
                 sums) and what is picked are for all of them",
            ),
            Command::Follow => Some(
                "processes of the same names that start while this window is open join, and what was turned in the \
                 merged list is turned there from their first call on",
            ),
            Command::LastNumbers => Some("process by process; in the merged list they are part of the sums"),
            Command::DropEnded => Some("their last numbers leave the sums and are gone"),
            Command::FollowAttach => Some(
                "through the diagnostics port, where they start without it; else only those started with the agent join",
            ),
            Command::SetUp => Some(
                "what to set, what to restart and how to undo it, for shells, systemd, Docker, Kubernetes, IIS and \
                 Windows services",
            ),
            Command::MergeCopies => Some(
                "on: one row a method; its dial is for all its copies, in every AppDomain and load context, now and \
                 later. Off: a row a copy; its dial is for that copy or AppDomain alone",
            ),
            _ => None,
        }
    }
}
