//! Starts programs with the agent.

use super::{App, demo};
use crate::views::launch_dialog::LaunchPlan;
use redial_model::log::LogKind;

impl App {
    /// Starts the demo, if it can be started.
    pub(super) fn start_demo(&mut self) {
        let Some(plan) = self.demo.clone() else { return };
        match demo::unpack() {
            Ok(()) => self.start(plan),
            Err(error) => {
                let now = self.now();
                let why = format!("The demo cannot be written: {error}");
                self.model.log.add(now, None, LogKind::Failure, why);
            }
        }
    }

    pub(super) fn start(&mut self, plan: LaunchPlan) {
        let what =
            std::iter::once(&plan.program).chain(&plan.arguments).cloned().collect::<Vec<_>>().join(" ");
        let now = self.now();
        let ticket = self.model.begin_launch(&what, now);
        self.model.name_launch(ticket, plan.title());
        self.pending.launch = Some(ticket);
        self.workers.launch(ticket, plan);
    }
}
