//! The worst calls of the selected method: which are kept, and those that were.

use crate::commands::Command;
use crate::model::catalogue::builder::namespace_length;
use crate::model::connection::{Connection, Targets};
use crate::model::ids::FLEET;
use crate::model::live::LiveRow;
use crate::output::{calls, words};
use crate::ui::theme::{self, Palette};
use crate::ui::widths::Widths;
use eframe::egui::{self, Label, RichText, TextStyle, Ui};
use redial_protocol::calls::KeptCall;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;

/// Thresholds offered, nanoseconds; of others the command line knows.
const THRESHOLDS: [u64; 5] = [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Calls that are listed before somebody asks for all of them.
const SHOWN: usize = 5;
/// How much narrower a text may be than its letters are one by one.
const KERNED: f32 = 1.02;

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
            let all = ui.scope_id().with(("all worst calls", connection.id.0, row.id.0));
            let is_open = ui.data(|data| data.get_temp::<bool>(all)).unwrap_or_default();
            let shown = if is_open { kept.calls.len() } else { SHOWN };
            kept.calls.iter().take(shown).for_each(|call| one(ui, call));
            if kept.calls.len() > SHOWN {
                let text = match is_open {
                    true => format!("the {SHOWN} longest"),
                    false => format!("all {}", kept.calls.len()),
                };
                if ui.small_button(text).clicked() {
                    ui.data_mut(|data| data.insert_temp(all, !is_open));
                }
            }
        }
        _ => small(ui, format!("{}: none so far", calls::which(&row.options))),
    }
}

/// What matters stands first: how long it took, then how it ended.
fn one(ui: &mut Ui, call: &KeptCall) {
    let (outcome, took) = (calls::outcome(call), words::duration(call.took_ns));
    let told = format!("{}, {}", words::utc(call.ended_unix_ms), calls::thread(call));
    let weak = Palette::of(ui).weak;
    let both = ui.scope(|ui| {
        (ui.spacing_mut().interact_size.y, ui.spacing_mut().item_spacing.y) = (18.0, 1.0);
        ui.horizontal(|ui| {
            // All of them end at the same place: three digits, a point, a space and a unit.
            ui.label(RichText::new(format!("{took:>7}")).monospace());
            let text = RichText::new(shortened(ui, outcome)).color(weak);
            ui.add(Label::new(text).truncate().show_tooltip_when_elided(false));
        });
        ui.label(RichText::new(&told).small().color(weak));
    });
    both.response.on_hover_text(format!("{took}, {outcome}\nended {told}"));
}

/// An exception's type in the room that is left: without its namespace, or with a gap in its middle, for many begin alike and
/// end alike.
fn shortened(ui: &Ui, outcome: &str) -> String {
    let widths = Widths::of(ui.ctx());
    let font = TextStyle::Body.resolve(ui.style());
    let room = ui.available_width() / KERNED;
    fitting(outcome, |text| text.chars().map(|letter| widths.letter(&font, letter)).sum::<f32>() <= room)
}

/// As much of a type's name as `fits`.
fn fitting(name: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(name) {
        return name.to_owned();
    }
    let own = match namespace_length(name) {
        0 => name,
        dot => name.get(dot + 1..).unwrap_or(name),
    };
    let without = format!("…{own}");
    if own.len() < name.len() && fits(&without) {
        return without;
    }
    let letters: Vec<char> = own.chars().collect();
    let cut = |kept: usize| {
        let (first, last) = (kept.div_ceil(2), kept / 2);
        let letters =
            letters.iter().take(first).chain(&['…']).chain(letters.iter().skip(letters.len() - last));
        letters.collect::<String>()
    };
    (1..letters.len()).rev().map(cut).find(|text| fits(text)).unwrap_or_else(|| "…".to_owned())
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
        theme::outline_ticks(ui);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_loses_its_namespace_first_and_then_its_middle() {
        let name = "System.IO.FileNotFoundException";
        let shown = |room: usize| fitting(name, |text| text.chars().count() <= room);
        assert_eq!(shown(31), name);
        assert_eq!(shown(30), "…FileNotFoundException");
        assert_eq!(shown(22), "…FileNotFoundException");
        assert_eq!(shown(21), "FileNotFou…dException");
        assert_eq!(shown(2), "F…");
        assert_eq!(fitting("returned", |text| text.chars().count() <= 5), "re…ed");
    }
}
