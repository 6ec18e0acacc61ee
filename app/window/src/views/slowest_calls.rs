//! The slowest calls of the selected method, and the condition under which they are kept.

use super::callers;
use super::sections::Sections;
use crate::commands::UiCommand;
use crate::settings::sections::DetailSection;
use crate::ui::capitalized;
use crate::ui::local_time;
use crate::ui::text_width::GlyphWidths;
use crate::ui::theme::{self, Palette};
use eframe::egui::{self, Checkbox, CollapsingHeader, Label, RichText, TextStyle, Ui};
use redial_model::connection::Connection;
use redial_model::live::LiveRow;
use redial_model::method_table::Targets;
use redial_model::subject::Subject;
use redial_protocol::callers::CallOrigin;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;
use redial_protocol::slowest_calls::SlowCall;
use redial_text::names::namespace_length;
use redial_text::slowest_calls;
use redial_text::stack_lines::{StackLine, stack_lines};
use redial_text::words;

/// Thresholds offered, nanoseconds. The command line accepts any.
const THRESHOLDS: [u64; 5] = [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Calls listed initially.
const SHOWN: usize = 5;
/// Ratio of summed glyph widths to laid-out width, at most.
const KERNED: f32 = 1.02;

/// Shows the slowest calls of a timed method with a row of its own.
pub fn show(
    ui: &mut Ui,
    subject: Subject<'_>,
    row: &LiveRow,
    (targets, sections): (Targets, Sections<'_>),
    commands: &mut Vec<UiCommand>,
) {
    if row.wanted < Level::Time || row.times_note.is_some() && !row.options.keeps_calls() {
        return;
    }
    let targets = Targets { when: subject.condition_of(row), ..targets };
    if !row.options.keeps_calls() {
        return menu(ui, subject, (row.wanted, Some(row.options)), targets, commands);
    }
    let is_open = ui.horizontal_wrapped(|ui| {
        let is_open = sections.triangle(ui, DetailSection::Slowest, "Slowest calls", commands);
        menu(ui, subject, (row.wanted, Some(row.options)), targets, commands);
        is_open
    });
    if !is_open.inner {
        return;
    }
    let weak = Palette::of(ui).weak;
    let small = |ui: &mut Ui, text: String| drop(ui.label(RichText::new(text).small().color(weak)));
    let Some(connection) = subject.process() else {
        return small(ui, "Select a single process to see its slowest calls.".to_owned());
    };
    match connection.histograms.calls(row.id) {
        Some(kept) if kept.met > 0 => {
            small(ui, capitalized(&slowest_calls::summary(&row.options, kept)));
            let all = ui.scope_id().with(("all slowest calls", connection.id.0, row.id.0));
            let is_open = ui.data(|data| data.get_temp::<bool>(all)).unwrap_or_default();
            let shown = if is_open { kept.calls.len() } else { SHOWN };
            for (index, call) in kept.calls.iter().take(shown).enumerate() {
                one(ui, call);
                stack(ui, connection, (row, index, call), commands);
            }
            if kept.calls.len() > SHOWN {
                let text = match is_open {
                    true => format!("Show the {SHOWN} longest"),
                    false => format!("Show all {}", kept.calls.len()),
                };
                if ui.small_button(text).clicked() {
                    ui.data_mut(|data| data.insert_temp(all, !is_open));
                }
            }
        }
        _ => small(ui, capitalized(&slowest_calls::none_yet(&row.options))),
    }
}

/// The important parts come first: the duration, then the outcome.
fn one(ui: &mut Ui, call: &SlowCall) {
    let (outcome, took) = (slowest_calls::outcome(call), words::duration(call.took_ns));
    let details =
        format!("{}, {}", local_time::date_and_time(call.ended_unix_ms), slowest_calls::thread(call));
    let weak = Palette::of(ui).weak;
    let both = ui.scope(|ui| {
        (ui.spacing_mut().interact_size.y, ui.spacing_mut().item_spacing.y) = (18.0, 1.0);
        ui.horizontal(|ui| {
            // Right-aligned: three digits, a point, a space and a unit.
            ui.label(RichText::new(format!("{took:>7}")).monospace());
            let text = RichText::new(shortened(ui, outcome)).color(weak);
            ui.add(Label::new(text).truncate().show_tooltip_when_elided(false));
        });
        ui.label(RichText::new(&details).small().color(weak));
    });
    both.response.on_hover_text(format!("{took}, {outcome}\nEnded {details}"));
}

/// Shows the callers of a call, closed at first: a click on one leads to it in the list.
fn stack(
    ui: &mut Ui,
    connection: &Connection,
    (row, index, call): (&LiveRow, usize, &SlowCall),
    commands: &mut Vec<UiCommand>,
) {
    if call.stack.is_empty() {
        return;
    }
    // Another call may take the place, so its end is a part of the id.
    let id = ui.scope_id().with(("stack", row.id.0, index, call.ended_unix_ms, call.took_ns));
    let text = RichText::new("Called by").small().color(Palette::of(ui).weak);
    CollapsingHeader::new(text).id_salt(id).show(ui, |ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        let mut show = |ui: &mut Ui, caller: &CallOrigin| {
            if callers::named(ui, caller, callers::listed(connection, caller).is_some()) {
                callers::look_at(connection, caller, commands);
            }
        };
        for (place, line) in stack_lines(&call.stack).into_iter().enumerate() {
            match line {
                StackLine::Caller(caller, _) => show(ui, caller),
                StackLine::Runtime(frames) => {
                    let text = RichText::new(line.text()).small().color(Palette::of(ui).weak);
                    CollapsingHeader::new(text).id_salt((id, place)).show(ui, |ui| {
                        frames.iter().for_each(|caller| show(ui, caller));
                    });
                }
            }
        }
    });
}

/// Returns an exception's type shortened to the available width: without its namespace, else without its
/// middle, because many types share prefix and suffix.
fn shortened(ui: &Ui, outcome: &str) -> String {
    let widths = GlyphWidths::of(ui.ctx());
    let font = TextStyle::Body.resolve(ui.style());
    let room = ui.available_width() / KERNED;
    fitting(outcome, |text| text.chars().map(|letter| widths.letter(&font, letter)).sum::<f32>() <= room)
}

/// Returns as much of a type's name as `fits`.
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

/// Shows the menu of conditions of methods at a level. `now` is the current condition if all methods share one.
pub fn menu(
    ui: &mut Ui,
    subject: Subject<'_>,
    (level, now): (Level, Option<TimeOptions>),
    targets: Targets,
    commands: &mut Vec<UiCommand>,
) {
    if subject.obstacle().is_some() {
        return;
    }
    let current = now.unwrap_or_default();
    let label = match now {
        Some(options) if options.keeps_calls() => "Slowest calls…",
        _ => "Keep slowest calls…",
    };
    ui.add_space(4.0);
    let mut chosen = None;
    let opened = ui.menu_button(label, |ui| {
        theme::outline_ticks(ui);
        let stack = current.stack && level >= Level::Trace;
        let none = TimeOptions { slower_than_ns: None, failed_only: false, stack, ..current };
        let slower = |ns| TimeOptions { slower_than_ns: Some(ns), ..current };
        let failed = TimeOptions { failed_only: !current.failed_only, ..current };
        if ui.radio(now == Some(none), "Keep none").clicked() {
            chosen = Some(none);
        }
        for ns in THRESHOLDS {
            let text = format!("Longer than {}", words::round_duration(ns));
            if ui.radio(current.slower_than_ns == Some(ns), text).clicked() {
                chosen = Some(slower(ns));
            }
        }
        let mut ticked = current.failed_only;
        if ui.checkbox(&mut ticked, "Only calls that end with an exception").clicked() {
            chosen = Some(failed);
        }
        let mut ticked = current.stack;
        let stacks = Checkbox::new(&mut ticked, "With the callers of each call");
        if ui.add_enabled(current.keeps_calls(), stacks).clicked() {
            chosen = Some(TimeOptions { stack: ticked, ..current });
        }
        if chosen.is_some() {
            ui.close();
        }
    });
    let hint = "Lists the longest calls that meet a condition, with their threads and exceptions.";
    egui::Response::on_hover_text(opened.response, hint);
    if let Some(options) = chosen {
        commands.push(UiCommand::Turn { targets: Targets { options, ..targets }, level });
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
