//! The panel below: the log (what was asked, what became of it, every refusal in words), and what launched programs
//! wrote.

use crate::model::Model;
use crate::model::ids::ConnectionId;
use crate::model::log::{Kind, Log};
use crate::model::output::Output;
use crate::model::update::Now;
use crate::output::words;
use crate::ui::list::{Scroll, Window};
use crate::ui::theme::{DIGITS, Palette, SMALL};
use eframe::egui::{self, Align2, Color32, FontId, Id, Sense, Ui, pos2};

const ROW: f32 = 20.0;
/// Where the second and the third column begin, points.
const SECOND: f32 = 66.0;
const THIRD: f32 = 136.0;

/// What the panel shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    Log,
    Output,
}

/// What the view itself remembers.
#[derive(Debug, Default)]
pub struct State {
    tab: Tab,
    log: Follow,
    output: Follow,
}

/// A list that follows its end as long as its end is in view.
#[derive(Debug, Default)]
struct Follow {
    scroll: Scroll,
    /// Lines there ever were when it was shown last.
    newest: u64,
    count: usize,
    /// Its height then.
    room: f32,
    /// Its end was in view when there was room for a line last.
    at_end: bool,
    /// Its end is asked for.
    asked: bool,
}

impl Follow {
    fn show(&mut self, ui: &mut Ui, name: &str, count: usize, newest: u64) -> Window {
        if self.room >= ROW {
            self.at_end = self.scroll.shows(self.count.saturating_sub(1), ROW);
        }
        let at_end = self.count == 0 || self.at_end;
        let room = ui.available_height().max(0.0);
        // What was at the end stays there, though the panel gets lower.
        if std::mem::take(&mut self.asked) || (newest != self.newest || room < self.room) && at_end {
            self.scroll.bring_into_view(count.saturating_sub(1));
        }
        (self.newest, self.count, self.room) = (newest, count, room);
        if count as f32 * ROW > room {
            // Whole lines only, or the first would be cut in half.
            ui.add_space(room % ROW);
        }
        self.scroll.show(ui, name, count, ROW)
    }

    /// Whether its end was out of view when it was shown last.
    fn is_behind(&self) -> bool {
        self.count > 0 && !self.scroll.shows(self.count - 1, ROW)
    }
}

/// One line: time, a word, a text.
struct Line<'a> {
    time: String,
    word: &'a str,
    colour: Color32,
    text: &'a str,
    text_font: FontId,
}

/// Shows the panel in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut State, model: &Model) {
    let Model { log, output, current, .. } = model;
    head(ui, state, log, output);
    match state.tab {
        Tab::Log => show_log(ui, &mut state.log, log, *current),
        Tab::Output => show_output(ui, &mut state.output, output),
    }
}

fn head(ui: &mut Ui, state: &mut State, log: &Log, output: &Output) {
    ui.horizontal(|ui| {
        let before = state.tab;
        let log_tab = ui.selectable_value(&mut state.tab, Tab::Log, "Log");
        let written = match output.total() {
            0 => "Output".to_owned(),
            lines => format!("Output ({})", words::grouped(lines)),
        };
        let output_tab = ui
            .selectable_value(&mut state.tab, Tab::Output, written)
            .on_hover_text("what programs launched from here wrote");
        // Who chooses the tab that is shown already wants to see its end.
        let again = if before == Tab::Log { log_tab.clicked() } else { output_tab.clicked() };
        let shown = match state.tab {
            Tab::Log => &mut state.log,
            Tab::Output => &mut state.output,
        };
        let to_end = shown.is_behind() && {
            let link = ui.link("to the newest");
            link.on_hover_text("lines that come are shown as they come while the last one is in sight")
                .clicked()
        };
        shown.asked |= to_end || again;
        let (lines, gone, nothing) = match state.tab {
            Tab::Log => (
                log.entries().len(),
                log.forgotten(),
                "what is asked for, and what becomes of it, will stand here",
            ),
            Tab::Output => (
                output.lines().len(),
                output.gone(),
                "what programs launched from here write will stand here",
            ),
        };
        let counted = words::count(lines as u64, "line", "lines");
        let text = match (lines, gone) {
            (0, _) => nothing.to_owned(),
            (_, 0) => counted,
            (_, gone) => format!("the last {counted}; {} older are gone", words::grouped(gone)),
        };
        let label = egui::Label::new(egui::RichText::new(text).color(Palette::of(ui).weak)).truncate();
        ui.add(label).on_hover_text("times are in UTC");
    });
}

fn show_log(ui: &mut Ui, follow: &mut Follow, log: &Log, looking_at: Option<ConnectionId>) {
    let entries = log.entries();
    let window = follow.show(ui, "log", entries.len(), entries.back().map_or(0, |entry| entry.serial));
    let palette = Palette::of(ui);
    for row in window.rows.clone() {
        let Some(entry) = entries.get(row) else { continue };
        let line = Line {
            time: time(entry.at),
            word: word(entry.kind),
            colour: colour(entry.kind, palette),
            text: &entry.told_to(looking_at),
            text_font: FontId::proportional(DIGITS),
        };
        line.show(ui, &window, row, ui.scope_id().with(("log entry", entry.serial)));
    }
}

fn show_output(ui: &mut Ui, follow: &mut Follow, output: &Output) {
    let lines = output.lines();
    let window = follow.show(ui, "output", lines.len(), output.total());
    let palette = Palette::of(ui);
    let first = output.total() - lines.len() as u64;
    for row in window.rows.clone() {
        let Some(written) = lines.get(row) else { continue };
        let error = written.written.error;
        let line = Line {
            time: time(written.at),
            word: &format!("{}{}", written.pid, if error { " err" } else { "" }),
            colour: if error { palette.bad } else { palette.weak },
            text: &written.written.text,
            text_font: FontId::monospace(DIGITS),
        };
        line.show(ui, &window, row, ui.scope_id().with(("output line", first + row as u64)));
    }
}

impl Line<'_> {
    fn show(&self, ui: &Ui, window: &Window, row: usize, id: Id) {
        let palette = Palette::of(ui);
        let painter = ui.painter_at(window.rect);
        let rect = window.row_rect(row);
        let response = ui.interact(rect.intersect(window.rect), id, Sense::hover());
        response.widget_info(|| {
            let text = format!("{} {}: {}", self.time, self.word, self.text);
            egui::WidgetInfo::labeled(egui::Role::Label, true, text)
        });
        let put = |x: f32, text: &str, font: FontId, colour: Color32| {
            painter.text(pos2(rect.left() + x, rect.center().y), Align2::LEFT_CENTER, text, font, colour)
        };
        let _ = put(0.0, &self.time, FontId::monospace(SMALL), palette.weak);
        let _ = put(SECOND, self.word, FontId::proportional(SMALL), self.colour);
        let written = put(THIRD, self.text, self.text_font.clone(), palette.text);
        if response.hovered() && written.right() > window.rect.right() {
            response.on_hover_text(self.text);
        }
    }
}

/// `06:57:01`, UTC.
pub fn time(at: Now) -> String {
    words::utc(at.unix_ms).get(11..19).unwrap_or_default().to_owned()
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "request",
        Kind::Answer | Kind::Undone => "answer",
        Kind::AllOff => "all off",
        Kind::Refusal => "refused",
        Kind::NoAnswer => "no answer",
        Kind::Failure => "failed",
        Kind::Transition => "state",
        Kind::Connection => "link",
        Kind::Budget => "budget",
        Kind::Control => "control",
        Kind::Notice => "note",
        Kind::Hint => "hint",
    }
}

/// The colour of what kind of thing happened.
pub fn colour(kind: Kind, palette: &Palette) -> Color32 {
    match kind {
        Kind::Request | Kind::Hint => palette.accent,
        Kind::Answer | Kind::Undone | Kind::AllOff | Kind::Transition => palette.live,
        Kind::Connection => palette.weak,
        Kind::Budget | Kind::Control | Kind::Notice | Kind::NoAnswer => palette.asked,
        Kind::Refusal | Kind::Failure => palette.bad,
    }
}
