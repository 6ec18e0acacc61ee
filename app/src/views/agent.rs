//! Who has control, which orders stand and for how long, and who turned what: what the agent says of all its users.

use crate::commands::{Command, Situation};
use crate::model::catalogue::Catalogue;
use crate::model::connection::{Connection, Orders};
use crate::model::orders::readable;
use crate::model::update::Now;
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{self, Align2, Grid, RichText, ScrollArea, Ui, vec2};
use redial_protocol::dialset::print_order;
use redial_protocol::message::{AgentStatus, Holder};
use redial_protocol::order::{Stand, StandingOrder};
use std::time::Duration;

/// Orders and turns shown at most, the newest; the agent keeps thousands.
const SHOWN: usize = 200;

/// Shows it; true when it is to be closed.
pub fn show(
    context: &egui::Context,
    connection: &Connection,
    now: Now,
    situation: &Situation,
    commands: &mut Vec<Command>,
) -> bool {
    let mut open = true;
    let room = context.content_rect().size();
    egui::Window::new("Control, orders and who turned what")
        .open(&mut open)
        .collapsible(false)
        .default_size([(room.x - 80.0).clamp(200.0, 760.0), (room.y - 80.0).clamp(200.0, 600.0)])
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .show(context, |ui| {
            let scrolled = ScrollArea::both().max_width(room.x - 80.0).max_height(room.y - 140.0);
            scrolled.show(ui, |ui| {
                inside(ui, connection, now, situation, commands);
            });
        });
    !open
}

fn inside(
    ui: &mut Ui,
    connection: &Connection,
    now: Now,
    situation: &Situation,
    commands: &mut Vec<Command>,
) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(control(connection.holder.as_ref())).strong());
        if let Some(agent) = &connection.agent {
            ui.weak(format!(
                "{} by dials that are held, {} by kept ones",
                words::methods(agent.held),
                words::methods(agent.kept)
            ));
        }
    });
    ui.separator();
    heading(ui, "Orders that stand", "the later of two that mean the same copy wins");
    match &connection.orders {
        None => drop(ui.weak("The agent has not said yet.")),
        Some(orders) if orders.standing.is_empty() => drop(ui.weak("None.")),
        Some(orders) => standing(ui, orders, &connection.catalogue, now),
    }
    ui.separator();
    heading(ui, "Who turned what", "the newest first; the agent keeps the last few hundred");
    match connection.agent.as_deref().filter(|agent| !agent.audit.is_empty()) {
        None => drop(ui.weak("Nobody has turned anything.")),
        Some(agent) => audit(ui, agent, &connection.catalogue),
    }
    ui.add_space(6.0);
    ui.horizontal_wrapped(|ui| {
        let undo = Command::UndoOfAnyone;
        let enabled = undo.enabled(situation);
        let button = ui.add_enabled(enabled.is_ok(), egui::Button::new(undo.name()));
        let button = button.on_hover_text(undo.explained().unwrap_or_default());
        if button.on_disabled_hover_text(enabled.err().unwrap_or_default()).clicked() {
            commands.push(undo);
        }
        if let Some(orders) = &connection.orders {
            ui.weak(format!(
                "{} can be taken back",
                words::count(orders.undoable.into(), "change", "changes")
            ));
        }
    });
}

fn heading(ui: &mut Ui, text: &str, more: &str) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(text).strong());
        ui.weak(more);
    });
}

/// Who has control, in words.
fn control(holder: Option<&Holder>) -> String {
    match holder {
        None => "Control is free: turning a dial takes it.".to_owned(),
        Some(holder) if holder.pid == std::process::id() => "This window has control.".to_owned(),
        Some(Holder { pid, program }) => {
            format!("{} (pid {pid}) has control.", words::one_line(program))
        }
    }
}

fn standing(ui: &mut Ui, orders: &Orders, catalogue: &Catalogue, now: Now) {
    let passed = now.mono.saturating_sub(orders.at.mono);
    let limited = orders.standing.iter().any(|one| matches!(one.stand, Stand::KeptFor { .. }));
    if limited {
        ui.ctx().request_repaint_after(Duration::from_secs(1));
    }
    Grid::new("orders").num_columns(3).striped(true).spacing(vec2(18.0, 4.0)).show(ui, |ui| {
        for one in orders.standing.iter().rev().take(SHOWN) {
            order_label(ui, catalogue, &print_order(&one.order));
            ui.label(stands(one.stand, passed));
            ui.label(who(one));
            ui.end_row();
        }
    });
    more(ui, orders.standing.len());
}

/// How long an order still stands, `passed` after the agent said how long.
fn stands(stand: Stand, passed: Duration) -> String {
    match stand {
        Stand::Held => "held until its session ends".to_owned(),
        Stand::Kept => "kept".to_owned(),
        Stand::KeptFor { ms } => {
            let left = Duration::from_millis(ms).saturating_sub(passed).as_secs();
            format!("kept for {}", humantime::format_duration(Duration::from_secs(left)))
        }
    }
}

/// An order with the names of its methods; by tokens, as the agent has it, under the pointer.
fn order_label(ui: &mut Ui, catalogue: &Catalogue, order: &str) {
    let said = readable(catalogue, order);
    let label = ui.label(RichText::new(&said).monospace());
    if said != order {
        label.on_hover_text(order);
    }
}

fn who(one: &StandingOrder) -> String {
    let program = words::one_line(&one.by.program);
    match one.user.as_str() {
        "" => format!("{program} at the start"),
        user => format!("{program} (pid {}, {})", one.by.pid, words::one_line(user)),
    }
}

fn audit(ui: &mut Ui, agent: &AgentStatus, catalogue: &Catalogue) {
    let palette = Palette::of(ui);
    Grid::new("audit").num_columns(3).striped(true).spacing(vec2(18.0, 4.0)).show(ui, |ui| {
        for entry in agent.audit.iter().rev().take(SHOWN) {
            ui.label(RichText::new(words::utc(entry.t_unix_ms)).monospace().color(palette.weak));
            let user = if entry.user.is_empty() { "the launcher" } else { &entry.user };
            ui.label(format!("{}, {}", words::one_line(user), words::one_line(&entry.program)));
            order_label(ui, catalogue, &words::one_line(&entry.order));
            ui.end_row();
        }
    });
    more(ui, agent.audit.len());
}

fn more(ui: &mut Ui, number: usize) {
    let left = number.saturating_sub(SHOWN) as u64;
    if left > 0 {
        ui.weak(format!("and {} older ones", words::grouped(left)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_an_order_runs_down() {
        let stand = Stand::KeptFor { ms: 90_500 };
        assert_eq!(stands(stand, Duration::ZERO), "kept for 1m 30s");
        assert_eq!(stands(stand, Duration::from_secs(31)), "kept for 59s");
        assert_eq!(stands(stand, Duration::from_secs(500)), "kept for 0s");
        assert_eq!(stands(Stand::Kept, Duration::ZERO), "kept");
    }

    #[test]
    fn control_is_told_in_words() {
        let holder = |pid| Holder { pid, program: "redial dial".into() };
        assert!(control(None).contains("free"));
        assert!(control(Some(&holder(std::process::id()))).contains("This window"));
        assert!(control(Some(&holder(0))).contains("redial dial (pid 0)"));
    }
}
