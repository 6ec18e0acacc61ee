//! The bottom panel: the log of requests, results and refusals, and the output of launched programs.

mod line_filter;

use crate::commands::{LogTab, UiCommand};
use crate::ui::list::{ListWindow, Scroll};
use crate::ui::local_time;
use crate::ui::theme::{DIGITS, Palette, SMALL};
use eframe::egui::{self, Align, Align2, Button, Color32, FontId, Id, Layout, Sense, TextEdit, Ui, pos2};
use line_filter::LineFilter;
use redial_model::Model;
use redial_model::log::{Log, LogEntry, LogKind};
use redial_model::program_output::{OutputLine, ProgramOutput};
use redial_model::update::Now;
use redial_text::words;
use std::collections::VecDeque;

const ROW: f32 = 20.0;
/// Left ends of the second and third column, points.
const SECOND: f32 = 94.0;
const THIRD: f32 = 164.0;

/// Width of the filter field, points.
const FILTER: f32 = 150.0;

/// The view's own state.
#[derive(Debug, Default)]
pub struct LogState {
    tab: LogTab,
    log: TabState,
    output: TabState,
}

/// The state of a tab.
#[derive(Debug, Default)]
struct TabState {
    follow: ScrollFollow,
    filter: LineFilter,
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
        let is_other = newest != self.newest || count != self.count || room < self.room;
        if std::mem::take(&mut self.jump_to_end) || is_other && at_end {
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
    word: String,
    colour: Color32,
    text: &'a str,
    text_font: FontId,
}

/// The lines of the open tab.
#[derive(Clone, Copy)]
enum Lines<'a> {
    Log(&'a Log),
    Output(&'a ProgramOutput),
}

impl<'a> Lines<'a> {
    /// Returns the number of the first line, and of the one after the last.
    fn range(self) -> (u64, u64) {
        match self {
            Lines::Log(log) => {
                let end = log.total() + 1;
                (end - log.entries().len() as u64, end)
            }
            Lines::Output(output) => (output.total() - output.lines().len() as u64, output.total()),
        }
    }

    /// Passes a line to `show`; `None` if it was dropped.
    fn with_line<T>(self, number: u64, palette: &Palette, show: impl FnOnce(&LogLine<'_>) -> T) -> Option<T> {
        let index = number.checked_sub(self.range().0)? as usize;
        Some(match self {
            Lines::Log(log) => {
                let entry: &LogEntry = log.entries().get(index)?;
                show(&LogLine {
                    time: time(entry.at),
                    word: word(entry.kind).to_owned(),
                    colour: colour(entry.kind, palette),
                    // The text is the same whatever process is shown.
                    text: &entry.text_for(None),
                    text_font: FontId::proportional(DIGITS),
                })
            }
            Lines::Output(output) => {
                let OutputLine { at, pid, written } = output.lines().get(index)?;
                show(&LogLine {
                    time: time(*at),
                    word: format!("{pid}{}", if written.error { " err" } else { "" }),
                    colour: if written.error { palette.bad } else { palette.weak },
                    text: &written.text,
                    text_font: FontId::monospace(DIGITS),
                })
            }
        })
    }

    fn is_empty(self) -> bool {
        let (first, end) = self.range();
        first == end
    }

    /// Returns the caption: the number of lines, or of those that match, and of those dropped.
    fn caption(self, count: usize, filter: &LineFilter) -> String {
        let (gone, nothing) = match self {
            Lines::Log(log) => (log.forgotten(), "Requests and results appear here."),
            Lines::Output(output) => (output.gone(), "Output of launched programs appears here."),
        };
        let (first, end) = self.range();
        let counted = words::count(end - first, "line", "lines");
        let shown = match filter.matching() {
            Some(_) => format!("{} of {counted} shown", words::grouped(count as u64)),
            None => counted,
        };
        match (end - first, gone) {
            (0, 0) => nothing.to_owned(),
            (_, 0) => shown,
            (_, gone) if filter.matching().is_some() => {
                format!("{shown}; {} older ones were dropped", words::grouped(gone))
            }
            (_, gone) => format!("The last {shown}; {} older ones were dropped", words::grouped(gone)),
        }
    }

    /// Returns the text of the lines that match.
    fn all_text(self, filter: &LineFilter, palette: &Palette) -> String {
        let (first, end) = self.range();
        let all: Vec<u64> = match filter.matching() {
            Some(matching) => matching.iter().copied().collect(),
            None => (first..end).collect(),
        };
        all.into_iter().map(|number| self.text(number, palette) + "\n").collect()
    }

    /// Returns a line as text: `06:57:01.250  state  Shop.dll (4242): pending → live`.
    fn text(self, number: u64, palette: &Palette) -> String {
        let text = |line: &LogLine<'_>| format!("{}  {}  {}", line.time, line.word, line.text);
        self.with_line(number, palette, text).unwrap_or_default()
    }
}

impl LogState {
    fn open(&mut self) -> &mut TabState {
        match self.tab {
            LogTab::Log => &mut self.log,
            LogTab::Output => &mut self.output,
        }
    }

    /// Updates the lines that match the filter; returns all lines of the open tab, and how many match.
    fn filtered<'a>(&mut self, ui: &Ui, model: &'a Model) -> (Lines<'a>, usize) {
        let palette = Palette::of(ui);
        let lines = match self.tab {
            LogTab::Log => Lines::Log(&model.log),
            LogTab::Output => Lines::Output(&model.output),
        };
        let (first, end) = lines.range();
        let filter = &mut self.open().filter;
        let is_behind = filter.update(first, end, |number| lines.text(number, palette));
        if is_behind {
            ui.ctx().request_repaint();
        }
        (lines, filter.matching().map_or((end - first) as usize, VecDeque::len))
    }
}

/// Shows the panel in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut LogState, model: &Model, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| head(ui, state, model, commands));
    let (lines, count) = state.filtered(ui, model);
    let (first, end) = lines.range();
    let name = if state.tab == LogTab::Log { "log" } else { "output" };
    let TabState { follow, filter } = state.open();
    let window = follow.show(ui, name, count, end);
    for row in window.rows.clone() {
        let number = match filter.matching() {
            Some(matching) => matching.get(row).copied(),
            None => Some(first + row as u64),
        };
        let Some(number) = number else { continue };
        let id = ui.scope_id().with((name, number));
        let _ = lines.with_line(number, palette, |line| line.show(ui, &window, row, id));
    }
}

fn head(ui: &mut Ui, state: &mut LogState, model: &Model, commands: &mut Vec<UiCommand>) {
    let before = state.tab;
    let log_tab = ui.selectable_value(&mut state.tab, LogTab::Log, "Log");
    let written = match model.output.total() {
        0 => "Output".to_owned(),
        lines => format!("Output ({})", words::grouped(lines)),
    };
    let output_tab = ui
        .selectable_value(&mut state.tab, LogTab::Output, written)
        .on_hover_text("Output of programs launched from this window");
    // A click on the open tab scrolls to the end.
    let again = if before == LogTab::Log { log_tab.clicked() } else { output_tab.clicked() };
    let palette = Palette::of(ui);
    let (lines, count) = state.filtered(ui, model);
    let follow = &mut state.open().follow;
    let to_end = if follow.is_behind() {
        let link = ui.link("Jump to newest");
        link.on_hover_text("New lines scroll into view while the last one is visible").clicked()
    } else {
        // The widgets after it keep their ids.
        ui.skip_ahead_auto_ids(1);
        false
    };
    follow.jump_to_end |= to_end || again;
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let tab = state.tab;
        let of = if tab == LogTab::Log { "log" } else { "output" };
        let named = |ui: &mut Ui, enabled: bool, text: &str| {
            let button = ui.add_enabled(enabled, Button::new(text));
            button.accessible_name(format!("{text} {of}"))
        };
        let clear = named(ui, !lines.is_empty(), "Clear");
        if clear.on_hover_text("Removes all lines, also those that the filter hides").clicked() {
            commands.push(UiCommand::ClearLines(tab));
        }
        let copy = named(ui, count > 0, "Copy");
        let filter = &mut state.open().filter;
        if copy.on_hover_text("Copies the lines shown, with their times").clicked() {
            ui.ctx().copy_text(lines.all_text(filter, palette));
        }
        let width = (ui.available_width() - ui.spacing().item_spacing.x).clamp(40.0, FILTER);
        let field = TextEdit::singleline(&mut filter.text).id(Id::unique(("log filter", of)));
        let field = field.hint_text("Filter").desired_width(width);
        ui.add(field).on_hover_text("All words must match").accessible_name(format!("Filter {of}"));
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            let text = lines.caption(count, filter);
            let label = egui::Label::new(egui::RichText::new(text).color(palette.weak)).truncate();
            ui.add(label).on_hover_text(format!("Times are local: {}", local_time::zone_name()));
        });
    });
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
        let _ = put(SECOND, &self.word, FontId::proportional(SMALL), self.colour);
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
        LogKind::AllOff | LogKind::NoneOn => "all off",
        LogKind::Done => "done",
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
        LogKind::Answer
        | LogKind::Undone
        | LogKind::AllOff
        | LogKind::NoneOn
        | LogKind::Done
        | LogKind::Transition => palette.live,
        LogKind::Connection | LogKind::Notice => palette.weak,
        LogKind::Budget | LogKind::Control | LogKind::NoAnswer => palette.asked,
        LogKind::Refusal | LogKind::Failure => palette.bad,
    }
}
