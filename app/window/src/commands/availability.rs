//! Availability of commands, and the state of switches.

use super::{CommandContext, LogTab, Reach, UiCommand};
use crate::settings::layouts::PanelId;

/// Why a level is not offered.
pub const NOT_OFFERED: &str =
    "not offered by this agent: its program was started with a lower REDIAL_MAX_LEVEL";

/// Why commands about traced calls are not available.
const EVENTS_HIDDEN: &str = "the events panel is hidden: show it first";

impl UiCommand {
    /// Returns whether a switch is on; `None` for other commands.
    pub fn is_on(&self, now: &CommandContext) -> Option<bool> {
        let switches = &now.switches;
        match self {
            UiCommand::OnlyDialled => Some(switches.only_dialled),
            UiCommand::OffAgain => Some(switches.off_again),
            UiCommand::HideFramework => Some(switches.hide_framework),
            UiCommand::HideGenerated => Some(switches.hide_generated),
            UiCommand::Tree => Some(switches.tree),
            UiCommand::MergeCopies => Some(switches.merge_copies),
            UiCommand::FreezeOrder => Some(switches.freeze_order),
            UiCommand::Numbers(choice) => Some(switches.numbers == *choice),
            UiCommand::Arrange(arrangement) => {
                Some(now.processes.selected > 1 && switches.arrangement == *arrangement)
            }
            UiCommand::Follow => Some(switches.follow),
            UiCommand::FollowAttach => Some(switches.follow_attach),
            UiCommand::Events => Some(switches.shows(PanelId::Events)),
            UiCommand::Lower(tab) => Some(switches.shows(PanelId::of_tab(*tab))),
            UiCommand::Panel(panel) => Some(switches.shows(*panel)),
            UiCommand::MovablePanels => Some(switches.movable_panels),
            UiCommand::PauseEvents => Some(switches.events_paused),
            UiCommand::EventsOfAll => Some(switches.events_of_all),
            UiCommand::Compact => Some(switches.compact),
            UiCommand::Log => Some(switches.shows(PanelId::Log)),
            UiCommand::ProcessList => Some(switches.shows(PanelId::Processes)),
            UiCommand::Details => Some(switches.shows(PanelId::Details)),
            UiCommand::Theme(theme) => Some(switches.theme == *theme),
            _ => None,
        }
    }

    /// Returns whether the command is available now, or the reason why not.
    pub fn enabled(&self, now: &CommandContext) -> Result<(), &'static str> {
        let need = |is_met: bool, why: &'static str| if is_met { Ok(()) } else { Err(why) };
        match self {
            UiCommand::ToggleSelected | UiCommand::TurnUp | UiCommand::TurnDown => now.selection().map(drop),
            UiCommand::TurnTo(level) => {
                let offered = now.selection()?.offered.get(*level as usize).is_some_and(|offered| *offered);
                need(offered, NOT_OFFERED)
            }
            UiCommand::Turn { .. }
            | UiCommand::ConfirmChange
            | UiCommand::ConfirmSharing
            | UiCommand::ExcludeShared
            | UiCommand::Disconnect => now.live().map(drop),
            UiCommand::Agent | UiCommand::Budget | UiCommand::DialSets => now.single_process().map(drop),
            UiCommand::FindHot => {
                let facts = now.single_process()?;
                need(!facts.finding_hot, "a search is already running")?;
                need(!facts.controlled_elsewhere, "another program has control: take it first")
            }
            UiCommand::SaveSession | UiCommand::CompareSession | UiCommand::ExportSpeedscope => {
                now.single_process().map(drop)
            }
            UiCommand::CancelHot => need(now.single_process()?.finding_hot, "no search is running"),
            UiCommand::UndoOfAnyone => {
                need(now.single_process()?.undo_of_anyone, "there is no change to undo")
            }
            UiCommand::UndoOfBudget(Some(_)) => Ok(()),
            UiCommand::UndoOfBudget(None) => {
                need(now.single_process()?.undo_of_budget, "the budget has not turned anything down")
            }
            UiCommand::TakeControl => need(now.live()?.is_controlled_elsewhere(), "nobody else has control"),
            UiCommand::Undo => {
                need(now.subject.is_some_and(|subject| subject.undo), "there is nothing to undo")
            }
            UiCommand::Redo => {
                need(now.subject.is_some_and(|subject| subject.redo), "there is nothing to redo")
            }
            UiCommand::ChooseNamesakes => {
                now.shown()?;
                let why = "no other process with this name has the agent or can load it";
                need(now.processes.namesakes, why)
            }
            UiCommand::OffAgain => {
                need(now.switches.only_dialled, "all methods are shown already, dialled or not")
            }
            UiCommand::Arrange(_) => need(now.processes.selected > 1, "only one process is selected"),
            UiCommand::Follow => now.shown().map(drop),
            UiCommand::FollowAttach => {
                need(now.switches.follow, "processes that start later do not join: switch that on first")
            }
            UiCommand::DropEnded | UiCommand::LastNumbers => {
                need(now.processes.ended > 0, "no selected process has ended")
            }
            UiCommand::Attach => {
                need(now.shown()?.attachable, "the process has the agent already or cannot load it")
            }
            UiCommand::Reconnect => match now.shown()?.reach {
                Reach::Live => Err("the agent is connected"),
                Reach::Partly | Reach::Unreachable => Ok(()),
                Reach::Ended => Err("the process has ended"),
            },
            UiCommand::ClearLines(LogTab::Log) => need(now.has_log, "the log is empty"),
            UiCommand::ClearLines(LogTab::Output) => need(now.has_output, "there is no output"),
            UiCommand::Stop => need(now.stoppable, "no program launched from this window is running"),
            UiCommand::PauseEvents | UiCommand::ClearEvents | UiCommand::EventsOfAll => {
                now.live()?;
                need(now.switches.events, EVENTS_HIDDEN)
            }
            UiCommand::SetCondition(_) => {
                now.single_process()?;
                need(now.switches.events, EVENTS_HIDDEN)
            }
            UiCommand::CopyEvent(_) | UiCommand::ShowInTimeline => {
                need(now.switches.events, EVENTS_HIDDEN)?;
                need(now.list.call_selected, "no call is selected: select one in the events panel first")
            }
            UiCommand::Pin => {
                let selected = now.shown()?.selected > 0;
                need(selected, "no method is selected: select one in the list first")
            }
            UiCommand::Back => need(now.list.back, "no other method was looked at before this one"),
            UiCommand::Forward => need(now.list.forward, "there is nothing to go forward to"),
            UiCommand::ExportPanel(panel) => {
                need(now.switches.shows(*panel), "the panel is hidden: show it first")
            }
            UiCommand::ClearFilter => need(now.list.filtered, "the filter is empty"),
            UiCommand::SelectAll | UiCommand::Copy(_) => {
                need(now.list.shown > 0, "the list is empty: change the filter, or the switches below it")
            }
            UiCommand::StartDemo => need(
                now.demo,
                "no dotnet was found: install .NET, or set REDIAL_DEMO_DOTNET to the path of a dotnet",
            ),
            _ => Ok(()),
        }
    }
}
