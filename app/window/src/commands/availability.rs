//! Availability of commands, and the state of switches.

use super::{CommandContext, UiCommand};
use crate::ui::knob::why_not;

/// Why a level is not offered.
pub const NOT_OFFERED: &str =
    "not offered by this agent: its program was started with a lower REDIAL_MAX_LEVEL";

impl UiCommand {
    /// Returns whether a switch is on; `None` for other commands.
    pub fn is_on(&self, now: &CommandContext) -> Option<bool> {
        let switches = &now.switches;
        match self {
            UiCommand::OnlyDialled => Some(switches.only_dialled),
            UiCommand::OffAgain => Some(switches.off_again),
            UiCommand::HideFramework => Some(switches.hide_framework),
            UiCommand::Tree => Some(switches.tree),
            UiCommand::MergeCopies => Some(switches.merge_copies),
            UiCommand::HoldOrder => Some(switches.hold_order),
            UiCommand::Arrange(arrangement) => Some(now.several > 1 && switches.arrangement == *arrangement),
            UiCommand::Follow => Some(switches.follow),
            UiCommand::FollowAttach => Some(switches.follow_attach),
            UiCommand::Log => Some(switches.log),
            UiCommand::Theme(theme) => Some(switches.theme == *theme),
            _ => None,
        }
    }

    /// Returns whether the command is available now, or the reason why not.
    pub fn enabled(&self, now: &CommandContext) -> Result<(), &'static str> {
        let need = |held: bool, why: &'static str| if held { Ok(()) } else { Err(why) };
        match self {
            UiCommand::ToggleSelected | UiCommand::TurnUp | UiCommand::TurnDown => {
                need(now.connected, "no agent is connected")?;
                need(now.selected > 0, "no method is selected: select one in the list first")
            }
            UiCommand::TurnTo(level) => {
                need(now.connected, "no agent is connected")?;
                need(now.selected > 0, "no method is selected: select one in the list first")?;
                let offered = now.offered.get(*level as usize).is_some_and(|offered| *offered);
                need(offered, why_not(*level, NOT_OFFERED))
            }
            UiCommand::Turn { .. }
            | UiCommand::ConfirmChange
            | UiCommand::ConfirmSharing
            | UiCommand::ExcludeShared => need(now.connected, "no agent is connected"),
            UiCommand::Agent => {
                need(!now.merged, "this is for a single process: select one")?;
                need(now.connected, "no agent is connected")
            }
            UiCommand::UndoOfAnyone => {
                need(!now.merged, "this is for a single process: select one")?;
                need(now.connected, "no agent is connected")?;
                need(now.undo_of_anyone, "there is no change to undo")
            }
            UiCommand::Budget | UiCommand::SetBudget(_) => {
                need(!now.merged, "this is for a single process: select one")?;
                need(now.connected, "no agent is connected")
            }
            UiCommand::UndoOfBudget(Some(_)) => Ok(()),
            UiCommand::UndoOfBudget(None) => {
                need(!now.merged, "this is for a single process: select one")?;
                need(now.connected, "no agent is connected")?;
                need(now.undo_of_budget, "the budget has not turned anything down")
            }
            UiCommand::TakeControl => {
                need(now.connected, "no agent is connected")?;
                need(now.control_elsewhere || now.others, "nobody else has control")
            }
            UiCommand::Undo => need(now.undo, "there is nothing to undo"),
            UiCommand::Redo => need(now.redo, "there is nothing to redo"),
            UiCommand::ChooseNamesakes => {
                need(now.process, "no process is selected")?;
                need(now.namesakes, "no other process with this name has the agent or can load it")
            }
            UiCommand::OffAgain => {
                need(now.switches.only_dialled, "all methods are shown already, dialled or not")
            }
            UiCommand::Arrange(_) => need(now.several > 1, "only one process is selected"),
            UiCommand::Follow => need(now.process, "no process is selected"),
            UiCommand::FollowAttach => {
                need(now.switches.follow, "processes that start later do not join: switch that on first")
            }
            UiCommand::DropEnded | UiCommand::LastNumbers => {
                need(now.several_ended > 0, "no selected process has ended")
            }
            UiCommand::Attach => {
                need(now.process, "no process is selected")?;
                need(now.attachable, "the process has the agent already or cannot load it")
            }
            UiCommand::Reconnect => {
                need(now.process, "no process is selected")?;
                need(now.lost || !now.connected, "the agent is connected")?;
                need(!now.ended, "the process has ended")
            }
            UiCommand::Stop => need(now.stoppable, "no program launched from this window is running"),
            UiCommand::Disconnect => need(now.connected, "no agent is connected"),
            UiCommand::ClearFilter => need(now.filtered, "the filter is empty"),
            UiCommand::SelectAll | UiCommand::Copy(_) => {
                need(now.shown > 0, "the list is empty: change the filter, or the switches below it")
            }
            UiCommand::StartDemo => {
                need(now.demo, "the demo was not found: build it with `cargo xtask demo` in a checkout")
            }
            _ => Ok(()),
        }
    }
}
