//! The callers of the selected method.

use super::latency::row_looked_at;
use super::painted_name::PaintedName;
use super::sections::Sections;
use crate::commands::UiCommand;
use crate::settings::sections::DetailSection;
use crate::ui::capitalized;
use crate::ui::theme::Palette;
use eframe::egui::{Align, Checkbox, CursorIcon, Label, Layout, RichText, Role, Sense, Ui, WidgetInfo};
use redial_model::callers::CallersVersion;
use redial_model::connection::Connection;
use redial_model::ids::MethodIx;
use redial_model::live::LiveRow;
use redial_model::method_table::Targets;
use redial_model::subject::Subject;
use redial_protocol::callers::{CallOrigin, RowCallers};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;
use redial_text::callers;
use redial_text::words;

/// Callers with a line of their own; the last line sums the others.
const SHOWN: usize = 8;

/// Returns the row whose callers are in view.
pub fn wanted(connection: &Connection) -> Option<(RowId, CallersVersion)> {
    let row = row_looked_at(connection).filter(|row| row.options.callers)?;
    Some((row.id, CallersVersion { calls: row.calls, wanted: true }))
}

/// Shows the callers of a timed method with a row of its own, and the switch that counts them.
pub fn show(
    ui: &mut Ui,
    subject: Subject<'_>,
    row: &LiveRow,
    (targets, sections): (Targets, Sections<'_>),
    commands: &mut Vec<UiCommand>,
) {
    let is_timed = row.wanted >= Level::Time;
    let can_be = row.wanted > Level::Off && subject.offered().contains(&Level::Time);
    if (is_timed || can_be) && (row.times_note.is_none() || row.options.callers) {
        switch(ui, subject, row, targets, commands);
    }
    let Some(connection) = subject.process() else {
        if row.options.callers {
            nothing(ui, "Select a single process to see its callers.");
        }
        return;
    };
    match connection.callers.of(row.id) {
        Some(Ok(counted)) if counted.calls() > 0 => {
            let heading = if row.options.callers { "Called by" } else { "Called by (no longer counted)" };
            ui.add_space(4.0);
            let height = ui.spacing().interact_size.y;
            ui.spacing_mut().interact_size.y = 18.0;
            let is_open = ui.horizontal(|ui| {
                let is_open = sections.toggle(ui, DetailSection::Callers, heading, commands);
                line(ui, "", &words::count(counted.calls(), "call", "calls"));
                is_open
            });
            ui.spacing_mut().interact_size.y = height;
            if is_open.inner
                && let Some(who) = drawn(ui, connection, counted)
            {
                look_at(connection, who, commands);
            }
        }
        _ if !row.options.callers => {}
        Some(Ok(_)) => nothing(ui, "Callers appear with the next calls."),
        Some(Err(why)) => nothing(ui, &format!("No callers to show: {why}.")),
        None if connection.obstacle().is_none() => nothing(ui, "Loading callers…"),
        None => {}
    }
}

fn switch(ui: &mut Ui, subject: Subject<'_>, row: &LiveRow, targets: Targets, commands: &mut Vec<UiCommand>) {
    let mut callers = row.options.callers;
    let shown = ui.add_enabled(subject.obstacle().is_none(), Checkbox::new(&mut callers, "Count callers"));
    let hint = match row.wanted >= Level::Time {
        true => "Counts callers by method. Costs some nanoseconds per call.",
        false => "Counts callers by method. This needs timing, so it times the method, too.",
    };
    if shown.on_hover_text(hint).changed() {
        let options = TimeOptions { callers, ..row.options };
        let level = row.wanted.max(Level::Time);
        let when = subject.condition_of(row);
        commands.push(UiCommand::Turn { targets: Targets { options, when, ..targets }, level });
    }
}

fn nothing(ui: &mut Ui, text: &str) {
    ui.add_space(4.0);
    ui.label(RichText::new(text).small().color(Palette::of(ui).weak));
}

/// Goes to a caller. A list of several processes numbers its methods itself, so it is filtered instead.
pub(super) fn look_at(connection: &Connection, who: &CallOrigin, commands: &mut Vec<UiCommand>) {
    commands.push(match listed(connection, who).filter(|_| !connection.in_fleet) {
        Some(method) => UiCommand::Reveal(method),
        None => UiCommand::Filter(callers::name(who)),
    });
}

/// Returns the caller's method in the list.
pub(super) fn listed(connection: &Connection, who: &CallOrigin) -> Option<MethodIx> {
    match who {
        CallOrigin::Method { copy, .. } => connection.table.catalogue.find(*copy),
        _ => None,
    }
}

/// Draws the callers; returns the one that was clicked.
fn drawn<'a>(ui: &mut Ui, connection: &Connection, counted: &'a RowCallers) -> Option<&'a CallOrigin> {
    let all = counted.calls();
    let part =
        |calls: u64| format!("{}  {}", words::grouped(calls), words::percent(callers::share(calls, all)));
    let (first, rest) = counted.callers.split_at(counted.callers.len().min(SHOWN));
    let mut clicked = None;
    for caller in first {
        // Names are long, so the numbers go below.
        let is_listed = listed(connection, &caller.origin).is_some();
        clicked = named(ui, &caller.origin, is_listed).then_some(&caller.origin).or(clicked);
        line(ui, "", &part(caller.calls));
    }
    if !rest.is_empty() {
        let calls = rest.iter().map(|caller| caller.calls).sum();
        line(ui, &format!("{} more", words::grouped(rest.len() as u64)), &part(calls));
    }
    if counted.others > 0 {
        let others = ui.scope(|ui| line(ui, callers::OTHERS, &part(counted.others)));
        others.response.on_hover_text(capitalized(&callers::others_note()));
    }
    clicked
}

/// Shows a caller's name; returns whether it was clicked. Only callers in the list are links. Without enough
/// room a method's name loses its beginning, as in the table.
pub(super) fn named(ui: &mut Ui, who: &CallOrigin, is_listed: bool) -> bool {
    let whole = callers::name(who);
    let CallOrigin::Method { module, method, .. } = who else {
        ui.add(Label::new(whole).truncate());
        return false;
    };
    let owner = module.len() + 1;
    let galley = PaintedName::of_caller(&whole, owner..owner + method.len(), Palette::of(ui))
        .laid_out(ui.painter(), ui.available_width());
    let (sense, role) = if is_listed { (Sense::click(), Role::Link) } else { (Sense::hover(), Role::Label) };
    let shown = ui.add(Label::new(galley).show_tooltip_when_elided(false).sense(sense));
    shown.widget_info(|| WidgetInfo::labeled(role, true, &whole));
    let cursor = if is_listed { CursorIcon::PointingHand } else { CursorIcon::Default };
    let shown = shown.on_hover_cursor(cursor);
    let clicked = shown.clicked();
    shown.on_hover_ui(|ui| {
        ui.label(&whole);
        if is_listed {
            ui.weak("Click to go to this caller. “Back” returns.");
        }
    });
    clicked
}

/// Shows a name, truncated if needed, with right-aligned numbers.
fn line(ui: &mut Ui, name: &str, numbers: &str) {
    ui.scope(|ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        // On its own, a right-to-left line would take all the height below.
        ui.horizontal(|ui| {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.label(RichText::new(numbers).monospace());
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let text = RichText::new(name).color(Palette::of(ui).weak);
                    ui.add(Label::new(text).truncate());
                });
            });
        });
    });
}
