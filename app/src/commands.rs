//! Everything a user can make the window do, in one enum: menus, shortcuts, the palette, views and tests all go through
//! it. Here stand names, keys and reasons; what a command does is `desktop`'s.
#![forbid(unsafe_code)]

mod keys;
mod possible;
#[cfg(test)]
mod tests;
mod words;

use crate::model::connection::Targets;
use crate::model::ids::{ConnectionId, Node, Ticket};
use crate::model::list::Sort;
use crate::model::selection::Mode;
use crate::model::several::Arrangement;
use crate::persist::ThemeChoice;
use redial_protocol::cost::Share;
use redial_protocol::ids::{ProcessKey, RowId};
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
    /// The dials of the selected methods to a level.
    TurnTo(Level),
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
    /// Takes back what the budget did last in a process, or in the one looked at.
    UndoOfBudget(Option<ConnectionId>),
    /// Opens the dialog for what dials may cost.
    Budget,
    /// Sets it; None: they may cost what they do.
    SetBudget(Option<Share>),
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
    /// Takes control of a process from whoever has it.
    TakeControlOf(ConnectionId),
    /// Looks at a process and connects if there is an agent in it.
    Select(ProcessKey),
    /// Chooses a process besides others, or no more; or all up to it.
    Choose(ProcessKey, Mode),
    /// Chooses every process of a name.
    ChooseNamed(String),
    /// Chooses every process that is called like the one looked at.
    ChooseNamesakes,
    /// Shows several processes merged, with a row each, or side by side.
    Arrange(Arrangement),
    /// Looks at one of those shown side by side.
    Focus(ConnectionId),
    /// Shows those side by side from this place on.
    BesideFrom(usize),
    /// Processes of the same names that start later join, or do not.
    Follow,
    /// The agent is loaded into those that join without it, or is not.
    FollowAttach,
    /// What chosen processes had counted when they ended.
    LastNumbers,
    /// Chosen processes that have ended are taken out.
    DropEnded,
    /// How a program is started with the agent by other means.
    SetUp,
    /// A text to the clipboard.
    CopyText(String),
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
    /// Ends the program that is looked at and was launched from here, or the last one launched: asks it to end, and at
    /// the second time ends it.
    Stop,
    /// The same of a certain one.
    StopLaunched(Ticket),
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
    /// Only methods that are dialled.
    OnlyDialled,
    /// With them those that are off again, or without.
    OffAgain,
    /// Methods of the framework hidden or shown.
    HideFramework,
    /// Tree or flat table.
    Tree,
    /// Keeps the order while numbers change.
    HoldOrder,
    /// Puts the rows in the order of the present numbers, though the order is held.
    SortAgain,
    /// The latency histogram of a row is kept: later ones are compared with it.
    MarkHistogram(RowId),
    /// It is kept no longer.
    ClearMark(RowId),
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
    /// It has ended; of several, all.
    pub ended: bool,
    /// There is a connection that was lost and can be tried again.
    pub lost: bool,
    /// Number of selected methods.
    pub selected: usize,
    /// Which levels its agent offers, in their order.
    pub offered: [bool; Level::ALL.len()],
    /// Number of methods shown.
    pub shown: usize,
    /// The filter has text.
    pub filtered: bool,
    /// A turn was refused because another controller has control.
    pub control_elsewhere: bool,
    /// Another controller has control of the process.
    pub others: bool,
    /// A turn can be undone.
    pub undo: bool,
    /// A turn can be done again.
    pub redo: bool,
    /// Some change of somebody's can be taken back.
    pub undo_of_anyone: bool,
    /// The budget did something that can be taken back.
    pub undo_of_budget: bool,
    /// Processes chosen.
    pub several: usize,
    /// Of them, those that have ended.
    pub several_ended: usize,
    /// Processes that are not chosen, and in which this window holds dials.
    pub held_elsewhere: usize,
    /// They are looked at merged: there is no single agent to be asked.
    pub merged: bool,
    /// Other processes are called like the one looked at.
    pub namesakes: bool,
    /// The demo program was found.
    pub demo: bool,
    /// There is a launched program to be stopped.
    pub stoppable: bool,
    /// What can be switched and is on now.
    pub switches: Switches,
}

impl Command {
    /// Whether it turns the dials of the selected methods.
    pub fn turns_selected(&self) -> bool {
        matches!(self, Command::ToggleSelected | Command::TurnUp | Command::TurnDown | Command::TurnTo(_))
    }
}

impl Situation {
    /// Processes chosen that have not ended.
    pub fn running(&self) -> usize {
        self.several.saturating_sub(self.several_ended)
    }
}

/// Switches, as they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Only methods that are dialled are shown.
    pub only_dialled: bool,
    /// With them those that are off again.
    pub off_again: bool,
    /// Methods of the framework are hidden.
    pub hide_framework: bool,
    /// Methods stand as a tree.
    pub tree: bool,
    /// Copies are merged.
    pub merge_copies: bool,
    /// The order is held.
    pub hold_order: bool,
    /// How several processes are shown.
    pub arrangement: Arrangement,
    /// Processes that start later join.
    pub follow: bool,
    /// The agent is loaded into them.
    pub follow_attach: bool,
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
            Command::TurnTo(Level::Off),
            Command::TurnTo(Level::Count),
            Command::TurnTo(Level::Time),
            Command::TurnTo(Level::Trace),
            Command::Undo,
            Command::Redo,
            Command::UndoOfAnyone,
            Command::Budget,
            Command::UndoOfBudget(None),
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
            Command::OffAgain,
            Command::HideFramework,
            Command::Tree,
            Command::MergeCopies,
            Command::HoldOrder,
            Command::SortAgain,
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
            Command::Stop,
            Command::SetUp,
            Command::Attach,
            Command::Reconnect,
            Command::Disconnect,
            Command::ChooseNamesakes,
            Command::Arrange(Arrangement::Merged),
            Command::Arrange(Arrangement::Apart),
            Command::Arrange(Arrangement::Beside),
            Command::Follow,
            Command::FollowAttach,
            Command::LastNumbers,
            Command::DropEnded,
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
