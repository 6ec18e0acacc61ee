//! Names of commands, and explanations where a name does not suffice.

use super::{CallFormat, CopyFormat, LogTab, RangeChoice, UiCommand};
use crate::settings::{LowerTab, ThemeChoice};
use redial_model::process_choice::Arrangement;
use redial_protocol::level::Level;

/// The effect of stopping a launched program.
#[cfg(unix)]
const STOP: &str = "Asks the program launched from this window to end (SIGTERM). A second time kills it.";
#[cfg(not(unix))]
const STOP: &str = "Asks the program launched from this window to end (Ctrl+Break). A second time kills it.";

impl UiCommand {
    /// Returns the command's name, the same everywhere.
    pub fn name(&self) -> &'static str {
        match self {
            UiCommand::AllOff => "All dials off",
            UiCommand::ToggleSelected => "Turn selected dials on or off",
            UiCommand::TurnUp => "Turn selected dials up",
            UiCommand::TurnDown => "Turn selected dials down",
            UiCommand::TurnTo(Level::Off) => "Turn selected dials off",
            UiCommand::TurnTo(Level::Count) => "Set selected dials to count",
            UiCommand::TurnTo(Level::Time) => "Set selected dials to time",
            UiCommand::TurnTo(Level::Trace) => "Set selected dials to trace",
            UiCommand::Turn { .. } => "Turn dials",
            UiCommand::NotOffered(_) => "Set dials to a level that is not offered",
            UiCommand::ConfirmChange => "Turn many dials",
            UiCommand::ConfirmSharing => "Change in all AppDomains",
            UiCommand::ExcludeShared => "Skip shared methods",
            UiCommand::CancelChange(_) => "Stop this change",
            UiCommand::UndoOfAnyone => "Undo anyone's last change",
            UiCommand::UndoOfBudget(_) => "Undo the budget's last step",
            UiCommand::Budget | UiCommand::SetBudget(..) => "Overhead budget…",
            UiCommand::DialSets => "Dial sets…",
            UiCommand::SaveDialSet(_) => "Save a dial set",
            UiCommand::ApplyDialSet(_) => "Apply a dial set",
            UiCommand::DeleteDialSet(_) => "Delete a dial set",
            UiCommand::SaveFilter(_) => "Save or remove a filter",
            UiCommand::FindHot => "Find hot methods",
            UiCommand::CancelHot => "Stop finding hot methods",
            UiCommand::SaveSession => "Save session…",
            UiCommand::OpenSession => "Open session…",
            UiCommand::CompareSession => "Compare with session…",
            UiCommand::ExportSpeedscope => "Export for speedscope…",
            UiCommand::ExportPicture => "Save a picture…",
            UiCommand::ExportPanel(_) => "Save a picture of a panel…",
            UiCommand::Session(..) => "Save, open or compare a session",
            UiCommand::MergeCopies => "Merge copies",
            UiCommand::Agent => "Control, orders and history…",
            UiCommand::Undo => "Undo last change",
            UiCommand::Redo => "Redo",
            UiCommand::TakeControl | UiCommand::TakeControlOf(_) => "Take control",
            UiCommand::Select(_) => "Show a process",
            UiCommand::Choose(..) => "Select a process",
            UiCommand::ChooseNamed(_) => "Select all processes with a name",
            UiCommand::ChooseNamesakes => "Select all processes with this name",
            UiCommand::Arrange(Arrangement::Merged) => "Merge processes into one list",
            UiCommand::Arrange(Arrangement::Separate) => "One row per process",
            UiCommand::Arrange(Arrangement::SideBySide) => "Show processes side by side",
            UiCommand::Focus(_) => "Focus one of several processes",
            UiCommand::SideBySideFrom(_) => "Scroll through processes side by side",
            UiCommand::Follow => "Add processes that start later",
            UiCommand::FollowAttach => "Load the agent into processes that start later",
            UiCommand::LastNumbers => "Last numbers of ended processes…",
            UiCommand::DropEnded => "Remove ended processes",
            UiCommand::SetUp => "Set up the agent…",
            UiCommand::CopyText(_) => "Copy",
            UiCommand::FindProcess(_) => "Filter processes",
            UiCommand::AllProcesses(_) => "Show non-.NET processes",
            UiCommand::Filter(_) => "Filter by name",
            UiCommand::Pick(..) => "Select a row",
            UiCommand::Expand(_) => "Expand or collapse a group",
            UiCommand::Sort(_) => "Sort the table",
            UiCommand::Reveal(_) => "Go to a method",
            UiCommand::ShowHidden => "Show the hidden method",
            UiCommand::Back => "Back",
            UiCommand::Forward => "Forward",
            UiCommand::SetColumns(_) => "Arrange columns",
            UiCommand::ResetColumns => "Reset columns",
            UiCommand::Columns => "Columns…",
            UiCommand::Attach => "Load the agent into the process",
            UiCommand::Reconnect => "Reconnect",
            UiCommand::Disconnect => "Disconnect",
            UiCommand::Launch => "Launch a program…",
            UiCommand::Browse(_) => "Browse…",
            UiCommand::OpenFolder(_) => "Open a folder",
            UiCommand::ChooseFile(..) => "Choose a file",
            UiCommand::StartLaunch => "Launch",
            UiCommand::StartDemo => "Start the demo",
            UiCommand::Stop | UiCommand::StopLaunched(_) => "Stop the launched program",
            UiCommand::FocusFilter => "Filter methods",
            UiCommand::ClearFilter => "Clear the filter",
            UiCommand::OnlyDialled => "Only dialled methods",
            UiCommand::OffAgain => "Also show methods now off",
            UiCommand::HideFramework => "Hide framework methods",
            UiCommand::HideGenerated => "Hide compiler-generated methods",
            UiCommand::Tree => "Show as tree",
            UiCommand::Pin => "Pin or unpin selected methods",
            UiCommand::FreezeOrder => "Freeze the order",
            UiCommand::SortAgain => "Sort again",
            UiCommand::Numbers(RangeChoice::Total) => "Numbers of all calls",
            UiCommand::Numbers(RangeChoice::SinceNow) => "Numbers since now",
            UiCommand::Numbers(RangeChoice::Recent) => "Numbers of the last 10 s",
            UiCommand::MarkHistogram(_) => "Mark the latency histogram",
            UiCommand::ClearMark(_) => "Clear the mark",
            UiCommand::SelectAll => "Select all methods shown",
            UiCommand::Copy(CopyFormat::Text) => "Copy as text",
            UiCommand::Copy(CopyFormat::Markdown) => "Copy as Markdown",
            UiCommand::Copy(CopyFormat::Csv) => "Copy as CSV",
            UiCommand::Events => "Show events",
            UiCommand::Lower(LowerTab::Events) => "Show events",
            UiCommand::Lower(LowerTab::Timeline) => "Show timeline",
            UiCommand::Lower(LowerTab::Calls) => "Show call tree",
            UiCommand::Lower(LowerTab::Charts) => "Show charts",
            UiCommand::Lower(LowerTab::Code) => "Show source and IL",
            UiCommand::OpenInEditor(..) => "Open in editor",
            UiCommand::SetEditor(_) => "Set the editor",
            UiCommand::ExpandCaller(_) => "Expand or collapse callers",
            UiCommand::ShowEvent(..) => "Show call in events",
            UiCommand::ShowInTimeline => "Show call in timeline",
            UiCommand::PauseEvents => "Pause events",
            UiCommand::ClearEvents => "Clear events",
            UiCommand::ClearLines(LogTab::Log) => "Clear log",
            UiCommand::ClearLines(LogTab::Output) => "Clear output",
            UiCommand::EventsOfAll => "Events of all methods",
            UiCommand::FilterEvents(_) => "Filter events",
            UiCommand::EventsOfProcess(_) => "Filter events by process",
            UiCommand::SortEvents(_) => "Sort events",
            UiCommand::GroupEvents(_) => "Group events",
            UiCommand::SortGroups(_) => "Sort groups of events",
            UiCommand::ShowGroup(_) => "Show the calls of a group",
            UiCommand::SelectEvent(_) => "Select a call",
            UiCommand::CopyEvent(CallFormat::Text) => "Copy call as text",
            UiCommand::CopyEvent(CallFormat::Json) => "Copy call as JSON",
            UiCommand::CopyValue(_) => "Copy a value",
            UiCommand::SetCondition(_) => "Set condition and limits",
            UiCommand::Log => "Show the log",
            UiCommand::ProcessList => "Show the process list",
            UiCommand::Details => "Show the details",
            UiCommand::ToggleSection(_) => "Collapse or expand a section",
            UiCommand::Panel(_) => "Show or hide a panel",
            UiCommand::MovablePanels => "Movable panels",
            UiCommand::MovePanel(..) => "Move a panel",
            UiCommand::Layouts => "Layouts…",
            UiCommand::SaveLayout(_) => "Save the layout",
            UiCommand::ChooseLayout(_) => "Choose a layout",
            UiCommand::DeleteLayout(_) => "Delete a layout",
            UiCommand::ResetLayout => "Reset layout",
            UiCommand::Theme(ThemeChoice::Dark) => "Dark theme",
            UiCommand::Theme(ThemeChoice::Light) => "Light theme",
            UiCommand::Theme(ThemeChoice::System) => "System theme",
            UiCommand::Compact => "Compact rows",
            UiCommand::ZoomIn => "Zoom in",
            UiCommand::ZoomOut => "Zoom out",
            UiCommand::ZoomReset => "Reset zoom",
            UiCommand::Palette => "Command palette…",
            UiCommand::Keys => "Keyboard shortcuts",
            UiCommand::Escape => "Close or clear",
            UiCommand::Quit => "Quit",
        }
    }

    /// Returns an explanation where the name does not suffice.
    pub fn explained(&self) -> Option<&'static str> {
        match self {
            UiCommand::Undo => Some(
                "Takes back the last change made in this window. Other users' changes stay, unless this \
                window changed the same methods.",
            ),
            UiCommand::Redo => Some("Repeats the change that this window undid last."),
            UiCommand::UndoOfAnyone => Some(
                "Takes back the most recent change, whether it came from this window, `redial dial` or \
                another user. The history in the agent dialog names it.",
            ),
            UiCommand::UndoOfBudget(_) => Some(
                "Takes back only the budget's latest step. Until you set a new budget, it then leaves \
                those methods alone.",
            ),
            UiCommand::FindHot => Some(
                "Counts the program's own methods for a few seconds, times those that are called, and keeps the 50 with \
                the most self time at level time, also after this window closes. Everything else goes off again; dials \
                that are on already stay as they are.",
            ),
            UiCommand::SaveSession => Some(
                "Saves the numbers, histograms, traced calls and log of this process to a file that only you can read.",
            ),
            UiCommand::OpenSession => Some("Shows saved numbers. They are offline: they do not change."),
            UiCommand::CompareSession => {
                Some("Shows which methods are slower, called more, new or gone since the session was saved.")
            }
            UiCommand::ExportSpeedscope => Some(
                "Saves the latest traced calls by thread, and the self times of timed methods, as a file for the viewer \
                speedscope.",
            ),
            UiCommand::ExportPicture => Some("Saves this window as a PNG file."),
            UiCommand::CancelHot => Some("Turns off the dials that the search has set."),
            UiCommand::TakeControlOf(_) => Some(
                "Takes control from its holder so that this window can turn dials. Dials that are on \
                stay on.",
            ),
            UiCommand::Budget | UiCommand::SetBudget(..) => Some(
                "Limits what dials may cost. When they cost more, the agent turns the most expensive \
                ones down, reports it, and you can undo it.",
            ),
            UiCommand::Attach => Some(
                "Uses the diagnostics port of the runtime (.NET Core 3.0 or later). The agent stays \
                until the process ends, and is idle while no dial is on.",
            ),
            UiCommand::OnlyDialled => Some(
                "Shows methods whose dials are on or should be. A method turned off disappears when the \
                pointer leaves the rows, or shortly after the key.",
            ),
            UiCommand::OffAgain => {
                Some("Also shows dialled methods that are off again, with their last numbers.")
            }
            UiCommand::HideGenerated => Some(
                "Hides methods that only the compiler wrote, such as constructors of closures and members of records and \
                state machines. Lambdas, local functions, async methods and iterators stay, and methods that are or \
                were dialled.",
            ),
            UiCommand::Pin => Some(
                "Pinned methods stand above all others in the table, in every order, and again when the program \
                returns.",
            ),
            UiCommand::FreezeOrder => {
                Some("Rows keep their places while numbers change, until you switch this off.")
            }
            UiCommand::Back => {
                Some("Returns to the method looked at before, with the filter that showed it.")
            }
            UiCommand::Forward => Some("Goes to the method that “Back” left."),
            UiCommand::Details => {
                Some("Shows knob, numbers and callers of the selection, where there is room.")
            }
            UiCommand::Compact => Some("Lower rows and controls, so that more fit on the screen."),
            UiCommand::DialSets => Some(
                "Saves the dials of this program under a name and applies saved ones. A set is offered when the \
                program returns, and never applied by itself.",
            ),
            UiCommand::ResetColumns => {
                Some("Shows all columns of the method table at their initial places and widths.")
            }
            UiCommand::Columns => Some("Shows, hides, moves and resizes the columns of the method table."),
            UiCommand::SortAgain => Some(
                "Rows keep their places while the pointer is among them, shortly after a click or key \
                there, and while the order is frozen. This sorts them by the current numbers.",
            ),
            UiCommand::Numbers(RangeChoice::Total) => {
                Some("Shows all calls since each method was first dialled.")
            }
            UiCommand::Numbers(RangeChoice::SinceNow) => Some(
                "Calls, times and exceptions begin at zero in this window. Choose it again to begin anew. The process \
                counts on, so nothing is lost.",
            ),
            UiCommand::Numbers(RangeChoice::Recent) => {
                Some("Shows the calls, times and exceptions of the last ten whole seconds.")
            }
            UiCommand::Events => Some(
                "Lists the calls of methods at level trace, with their arguments, results and exceptions.",
            ),
            UiCommand::Lower(LowerTab::Timeline) => Some(
                "Shows when traced calls ran: a track for each thread, nested calls below their callers.",
            ),
            UiCommand::Lower(LowerTab::Calls) => {
                Some("Shows the tree of traced calls with total and self times, and as a flame graph.")
            }
            UiCommand::Lower(LowerTab::Charts) => {
                Some("Shows calls, durations and exceptions of the selected methods over time.")
            }
            UiCommand::Lower(LowerTab::Code) => {
                Some("Shows the selected method's source file, and its IL without and with the probe.")
            }
            UiCommand::MovablePanels => Some(
                "Gives each panel a tab. Drag it to an edge of another panel, or among its tabs. Off: the \
                standard layout.",
            ),
            UiCommand::ResetLayout => {
                Some("Shows the panels as at the first start. Filters, pins, columns and saved layouts stay.")
            }
            UiCommand::PauseEvents => {
                Some("Keeps the calls shown. Later calls are still collected and appear when you continue.")
            }
            UiCommand::ClearEvents => Some("Forgets the calls collected so far. Dials stay as they are."),
            UiCommand::EventsOfAll => {
                Some("Off: only calls of the selected methods. Without a selection, all calls are shown.")
            }
            UiCommand::Stop | UiCommand::StopLaunched(_) => Some(STOP),
            UiCommand::AllOff => {
                Some("Turns off every dial in all selected processes, whoever turned it on.")
            }
            UiCommand::ChooseNamesakes => Some(
                "Selects every process with the name of the current one, if it has the agent or can load \
                it.",
            ),
            UiCommand::Arrange(Arrangement::Merged) => Some(
                "One list with one row per method. Its numbers are sums over the processes, and its dial \
                turns the method in all of them.",
            ),
            UiCommand::Arrange(Arrangement::Separate) => {
                Some("One list with a row per method and process. Each dial is for one process.")
            }
            UiCommand::Arrange(Arrangement::SideBySide) => Some(
                "One list per process, with the same method at the same height. Each dial is for one \
                process; filter, order (by the sums) and selection apply to all.",
            ),
            UiCommand::Follow => Some(
                "Processes of the same names that start while this window is open join. Dials turned in \
                the merged list apply there from the first call.",
            ),
            UiCommand::LastNumbers => Some(
                "Shows the numbers per process. The merged list includes them in \
                                        its sums.",
            ),
            UiCommand::DropEnded => Some("Discards their last numbers, which then leave the sums."),
            UiCommand::FollowAttach => Some(
                "Loads the agent through the diagnostics port if a process starts without it. Otherwise \
                only processes started with the agent join.",
            ),
            UiCommand::SetUp => Some(
                "Shows the settings, the restart and the way back for shells, systemd, Docker, \
                Kubernetes, IIS and Windows services.",
            ),
            UiCommand::MergeCopies => Some(
                "On: one row per method; its dial is for all copies, in every AppDomain and load \
                context, now and later. Off: one row per copy; its dial is for that copy or AppDomain \
                only.",
            ),
            _ => None,
        }
    }
}
