//! Control over the agent's dials: its holder, and the log lines when it changes hands.

use super::{Connection, Status};
use crate::log::{Log, LogKind};
use crate::update::Now;
use redial_protocol::message::Holder;
use redial_text::programs::controller;

/// The right to change dials.
#[derive(Debug, Default)]
pub struct Control {
    /// The controller that has it.
    pub holder: Option<Holder>,
    /// Whether the agent has sent a change of control in this session. Its status report may be older and is ignored
    /// from then on.
    pub(super) is_reported: bool,
}

impl Connection {
    /// Whether this window holds dials in the process, as far as its agent has reported.
    pub fn holds_dials(&self) -> bool {
        let ours = self.control.holder.as_ref().is_some_and(is_this_window);
        let some_held = self.agent.as_ref().is_some_and(|agent| agent.held > 0);
        ours && self.session.status == Status::Live && some_held
    }

    /// Returns the number of dials that others set, as reported by the agent: kept dials, except those of this window's
    /// searches, and held dials of another controller.
    pub fn dials_of_others(&self) -> u64 {
        let Some(agent) = &self.agent else { return 0 };
        let kept = agent.kept.saturating_sub(self.hot_search.kept());
        kept + if self.is_controlled_elsewhere() { agent.held } else { 0 }
    }

    /// Whether another controller has control of the process.
    pub fn is_controlled_elsewhere(&self) -> bool {
        let other = self.control.holder.as_ref().is_some_and(|holder| !is_this_window(holder));
        other && self.session.status == Status::Live
    }

    /// Notes a change of control. Logs nothing when this window merely takes it and gives it back with each change.
    pub(super) fn take_control_change(&mut self, holder: Option<Holder>, log: &mut Log, now: Now) {
        self.control.is_reported = true;
        let before = std::mem::replace(&mut self.control.holder, holder);
        if before == self.control.holder {
            return;
        }
        let (kind, text) = match (&before, &self.control.holder) {
            (Some(mine), Some(other)) if is_this_window(mine) && !is_this_window(other) => {
                let text = format!(
                    "control went from this window to {}; dials set here stay on, and changing one asks for control \
                     again",
                    controller(other)
                );
                (LogKind::Control, text)
            }
            (Some(other), Some(mine)) if is_this_window(mine) && !is_this_window(other) => {
                (LogKind::Connection, format!("control: this window, no longer {}", controller(other)))
            }
            (_, Some(other)) if !is_this_window(other) => {
                (LogKind::Connection, format!("control: {}", controller(other)))
            }
            (Some(other), None) if !is_this_window(other) => {
                (LogKind::Connection, format!("control is free: {} released it", controller(other)))
            }
            _ => return,
        };
        self.log_line(log, now, kind, text);
    }
}

fn is_this_window(holder: &Holder) -> bool {
    holder.pid == std::process::id()
}
