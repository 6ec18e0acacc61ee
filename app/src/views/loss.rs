//! What is said below the last numbers of a process whose agent is out of reach: what happened, what it means for the
//! dials, and what happens next.

use crate::commands::Command;
use crate::model::connection::{Connection, Status};
use crate::model::update::Retry;
use crate::ui::theme::Palette;
use eframe::egui::{Frame, Margin, RichText, Ui};
use std::time::Duration;

/// Shows it while there is no session. `ended` is how the program ended, where that is known, and whether the user
/// wanted it to; `mono` is the time on the model's clock.
pub fn show(
    ui: &mut Ui,
    connection: &Connection,
    (ended, is_wanted): (Option<String>, bool),
    mono: Duration,
    commands: &mut Vec<Command>,
) {
    let Some(loss) = connection.loss.as_deref() else { return };
    let why = ended.unwrap_or_else(|| loss.to_owned());
    let palette = Palette::of(ui);
    let colour = if is_wanted { palette.text } else { palette.bad };
    Frame::new().fill(palette.raised).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.label(RichText::new(format!("{why}; these are its last numbers")).color(colour));
        let Some(next) = next(&connection.status, mono) else { return };
        ui.horizontal_wrapped(|ui| {
            ui.weak(
                "The process was left as it is. Dials held by this window revert as soon as the agent sees that the \
                 connection has ended; kept ones stay on.",
            );
            ui.label(next);
            if ui.small_button(Command::Reconnect.name()).clicked() {
                commands.push(Command::Reconnect);
            }
        });
        ui.ctx().request_repaint_after(Duration::from_secs(1));
    });
}

/// What happens next; None: nothing, the process is gone for good.
fn next(status: &Status, mono: Duration) -> Option<String> {
    match status {
        Status::Lost { retry: Retry::After(wait), since, .. } => {
            let seconds = (*since + *wait).saturating_sub(mono).as_secs_f32().ceil();
            Some(format!("Trying again in {seconds:.0} s."))
        }
        Status::Connecting | Status::Attaching => Some("Trying again now…".to_owned()),
        Status::Lost { .. } | Status::Live => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_next_is_said_where_something_does() {
        let lost = |retry| Status::Lost { why: String::new(), retry, since: Duration::from_secs(1) };
        let now = Duration::from_millis(1_200);
        assert_eq!(
            next(&lost(Retry::After(Duration::from_secs(2))), now).as_deref(),
            Some("Trying again in 2 s.")
        );
        assert_eq!(next(&Status::Connecting, now).as_deref(), Some("Trying again now…"));
        assert_eq!((next(&lost(Retry::Never), now), next(&Status::Live, now)), (None, None));
    }
}
