//! The last known numbers of processes that have ended.

use crate::commands::UiCommand;
use crate::ui::dialog;
use crate::ui::theme::Palette;
use eframe::egui::{self, Grid, RichText, ScrollArea, Ui, vec2};
use redial_model::Model;
use redial_model::connection::Connection;
use redial_model::ids::ConnectionId;
use redial_model::live::LiveRow;
use redial_text::words;
use std::cmp::Reverse;

/// Most methods shown per process, those called most.
const SHOWN: usize = 50;

/// The numbers shown: collected when the dialog opens and whenever another process ends.
#[derive(Debug, Default)]
pub struct LastNumbersState {
    ended: Vec<ConnectionId>,
    shown: Vec<ProcessNumbers>,
}

/// The last numbers of one process.
#[derive(Debug, PartialEq)]
struct ProcessNumbers {
    id: ConnectionId,
    title: String,
    /// `100 calls of 1 dialled method`.
    sum: String,
    /// Calls and methods, most called first.
    rows: Vec<(String, String)>,
    more: usize,
}

impl LastNumbersState {
    fn follow(&mut self, ended: &[&Connection]) {
        if !self.ended.iter().copied().eq(ended.iter().map(|one| one.id)) {
            self.ended = ended.iter().map(|one| one.id).collect();
            self.shown = ended.iter().map(|one| ProcessNumbers::of(one)).collect();
        }
    }
}

impl ProcessNumbers {
    fn of(connection: &Connection) -> ProcessNumbers {
        let mut rows: Vec<&LiveRow> = connection.table.live.rows().collect();
        rows.sort_by(|one, other| (Reverse(one.calls), &one.name).cmp(&(Reverse(other.calls), &other.name)));
        let calls = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.calls));
        let dialled = words::count(rows.len() as u64, "dialled method", "dialled methods");
        let text = |row: &&LiveRow| (words::grouped(row.calls), row.name.to_string());
        ProcessNumbers {
            id: connection.id,
            title: connection.title(),
            sum: match rows.is_empty() {
                true => "No method was dialled.".to_owned(),
                false => format!("{} of {dialled}", words::count(calls, "call", "calls")),
            },
            more: rows.len().saturating_sub(SHOWN),
            rows: rows.iter().take(SHOWN).map(text).collect(),
        }
    }
}

/// Shows the dialog; returns true when it should close.
pub fn show(
    context: &egui::Context,
    state: &mut LastNumbersState,
    model: &Model,
    commands: &mut Vec<UiCommand>,
) -> bool {
    state.follow(&model.ended());
    let room = context.content_rect().size();
    let size = vec2((room.x - 80.0).clamp(200.0, 640.0), (room.y - 160.0).clamp(100.0, 440.0));
    let open = dialog::show(context, dialog::titled("Last numbers of ended processes"), |ui| {
        ui.set_width(size.x);
        if ui.button(UiCommand::DropEnded.name()).clicked() {
            commands.push(UiCommand::DropEnded);
        }
        ui.separator();
        ScrollArea::vertical().auto_shrink(false).max_height(size.y).show(ui, |ui| {
            state.shown.iter().for_each(|numbers| one(ui, numbers));
        });
    });
    !open || state.ended.is_empty()
}

fn one(ui: &mut Ui, numbers: &ProcessNumbers) {
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
        ui.label(RichText::new(format!("and {more} more, called less often")).color(Palette::of(ui).weak));
    }
    ui.add_space(8.0);
}
