//! The bottom panel: the log of requests, results and refusals, and the output of launched programs.

use crate::ui::list::{ListWindow, Scroll};
use crate::ui::local_time;
use crate::ui::theme::{DIGITS, Palette, SMALL};
use eframe::egui::{self, Align2, Color32, FontId, Id, Sense, Ui, pos2};
use redial_model::Model;
use redial_model::ids::SubjectId;
use redial_model::log::{Log, LogKind};
use redial_model::program_output::ProgramOutput;
use redial_model::update::Now;
use redial_text::words;

const ROW: f32 = 20.0;
/// Left ends of the second and third column, points.
const SECOND: f32 = 94.0;
const THIRD: f32 = 164.0;

/// The panel's tabs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    Log,
    Output,
}

/// The view's own state.
#[derive(Debug, Default)]
pub struct LogState {
    tab: Tab,
    log: ScrollFollow,
    output: ScrollFollow,
}

/// A list that scrolls with new lines while its end is visible.
#[derive(Debug, Default)]
struct ScrollFollow {
    scroll: Scroll,
    /// Number of lines ever written when it was last shown.
    newest: u64,
    count: usize,
    /// Its height then.
    room: f32,
    /// Its end was visible when a line last fitted.
    at_end: bool,
    /// The user asked for the newest line.
    jump_to_end: bool,
}

impl ScrollFollow {
    fn show(&mut self, ui: &mut Ui, name: &str, count: usize, newest: u64) -> ListWindow {
        if self.room >= ROW {
            self.at_end = self.scroll.shows(self.count.saturating_sub(1), ROW);
        }
        let at_end = self.count == 0 || self.at_end;
        let room = ui.available_height().max(0.0);
        // The end stays visible while the panel shrinks.
        if std::mem::take(&mut self.jump_to_end) || (newest != self.newest || room < self.room) && at_end {
            self.scroll.bring_into_view(count.saturating_sub(1));
        }
        (self.newest, self.count, self.room) = (newest, count, room);
        if count as f32 * ROW > room {
            // Shows whole lines only; the first would be cut in half.
            ui.add_space(room % ROW);
        }
        self.scroll.show(ui, name, count, ROW)
    }

    /// Returns whether its end was out of view when last shown.
    fn is_behind(&self) -> bool {
        self.count > 0 && !self.scroll.shows(self.count - 1, ROW)
    }
}

/// One line: time, kind, text.
struct LogLine<'a> {
    time: String,
    word: &'a str,
    colour: Color32,
    text: &'a str,
    text_font: FontId,
}

/// Shows the panel in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut LogState, model: &Model) {
    let Model { log, output, current, .. } = model;
    head(ui, state, log, output);
    match state.tab {
        Tab::Log => show_log(ui, &mut state.log, log, *current),
        Tab::Output => show_output(ui, &mut state.output, output),
    }
}

fn head(ui: &mut Ui, state: &mut LogState, log: &Log, output: &ProgramOutput) {
    ui.horizontal(|ui| {
        let before = state.tab;
        let log_tab = ui.selectable_value(&mut state.tab, Tab::Log, "Log");
        let written = match output.total() {
            0 => "Output".to_owned(),
            lines => format!("Output ({})", words::grouped(lines)),
        };
        let output_tab = ui
            .selectable_value(&mut state.tab, Tab::Output, written)
            .on_hover_text("Output of programs launched from this window");
        // A click on the open tab scrolls to the end.
        let again = if before == Tab::Log { log_tab.clicked() } else { output_tab.clicked() };
        let shown = match state.tab {
            Tab::Log => &mut state.log,
            Tab::Output => &mut state.output,
        };
        let to_end = shown.is_behind() && {
            let link = ui.link("Jump to newest");
            link.on_hover_text("New lines scroll into view while the last one is visible").clicked()
        };
        shown.jump_to_end |= to_end || again;
        let (lines, gone, nothing) = match state.tab {
            Tab::Log => (log.entries().len(), log.forgotten(), "Requests and results appear here."),
            Tab::Output => (output.lines().len(), output.gone(), "Output of launched programs appears here."),
        };
        let counted = words::count(lines as u64, "line", "lines");
        let text = match (lines, gone) {
            (0, _) => nothing.to_owned(),
            (_, 0) => counted,
            (_, gone) => format!("The last {counted}; {} older ones were dropped", words::grouped(gone)),
        };
        let label = egui::Label::new(egui::RichText::new(text).color(Palette::of(ui).weak)).truncate();
        ui.add(label).on_hover_text(format!("Times are local: {}", local_time::zone_name()));
    });
}

fn show_log(ui: &mut Ui, follow: &mut ScrollFollow, log: &Log, viewed: Option<SubjectId>) {
    let entries = log.entries();
    let window = follow.show(ui, "log", entries.len(), entries.back().map_or(0, |entry| entry.serial));
    let palette = Palette::of(ui);
    for row in window.rows.clone() {
        let Some(entry) = entries.get(row) else { continue };
        let line = LogLine {
            time: time(entry.at),
            word: word(entry.kind),
            colour: colour(entry.kind, palette),
            text: &entry.text_for(viewed),
            text_font: FontId::proportional(DIGITS),
        };
        line.show(ui, &window, row, ui.scope_id().with(("log entry", entry.serial)));
    }
}

fn show_output(ui: &mut Ui, follow: &mut ScrollFollow, output: &ProgramOutput) {
    let lines = output.lines();
    let window = follow.show(ui, "output", lines.len(), output.total());
    let palette = Palette::of(ui);
    let first = output.total() - lines.len() as u64;
    for row in window.rows.clone() {
        let Some(written) = lines.get(row) else { continue };
        let error = written.written.error;
        let line = LogLine {
            time: time(written.at),
            word: &format!("{}{}", written.pid, if error { " err" } else { "" }),
            colour: if error { palette.bad } else { palette.weak },
            text: &written.written.text,
            text_font: FontId::monospace(DIGITS),
        };
        line.show(ui, &window, row, ui.scope_id().with(("output line", first + row as u64)));
    }
}

impl LogLine<'_> {
    fn show(&self, ui: &Ui, window: &ListWindow, row: usize, id: Id) {
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

/// Returns the local time of day: `06:57:01.250`.
pub fn time(at: Now) -> String {
    local_time::time_of_day(at.unix_ms.saturating_mul(1_000_000))
}

fn word(kind: LogKind) -> &'static str {
    match kind {
        LogKind::Request => "request",
        LogKind::Answer | LogKind::Undone => "answer",
        LogKind::AllOff => "all off",
        LogKind::Refusal => "refused",
        LogKind::NoAnswer => "no answer",
        LogKind::Failure => "failed",
        LogKind::Transition => "state",
        LogKind::Connection => "link",
        LogKind::Budget => "budget",
        LogKind::Control => "control",
        LogKind::Notice => "note",
        LogKind::Hint => "hint",
    }
}

/// Returns the colour of a kind of entry.
pub fn colour(kind: LogKind, palette: &Palette) -> Color32 {
    match kind {
        LogKind::Request | LogKind::Hint => palette.accent,
        LogKind::Answer | LogKind::Undone | LogKind::AllOff | LogKind::Transition => palette.live,
        LogKind::Connection | LogKind::Notice => palette.weak,
        LogKind::Budget | LogKind::Control | LogKind::NoAnswer => palette.asked,
        LogKind::Refusal | LogKind::Failure => palette.bad,
    }
}
