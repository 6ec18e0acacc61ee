//! Who calls the selected method, and how often.

use super::cells::Name;
use super::latency::row_looked_at;
use crate::commands::Command;
use crate::model::callers::Seen;
use crate::model::connection::{Connection, Targets};
use crate::model::ids::{FLEET, MethodIx, Node};
use crate::model::live::LiveRow;
use crate::model::selection::Mode;
use crate::output::{callers, words};
use crate::ui::theme::Palette;
use eframe::egui::{Align, Checkbox, CursorIcon, Label, Layout, RichText, Role, Sense, Ui, WidgetInfo};
use redial_protocol::callers::{RowCallers, Who};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;

/// Callers that have a line each; those that call less are told together.
const SHOWN: usize = 8;

/// The row whose callers are looked at; None: none is.
pub fn wanted(connection: &Connection) -> Option<(RowId, Seen)> {
    let row = row_looked_at(connection).filter(|row| row.options.callers)?;
    Some((row.id, Seen { calls: row.calls, wanted: true }))
}

/// The callers of a method with a row of its own that is timed, and whether they are counted.
pub fn show(
    ui: &mut Ui,
    connection: &Connection,
    row: &LiveRow,
    targets: Targets,
    commands: &mut Vec<Command>,
) {
    let known = connection.callers.of(row.id).filter(|_| connection.id != FLEET);
    let is_timed = row.wanted >= Level::Time;
    let can_be = row.wanted > Level::Off && connection.offered().contains(&Level::Time);
    if (is_timed || can_be) && (row.times_note.is_none() || row.options.callers) {
        switch(ui, connection, row, targets, commands);
    }
    match known {
        Some(Ok(told)) if told.calls() > 0 => {
            drawn(ui, connection, told, row.options.callers)
                .into_iter()
                .for_each(|who| look_at(connection, who, commands));
        }
        _ if !row.options.callers => {}
        _ if connection.id == FLEET => nothing(ui, "Callers are told of one process alone: look at that."),
        Some(Ok(_)) => nothing(ui, "Its next calls tell who calls it."),
        Some(Err(why)) => nothing(ui, &format!("Who calls it is not known: {why}.")),
        None if connection.obstacle().is_none() => nothing(ui, "The agent is asked who calls it."),
        None => {}
    }
}

fn switch(
    ui: &mut Ui,
    connection: &Connection,
    row: &LiveRow,
    targets: Targets,
    commands: &mut Vec<Command>,
) {
    let mut callers = row.options.callers;
    let shown =
        ui.add_enabled(connection.obstacle().is_none(), Checkbox::new(&mut callers, "count who calls it"));
    let hint = match row.wanted >= Level::Time {
        true => "Callers are counted by method, for some nanoseconds a call.",
        false => "Callers are counted by method, of what is timed: so this times it, too.",
    };
    if shown.on_hover_text(hint).changed() {
        let options = TimeOptions { callers, ..row.options };
        commands.push(Command::Turn { targets: Targets { options, ..targets }, level: Level::Time });
    }
}

fn nothing(ui: &mut Ui, text: &str) {
    ui.add_space(4.0);
    ui.label(RichText::new(text).small().color(Palette::of(ui).weak));
}

/// Has the list show a caller, and picks it where the list is of its process alone.
fn look_at(connection: &Connection, who: &Who, commands: &mut Vec<Command>) {
    commands.push(Command::Filter(callers::name(who)));
    if let Some(method) = listed(connection, who).filter(|_| !connection.is_one_of_many) {
        commands.push(Command::Pick(Node::Method(connection.catalogue.shown_for(method)), Mode::Replace));
    }
}

/// The method in the list that a caller is.
fn listed(connection: &Connection, who: &Who) -> Option<MethodIx> {
    match who {
        Who::Method { copy, .. } => connection.catalogue.find(*copy),
        _ => None,
    }
}

/// The caller that was clicked, if one was.
fn drawn<'a>(ui: &mut Ui, connection: &Connection, told: &'a RowCallers, now: bool) -> Option<&'a Who> {
    let all = told.calls();
    ui.add_space(4.0);
    let heading = if now { "called by" } else { "called by, while that was counted" };
    line(ui, heading, &words::count(all, "call", "calls"));
    let part =
        |calls: u64| format!("{}  {}", words::grouped(calls), words::percent(callers::share(calls, all)));
    let (first, rest) = told.callers.split_at(told.callers.len().min(SHOWN));
    let mut clicked = None;
    for caller in first {
        // Names are long: the numbers stand below.
        let is_listed = listed(connection, &caller.who).is_some();
        clicked = named(ui, &caller.who, is_listed).then_some(&caller.who).or(clicked);
        line(ui, "", &part(caller.calls));
    }
    if !rest.is_empty() {
        let calls = rest.iter().map(|caller| caller.calls).sum();
        line(ui, &format!("{} more", words::grouped(rest.len() as u64)), &part(calls));
    }
    if told.others > 0 {
        let others = ui.scope(|ui| line(ui, callers::OTHERS, &part(told.others)));
        others.response.on_hover_text(callers::others_are());
    }
    clicked
}

/// Who it is, and whether it was clicked, which only who is in the list can be; a method's name is cut at its beginning where
/// there is no room for it, as in the table.
fn named(ui: &mut Ui, who: &Who, is_listed: bool) -> bool {
    let whole = callers::name(who);
    let Who::Method { module, method, .. } = who else {
        ui.add(Label::new(whole).truncate());
        return false;
    };
    let owner = module.len() + 1;
    let galley = Name::of_caller(&whole, owner..owner + method.len(), Palette::of(ui))
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
            ui.weak("A click filters the list by it.");
        }
    });
    clicked
}

/// A name, cut where there is no room for it, and numbers at the other end of the line.
fn line(ui: &mut Ui, name: &str, numbers: &str) {
    ui.scope(|ui| {
        ui.spacing_mut().interact_size.y = 18.0;
        // By itself a line from the right would be as high as all the room there is below.
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
