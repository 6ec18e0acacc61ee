//! The timeline of traced calls: a track for each thread, with a lane for each depth, and tracks for async calls that had to
//! wait. Those of several processes stand below each other.

mod areas;
mod canvas;
mod gestures;
mod ruler;
mod shown_processes;
mod state;
mod track_layout;
mod wording;

pub use shown_processes::{ShownProcess, range};
pub use state::TimelineState;
pub use wording::canvas_id;

use self::wording::{length as exact_length, method_name};

use crate::commands::UiCommand;
use crate::ui::local_time::time_of_day;
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{Align, Button, Label, Layout, RichText, Ui};
use redial_text::words;

/// Shows the line above the timeline.
pub fn header(
    ui: &mut Ui,
    state: &mut TimelineState,
    shown: &[ShownProcess<'_>],
    commands: &mut Vec<UiCommand>,
) {
    ui.horizontal(|ui| {
        let range = range(shown);
        let any = range.is_some();
        if ui
            .add_enabled(any, Button::new("Show all").small())
            .on_hover_text("Shows everything that is kept (Home)")
            .clicked()
        {
            state.show_all(range);
        }
        let mut follows = state.follows();
        if ui
            .checkbox(&mut follows, "Follow")
            .on_hover_text("Moves along with new calls until you pan or zoom")
            .changed()
        {
            state.set_follows(follows);
        }
        let selected = state.selected().map(|(process, span)| (process, *span));
        let selected = selected
            .and_then(|(id, span)| Some((shown.iter().find(|process| process.connection == id)?, span)));
        if let Some((process, span)) = selected {
            let text = format!(
                "{}  {}",
                method_name(process.history(), &span),
                words::duration(span.duration().unsigned_abs())
            );
            ui.add(Label::new(RichText::new(text).strong()).truncate());
            if ui.add(Button::new("Zoom to call").small()).on_hover_text("F").clicked() {
                state.zoom_to(&span);
            }
            if process.events.by_number(span.number).is_some() {
                if ui.add(Button::new("Show in events").small()).on_hover_text("Enter").clicked() {
                    commands.push(UiCommand::ShowEvent(process.connection, span.number));
                }
            } else {
                ui.add(
                    Label::new(RichText::new("Its values are no longer kept.").weak().size(SMALL)).truncate(),
                );
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let (text, hint) = numbers(shown, state);
            let label = Label::new(RichText::new(text).size(SMALL).color(Palette::of(ui).weak)).truncate();
            ui.add(label).on_hover_text(hint);
        });
    });
}

/// Returns the part of time that is shown with the number of calls, and an explanation.
fn numbers(shown: &[ShownProcess<'_>], state: &TimelineState) -> (String, String) {
    let spans = || shown.iter().map(|process| process.history().spans());
    let mut text = words::count(spans().map(|one| one.len() as u64).sum(), "call", "calls");
    let most = words::grouped(redial_model::call_history::MAX_SPANS as u64);
    let mut hint = format!(
        "Calls of all methods, whatever the filter of the events. The latest {most} of a process are kept."
    );
    let dropped = spans().map(|one| one.dropped()).sum();
    if let Some(view) = state.view() {
        let length = words::duration(view.length() as u64);
        text = format!("{length} from {} · {text}", time_of_day(view.start().unsigned_abs()));
    }
    if let Some((from, to)) = state.measured() {
        let measured = exact_length(to.saturating_sub(from).unsigned_abs());
        text = format!("{measured} measured · {text}");
    }
    if dropped > 0 {
        hint.push_str(&format!(
            "\n{} dropped in favour of later ones.",
            words::count(dropped, "call was", "calls were")
        ));
    }
    hint.push_str(
        "\n\nWheel zooms, Shift+wheel pans. Drag measures. Drag with the right button pans. Keys: W and S zoom, A and D pan.",
    );
    (text, hint)
}

/// Shows the timeline in the rest of `ui`.
pub fn show(
    ui: &mut Ui,
    state: &mut TimelineState,
    shown: &[ShownProcess<'_>],
    commands: &mut Vec<UiCommand>,
) {
    canvas::show(ui, state, shown, commands);
}
