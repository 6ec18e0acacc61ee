//! The progress of slow changes, each with a button that stops it.

use crate::commands::UiCommand;
use crate::ui::theme::Palette;
use eframe::egui::{Frame, Label, Margin, ProgressBar, Role, Ui, WidgetInfo, vec2};
use redial_model::changes::PendingChange;
use redial_model::subject::Subject;
use redial_text::words;
use std::time::Duration;

/// Changes without an answer after this time are shown, even without a progress report.
const SLOW: Duration = Duration::from_millis(700);

/// Shows unanswered changes that are slow or have reported progress. `now` is on `Now::mono`'s clock.
pub fn show(ui: &mut Ui, subject: Subject<'_>, now: Duration, commands: &mut Vec<UiCommand>) {
    shown(subject, now).for_each(|pending| one(ui, pending, commands));
}

/// Returns whether there are any. `now` is on `Now::mono`'s clock.
pub fn is_any(subject: Subject<'_>, now: Duration) -> bool {
    shown(subject, now).next().is_some()
}

fn shown(subject: Subject<'_>, now: Duration) -> impl Iterator<Item = &PendingChange> {
    let table = subject.table();
    let waits = move |pending: &&PendingChange| pending.accepted.is_none() && subject.is_live();
    let is_shown = move |pending: &&PendingChange| {
        now.saturating_sub(pending.since.mono) >= SLOW || pending.progress.is_some()
    };
    table.changes.pending().iter().filter(waits).filter(is_shown)
}

fn one(ui: &mut Ui, pending: &PendingChange, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    Frame::new().fill(palette.raised).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            if pending.can_stop {
                let stop = ui.button(UiCommand::CancelChange(pending.ticket).name());
                let stop = stop.on_hover_text("The agent reverts what this change has done so far");
                if stop.clicked() {
                    commands.push(UiCommand::CancelChange(pending.ticket));
                }
            }
            let (text, share) = match pending.progress {
                Some((done, total)) => (
                    format!("{} of {}", words::grouped(done), words::grouped(total)),
                    if total == 0 { 1.0 } else { done as f32 / total as f32 },
                ),
                None => ("Waiting for the agent".to_owned(), 0.0),
            };
            let bar = ui.add(ProgressBar::new(share).desired_width(180.0).text(&text));
            bar.widget_info(|| {
                let mut info = WidgetInfo::labeled(Role::ProgressIndicator, true, "Progress of the change");
                info.current_text_value = Some(text.clone());
                info
            });
            ui.allocate_ui(vec2(ui.available_width(), ui.available_height()), |ui| {
                ui.add(Label::new(&pending.words).truncate())
            });
        });
    });
}
