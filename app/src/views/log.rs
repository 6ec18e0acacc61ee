//! The log: what was asked, what became of it, and every refusal in words.

use crate::ui::list::Scroll;
use crate::ui::theme::{BODY, DIGITS, Palette};
use eframe::egui::{self, Align2, Color32, FontId, Ui, pos2};
use std::collections::VecDeque;

/// Entries kept; older ones go.
const MOST: usize = 5_000;
const ROW: f32 = 20.0;

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What the user asked for.
    Request,
    /// What the agent answered or reported.
    Report,
    /// Something that needs the user's eye but is no failure.
    Notice,
    /// A refusal or a failure.
    Refusal,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `06:57:01`, UTC.
    pub time: String,
    /// What it is about.
    pub kind: Kind,
    /// The sentence.
    pub text: String,
}

/// All lines, oldest first.
#[derive(Debug, Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    scroll: Scroll,
    gone: u64,
}

impl Log {
    /// Adds a line; `unix_ms` is when.
    pub fn say(&mut self, unix_ms: u64, kind: Kind, text: impl Into<String>) {
        let time = crate::output::words::utc(unix_ms);
        let time = time.get(11..19).unwrap_or_default().to_owned();
        if self.entries.len() == MOST {
            self.entries.pop_front();
            self.gone += 1;
        }
        self.entries.push_back(Entry { time, kind, text: crate::output::words::one_line(&text.into()) });
        self.scroll.bring_into_view(self.entries.len() - 1);
    }

    /// The lines, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The last line.
    pub fn last(&self) -> Option<&Entry> {
        self.entries.back()
    }
}

/// Shows the log in the rest of `ui`.
pub fn show(ui: &mut Ui, log: &mut Log) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        ui.strong("Log");
        let lines = log.entries.len() as u64;
        ui.weak(match (lines, log.gone) {
            (0, _) => "requests, transitions and refusals will stand here".to_owned(),
            (lines, 0) => crate::output::words::count(lines, "line", "lines"),
            (lines, gone) => format!(
                "the last {} ({} older ones are gone)",
                crate::output::words::count(lines, "line", "lines"),
                crate::output::words::grouped(gone)
            ),
        });
    });
    let count = log.entries.len();
    let window = log.scroll.show(ui, "log", count, ROW);
    let painter = ui.painter_at(window.rect);
    for row in window.rows.clone() {
        let Some(entry) = log.entries.get(row) else { continue };
        let rect = window.row_rect(row);
        let response =
            ui.interact(rect, ui.id().with(("log row", row as u64 + log.gone)), egui::Sense::hover());
        let word = word(entry.kind);
        response.widget_info(|| {
            egui::WidgetInfo::labeled(
                egui::Role::Label,
                true,
                format!("{} {word}: {}", entry.time, entry.text),
            )
        });
        let mut x = rect.left() + 4.0;
        let mut put = |text: &str, font: FontId, colour: Color32, advance: f32| {
            painter.text(pos2(x, rect.center().y), Align2::LEFT_CENTER, text, font, colour);
            x += advance;
        };
        put(&entry.time, FontId::monospace(DIGITS), palette.weak, 72.0);
        put(word, FontId::proportional(12.0), colour(entry.kind, palette), 62.0);
        put(&entry.text, FontId::proportional(BODY), palette.text, 0.0);
        response.on_hover_text(&entry.text);
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "asked",
        Kind::Report => "agent",
        Kind::Notice => "note",
        Kind::Refusal => "refused",
    }
}

fn colour(kind: Kind, palette: &Palette) -> Color32 {
    match kind {
        Kind::Request => palette.accent,
        Kind::Report => palette.live,
        Kind::Notice => palette.asked,
        Kind::Refusal => palette.bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_lines_go_and_are_counted() {
        let mut log = Log::default();
        for number in 0..MOST + 2 {
            log.say(1_700_000_000_000, Kind::Report, format!("line {number}\nof two"));
        }
        assert_eq!((log.entries.len(), log.gone), (MOST, 2));
        assert_eq!(log.entries().next().map(|entry| entry.text.as_str()), Some("line 2 of two"));
        assert_eq!(log.last().map(|entry| entry.time.as_str()), Some("22:13:20"));
    }
}
