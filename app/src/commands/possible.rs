//! Which commands can be given, and which switches are on.

use super::{Command, Situation};
use crate::ui::knob::why_not;
use crate::views::face::NOT_OFFERED;

impl Command {
    /// Of a switch, whether it is on.
    pub fn is_on(&self, now: &Situation) -> Option<bool> {
        let switches = &now.switches;
        match self {
            Command::OnlyDialled => Some(switches.only_dialled),
            Command::OffAgain => Some(switches.off_again),
            Command::HideFramework => Some(switches.hide_framework),
            Command::Tree => Some(switches.tree),
            Command::MergeCopies => Some(switches.merge_copies),
            Command::HoldOrder => Some(switches.hold_order),
            Command::Arrange(arrangement) => Some(now.several > 1 && switches.arrangement == *arrangement),
            Command::Follow => Some(switches.follow),
            Command::FollowAttach => Some(switches.follow_attach),
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
                need(now.selected > 0, "no method is selected: pick one in the list first")
            }
            Command::TurnTo(level) => {
                need(now.connected, "no agent is connected")?;
                need(now.selected > 0, "no method is selected: pick one in the list first")?;
                let offered = now.offered.get(*level as usize).is_some_and(|offered| *offered);
                need(offered, why_not(*level, NOT_OFFERED))
            }
            Command::Turn { .. } | Command::ConfirmTurn | Command::ShareTurn | Command::LeaveShared => {
                need(now.connected, "no agent is connected")
            }
            Command::Agent => {
                need(!now.merged, "that is told of one process: pick it")?;
                need(now.connected, "no agent is connected")
            }
            Command::UndoOfAnyone => {
                need(!now.merged, "that is done in one process: pick it")?;
                need(now.connected, "no agent is connected")?;
                need(now.undo_of_anyone, "there is no change to take back")
            }
            Command::Budget | Command::SetBudget(_) => {
                need(!now.merged, "that is set for one process: pick it")?;
                need(now.connected, "no agent is connected")
            }
            Command::UndoOfBudget(Some(_)) => Ok(()),
            Command::UndoOfBudget(None) => {
                need(!now.merged, "that is done in one process: pick it")?;
                need(now.connected, "no agent is connected")?;
                need(now.undo_of_budget, "the budget has turned nothing down")
            }
            Command::TakeControl => {
                need(now.connected, "no agent is connected")?;
                need(now.control_elsewhere || now.others, "nobody else has control")
            }
            Command::Undo => need(now.undo, "there is nothing to undo"),
            Command::Redo => need(now.redo, "there is nothing to redo"),
            Command::ChooseNamesakes => {
                need(now.process, "no process was picked")?;
                need(now.namesakes, "no other process that can be turned is called so")
            }
            Command::OffAgain => need(now.switches.only_dialled, "every method is shown, dialled or not"),
            Command::Arrange(_) => need(now.several > 1, "only one process is chosen"),
            Command::Follow => need(now.process, "no process was picked"),
            Command::FollowAttach => need(now.switches.follow, "those that start later do not join"),
            Command::DropEnded | Command::LastNumbers => {
                need(now.several_ended > 0, "no chosen process has ended")
            }
            Command::Attach => {
                need(now.process, "no process was picked")?;
                need(now.attachable, "the agent cannot be loaded into the process, or is in it")
            }
            Command::Reconnect => {
                need(now.process, "no process was picked")?;
                need(now.lost || !now.connected, "the agent is connected")?;
                need(!now.ended, "the process has ended")
            }
            Command::Stop => need(now.stoppable, "no program that was launched from here runs"),
            Command::Disconnect => need(now.connected, "no agent is connected"),
            Command::ClearFilter => need(now.filtered, "there is no filter"),
            Command::SelectAll | Command::Copy(_) => {
                need(now.shown > 0, "the list shows no method: change the filter, or the switches below it")
            }
            Command::StartDemo => {
                need(now.demo, "the demo program was not found; in a checkout, `cargo xtask demo` builds it")
            }
            _ => Ok(()),
        }
    }
}
