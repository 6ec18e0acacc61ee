//! The dialog with control, standing orders and their lifetimes, and the history of changes.

use crate::commands::{CommandContext, UiCommand};
use crate::ui::capitalized;
use crate::ui::dialog;
use crate::ui::local_time;
use crate::ui::theme::Palette;
use eframe::egui::{self, Grid, RichText, ScrollArea, TextStyle, Ui, vec2};
use redial_model::catalogue::Catalogue;
use redial_model::connection::{Connection, Orders};
use redial_model::orders::readable;
use redial_model::update::Now;
use redial_protocol::dialset::print_order;
use redial_protocol::message::{AgentStatus, AuditEntry, Holder};
use redial_protocol::order::{Lifetime, StandingOrder};
use redial_text::diagnostics::audit;
use redial_text::{programs, words};
use std::borrow::Cow;
use std::time::Duration;

/// Most orders and history entries shown; the newest come first. The agent keeps thousands.
const SHOWN: usize = 200;
/// Gap between columns and width of the scroll bar, points.
const GAP: f32 = 18.0;
const SCROLL: f32 = 12.0;
/// Characters of an order that stay visible whatever the other columns need.
const LEAST: usize = 20;

/// Shows the dialog; returns true when it should close.
pub fn show(
    context: &egui::Context,
    connection: &Connection,
    now: Now,
    facts: &CommandContext,
    commands: &mut Vec<UiCommand>,
) -> bool {
    let room = context.content_rect().size();
    let size = [(room.x - 80.0).clamp(200.0, 760.0), (room.y - 80.0).clamp(200.0, 600.0)];
    let dialog = dialog::titled("Control, orders and history").resizable(true).default_size(size);
    !dialog::show(context, dialog, |ui| {
        let width = ui.available_width() - SCROLL;
        let scrolled = ScrollArea::both().max_width(room.x - 80.0).max_height(room.y - 140.0);
        scrolled.show(ui, |ui| {
            inside(ui, (connection, width), now, facts, commands);
        });
    })
}

fn inside(
    ui: &mut Ui,
    (connection, width): (&Connection, f32),
    now: Now,
    facts: &CommandContext,
    commands: &mut Vec<UiCommand>,
) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(control(connection.control.holder.as_ref())).strong());
        if let Some(agent) = &connection.agent {
            ui.weak(format!(
                "{} on by held dials, {} by kept dials",
                words::methods(agent.held),
                words::methods(agent.kept)
            ));
        }
    });
    ui.separator();
    heading(ui, "Standing orders", "When two apply to the same copy, the later one wins.");
    match &connection.orders {
        None => drop(ui.weak("Waiting for the agent…")),
        Some(orders) if orders.standing.is_empty() => drop(ui.weak("No standing orders.")),
        Some(orders) => standing(ui, orders, (&connection.table.catalogue, width), now),
    }
    ui.separator();
    heading(ui, "History", "Newest first. The agent keeps the last few hundred changes.");
    match connection.agent.as_deref().filter(|agent| !agent.audit.is_empty()) {
        None => drop(ui.weak("Nobody has changed a dial yet.")),
        Some(agent) => audit(ui, agent, (&connection.table.catalogue, width)),
    }
    ui.add_space(6.0);
    ui.horizontal_wrapped(|ui| {
        let undo = UiCommand::UndoOfAnyone;
        let enabled = undo.enabled(facts);
        let button = ui.add_enabled(enabled.is_ok(), egui::Button::new(undo.name()));
        let button = button.on_hover_text(undo.explained().unwrap_or_default());
        if button.on_disabled_hover_text(capitalized(enabled.err().unwrap_or_default())).clicked() {
            commands.push(undo);
        }
        if let Some(orders) = &connection.orders {
            ui.weak(format!("{} can be undone", words::count(orders.undoable.into(), "change", "changes")));
        }
    });
}

fn heading(ui: &mut Ui, text: &str, more: &str) {
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(text).strong());
        ui.weak(more);
    });
}

/// Returns a sentence that names the controller.
fn control(holder: Option<&Holder>) -> String {
    match holder {
        None => "Nobody has control. Turning a dial takes it.".to_owned(),
        Some(holder) if holder.pid == std::process::id() => "This window has control.".to_owned(),
        Some(holder) => format!("Controlled by {}.", programs::controller(holder)),
    }
}

/// `width` is the width of all columns together.
fn standing(ui: &mut Ui, orders: &Orders, (catalogue, width): (&Catalogue, f32), now: Now) {
    let elapsed = now.mono.saturating_sub(orders.at.mono);
    let limited = orders.standing.iter().any(|one| matches!(one.lifetime, Lifetime::KeptFor { .. }));
    if limited {
        ui.ctx().request_repaint_after(Duration::from_secs(1));
    }
    let shown = orders.standing.iter().rev().take(SHOWN);
    let shown: Vec<_> =
        shown.map(|one| (print_order(&one.order), lifetime(one.lifetime, elapsed), origin(one))).collect();
    let beside = [widest(ui, shown.iter().map(|one| &*one.1)), widest(ui, shown.iter().map(|one| &*one.2))];
    let room = room(ui, width, beside);
    Grid::new("orders").num_columns(3).striped(true).spacing(vec2(GAP, 4.0)).show(ui, |ui| {
        for (order, lifetime, origin) in shown {
            order_label(ui, catalogue, &order, room);
            ui.label(lifetime);
            ui.label(origin);
            ui.end_row();
        }
    });
    more(ui, orders.standing.len());
}

/// Returns an order's remaining lifetime, `passed` after the agent reported it.
fn lifetime(lifetime: Lifetime, elapsed: Duration) -> String {
    match lifetime {
        Lifetime::Held => "held until its session ends".to_owned(),
        Lifetime::Kept => "kept".to_owned(),
        Lifetime::KeptFor { ms } => {
            let left = Duration::from_millis(ms).saturating_sub(elapsed).as_secs();
            format!("kept for {}", humantime::format_duration(Duration::from_secs(left)))
        }
    }
}

/// Shows an order with method names, cut to `room` characters. The hint shows the whole order, and the
/// agent's form with tokens if that differs.
fn order_label(ui: &mut Ui, catalogue: &Catalogue, order: &str, room: usize) {
    let readable_order = readable(catalogue, order);
    let shortened = shortened(&readable_order, room);
    let label = ui.label(RichText::new(&*shortened).monospace());
    match (readable_order != order, shortened != readable_order) {
        (true, true) => drop(label.on_hover_text(format!("{readable_order}\n{order}"))),
        (true, false) => drop(label.on_hover_text(order)),
        (false, true) => drop(label.on_hover_text(readable_order)),
        (false, false) => {}
    }
}

/// Returns a text cut to at most `most` characters by dropping its middle: the pattern is at the beginning of
/// an order, the level at its end.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let long = text.chars().count();
    if long <= most {
        return Cow::Borrowed(text);
    }
    let end = most.saturating_sub(1) / 2;
    let begin = most.saturating_sub(1) - end;
    let head = text.chars().take(begin).chain(['…']);
    Cow::Owned(head.chain(text.chars().skip(long - end)).collect())
}

/// Returns the number of characters of an order that fit beside two other columns.
fn room(ui: &Ui, width: f32, beside: [f32; 2]) -> usize {
    let left = width - beside.iter().sum::<f32>() - 2.0 * GAP;
    let letter = wide(ui, "0", TextStyle::Monospace).max(1.0);
    ((left / letter) as usize).max(LEAST)
}

fn widest<'a>(ui: &Ui, texts: impl Iterator<Item = &'a str>) -> f32 {
    texts.map(|text| wide(ui, text, TextStyle::Body)).fold(0.0, f32::max)
}

fn wide(ui: &Ui, text: &str, style: TextStyle) -> f32 {
    let font = style.resolve(ui.style());
    ui.painter().layout_no_wrap(text.to_owned(), font, Palette::of(ui).text).size().x
}

fn origin(one: &StandingOrder) -> String {
    let program = programs::title(&one.by.program);
    match one.user.as_str() {
        "" => format!("{program} at startup"),
        user => format!("{program} (pid {}, {})", one.by.pid, words::one_line(user)),
    }
}

fn audit(ui: &mut Ui, agent: &AgentStatus, (catalogue, width): (&Catalogue, f32)) {
    let palette = Palette::of(ui);
    let shown: Vec<_> = agent.audit.iter().rev().take(SHOWN).collect();
    let by = |entry: &AuditEntry| {
        let user = if entry.user.is_empty() { "the launcher" } else { &entry.user };
        format!("{}, {}", words::one_line(user), programs::title(&entry.program))
    };
    let by: Vec<String> = shown.iter().map(|entry| by(entry)).collect();
    let when = wide(ui, &local_time::date_and_time(0), TextStyle::Monospace);
    let room = room(ui, width, [when, widest(ui, by.iter().map(String::as_str))]);
    Grid::new("audit").num_columns(3).striped(true).spacing(vec2(GAP, 4.0)).show(ui, |ui| {
        for (entry, by) in shown.into_iter().zip(by) {
            ui.label(
                RichText::new(local_time::date_and_time(entry.t_unix_ms)).monospace().color(palette.weak),
            );
            ui.label(by);
            order_label(ui, catalogue, &words::one_line(&audit::action(&entry.action)), room);
            ui.end_row();
        }
    });
    more(ui, agent.audit.len());
}

fn more(ui: &mut Ui, number: usize) {
    let left = number.saturating_sub(SHOWN) as u64;
    if left > 0 {
        ui.weak(format!("and {} older", words::grouped(left)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_lifetime_of_an_order_counts_down() {
        let limited = Lifetime::KeptFor { ms: 90_500 };
        assert_eq!(lifetime(limited, Duration::ZERO), "kept for 1m 30s");
        assert_eq!(lifetime(limited, Duration::from_secs(31)), "kept for 59s");
        assert_eq!(lifetime(limited, Duration::from_secs(500)), "kept for 0s");
        assert_eq!(lifetime(Lifetime::Kept, Duration::ZERO), "kept");
    }

    #[test]
    fn an_order_keeps_its_beginning_and_its_end() {
        let order = "Shop!Shop.Reflection+<>c__DisplayClass4_0.* = time slower-than=1ms";
        assert_eq!(shortened(order, 200), order);
        assert_eq!(shortened(order, 21), "Shop!Shop.…r-than=1ms");
        assert_eq!(shortened("ÄÖÜäöü", 5), "ÄÖ…öü");
    }

    #[test]
    fn control_text_names_the_controller() {
        let holder = |pid| Holder { pid, program: "redial dial".into() };
        assert!(control(None).contains("Nobody has control"));
        assert!(control(Some(&holder(std::process::id()))).contains("This window"));
        assert!(control(Some(&holder(0))).contains("redial dial (pid 0)"));
    }
}
