//! A launched program that has ended: how it ended, its last output and its last numbers.

use crate::commands::{CommandContext, UiCommand};
use crate::ui::theme::{Palette, TITLE};
use eframe::egui::{Align, Label, RichText, ScrollArea, Ui};
use redial_model::Model;
use redial_model::live::LiveRow;
use redial_model::method_table::MethodTable;
use redial_model::state::LaunchedProgram;
use redial_protocol::level::Level;
use redial_text::words;

/// Lines and methods shown.
const SHOWN: usize = 12;

/// Returns the ended launched program of the current connection; without a connection, the program launched
/// last if it ended before its agent connected.
pub fn of(model: &Model) -> Option<&LaunchedProgram> {
    let launched = match model.current() {
        Some(subject) => {
            let process = subject.process()?.process;
            model.launched.values().find(|one| one.agent == Some(process))
        }
        None => model.launched.values().next_back().filter(|one| one.agent.is_none()),
    };
    launched.filter(|one| one.pid.is_some() && one.ended.is_some())
}

/// Shows it in the rest of `ui`.
pub fn show(
    ui: &mut Ui,
    launched: &LaunchedProgram,
    model: &Model,
    now: &CommandContext,
    commands: &mut Vec<UiCommand>,
) {
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.vertical_centered(|ui| {
            ui.set_max_width((ui.available_width() - 24.0).clamp(100.0, 760.0));
            ui.add_space(24.0);
            ui.add(Label::new(RichText::new(launched.ending()).size(TITLE).strong()).wrap());
            wrote(ui, launched, model);
            match model.current() {
                Some(subject) => numbers(ui, subject.table()),
                None => drop(ui.label("The agent never connected, so nothing was counted.")),
            }
            super::empty_views::buttons(ui, now, &[UiCommand::Launch], commands);
        });
    });
}

fn wrote(ui: &mut Ui, launched: &LaunchedProgram, model: &Model) {
    let weak = Palette::of(ui).weak;
    let lines = model.output.lines().iter().rev().filter(|line| Some(line.pid) == launched.pid);
    let mut last: Vec<&str> = lines.take(SHOWN).map(|line| line.written.text.as_str()).collect();
    last.reverse();
    ui.add_space(12.0);
    if last.is_empty() {
        ui.label(RichText::new("The program wrote no output.").color(weak));
        return;
    }
    ui.label(RichText::new("Last output").color(weak));
    ui.add(Label::new(RichText::new(last.join("\n")).monospace()).wrap());
}

fn numbers(ui: &mut Ui, table: &MethodTable) {
    let weak = Palette::of(ui).weak;
    let counted = |row: &&LiveRow| row.wanted != Level::Off || row.calls > 0;
    let mut rows: Vec<&LiveRow> = table.live.rows().filter(counted).collect();
    rows.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.name.cmp(&b.name)));
    ui.add_space(12.0);
    if rows.is_empty() {
        ui.label(RichText::new("No dials were on.").color(weak));
        return;
    }
    ui.label(RichText::new("Last numbers").color(weak));
    let number = |row: &LiveRow| words::grouped(row.calls);
    let width = rows.iter().map(|row| number(row).len()).max().unwrap_or(0);
    let calls = |row: &LiveRow| if row.calls == 1 { "call " } else { "calls" };
    let line = |row: &&LiveRow| format!("{:>width$} {}  {}", number(row), calls(row), row.name);
    let lines: Vec<String> = rows.iter().take(SHOWN).map(line).collect();
    // One text, so that the numbers align.
    ui.add(Label::new(RichText::new(lines.join("\n")).monospace()).halign(Align::Min).wrap());
    if let Some(more) = rows.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        ui.label(RichText::new(format!("and {} more", words::grouped(more as u64))).color(weak));
    }
}
