//! The worst calls of the selected method: which are kept, and those that were.

use super::detail::pair;
use crate::commands::Command;
use crate::model::connection::{Connection, Targets};
use crate::model::ids::FLEET;
use crate::model::live::LiveRow;
use crate::output::{calls, words};
use crate::ui::theme::Palette;
use eframe::egui::{self, RichText, Ui};
use redial_protocol::calls::KeptCall;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;

/// Thresholds offered, nanoseconds; of others the command line knows.
const THRESHOLDS: [u64; 5] = [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Of a method with a row of its own that is timed.
pub fn show(
    ui: &mut Ui,
    connection: &Connection,
    row: &LiveRow,
    targets: Targets,
    commands: &mut Vec<Command>,
) {
    if row.wanted < Level::Time || row.times_note.is_some() && !row.options.keeps_calls() {
        return;
    }
    menu(ui, connection, Some(row.options), targets, commands);
    if !row.options.keeps_calls() {
        return;
    }
    let weak = Palette::of(ui).weak;
    let small = |ui: &mut Ui, text: String| drop(ui.label(RichText::new(text).small().color(weak)));
    if connection.id == FLEET {
        return small(ui, "They are told of one process alone: look at that.".to_owned());
    }
    match connection.histograms.calls(row.id) {
        Some(kept) if kept.met > 0 => {
            small(ui, calls::summary(&row.options, kept));
            kept.calls.iter().for_each(|call| one(ui, call));
        }
        _ => small(ui, format!("{}: none so far", calls::which(&row.options))),
    }
}

fn one(ui: &mut Ui, call: &KeptCall) {
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        let outcome = calls::outcome(call);
        let response = ui.scope(|ui| pair(ui, outcome, &words::duration(call.took_ns))).response;
        let ended = words::utc(call.ended_unix_ms);
        response.on_hover_text(format!("{outcome}\nended {ended}, {}", calls::thread(call)));
        ui.label(
            RichText::new(format!("{ended}, {}", calls::thread(call))).small().color(Palette::of(ui).weak),
        );
    });
}

/// The menu that says which calls are kept; `now`: which are, if that is the same for all.
pub fn menu(
    ui: &mut Ui,
    connection: &Connection,
    now: Option<TimeOptions>,
    targets: Targets,
    commands: &mut Vec<Command>,
) {
    if connection.obstacle().is_some() {
        return;
    }
    let stands = now.unwrap_or_default();
    let label = match now {
        Some(options) if options.keeps_calls() => "Worst calls: kept",
        Some(_) => "Worst calls: none kept",
        None => "Worst calls",
    };
    ui.add_space(4.0);
    let mut chosen = None;
    let opened = ui.menu_button(label, |ui| {
        let none = TimeOptions { slower_than_ns: None, failed_only: false, ..stands };
        let slower = |ns| TimeOptions { slower_than_ns: Some(ns), ..stands };
        let failed = TimeOptions { failed_only: !stands.failed_only, ..stands };
        if ui.radio(now == Some(none), "Keep none").clicked() {
            chosen = Some(none);
        }
        for ns in THRESHOLDS {
            let text = format!("Longer than {}", words::round_duration(ns));
            if ui.radio(stands.slower_than_ns == Some(ns), text).clicked() {
                chosen = Some(slower(ns));
            }
        }
        let mut ticked = stands.failed_only;
        if ui.checkbox(&mut ticked, "Only those that end by an exception").clicked() {
            chosen = Some(failed);
        }
        if chosen.is_some() {
            ui.close();
        }
    });
    let hint = "The longest calls that meet a condition are listed, with their threads and exceptions.";
    egui::Response::on_hover_text(opened.response, hint);
    if let Some(options) = chosen {
        commands.push(Command::Turn { targets: Targets { options, ..targets }, level: Level::Time });
    }
}
