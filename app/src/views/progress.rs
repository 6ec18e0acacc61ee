//! Turns of many copies that are under way: how far they are, and the button that stops them.

use crate::commands::Command;
use crate::model::connection::Connection;
use crate::model::turns::Pending;
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{Frame, Label, Margin, ProgressBar, Role, Ui, WidgetInfo, vec2};

/// Shows those that are not answered and have said how far they are.
pub fn show(ui: &mut Ui, connection: &Connection, commands: &mut Vec<Command>) {
    let under_way = connection.turns.pending().iter().filter(|pending| pending.accepted.is_none());
    for (pending, (done, total)) in under_way.filter_map(|pending| Some((pending, pending.progress?))) {
        one(ui, pending, done, total, commands);
    }
}

fn one(ui: &mut Ui, pending: &Pending, done: u64, total: u64, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    Frame::new().fill(palette.raised).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            let stop = ui.button(Command::CancelTurn(pending.ticket).name());
            let stop = stop.on_hover_text("the agent turns back what it has turned of this so far");
            if stop.clicked() {
                commands.push(Command::CancelTurn(pending.ticket));
            }
            let text = format!("{} of {}", words::grouped(done), words::grouped(total));
            let share = if total == 0 { 1.0 } else { done as f32 / total as f32 };
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
