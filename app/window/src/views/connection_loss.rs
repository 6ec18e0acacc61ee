//! The notice below the last numbers of an unreachable agent: the event, its effect on dials, and the next
//! step.

use crate::commands::UiCommand;
use crate::ui::theme::Palette;
use eframe::egui::{Frame, Margin, RichText, Ui};
use redial_model::connection::{Connection, Status};
use redial_model::update::Retry;
use redial_text::words;
use std::time::Duration;

/// Shows the notice while there is no session. `ended` says how the program ended, if known, and whether that is
/// no failure of it, as far as anyone knows. `mono` is the time on the model's clock.
pub fn show(
    ui: &mut Ui,
    connection: &Connection,
    (ended, is_fine): (Option<String>, bool),
    mono: Duration,
    commands: &mut Vec<UiCommand>,
) {
    let Some(loss) = connection.session.loss.as_deref() else { return };
    let why = ended.unwrap_or_else(|| words::sentence_case(loss).into_owned());
    let palette = Palette::of(ui);
    let colour = if is_fine { palette.text } else { palette.bad };
    Frame::new().fill(palette.raised).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.label(RichText::new(format!("{why}; showing its last numbers")).color(colour));
        let Some(next) = next(&connection.session.status, mono) else { return };
        ui.horizontal_wrapped(|ui| {
            ui.weak(
                "The process itself is unaffected. Dials held by this window revert when the agent \
                notices the lost connection; kept dials stay on.",
            );
            ui.label(next);
            if ui.small_button(UiCommand::Reconnect.name()).clicked() {
                commands.push(UiCommand::Reconnect);
            }
        });
        ui.ctx().request_repaint_after(Duration::from_secs(1));
    });
}

/// Returns the next step; `None` if the process has ended.
fn next(status: &Status, mono: Duration) -> Option<String> {
    match status {
        Status::Lost { retry: Retry::After(wait), since, .. } => {
            let seconds = (*since + *wait).saturating_sub(mono).as_secs_f32().ceil();
            Some(format!("Retrying in {seconds:.0} s."))
        }
        Status::Connecting | Status::Attaching => Some("Retrying now…".to_owned()),
        Status::Lost { .. } | Status::Live => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_notice_names_the_next_step() {
        let lost = |retry| Status::Lost { why: String::new(), retry, since: Duration::from_secs(1) };
        let now = Duration::from_millis(1_200);
        assert_eq!(
            next(&lost(Retry::After(Duration::from_secs(2))), now).as_deref(),
            Some("Retrying in 2 s.")
        );
        assert_eq!(next(&Status::Connecting, now).as_deref(), Some("Retrying now…"));
        assert_eq!((next(&lost(Retry::Never), now), next(&Status::Live, now)), (None, None));
    }
}
