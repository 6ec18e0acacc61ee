//! The strip at the bottom: how the connection is, in a few words and numbers. What finds no room stands in a list
//! behind the last button.

use crate::commands::Command;
use crate::model::Model;
use crate::model::connection::{Connection, Status};
use crate::model::ids::Ticket;
use crate::model::several::Arrangement;
use crate::model::state::Launched;
use crate::model::update::Retry;
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{Button, Label, RichText, Sense, Stroke, TextStyle, Ui, vec2};
use redial_protocol::cost::CostBudget;
use std::time::Duration;

/// Room for the button behind which the rest stands, points.
const MORE: f32 = 84.0;

/// Something worth knowing of a live connection.
struct Item {
    text: String,
    hint: String,
}

/// Shows the strip. `mono` is the time on the model's clock.
pub fn show(ui: &mut Ui, model: &Model, mono: Duration, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        let Some(connection) = model.current() else {
            ui.weak("no process picked");
            if let Some((ticket, launched)) = model.launched_to_stop().first().copied() {
                ui.separator();
                ui.add(Label::new(format!("{} runs", launched.what)).truncate());
                stop(ui, (ticket, launched), mono, commands);
            }
            return;
        };
        if connection.catalogue.spans_processes() {
            return of_several(ui, model, connection, mono, commands);
        }
        let (text, colour) = match &connection.status {
            Status::Live if connection.paused.is_some() => ("paused", palette.asked),
            Status::Live if connection.is_reading_dials() => ("connected, reading dials…", palette.asked),
            Status::Live => ("connected", palette.live),
            Status::Connecting => ("connecting…", palette.asked),
            Status::Attaching => ("loading the agent…", palette.asked),
            Status::Lost { retry: Retry::Never, .. } => ("ended", palette.weak),
            Status::Lost { retry: Retry::WithAgent, .. } => ("no agent", palette.weak),
            Status::Lost { .. } => ("not connected", palette.bad),
        };
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        match &connection.status {
            Status::Live => ui.painter().circle_filled(rect.center(), 5.0, colour),
            _ => ui.painter().circle_stroke(rect.center(), 4.5, Stroke::new(1.5, colour)),
        };
        ui.label(RichText::new(text).color(colour));
        name(ui, connection);
        if let Some((ticket, launched)) = model.launched_in_sight() {
            stop(ui, (ticket, launched), mono, commands);
        }
        match &connection.status {
            Status::Lost { why, retry, .. } => {
                lost(ui, why, *retry, connection.status.retry_at(), mono, commands);
            }
            Status::Connecting | Status::Attaching => {}
            Status::Live => {
                connection.paused.iter().for_each(|why| drop(ui.colored_label(palette.asked, why)));
                show_items(ui, items(connection));
            }
        }
    });
}

/// The button that stops a program that was launched from here, and what is said of it.
fn stop(ui: &mut Ui, (ticket, launched): (Ticket, &Launched), mono: Duration, commands: &mut Vec<Command>) {
    let command = Command::StopLaunched(ticket);
    let left = launched.left_alone(mono);
    left.into_iter().for_each(|left| ui.ctx().request_repaint_after(left));
    let button = ui.add_enabled(left.is_none(), Button::new(stop_word(launched)).small());
    let button = button.on_hover_text(command.explained().unwrap_or_default());
    if button.clicked() {
        commands.push(command);
    }
}

/// What stopping a launched program is called: it is asked first.
pub fn stop_word(launched: &Launched) -> &'static str {
    if launched.stopping.is_some() { "Kill" } else { "Stop" }
}

/// The same of several that are looked at together.
fn stop_several(ui: &mut Ui, launched: &[(Ticket, &Launched)], mono: Duration, commands: &mut Vec<Command>) {
    let Some((_, first)) = launched.first() else { return };
    // They can be killed as soon as one of them can.
    let left = launched.iter().map(|(_, one)| one.left_alone(mono)).min().flatten();
    left.into_iter().for_each(|left| ui.ctx().request_repaint_after(left));
    let names: Vec<String> = launched.iter().map(|(_, one)| one.named()).collect();
    let text = format!("{} {} launched here", stop_word(first), launched.len());
    let button = ui.add_enabled(left.is_none(), Button::new(text).small());
    let hint = format!("{}\n{}", words::all(&names), Command::Stop.explained().unwrap_or_default());
    if button.on_hover_text(hint).clicked() {
        commands.push(Command::Stop);
    }
}

/// How many of several answer, and what stops those launched from here.
fn of_several(
    ui: &mut Ui,
    model: &Model,
    connection: &Connection,
    mono: Duration,
    commands: &mut Vec<Command>,
) {
    let palette = Palette::of(ui);
    let (all, answer) = (connection.catalogue.domains_there(), connection.catalogue.domains_in_reach());
    let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
    let reading = model.members().any(Connection::is_reading_dials);
    let paused = model.members().filter(|connection| connection.paused.is_some()).count();
    let colour = if answer == all && !reading && paused == 0 { palette.live } else { palette.asked };
    let paused = if paused > 0 { format!(", {paused} paused") } else { String::new() };
    let reading = if reading { ", reading dials…" } else { "" };
    match connection.status {
        Status::Live => ui.painter().circle_filled(rect.center(), 5.0, colour),
        _ => ui.painter().circle_stroke(rect.center(), 4.5, Stroke::new(1.5, colour)),
    };
    ui.label(RichText::new(format!("{answer} of {all} connected{paused}{reading}")).color(colour));
    stop_several(ui, &model.launched_looked_at(), mono, commands);
    ui.separator();
    let sums = if model.arrangement() == Arrangement::Merged { "numbers are sums; " } else { "" };
    ui.weak(format!("{sums}pick one process for its control, latency and memory"));
}

/// The process, elided where its name is long.
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
    commands: &mut Vec<Command>,
) {
    ui.separator();
    // What has ended, or never had an agent, is not reached by trying again.
    if matches!(retry, Retry::After(_) | Retry::Asked) && ui.small_button(Command::Reconnect.name()).clicked()
    {
        commands.push(Command::Reconnect);
    }
    if let Some(at) = retry_at {
        let seconds = at.saturating_sub(mono).as_secs_f32().ceil();
        ui.weak(format!("tries again in {seconds:.0} s"));
        ui.ctx().request_repaint_after(Duration::from_secs(1));
    }
    ui.add(Label::new(why).truncate());
}

/// What there is to know, the most wanted first.
fn items(connection: &Connection) -> Vec<Item> {
    let mut items = Vec::new();
    let mut item = |text: String, hint: &str| items.push(Item { text, hint: hint.to_owned() });
    match &connection.holder {
        Some(holder) if holder.pid == std::process::id() => {
            item("control: this window".to_owned(), "this window may turn dials");
        }
        Some(holder) => item(
            format!("control: {} (pid {})", holder.program, holder.pid),
            "another program turns the dials; turning one here offers to take control",
        ),
        None => item("control: free".to_owned(), "turning a dial takes control"),
    }
    if let Some(agent) = connection.agent.as_ref().filter(|agent| agent.kept > 0 || agent.held > 0) {
        // All that “All dials off” turns off, not those alone that outlast their window.
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
            "methods whose dials are on: those that are kept stay so when this window is closed, those that are held go off \
             with it. “All dials off” turns all of them off; Ctrl+I shows who set them, and until when",
        );
    }
    if let Some(agent) = &connection.agent {
        of_budget(&agent.cost_budget).into_iter().for_each(|(text, hint)| item(text, &hint));
    }
    if connection.live.late() {
        item(
            "numbers are late".to_owned(),
            "this window is slow, so the agent sends less often; nothing is lost, counts are exact",
        );
    }
    if let Some(latency) = connection.latency {
        item(format!("answers in {:.1} ms", latency.as_secs_f64() * 1000.0), "round trip to the agent");
    }
    item(
        format!("{:.0} updates/s", connection.update_rate()),
        "messages with new numbers or states that arrive from the agent, a second",
    );
    if let Some(agent) = &connection.agent {
        item(format!("agent {}", words::bytes(agent.memory_bytes)), "memory of the agent in the process");
        item(
            format!("runtime keeps {}", words::bytes(agent.clr_kept_bytes)),
            "what the runtime keeps for recompiled methods until their AppDomain unloads",
        );
    }
    if let Some(facts) = &connection.facts {
        let kind = words::runtime(facts.runtime_kind.word());
        let runtime = format!("{kind} {}", facts.runtime_version);
        item(runtime, "the runtime, as the agent says");
    }
    items
}

/// What dials may cost and do, and what the budget did, as long as that stands.
fn of_budget(budget: &CostBudget) -> Vec<(String, String)> {
    let mut items = Vec::new();
    if let Some(limit) = budget.limit {
        let text = match budget.cost {
            Some(cost) => format!("dials cost {cost}, budget {limit}"),
            None => format!("dials may cost {limit}"),
        };
        let mut hint = "of one processor: where they cost more, the agent turns the costliest down by itself (Dials, What dials \
                        may cost…)"
            .to_owned();
        if budget.spared > 0 {
            let spared = words::count(budget.spared, "method that was", "methods that were");
            let (cost, them) = (budget.spared_cost, words::them(budget.spared));
            hint.push_str(&format!(
                ". Not counted: {cost} of {spared} turned up again after the budget stepped {them} down; setting it anew ends \
                 that"
            ));
        }
        items.push((text, hint));
    }
    if budget.stepped > 0 {
        let text = format!("{} stepped down by the budget", words::grouped(budget.stepped));
        let hint = "methods whose dials the agent turned down, because all dials cost more than they may; each says so in its \
                    state, and why beside its knob. “Undo the budget's last step” in the menu Dials takes back what was turned \
                    down last; a dial that you turn up again is left alone";
        items.push((text, hint.to_owned()));
    }
    items
}

fn show_items(ui: &mut Ui, items: Vec<Item>) {
    let gap = 2.0 * ui.spacing().item_spacing.x + 6.0;
    let widths: Vec<f32> = items.iter().map(|item| width(ui, &item.text) + gap).collect();
    let fit = fitting(&widths, ui.available_width());
    let mut items = items.into_iter();
    for item in items.by_ref().take(fit) {
        ui.separator();
        ui.weak(item.text).on_hover_text(item.hint);
    }
    let rest: Vec<Item> = items.collect();
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

/// How many of things that wide fit into a room, the button for the rest included if there is a rest.
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
    fn a_cost_above_the_budget_says_why() {
        use redial_protocol::cost::Share;
        let budget = CostBudget { limit: Some(Share(100)), cost: Some(Share(120)), ..CostBudget::default() };
        let told = |budget: &CostBudget| of_budget(budget).into_iter().next().expect("it is told");
        assert_eq!(told(&budget).0, "dials cost 1.2 %, budget 1 %");
        assert!(!told(&budget).1.contains("Not counted"));
        let spared = CostBudget { spared: 2, spared_cost: Share(70), ..budget };
        let part =
            "Not counted: 0.7 % of 2 methods that were turned up again after the budget stepped them down";
        assert!(told(&spared).1.contains(part), "{}", told(&spared).1);
    }

    #[test]
    fn what_does_not_fit_leaves_room_for_the_button() {
        assert_eq!(fitting(&[50.0, 50.0], 100.0), 2);
        assert_eq!(fitting(&[50.0, 50.0, 50.0], 149.0), 1);
        assert_eq!(fitting(&[50.0, 50.0], 60.0), 0);
        assert_eq!(fitting(&[], 0.0), 0);
    }
}
