//! Turns that take their time: how far they are, and the button that stops them.

use crate::commands::Command;
use crate::model::connection::{Connection, Status};
use crate::model::turns::Pending;
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{Frame, Label, Margin, ProgressBar, Role, Ui, WidgetInfo, vec2};
use std::time::Duration;

/// A turn that is not answered by then is shown, whether or not the agent has said how far it is.
const SLOW: Duration = Duration::from_millis(700);

/// Shows those that are not answered and have said how far they are, or should have been answered. `now` is on
/// `Now::mono`'s clock.
pub fn show(ui: &mut Ui, connection: &Connection, now: Duration, commands: &mut Vec<Command>) {
    shown(connection, now).for_each(|pending| one(ui, pending, commands));
}

/// Whether there are any. `now` is on `Now::mono`'s clock.
pub fn is_any(connection: &Connection, now: Duration) -> bool {
    shown(connection, now).next().is_some()
}

fn shown(connection: &Connection, now: Duration) -> impl Iterator<Item = &Pending> {
    let waits = move |pending: &&Pending| pending.accepted.is_none() && connection.status == Status::Live;
    let is_shown = move |pending: &&Pending| {
        now.saturating_sub(pending.since.mono) >= SLOW || pending.progress.is_some()
    };
    connection.turns.pending().iter().filter(waits).filter(is_shown)
}

fn one(ui: &mut Ui, pending: &Pending, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    Frame::new().fill(palette.raised).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            if pending.can_stop {
                let stop = ui.button(Command::CancelTurn(pending.ticket).name());
                let stop = stop.on_hover_text("the agent turns back what it has turned of this so far");
                if stop.clicked() {
                    commands.push(Command::CancelTurn(pending.ticket));
                }
            }
            let (text, share) = match pending.progress {
                Some((done, total)) => (
                    format!("{} of {}", words::grouped(done), words::grouped(total)),
                    if total == 0 { 1.0 } else { done as f32 / total as f32 },
                ),
                None => ("waiting for the agent".to_owned(), 0.0),
            };
            let bar = ui.add(ProgressBar::new(share).desired_width(180.0).text(&text));
            bar.widget_info(|| {
                let mut info = WidgetInfo::labeled(Role::ProgressIndicator, true, "progress of the turn");
                info.current_text_value = Some(text.clone());
                info
            });
            ui.allocate_ui(vec2(ui.available_width(), ui.available_height()), |ui| {
                ui.add(Label::new(&pending.words).truncate())
            });
        });
    });
}
