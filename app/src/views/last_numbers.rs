//! What processes that have ended had counted: the last that is known of each.

use crate::commands::Command;
use crate::model::Model;
use crate::model::connection::Connection;
use crate::model::live::LiveRow;
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{self, Align2, Grid, RichText, ScrollArea, Ui, vec2};
use std::cmp::Reverse;

/// Methods told of each, the most called.
const SHOWN: usize = 50;

/// Shows it; true when it is to be closed.
pub fn show(context: &egui::Context, model: &Model, commands: &mut Vec<Command>) -> bool {
    let mut open = true;
    let room = context.content_rect().size();
    let size = vec2((room.x - 80.0).clamp(200.0, 640.0), (room.y - 160.0).clamp(100.0, 440.0));
    egui::Window::new("Last numbers of what has ended")
        .open(&mut open)
        .collapsible(false)
        .resizable(false)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
        .show(context, |ui| {
            ui.set_width(size.x);
            if ui.button(Command::DropEnded.name()).clicked() {
                commands.push(Command::DropEnded);
            }
            ui.separator();
            ScrollArea::vertical().auto_shrink(false).max_height(size.y).show(ui, |ui| {
                for connection in model.ended() {
                    one(ui, connection);
                }
            });
        });
    !open || model.ended().next().is_none()
}

fn one(ui: &mut Ui, connection: &Connection) {
    let palette = Palette::of(ui);
    let mut rows: Vec<&LiveRow> = connection.live.rows().collect();
    rows.sort_by(|one, other| (Reverse(one.calls), &one.name).cmp(&(Reverse(other.calls), &other.name)));
    let calls = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.calls));
    ui.label(RichText::new(connection.title()).strong());
    let dialled = words::count(rows.len() as u64, "dialled method", "dialled methods");
    ui.weak(match rows.is_empty() {
        true => "nothing was dialled in it".to_owned(),
        false => format!("{} of {dialled}", words::count(calls, "call", "calls")),
    });
    Grid::new(("last numbers", connection.id.0)).num_columns(2).show(ui, |ui| {
        for row in rows.iter().take(SHOWN) {
            ui.label(RichText::new(words::grouped(row.calls)).monospace());
            ui.label(&*row.name);
            ui.end_row();
        }
    });
    if let Some(more) = rows.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        ui.label(RichText::new(format!("and {more} called less often")).color(palette.weak));
    }
    ui.add_space(8.0);
}
