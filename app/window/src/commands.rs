//! The window's commands as one enum. Menus, shortcuts, the palette, views and tests all use it. This module
//! holds names, keys and the conditions under which a command is available; `desktop` executes the commands.

mod availability;
mod choices;
mod context;
mod icons;
mod keys;
mod labels;
#[cfg(test)]
mod tests;

pub use availability::NOT_OFFERED;
pub use choices::{CallFormat, CopyFormat, FileChoice, RangeChoice, SessionPurpose};
pub use context::{
    CommandContext, ListFacts, ProcessCounts, ProcessFacts, Reach, SubjectFacts, SubjectKind, Switches,
};

use crate::settings::columns::ColumnLayout;
use crate::settings::layouts::{PanelId, Side};
use crate::settings::sections::DetailSection;
use crate::settings::{LowerTab, ThemeChoice};
use redial_model::call_groups::{GroupColumn, GroupKey};
use redial_model::events::{EventColumn, TracedEvent};
use redial_model::ids::{ConnectionId, MethodIx, Node, Ticket};
use redial_model::list::Sort;
use redial_model::method_table::Targets;
use redial_model::process_choice::Arrangement;
use redial_model::selection::SelectionMode;
use redial_protocol::cost::Share;
use redial_protocol::ids::{CopyKey, ProcessKey, RowId};
use redial_protocol::level::Level;
use std::path::PathBuf;
use std::sync::Arc;

/// An action of the window.
#[derive(Clone, Debug, PartialEq)]
pub enum UiCommand {
    /// Turns every dial of the process off; the agent confirms it.
    AllOff,
    /// Toggles the dials of the selected methods.
    ToggleSelected,
    /// Raises the dials of the selected methods by one level.
    TurnUp,
    /// Lowers the dials of the selected methods by one level.
    TurnDown,
    /// Sets the dials of the selected methods to a level.
    TurnTo(Level),
    /// Sets the dials of these copies to a level.
    Turn {
        /// The copies.
        targets: Targets,
        /// The level.
        level: Level,
    },
    /// Reports that the agent does not offer the requested level.
    NotOffered(Level),
    /// Confirms the large change in the open dialog.
    ConfirmChange,
    /// Changes shared methods for all AppDomains that share them.
    ConfirmSharing,
    /// Makes the requested change without the methods that other AppDomains share.
    ExcludeShared,
    /// Stops a change in progress and reverts the part already done.
    CancelChange(Ticket),
    /// Undoes the last change, whoever made it.
    UndoOfAnyone,
    /// Undoes the budget's last step in the given process, or in the current one.
    UndoOfBudget(Option<ConnectionId>),
    /// Opens the dialog of the overhead budget.
    Budget,
    /// Opens the dialog of the program's dial sets.
    DialSets,
    /// Saves the standing orders as a dial set with this name.
    SaveDialSet(String),
    /// Applies a saved dial set.
    ApplyDialSet(String),
    /// Deletes a saved dial set.
    DeleteDialSet(String),
    /// Saves the filter's text, or removes a saved one.
    SaveFilter(String),
    /// Sets the overhead budget of a process; `None` removes it.
    SetBudget(ConnectionId, Option<Share>),
    /// Finds the methods with the most self time and keeps them timed.
    FindHot,
    /// Stops that; its dials go off.
    CancelHot,
    /// Asks for the file in which to save the session.
    SaveSession,
    /// Asks for a saved session to open.
    OpenSession,
    /// Asks for a saved session to compare the process with.
    CompareSession,
    /// Asks for the file in which to save traced calls and self times for speedscope.
    ExportSpeedscope,
    /// Asks for the file in which to save a picture of the window.
    ExportPicture,
    /// Asks for the file in which to save a picture of a panel.
    ExportPanel(PanelId),
    /// Saves, opens or compares a session as this file.
    Session(SessionPurpose, String),
    /// Shows the copies of a method as one row, or each as its own.
    MergeCopies,
    /// Opens the dialog with control, standing orders and history.
    Agent,
    /// Undoes the last change of dials.
    Undo,
    /// Redoes the last change undone.
    Redo,
    /// Takes control from its holder, then repeats the change refused for lack of control.
    TakeControl,
    /// Takes control of the given process from its holder.
    TakeControlOf(ConnectionId),
    /// Shows a process, and connects if it has an agent.
    Select(ProcessKey),
    /// Adds a process to the selection or removes it; or extends the selection up to it.
    Choose(ProcessKey, SelectionMode),
    /// Selects every process with this name.
    ChooseNamed(String),
    /// Selects every process with the name of the current one.
    ChooseNamesakes,
    /// Shows several processes merged, with a row per process, or side by side.
    Arrange(Arrangement),
    /// Makes one of the processes shown side by side the current one.
    Focus(ConnectionId),
    /// Shows processes side by side from this position on.
    SideBySideFrom(usize),
    /// Toggles whether processes of the same names that start later join.
    Follow,
    /// Toggles whether the agent is loaded into joining processes that lack it.
    FollowAttach,
    /// Opens the last numbers of selected processes that have ended.
    LastNumbers,
    /// Removes selected processes that have ended.
    DropEnded,
    /// Opens the dialog that shows other ways to start a program with the agent.
    SetUp,
    /// Copies a text to the clipboard.
    CopyText(String),
    /// Filters the process list by this text.
    FindProcess(String),
    /// Shows or hides processes without .NET.
    AllProcesses(bool),
    /// Loads the agent into the current process.
    Attach,
    /// Reconnects to the current process.
    Reconnect,
    /// Closes the connection; held dials revert.
    Disconnect,
    /// Opens the dialog that starts a program with the agent in it.
    Launch,
    /// Opens the list that chooses a program or a folder to launch.
    Browse(FileChoice),
    /// Lists a folder there.
    OpenFolder(PathBuf),
    /// Enters a chosen path into the launch dialog.
    ChooseFile(FileChoice, PathBuf),
    /// Starts the program entered in the launch dialog.
    StartLaunch,
    /// Starts the demo.
    StartDemo,
    /// Stops the current launched program, or the one launched last: the first time asks it to end, the
    /// second time kills it.
    Stop,
    /// Stops the given launched program in the same way.
    StopLaunched(Ticket),
    /// Moves the keyboard focus to the filter.
    FocusFilter,
    /// Filters methods by name.
    Filter(String),
    /// Selects a row.
    Pick(Node, SelectionMode),
    /// Expands or collapses a group.
    Expand(Node),
    /// Sorts the table.
    Sort(Sort),
    /// Selects a method and scrolls to it.
    Reveal(MethodIx),
    /// Relaxes the filter as far as the selected method needs.
    ShowHidden,
    /// Returns to the method looked at before.
    Back,
    /// Goes to the method that *Back* left.
    Forward,
    /// Arranges the columns of the table.
    SetColumns(ColumnLayout),
    /// Shows all columns at their initial places and widths.
    ResetColumns,
    /// Opens the dialog that arranges the columns.
    Columns,
    /// Clears the filter.
    ClearFilter,
    /// Toggles whether only dialled methods are shown.
    OnlyDialled,
    /// Toggles whether they include methods whose dials are off again.
    OffAgain,
    /// Hides or shows framework methods.
    HideFramework,
    /// Hides or shows methods that the compiler wrote.
    HideGenerated,
    /// Switches between tree and flat table.
    Tree,
    /// Pins the selected methods above all others, or unpins them.
    Pin,
    /// Keeps the order while numbers change.
    FreezeOrder,
    /// Sorts the rows by the current numbers although the order is frozen.
    SortAgain,
    /// Shows numbers of all calls, of those from now on, or of the last seconds.
    Numbers(RangeChoice),
    /// Keeps the current latency histogram of a row for comparison with later ones.
    MarkHistogram(RowId),
    /// Drops the kept histogram.
    ClearMark(RowId),
    /// Selects every method shown.
    SelectAll,
    /// Copies the shown or selected rows to the clipboard.
    Copy(CopyFormat),
    /// Shows or hides the panel of traced calls.
    Events,
    /// Shows a tab of the panel below the methods, or hides the panel.
    Lower(LowerTab),
    /// Shows or hides the callers of a line in the tree of callers.
    ExpandCaller(Vec<CopyKey>),
    /// Selects the call with this number in the table of traced calls.
    ShowEvent(ConnectionId, u64),
    /// Shows the selected call in the timeline.
    ShowInTimeline,
    /// Opens a file at a line in the editor.
    OpenInEditor(String, u32),
    /// Sets the command that opens files in an editor.
    SetEditor(String),
    /// Shows no later calls while they are still collected, or all again.
    PauseEvents,
    /// Forgets the calls collected so far.
    ClearEvents,
    /// Shows calls of all methods, or of the selected ones.
    EventsOfAll,
    /// Filters calls by text.
    FilterEvents(String),
    /// Shows calls of one process, or of all.
    EventsOfProcess(Option<ConnectionId>),
    /// Sorts calls by a column, or reverses their order.
    SortEvents(EventColumn),
    /// Groups the shown calls by a value; None: shows each call.
    GroupEvents(Option<GroupKey>),
    /// Sorts the groups of calls by a column; the second time in the reverse order.
    SortGroups(GroupColumn),
    /// Shows the calls that meet this condition, each by itself.
    ShowGroup(String),
    /// Selects a call, or none.
    SelectEvent(Option<Arc<TracedEvent>>),
    /// Copies the selected call.
    CopyEvent(CallFormat),
    /// Copies a part of a call.
    CopyValue(String),
    /// Changes condition and limits of traces.
    SetCondition(Targets),
    /// Shows or hides the log.
    Log,
    /// Clears the log or the output.
    ClearLines(LogTab),
    /// Shows or hides the process list.
    ProcessList,
    /// Shows or hides the details of the selection.
    Details,
    /// Collapses a section of the details, or expands it.
    ToggleSection(DetailSection),
    /// Shows or hides a panel.
    Panel(PanelId),
    /// Gives every panel a tab by which it can be moved, or returns to the standard layout.
    MovablePanels,
    /// Moves a panel to an edge of the window.
    MovePanel(PanelId, Side),
    /// Opens the dialog of layouts.
    Layouts,
    /// Saves the layout under a name.
    SaveLayout(String),
    /// Shows the panels as saved under a name.
    ChooseLayout(String),
    /// Deletes a saved layout.
    DeleteLayout(String),
    /// Returns to the standard layout.
    ResetLayout,
    /// Sets the theme.
    Theme(ThemeChoice),
    /// Shows lower rows, so that more fit, or higher ones.
    Compact,
    /// Enlarges the interface.
    ZoomIn,
    /// Shrinks the interface.
    ZoomOut,
    /// Returns to the desktop's own scale.
    ZoomReset,
    /// Opens the command palette.
    Palette,
    /// Opens the list of keyboard shortcuts.
    Keys,
    /// Closes the topmost palette, dialog or sheet; without one, clears the filter.
    Escape,
    /// Closes the window; held dials revert.
    Quit,
}

impl UiCommand {
    /// Returns whether the command turns the dials of the selected methods.
    pub fn changes_selected(&self) -> bool {
        matches!(
            self,
            UiCommand::ToggleSelected | UiCommand::TurnUp | UiCommand::TurnDown | UiCommand::TurnTo(_)
        )
    }
}

/// A tab of the log panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogTab {
    /// Requests, results and refusals.
    #[default]
    Log,
    /// Output of launched programs.
    Output,
}

/// The menu that lists saved layouts, too.
pub const LAYOUT_MENU: &str = "Layout";

/// The menus and their entries, in order. The palette and the sheet of shortcuts list the same commands.
pub const MENUS: &[(&str, &[UiCommand])] = &[
    (
        "Dials",
        &[
            UiCommand::AllOff,
            UiCommand::ToggleSelected,
            UiCommand::TurnUp,
            UiCommand::TurnDown,
            UiCommand::TurnTo(Level::Off),
            UiCommand::TurnTo(Level::Count),
            UiCommand::TurnTo(Level::Time),
            UiCommand::TurnTo(Level::Trace),
            UiCommand::FindHot,
            UiCommand::CancelHot,
            UiCommand::Undo,
            UiCommand::Redo,
            UiCommand::UndoOfAnyone,
            UiCommand::DialSets,
            UiCommand::Budget,
            UiCommand::UndoOfBudget(None),
            UiCommand::TakeControl,
            UiCommand::Agent,
        ],
    ),
    (
        "Methods",
        &[
            UiCommand::Back,
            UiCommand::Forward,
            UiCommand::FocusFilter,
            UiCommand::ClearFilter,
            UiCommand::OnlyDialled,
            UiCommand::OffAgain,
            UiCommand::HideFramework,
            UiCommand::HideGenerated,
            UiCommand::Tree,
            UiCommand::MergeCopies,
            UiCommand::Pin,
            UiCommand::FreezeOrder,
            UiCommand::SortAgain,
            UiCommand::Numbers(RangeChoice::Total),
            UiCommand::Numbers(RangeChoice::SinceNow),
            UiCommand::Numbers(RangeChoice::Recent),
            UiCommand::SelectAll,
            UiCommand::Copy(CopyFormat::Text),
            UiCommand::Copy(CopyFormat::Markdown),
            UiCommand::Copy(CopyFormat::Csv),
        ],
    ),
    (
        "Events",
        &[
            UiCommand::Events,
            UiCommand::Lower(LowerTab::Timeline),
            UiCommand::Lower(LowerTab::Calls),
            UiCommand::Lower(LowerTab::Charts),
            UiCommand::Lower(LowerTab::Code),
            UiCommand::ShowInTimeline,
            UiCommand::EventsOfAll,
            UiCommand::PauseEvents,
            UiCommand::ClearEvents,
            UiCommand::CopyEvent(CallFormat::Text),
            UiCommand::CopyEvent(CallFormat::Json),
        ],
    ),
    (
        "Process",
        &[
            UiCommand::Launch,
            UiCommand::StartDemo,
            UiCommand::Stop,
            UiCommand::SetUp,
            UiCommand::Attach,
            UiCommand::Reconnect,
            UiCommand::Disconnect,
            UiCommand::ChooseNamesakes,
            UiCommand::Arrange(Arrangement::Merged),
            UiCommand::Arrange(Arrangement::Separate),
            UiCommand::Arrange(Arrangement::SideBySide),
            UiCommand::Follow,
            UiCommand::FollowAttach,
            UiCommand::LastNumbers,
            UiCommand::DropEnded,
            UiCommand::SaveSession,
            UiCommand::OpenSession,
            UiCommand::CompareSession,
            UiCommand::ExportSpeedscope,
            UiCommand::Quit,
        ],
    ),
    (
        "View",
        &[
            UiCommand::ProcessList,
            UiCommand::Details,
            UiCommand::Log,
            UiCommand::ClearLines(LogTab::Log),
            UiCommand::ClearLines(LogTab::Output),
            UiCommand::Columns,
            UiCommand::ResetColumns,
            UiCommand::Theme(ThemeChoice::Dark),
            UiCommand::Theme(ThemeChoice::Light),
            UiCommand::Theme(ThemeChoice::System),
            UiCommand::Compact,
            UiCommand::ZoomIn,
            UiCommand::ZoomOut,
            UiCommand::ZoomReset,
            UiCommand::ExportPicture,
            UiCommand::Palette,
            UiCommand::Keys,
        ],
    ),
    (LAYOUT_MENU, &[UiCommand::MovablePanels, UiCommand::ResetLayout, UiCommand::Layouts]),
];

/// Returns every command that has a menu entry.
pub fn listed() -> impl Iterator<Item = &'static UiCommand> {
    MENUS.iter().flat_map(|(_, commands)| commands.iter())
}
