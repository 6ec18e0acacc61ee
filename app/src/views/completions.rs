//! How calls of the selected async method complete; where its `MoveNext` is not dialled along, a button that does that.

use super::cells::Numbers;
use super::detail::number;
use crate::commands::Command;
use crate::model::connection::Connection;
use crate::model::ids::FLEET;
use crate::model::live::LiveRow;
use crate::model::methodset::MethodSet;
use crate::output::completions::CompletionColumn;
use eframe::egui::Ui;
use redial_protocol::ids::CopyKey;
use redial_protocol::level::Level;
use redial_protocol::times::Times;

/// Numbers of a method with a row of its own; nothing of one that is not async.
pub fn show(ui: &mut Ui, connection: &Connection, row: &LiveRow, commands: &mut Vec<Command>) {
    let Some(times) = row.times.as_deref() else { return };
    let connected = connection.obstacle().is_none();
    let along = times.move_next.map(|token| CopyKey { token, ..row.copy });
    let body = along.filter(|_| connection.id != FLEET).and_then(|copy| connection.catalogue.find(copy));
    let is_on = body.and_then(|body| connection.live.of_method(body)).map(LiveRow::is_timed);
    numbers(ui, Numbers::of(connected && is_on.unwrap_or_else(|| row.is_timed())), times);
    let Some(body) = body.filter(|_| connected && row.is_timed() && is_on != Some(true)) else { return };
    let hint = "Dials the MoveNext that does its work at time, too: then calls completed, in flight and their mean latency \
                stand here. So far its times end where it first waits.";
    if ui.button("Time its completions").on_hover_text(hint).clicked() {
        commands
            .push(Command::Turn { targets: connection.reaching(&MethodSet::one(body)), level: Level::Time });
    }
}

/// Numbers of one method or of several copies together; nothing where none is async.
pub fn numbers(ui: &mut Ui, timed: Numbers, times: &Times) {
    let Some(completions) = times.completions else { return };
    for column in CompletionColumn::ALL {
        let cell = column.cell(&completions).unwrap_or_else(|| "–".to_owned());
        ui.scope(|ui| number(ui, column.name(), timed, &cell)).response.on_hover_text(column.meaning());
    }
}
