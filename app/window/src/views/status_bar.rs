//! The status bar at the bottom: the connection's state and figures. Those that do not fit are listed behind
//! the last button.

use crate::commands::UiCommand;
use crate::ui::capitalized;
use crate::ui::theme::Palette;
use eframe::egui::{Button, Color32, Label, Pos2, RichText, Sense, Stroke, TextStyle, Ui, pos2, vec2};
use redial_model::Model;
use redial_model::connection::{Connection, SessionInfo, Status};
use redial_model::fleet::Fleet;
use redial_model::ids::Ticket;
use redial_model::process_choice::Arrangement;
use redial_model::state::LaunchedProgram;
use redial_model::subject::Subject;
use redial_model::update::Retry;
use redial_protocol::cost::CostBudget;
use redial_text::{programs, words};
use std::time::Duration;

/// Width of that button, points.
const MORE: f32 = 84.0;

/// A fact about a live connection.
struct StatusItem {
    text: String,
    hint: String,
}

/// Shows the status bar. `mono` is the time on the model's clock.
pub fn show(ui: &mut Ui, model: &Model, mono: Duration, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        let Some(subject) = model.current() else {
            ui.weak("No process selected");
            if let Some((ticket, launched)) = model.launched_to_stop().first().copied() {
                ui.separator();
                ui.add(Label::new(format!("{} is running", launched.what)).truncate());
                stop(ui, (ticket, launched), mono, commands);
            }
            return;
        };
        let connection = match subject {
            Subject::Process(connection) => connection,
            Subject::Fleet(fleet) => return of_fleet(ui, model, fleet, mono, commands),
        };
        let SessionInfo { status, paused, .. } = &connection.session;
        let (text, colour) = state(connection, palette);
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        dot(ui, rect.center(), connection, colour);
        ui.label(RichText::new(text).color(colour));
        name(ui, connection);
        if let Some((ticket, launched)) = model.launched_in_sight() {
            stop(ui, (ticket, launched), mono, commands);
        }
        match status {
            Status::Lost { why, retry, .. } => {
                lost(ui, why, *retry, status.retry_at(), mono, commands);
            }
            Status::Connecting | Status::Attaching => {}
            Status::Live => {
                paused.iter().for_each(|why| drop(ui.colored_label(palette.asked, capitalized(why))));
                if let Some(text) = connection.hot_search.text() {
                    ui.colored_label(palette.waiting, text);
                    let hint = UiCommand::CancelHot.explained().unwrap_or_default();
                    if ui.small_button("Stop").on_hover_text(hint).clicked() {
                        commands.push(UiCommand::CancelHot);
                    }
                }
                show_items(ui, items(connection));
            }
        }
    });
}

/// Returns the state of a connection and its colour.
fn state(connection: &Connection, palette: &Palette) -> (&'static str, Color32) {
    let SessionInfo { status, paused, .. } = &connection.session;
    match status {
        Status::Live if paused.is_some() => ("Paused", palette.asked),
        Status::Live if connection.is_reading_dials() => ("Connected, reading dials…", palette.waiting),
        Status::Live => ("Connected", palette.live),
        Status::Connecting => ("Connecting…", palette.waiting),
        Status::Attaching => ("Loading the agent…", palette.waiting),
        Status::Lost { retry: Retry::Never, .. } => ("Ended", palette.weak),
        Status::Lost { retry: Retry::WithAgent, .. } => ("No agent", palette.weak),
        Status::Lost { .. } => ("Not connected", palette.bad),
    }
}

fn dot(ui: &Ui, centre: Pos2, connection: &Connection, colour: Color32) {
    match connection.session.status {
        Status::Live => ui.painter().circle_filled(centre, 5.0, colour),
        _ => ui.painter().circle_stroke(centre, 4.5, Stroke::new(1.5, colour)),
    };
}

/// Paints title and state of the current process or fleet in the middle of a row's free space, if they fit. The status bar
/// has both for screen readers.
pub fn heading(ui: &Ui, model: &Model) {
    let Some(subject) = model.current() else { return };
    let palette = Palette::of(ui);
    let room = ui.available_rect_before_wrap();
    let (text, process) = match subject {
        Subject::Process(connection) => (connection.title(), Some(connection)),
        Subject::Fleet(_) => (words::processes(model.members().count()), None),
    };
    let galley = ui.painter().layout_no_wrap(text, TextStyle::Button.resolve(ui.style()), palette.text);
    let dot_width = if process.is_some() { 16.0 } else { 0.0 };
    if galley.size().x + dot_width + 16.0 > room.width() {
        return;
    }
    let left = room.center().x - (galley.size().x + dot_width) / 2.0;
    if let Some(connection) = process {
        let (_, colour) = state(connection, palette);
        dot(ui, pos2(left + 5.0, room.center().y), connection, colour);
    }
    let top = room.center().y - galley.size().y / 2.0;
    ui.painter().galley(pos2(left + dot_width, top), galley, palette.text);
}

/// Shows the button that stops a launched program.
fn stop(
    ui: &mut Ui,
    (ticket, launched): (Ticket, &LaunchedProgram),
    mono: Duration,
    commands: &mut Vec<UiCommand>,
) {
    let command = UiCommand::StopLaunched(ticket);
    let left = launched.left_alone(mono);
    left.into_iter().for_each(|left| ui.ctx().request_repaint_after(left));
    let button = ui.add_enabled(left.is_none(), Button::new(stop_word(launched)).small());
    let button = button.on_hover_text(command.explained().unwrap_or_default());
    if button.clicked() {
        commands.push(command);
    }
}

/// Returns the button's text: the first time asks the program to end, the second kills it.
pub fn stop_word(launched: &LaunchedProgram) -> &'static str {
    if launched.stopping.is_some() { "Kill" } else { "Stop" }
}

/// Shows the button that stops several launched programs.
fn stop_several(
    ui: &mut Ui,
    launched: &[(Ticket, &LaunchedProgram)],
    mono: Duration,
    commands: &mut Vec<UiCommand>,
) {
    let Some((_, first)) = launched.first() else { return };
    // They can be killed as soon as one of them can.
    let left = launched.iter().map(|(_, one)| one.left_alone(mono)).min().flatten();
    left.into_iter().for_each(|left| ui.ctx().request_repaint_after(left));
    let names: Vec<String> = launched.iter().map(|(_, one)| one.named()).collect();
    let text = format!("{} {} launched here", stop_word(first), launched.len());
    let button = ui.add_enabled(left.is_none(), Button::new(text).small());
    let hint = format!("{}\n{}", words::all(&names), UiCommand::Stop.explained().unwrap_or_default());
    if button.on_hover_text(hint).clicked() {
        commands.push(UiCommand::Stop);
    }
}

/// Shows how many of several processes answer, and the button that stops those launched here.
fn of_fleet(ui: &mut Ui, model: &Model, fleet: &Fleet, mono: Duration, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    let catalogue = &fleet.table.catalogue;
    let (all, answer) = (catalogue.running_domains(), catalogue.available_domains());
    let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
    let reading = model.members().any(Connection::is_reading_dials);
    let paused = model.members().filter(|connection| connection.session.paused.is_some()).count();
    let lost = model
        .members()
        .any(|member| matches!(&member.session.status, Status::Lost { retry, .. } if *retry != Retry::Never));
    let colour = match (lost || paused > 0, answer == all && !reading) {
        (true, _) => palette.asked,
        (false, true) => palette.live,
        (false, false) => palette.waiting,
    };
    let paused = if paused > 0 { format!(", {paused} paused") } else { String::new() };
    let reading = if reading { ", reading dials…" } else { "" };
    match fleet.status() {
        Status::Live => ui.painter().circle_filled(rect.center(), 5.0, colour),
        _ => ui.painter().circle_stroke(rect.center(), 4.5, Stroke::new(1.5, colour)),
    };
    ui.label(RichText::new(format!("{answer} of {all} connected{paused}{reading}")).color(colour));
    stop_several(ui, &model.launched_looked_at(), mono, commands);
    ui.separator();
    let sums = if model.arrangement() == Arrangement::Merged { "Numbers are sums. " } else { "" };
    ui.weak(format!("{sums}Select one process to see its control and memory."));
}

/// Shows the process, elided if its name is long.
fn name(ui: &mut Ui, connection: &Connection) {
    let text = format!("{} ({})", connection.name, connection.process.pid);
    let room = width(ui, &text).min(ui.available_width() * 0.4).max(40.0);
    ui.allocate_ui(vec2(room, ui.available_height()), |ui| ui.add(Label::new(text).truncate()));
}

fn width(ui: &Ui, text: &str) -> f32 {
    let font = TextStyle::Body.resolve(ui.style());
    ui.painter().layout_no_wrap(text.to_owned(), font, Palette::of(ui).text).size().x + 1.0
}

fn lost(
    ui: &mut Ui,
    why: &str,
    retry: Retry,
    retry_at: Option<Duration>,
    mono: Duration,
    commands: &mut Vec<UiCommand>,
) {
    ui.separator();
    // Retrying cannot reach a process that has ended or never had an agent.
    if matches!(retry, Retry::After(_) | Retry::Asked)
        && ui.small_button(UiCommand::Reconnect.name()).clicked()
    {
        commands.push(UiCommand::Reconnect);
    }
    if let Some(at) = retry_at {
        let seconds = at.saturating_sub(mono).as_secs_f32().ceil();
        ui.weak(format!("Retrying in {seconds:.0} s"));
        ui.ctx().request_repaint_after(Duration::from_secs(1));
    }
    ui.add(Label::new(words::sentence_case(why)).truncate());
}

/// Returns the facts, most important first.
fn items(connection: &Connection) -> Vec<StatusItem> {
    let mut items = Vec::new();
    let mut item = |text: String, hint: &str| items.push(StatusItem { text, hint: hint.to_owned() });
    match &connection.control.holder {
        Some(holder) if holder.pid == std::process::id() => {
            item("Control: this window".to_owned(), "This window may turn dials.");
        }
        Some(holder) => item(
            format!("Control: {}", programs::controller(holder)),
            "Another program has control. Turning a dial here offers to take it.",
        ),
        None => item("Control: free".to_owned(), "Turning a dial takes control."),
    }
    if let Some(agent) = connection.agent.as_ref().filter(|agent| agent.kept > 0 || agent.held > 0) {
        // All dials that “All dials off” turns off, not only those that outlast their window.
        let on = words::grouped(agent.kept.saturating_add(agent.held));
        let text = match (agent.kept, agent.held) {
            (0, _) => format!("{on} on, held"),
            (_, 0) => format!("{on} on, kept"),
            (kept, held) => {
                format!("{on} on: {} kept, {} held", words::grouped(kept), words::grouped(held))
            }
        };
        item(
            text,
            "Methods whose dials are on. Kept dials stay on when this window closes, held ones revert. \
            “All dials off” turns all of them off. Ctrl+I shows who set them and for how long.",
        );
    }
    if let Some(agent) = &connection.agent {
        of_budget(&agent.cost_budget).into_iter().for_each(|(text, hint)| item(text, &hint));
    }
    if connection.table.live.late() {
        item(
            "Numbers are late".to_owned(),
            "This window is slow, so the agent sends less often. Nothing is lost; counts are exact.",
        );
    }
    if let Some(latency) = connection.session.latency.filter(|_| connection.session.paused.is_none()) {
        let ms = latency.as_secs_f64() * 1000.0;
        item(format!("Agent answers in {ms:.1} ms"), "Time from a message to the agent to its answer");
    }
    item(
        match connection.update_rate().round() {
            1.0 => "1 update/s".to_owned(),
            rate => format!("{rate} updates/s"),
        },
        "Messages per second from the agent with new numbers or states",
    );
    if let Some(agent) = &connection.agent {
        item(format!("Agent {}", words::bytes(agent.memory_bytes)), "Memory of the agent in the process");
        item(
            format!("Runtime retains {}", words::bytes(agent.clr_kept_bytes)),
            "Runtime memory retained for requests and recompiled methods until the process ends or their AppDomain unloads",
        );
    }
    if let Some(facts) = &connection.session.facts {
        let kind = words::runtime(facts.runtime_kind.word());
        let runtime = format!("{kind} {}", facts.runtime_version);
        item(runtime, "The runtime, as reported by the agent");
    }
    items
}

/// Returns the budget, the cost of dials, and steps of the budget that still stand.
fn of_budget(budget: &CostBudget) -> Vec<(String, String)> {
    let mut items = Vec::new();
    if let Some(limit) = budget.limit {
        let text = match budget.cost {
            Some(cost) => format!("Dials cost {cost}, budget {limit}"),
            None => format!("Budget {limit}"),
        };
        let mut hint = "Of one processor. When dials cost more, the agent turns the most expensive ones \
                       down (Dials, Overhead budget…)."
            .to_owned();
        if budget.spared > 0 {
            let spared = words::count(budget.spared, "method that was", "methods that were");
            let (cost, them) = (budget.spared_cost, words::them(budget.spared));
            hint.push_str(&format!(
                "\nNot counted: {cost} of {spared} turned up again after the budget turned {them} down. \
                A new budget counts {them}, too."
            ));
        }
        items.push((text, hint));
    }
    if budget.stepped > 0 {
        let text = format!("{} turned down by the budget", words::grouped(budget.stepped));
        let hint = "The agent turned these methods down because dials cost more than the budget. Their \
                   state says so, and a note beside the knob says why. “Undo the budget's last step” in \
                   the menu Dials takes back the latest step. The budget leaves methods you turn up \
                   again alone.";
        items.push((text, hint.to_owned()));
    }
    items
}

fn show_items(ui: &mut Ui, items: Vec<StatusItem>) {
    let gap = 2.0 * ui.spacing().item_spacing.x + 6.0;
    let widths: Vec<f32> = items.iter().map(|item| width(ui, &item.text) + gap).collect();
    let fit = fitting(&widths, ui.available_width());
    let mut items = items.into_iter();
    for item in items.by_ref().take(fit) {
        ui.separator();
        ui.weak(item.text).on_hover_text(item.hint);
    }
    let rest: Vec<StatusItem> = items.collect();
    if rest.is_empty() {
        return;
    }
    ui.separator();
    ui.menu_button(format!("{} more…", rest.len()), |ui| {
        for item in rest {
            ui.label(item.text);
            ui.label(RichText::new(item.hint).small().color(Palette::of(ui).weak));
        }
    });
}

/// Returns how many items of these widths fit, including the button for the rest if there is a rest.
fn fitting(widths: &[f32], room: f32) -> usize {
    if widths.iter().sum::<f32>() <= room {
        return widths.len();
    }
    let mut left = room - MORE;
    widths
        .iter()
        .take_while(|width| {
            left -= **width;
            left >= 0.0
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_a_cost_above_the_budget() {
        use redial_protocol::cost::Share;
        let budget = CostBudget { limit: Some(Share(100)), cost: Some(Share(120)), ..CostBudget::default() };
        let first_item = |budget: &CostBudget| of_budget(budget).into_iter().next().expect("it is shown");
        assert_eq!(first_item(&budget).0, "Dials cost 1.2 %, budget 1 %");
        assert!(!first_item(&budget).1.contains("Not counted"));
        let spared = CostBudget { spared: 2, spared_cost: Share(70), ..budget };
        let part =
            "Not counted: 0.7 % of 2 methods that were turned up again after the budget turned them down";
        assert!(first_item(&spared).1.contains(part), "{}", first_item(&spared).1);
    }

    #[test]
    fn items_leave_room_for_the_more_button() {
        assert_eq!(fitting(&[50.0, 50.0], 100.0), 2);
        assert_eq!(fitting(&[50.0, 50.0, 50.0], 149.0), 1);
        assert_eq!(fitting(&[50.0, 50.0], 60.0), 0);
        assert_eq!(fitting(&[], 0.0), 0);
    }
}
