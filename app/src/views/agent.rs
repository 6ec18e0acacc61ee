//! Who has control, which orders stand and for how long, and who turned what: what the agent says of all its users.

use crate::commands::{Command, Situation};
use crate::model::catalogue::Catalogue;
use crate::model::connection::{Connection, Orders};
use crate::model::orders::readable;
use crate::model::update::Now;
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{self, Align2, Grid, RichText, ScrollArea, TextStyle, Ui, vec2};
use redial_protocol::dialset::print_order;
use redial_protocol::message::{AgentStatus, AuditEntry, Holder};
use redial_protocol::order::{Stand, StandingOrder};
use std::borrow::Cow;
use std::time::Duration;

/// Orders and turns shown at most, the newest; the agent keeps thousands.
const SHOWN: usize = 200;
/// Points between columns, and for the bar that scrolls them.
const GAP: f32 = 18.0;
const SCROLL: f32 = 12.0;
/// Letters of an order that are shown whatever stands beside it.
const LEAST: usize = 20;

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
            let width = ui.available_width() - SCROLL;
            let scrolled = ScrollArea::both().max_width(room.x - 80.0).max_height(room.y - 140.0);
            scrolled.show(ui, |ui| {
                inside(ui, (connection, width), now, situation, commands);
            });
        });
    !open
}

fn inside(
    ui: &mut Ui,
    (connection, width): (&Connection, f32),
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
        Some(orders) => standing(ui, orders, (&connection.catalogue, width), now),
    }
    ui.separator();
    heading(ui, "Who turned what", "the newest first; the agent keeps the last few hundred");
    match connection.agent.as_deref().filter(|agent| !agent.audit.is_empty()) {
        None => drop(ui.weak("Nobody has turned anything.")),
        Some(agent) => audit(ui, agent, (&connection.catalogue, width)),
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

/// `width`: of all columns together.
fn standing(ui: &mut Ui, orders: &Orders, (catalogue, width): (&Catalogue, f32), now: Now) {
    let passed = now.mono.saturating_sub(orders.at.mono);
    let limited = orders.standing.iter().any(|one| matches!(one.stand, Stand::KeptFor { .. }));
    if limited {
        ui.ctx().request_repaint_after(Duration::from_secs(1));
    }
    let shown = orders.standing.iter().rev().take(SHOWN);
    let shown: Vec<_> =
        shown.map(|one| (print_order(&one.order), stands(one.stand, passed), who(one))).collect();
    let beside = [widest(ui, shown.iter().map(|one| &*one.1)), widest(ui, shown.iter().map(|one| &*one.2))];
    let room = room(ui, width, beside);
    Grid::new("orders").num_columns(3).striped(true).spacing(vec2(GAP, 4.0)).show(ui, |ui| {
        for (order, stands, who) in shown {
            order_label(ui, catalogue, &order, room);
            ui.label(stands);
            ui.label(who);
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

/// An order with the names of its methods, in so many letters; whole, and by tokens as the agent has it, under the pointer.
fn order_label(ui: &mut Ui, catalogue: &Catalogue, order: &str, room: usize) {
    let said = readable(catalogue, order);
    let cut = cut(&said, room);
    let label = ui.label(RichText::new(&*cut).monospace());
    match (said != order, cut != said) {
        (true, true) => drop(label.on_hover_text(format!("{said}\n{order}"))),
        (true, false) => drop(label.on_hover_text(order)),
        (false, true) => drop(label.on_hover_text(said)),
        (false, false) => {}
    }
}

/// A text in at most so many letters, without its middle: an order says at its beginning what it is for, and at its end what.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    let long = text.chars().count();
    if long <= most {
        return Cow::Borrowed(text);
    }
    let end = most.saturating_sub(1) / 2;
    let begin = most.saturating_sub(1) - end;
    let head = text.chars().take(begin).chain(['…']);
    Cow::Owned(head.chain(text.chars().skip(long - end)).collect())
}

/// Letters of an order that find room beside two other columns.
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

fn who(one: &StandingOrder) -> String {
    let program = words::one_line(&one.by.program);
    match one.user.as_str() {
        "" => format!("{program} at the start"),
        user => format!("{program} (pid {}, {})", one.by.pid, words::one_line(user)),
    }
}

fn audit(ui: &mut Ui, agent: &AgentStatus, (catalogue, width): (&Catalogue, f32)) {
    let palette = Palette::of(ui);
    let shown: Vec<_> = agent.audit.iter().rev().take(SHOWN).collect();
    let by = |entry: &AuditEntry| {
        let user = if entry.user.is_empty() { "the launcher" } else { &entry.user };
        format!("{}, {}", words::one_line(user), words::one_line(&entry.program))
    };
    let by: Vec<String> = shown.iter().map(|entry| by(entry)).collect();
    let when = wide(ui, &words::utc(0), TextStyle::Monospace);
    let room = room(ui, width, [when, widest(ui, by.iter().map(String::as_str))]);
    Grid::new("audit").num_columns(3).striped(true).spacing(vec2(GAP, 4.0)).show(ui, |ui| {
        for (entry, by) in shown.into_iter().zip(by) {
            ui.label(RichText::new(words::utc(entry.t_unix_ms)).monospace().color(palette.weak));
            ui.label(by);
            order_label(ui, catalogue, &words::one_line(&entry.order), room);
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
    fn an_order_keeps_its_beginning_and_its_end() {
        let order = "Shop!Shop.Reflection+<>c__DisplayClass4_0.* = time slower-than=1ms";
        assert_eq!(cut(order, 200), order);
        assert_eq!(cut(order, 21), "Shop!Shop.…r-than=1ms");
        assert_eq!(cut("ÄÖÜäöü", 5), "ÄÖ…öü");
    }

    #[test]
    fn control_is_told_in_words() {
        let holder = |pid| Holder { pid, program: "redial dial".into() };
        assert!(control(None).contains("free"));
        assert!(control(Some(&holder(std::process::id()))).contains("This window"));
        assert!(control(Some(&holder(0))).contains("redial dial (pid 0)"));
    }
}
