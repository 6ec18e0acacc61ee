//! Chooses the empty state while a process has no methods, or none is visible.

use crate::commands::{CommandContext, UiCommand};
use crate::views::empty_views::{self, EmptyReason, HiddenMatches};
use eframe::egui::Ui;
use redial_model::connection::{Connection, Status};
use redial_model::fleet::Fleet;
use redial_model::list::Filter;
use redial_model::processes::AgentState;
use redial_model::state::Model;
use redial_model::subject::Subject;
use redial_model::suggestions::Suggestions;
use redial_model::update::Retry;
use std::time::Duration;

/// Explains why there are no methods, and offers the next step.
pub fn show(
    ui: &mut Ui,
    model: &Model,
    subject: Subject<'_>,
    now: &CommandContext,
    commands: &mut Vec<UiCommand>,
) {
    if let Some(fleet) = subject.fleet().filter(|_| *subject.status() != Status::Live)
        && let Some(why) = without_agents(model, fleet)
    {
        return empty_views::show(ui, &why, now, commands);
    }
    let process = subject.title();
    let connection = subject.process();
    let row = connection.and_then(|connection| model.processes.get(connection.process));
    let unready = row.filter(|row| !row.agent.can_connect() && row.agent != AgentState::Unknown);
    let attachable = unready.is_some_and(|row| row.agent == AgentState::Attachable);
    let without = attachable || unready.is_some_and(|row| matches!(row.agent, AgentState::LaunchOnly(_)));
    let waiting;
    let why = match (subject.status(), unready.and_then(|row| row.agent.reason())) {
        (Status::Lost { why, retry: Retry::Never, .. }, _) => EmptyReason::Gone { message: why, ended: true },
        (Status::Attaching, _) => {
            waiting = format!("Loading the agent into {process}…");
            EmptyReason::Waiting(&waiting)
        }
        (Status::Lost { .. } | Status::Connecting, reason) if without => {
            let trouble = connection.and_then(|connection| connection.session.not_attached.as_deref());
            let unable = reason.filter(|_| !attachable);
            EmptyReason::NoAgent { process: &process, unable, trouble }
        }
        (Status::Lost { why, .. }, None) => EmptyReason::Gone { message: why, ended: false },
        (Status::Lost { .. } | Status::Connecting, Some(why)) => {
            let silent = unready.is_some_and(|row| matches!(row.agent, AgentState::Silent(_)));
            EmptyReason::Unfit { process: &process, why, silent }
        }
        (Status::Connecting, None) => {
            waiting = format!("Connecting to {process}…");
            EmptyReason::Waiting(&waiting)
        }
        (Status::Live, _) if !subject.table().catalogue.is_complete() => {
            EmptyReason::Waiting("Loading methods…")
        }
        (Status::Live, _) => EmptyReason::NoMethods,
    };
    empty_views::show(ui, &why, now, commands);
}

/// Returns how many of several processes can load the agent, if none has it; `None` if none can.
fn without_agents(model: &Model, fleet: &Fleet) -> Option<EmptyReason<'static>> {
    let members = || fleet.members().iter().filter_map(|member| model.connections.get(&member.connection));
    if members().any(|one| one.session.status == Status::Attaching) {
        return Some(EmptyReason::Waiting("Loading the agent…"));
    }
    let can_attach = |one: &&Connection| {
        model.processes.get(one.process).is_some_and(|row| row.agent == AgentState::Attachable)
    };
    let (attachable, all) = (members().filter(can_attach).count(), members().count());
    (attachable > 0).then_some(EmptyReason::NoAgents { attachable, all })
}

/// Explains why no method is visible, and suggests similar names.
pub fn show_none(
    ui: &mut Ui,
    subject: Subject<'_>,
    suggestions: &mut Suggestions,
    now: &CommandContext,
    commands: &mut Vec<UiCommand>,
) {
    if let Some(seconds) = suggestions.refresh(subject, ui.input(|input| input.time)) {
        ui.ctx().request_repaint_after(Duration::from_secs_f64(seconds));
    }
    empty_views::show(ui, &left_out(subject, suggestions), now, commands);
}

fn left_out<'a>(subject: Subject<'a>, suggestions: &'a Suggestions) -> EmptyReason<'a> {
    let table = subject.table();
    let filter = table.list.filter();
    let text = filter.text.trim();
    if !filter.is_active() {
        return EmptyReason::Waiting("Loading methods…");
    }
    if filter.only_dialled && text.is_empty() {
        let on = Filter { hide_framework: false, off_again: false, ..filter.clone() };
        let framework = table.list.would_show(&on, &table.catalogue, &table.live);
        if framework == 0 && subject.process().is_some_and(Connection::is_reading_dials) {
            return EmptyReason::Waiting("Reading dials…");
        }
        return EmptyReason::NoDials { off_again: table.list.off_again(), framework };
    }
    if text.is_empty() && table.catalogue.modules().iter().all(|module| module.framework) {
        return EmptyReason::OnlyFramework;
    }
    EmptyReason::NoMatch { filter: text, beyond: HiddenMatches::of(table), suggestions: suggestions.names() }
}
