//! What stands where a process's methods would, while none are known, or none is shown.

use crate::commands::{Command, Situation};
use crate::model::connection::{Connection, Status};
use crate::model::list::Filter;
use crate::model::near::Near;
use crate::model::processes::AgentState;
use crate::model::state::Model;
use crate::model::update::Retry;
use crate::views::empty::{self, Beyond, Why};
use eframe::egui::Ui;
use std::time::Duration;

/// Why there are no methods, and what can be done.
pub fn show(
    ui: &mut Ui,
    model: &Model,
    connection: &Connection,
    situation: &Situation,
    commands: &mut Vec<Command>,
) {
    let process = connection.title();
    let row = model.processes.get(connection.process);
    let unready = row.filter(|row| !row.agent.can_connect() && row.agent != AgentState::Unknown);
    let attachable = unready.is_some_and(|row| row.agent == AgentState::Attachable);
    let without = attachable || unready.is_some_and(|row| matches!(row.agent, AgentState::LaunchOnly(_)));
    let waiting;
    let why = match (&connection.status, unready.and_then(|row| row.agent.reason())) {
        (Status::Lost { why, retry: Retry::Never, .. }, _) => Why::Gone { what: why, ended: true },
        (Status::Attaching, _) => {
            waiting = format!("Loading the agent into {process}…");
            Why::Waiting(&waiting)
        }
        (Status::Lost { .. } | Status::Connecting, reason) if without => {
            let trouble = connection.not_attached.as_deref();
            let unable = reason.filter(|_| !attachable);
            Why::NoAgent { process: &process, unable, trouble }
        }
        (Status::Lost { why, .. }, None) => Why::Gone { what: why, ended: false },
        (Status::Lost { .. } | Status::Connecting, Some(why)) => {
            let silent = unready.is_some_and(|row| matches!(row.agent, AgentState::Silent(_)));
            Why::Unfit { process: &process, why, silent }
        }
        (Status::Connecting, None) => {
            waiting = format!("Connecting to {process}…");
            Why::Waiting(&waiting)
        }
        (Status::Live, _) if !connection.catalogue.is_complete() => Why::Waiting("Reading the methods…"),
        (Status::Live, _) => Why::NoMethods,
    };
    empty::show(ui, &why, situation, commands);
}

/// Why none of the methods is shown, and what was perhaps meant.
pub fn show_none(
    ui: &mut Ui,
    list: &Connection,
    near: &mut Near,
    situation: &Situation,
    commands: &mut Vec<Command>,
) {
    if let Some(seconds) = near.settle(list, ui.input(|input| input.time)) {
        ui.ctx().request_repaint_after(Duration::from_secs_f64(seconds));
    }
    empty::show(ui, &left_out(list, near), situation, commands);
}

fn left_out<'a>(list: &'a Connection, near: &'a Near) -> Why<'a> {
    let filter = list.list.filter();
    let text = filter.text.trim();
    if !filter.is_active() {
        return Why::Waiting("Reading the methods…");
    }
    if filter.only_dialled && text.is_empty() {
        let on = Filter { hide_framework: false, off_again: false, ..filter.clone() };
        let framework = list.list.would_show(&on, &list.catalogue, &list.live);
        return Why::NoDials { off_again: list.list.off_again(), framework };
    }
    if text.is_empty() && list.catalogue.modules().iter().all(|module| module.framework) {
        return Why::OnlyFramework;
    }
    Why::NoMatch { filter: text, beyond: Beyond::of(list), near: near.names() }
}
