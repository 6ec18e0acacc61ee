//! What processes that have ended had counted: the last that is known of each.

use crate::commands::Command;
use crate::model::Model;
use crate::model::connection::Connection;
use crate::model::ids::ConnectionId;
use crate::model::live::LiveRow;
use crate::output::words;
use crate::ui::theme::Palette;
use eframe::egui::{self, Align2, Grid, RichText, ScrollArea, Ui, vec2};
use std::cmp::Reverse;

/// Methods told of each, the most called.
const SHOWN: usize = 50;

/// What is shown: put together when it is opened, and when another process has ended.
#[derive(Debug, Default)]
pub struct State {
    ended: Vec<ConnectionId>,
    shown: Vec<Numbers>,
}

/// The last numbers of one process.
#[derive(Debug, PartialEq)]
struct Numbers {
    id: ConnectionId,
    title: String,
    /// `100 calls of 1 dialled method`.
    sum: String,
    /// Calls and method, the most called first.
    rows: Vec<(String, String)>,
    more: usize,
}

impl State {
    fn follow(&mut self, ended: &[&Connection]) {
        if !self.ended.iter().copied().eq(ended.iter().map(|one| one.id)) {
            self.ended = ended.iter().map(|one| one.id).collect();
            self.shown = ended.iter().map(|one| Numbers::of(one)).collect();
        }
    }
}

impl Numbers {
    fn of(connection: &Connection) -> Numbers {
        let mut rows: Vec<&LiveRow> = connection.live.rows().collect();
        rows.sort_by(|one, other| (Reverse(one.calls), &one.name).cmp(&(Reverse(other.calls), &other.name)));
        let calls = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.calls));
        let dialled = words::count(rows.len() as u64, "dialled method", "dialled methods");
        let text = |row: &&LiveRow| (words::grouped(row.calls), row.name.to_string());
        Numbers {
            id: connection.id,
            title: connection.title(),
            sum: match rows.is_empty() {
                true => "nothing was dialled in it".to_owned(),
                false => format!("{} of {dialled}", words::count(calls, "call", "calls")),
            },
            more: rows.len().saturating_sub(SHOWN),
            rows: rows.iter().take(SHOWN).map(text).collect(),
        }
    }
}

/// Shows it; true when it is to be closed.
pub fn show(context: &egui::Context, state: &mut State, model: &Model, commands: &mut Vec<Command>) -> bool {
    state.follow(&model.ended());
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
                state.shown.iter().for_each(|numbers| one(ui, numbers));
            });
        });
    !open || state.ended.is_empty()
}

fn one(ui: &mut Ui, numbers: &Numbers) {
    ui.label(RichText::new(&numbers.title).strong());
    ui.weak(&numbers.sum);
    Grid::new(("last numbers", numbers.id.0)).num_columns(2).show(ui, |ui| {
        for (calls, name) in &numbers.rows {
            ui.label(RichText::new(calls).monospace());
            ui.label(name);
            ui.end_row();
        }
    });
    if numbers.more > 0 {
        let more = words::grouped(numbers.more as u64);
        ui.label(RichText::new(format!("and {more} called less often")).color(Palette::of(ui).weak));
    }
    ui.add_space(8.0);
}
