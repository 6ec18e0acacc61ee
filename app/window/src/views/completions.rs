//! Completions of the selected async method, and a button that times its `MoveNext` if that is not timed yet.

use super::cells::NumberAge;
use super::detail_lines::number;
use crate::commands::UiCommand;
use crate::ui::capitalized;
use eframe::egui::Ui;
use redial_model::live::LiveRow;
use redial_model::method_set::MethodSet;
use redial_model::subject::Subject;
use redial_protocol::ids::CopyKey;
use redial_protocol::level::Level;
use redial_protocol::times::Times;
use redial_text::completions::CompletionColumn;
use redial_text::{names, words};

/// Shows completions of a method with a row of its own; nothing unless it is async.
pub fn show(ui: &mut Ui, subject: Subject<'_>, row: &LiveRow, commands: &mut Vec<UiCommand>) {
    let table = subject.table();
    let Some(times) = row.shown_times() else { return };
    let connected = subject.obstacle().is_none();
    let along = times.move_next.map(|token| CopyKey { token, ..row.copy });
    // A fleet's rows have no `MoveNext` of their own to look up.
    let body = along.filter(|_| subject.fleet().is_none()).and_then(|copy| table.catalogue.find(copy));
    let is_on = body.and_then(|body| table.live.of_method(body)).map(LiveRow::is_timed);
    numbers(ui, NumberAge::of(connected && is_on.unwrap_or_else(|| row.is_timed())), times);
    let Some(body) = body.filter(|_| connected && row.is_timed() && is_on != Some(true)) else { return };
    let hint = "Also times the method's MoveNext, which does the work. Then this panel shows completed \
               calls, calls in flight and their mean latency. Until then, times end at the first await.";
    if ui.button("Time completions").on_hover_text(hint).clicked() {
        commands
            .push(UiCommand::Turn { targets: table.targets_for(&MethodSet::one(body)), level: Level::Time });
    }
}

/// Names the async method or iterator of a `MoveNext`; a click shows it. Nothing for other methods.
pub fn method_of_body(ui: &mut Ui, type_name: &str, method: &str, commands: &mut Vec<UiCommand>) {
    let Some(body) = words::body_of(&format!("{type_name}.{method}")) else { return };
    let Some(name) = body.strip_prefix("body of ") else { return };
    let short = names::shorter(name).last().unwrap_or(name);
    let link = ui.link(format!("The body of {short}"));
    if link.on_hover_text("Shows that method: calls traced there have arguments and results.").clicked() {
        commands.push(UiCommand::Filter(name.split('<').next().unwrap_or(name).to_owned()));
    }
}

/// Shows completions of one method or of several copies together; nothing unless one is async.
pub fn numbers(ui: &mut Ui, timed: NumberAge, times: &Times) {
    let Some(completions) = times.completions else { return };
    for column in CompletionColumn::ALL {
        let cell = column.cell(&completions).unwrap_or_else(|| "–".to_owned());
        ui.scope(|ui| number(ui, &capitalized(column.name()), timed, &cell))
            .response
            .on_hover_text(capitalized(column.meaning()));
    }
}
