//! The log: what was asked, what became of it, and every refusal in words.

use crate::model::log::{Entry, Kind, Log};
use crate::output::words;
use crate::ui::list::Scroll;
use crate::ui::theme::{BODY, DIGITS, Palette};
use eframe::egui::{self, Align2, Color32, FontId, Sense, Ui, pos2};

const ROW: f32 = 20.0;

/// What the view itself remembers.
#[derive(Debug, Default)]
pub struct State {
    scroll: Scroll,
    /// The newest entry when it was shown last: a newer one is brought into view.
    newest: u64,
}

/// Shows the log in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut State, log: &Log) {
    ui.horizontal(|ui| {
        ui.strong("Log");
        let lines = log.entries().len() as u64;
        ui.weak(match (lines, log.forgotten()) {
            (0, _) => "requests, transitions and refusals will stand here".to_owned(),
            (lines, 0) => words::count(lines, "line", "lines"),
            (lines, gone) => {
                format!(
                    "the last {}; {} older are gone",
                    words::count(lines, "line", "lines"),
                    words::grouped(gone)
                )
            }
        });
    });
    let count = log.entries().len();
    let newest = log.entries().back().map_or(0, |entry| entry.serial);
    if newest != state.newest {
        state.newest = newest;
        state.scroll.bring_into_view(count.saturating_sub(1));
    }
    let window = state.scroll.show(ui, "log", count, ROW);
    let painter = ui.painter_at(window.rect);
    for row in window.rows.clone() {
        let Some(entry) = log.entries().get(row) else { continue };
        let rect = window.row_rect(row);
        let response = ui.interact(
            rect.intersect(window.rect),
            ui.scope_id().with(("log entry", entry.serial)),
            Sense::hover(),
        );
        let (time, word) = (time(entry), word(entry.kind));
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{time} {word}: {}", entry.text))
        });
        let palette = Palette::of(ui);
        let put = |x: f32, text: &str, font: FontId, colour: Color32| {
            painter.text(pos2(rect.left() + x, rect.center().y), Align2::LEFT_CENTER, text, font, colour)
        };
        let _ = put(4.0, &time, FontId::monospace(DIGITS - 1.0), palette.weak);
        let _ = put(70.0, word, FontId::proportional(12.0), colour(entry.kind, palette));
        let written = put(140.0, &entry.text, FontId::proportional(BODY - 0.5), palette.text);
        if response.hovered() && written.right() > window.rect.right() {
            response.on_hover_text(&entry.text);
        }
    }
}

/// `06:57:01`, UTC.
pub fn time(entry: &Entry) -> String {
    words::utc(entry.at.unix_ms).get(11..19).unwrap_or_default().to_owned()
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "asked",
        Kind::Answer => "answer",
        Kind::Refusal => "refused",
        Kind::Transition => "state",
        Kind::Connection => "link",
        Kind::Notice => "note",
    }
}

fn colour(kind: Kind, palette: &Palette) -> Color32 {
    match kind {
        Kind::Request => palette.accent,
        Kind::Answer | Kind::Transition => palette.live,
        Kind::Connection => palette.weak,
        Kind::Notice => palette.asked,
        Kind::Refusal => palette.bad,
    }
}
