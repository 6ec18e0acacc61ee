//! The cells of a row: names, states, numbers and sparklines.

use super::columns::Columns;
use super::knob_state::KnobState;
use super::painted_name::PaintedName;
use crate::settings::columns::TableColumn;
use crate::ui::theme::{DIGITS, Palette};
use crate::ui::{numbers, sparkline};
use eframe::egui::{Align2, Color32, FontId, Painter, Rangef, Rect, pos2, vec2};
use redial_model::live::LiveRow;
use redial_model::series::LENGTH;
use redial_text::times::TimeColumn;

/// Space around the bar of a share, points.
const BAR_MARGIN: f32 = 3.0;
/// Opacity of that bar.
const BAR: f32 = 0.35;
/// Opacity of the background of a number that stands out most.
const MARK: f32 = 0.3;
/// Least width in which a sparkline is drawn, points.
const CURVE: f32 = 20.0;

/// Whether numbers are current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberAge {
    /// They can change at any moment.
    Live,
    /// The last known values: counting or timing has ended, as far as known.
    Last,
}

impl NumberAge {
    /// Returns `Live` while counting or timing continues.
    pub fn of(goes_on: bool) -> NumberAge {
        if goes_on { NumberAge::Live } else { NumberAge::Last }
    }

    /// Returns the text colour.
    pub fn colour(self, palette: &Palette) -> Color32 {
        match self {
            NumberAge::Live => palette.text,
            NumberAge::Last => palette.weak,
        }
    }
}

/// The painter, columns and colours for cells.
pub struct Paint<'a> {
    /// The painter, clipped to the rows.
    pub painter: &'a Painter,
    /// The columns.
    pub columns: &'a Columns,
    /// The colours.
    pub palette: &'static Palette,
    /// Columns whose numbers stand out among those of other processes, with how much, from 0 to 1.
    pub marked: &'a [(TableColumn, f32)],
}

impl Paint<'_> {
    /// Paints a name from `left` to the end of its column, elided. It extends over the state's column where
    /// that is empty.
    pub fn name(&self, rect: Rect, left: f32, name: &PaintedName<'_>, face: &KnobState) {
        if !self.columns.is_named {
            return;
        }
        let end = self.columns.name_end(!face.state_text.is_empty());
        let room = Rangef::new(left, end - 8.0).span().max(10.0);
        if name.has_remarks() && self.with_remarks(rect, left, room, name) {
            return;
        }
        let galley = name.laid_out(self.painter, room);
        let at = pos2(left, rect.center().y - galley.size().y / 2.0);
        self.painter.galley(at, galley, Color32::PLACEHOLDER);
    }

    /// Paints a name and its notes if both fit; returns whether they did. They are laid out separately: while
    /// twenty processes load the same module, each row's note changes twenty times and is the same in all
    /// rows.
    fn with_remarks(&self, rect: Rect, left: f32, room: f32, name: &PaintedName<'_>) -> bool {
        let Some((own, remarks)) = name.beside_remarks(self.painter, room) else { return false };
        let at = pos2(left, rect.center().y - own.size().y / 2.0);
        let behind = pos2(left + own.size().x, at.y + own.size().y - remarks.size().y);
        self.painter.galley(at, own, Color32::PLACEHOLDER);
        self.painter.galley(behind, remarks, Color32::PLACEHOLDER);
        true
    }

    /// Paints the state.
    pub fn state(&self, rect: Rect, face: &KnobState) {
        let Some(state) = self.columns.range(TableColumn::State) else { return };
        let at = pos2(state.min + 4.0, rect.center().y);
        let painter = self.painter.with_clip_rect(self.cell(rect, state));
        let colour = face.colour(self.palette);
        painter.text(at, Align2::LEFT_CENTER, &face.state_text, FontId::proportional(DIGITS), colour);
    }

    /// Paints calls, and calls per second where known.
    pub fn counted(&self, rect: Rect, numbers: NumberAge, calls: &str, rate: Option<f64>) {
        self.number(rect, TableColumn::Calls, numbers, calls);
        if let Some(rate) = rate {
            self.number(rect, TableColumn::Rate, numbers, &numbers::rate(rate));
        }
    }

    /// Paints the known times.
    pub fn times(&self, rect: Rect, numbers: NumberAge, cell: impl Fn(TimeColumn) -> Option<String>) {
        for (column, range) in self.columns.shown() {
            if let TableColumn::Time(time) = column
                && let Some(text) = cell(*time)
            {
                self.mark(rect, *column, *range);
                match (time, text.as_str()) {
                    // Nothing to look at in a column of zeros.
                    (TimeColumn::Exceptions, "0") => self.text(rect, *range, self.palette.weak, "–"),
                    _ => self.text(rect, *range, numbers.colour(self.palette), &text),
                }
            }
        }
    }

    /// Paints the share that `part` is of `all`, with a bar.
    pub fn share(&self, rect: Rect, numbers: NumberAge, part: u64, all: u64) {
        let Some(range) = self.columns.range(TableColumn::Share).filter(|_| all > 0) else { return };
        let share = (part as f64 / all as f64).min(1.0);
        let cell = self.cell(rect, range).shrink2(vec2(BAR_MARGIN, BAR_MARGIN));
        let bar = Rect::from_min_size(cell.min, vec2(cell.width() * share as f32, cell.height()));
        self.painter.rect_filled(bar, 2.0, self.palette.accent.gamma_multiply(BAR));
        let text = format!("{:.1} %", share * 100.0);
        self.text(rect, range, numbers.colour(self.palette), &text);
    }

    fn number(&self, rect: Rect, column: TableColumn, numbers: NumberAge, text: &str) {
        if let Some(range) = self.columns.range(column) {
            self.mark(rect, column, range);
            self.text(rect, range, numbers.colour(self.palette), text);
        }
    }

    /// Marks the cell of a number that stands out.
    fn mark(&self, rect: Rect, column: TableColumn, range: Rangef) {
        let Some((_, strength)) = self.marked.iter().find(|(marked, _)| *marked == column) else { return };
        let cell = self.cell(rect, range).shrink2(vec2(BAR_MARGIN, BAR_MARGIN));
        self.painter.rect_filled(cell, 2.0, self.palette.accent.gamma_multiply(MARK * strength));
    }

    /// Paints a right-aligned number.
    fn text(&self, rect: Rect, column: Rangef, colour: Color32, text: &str) {
        let at = pos2(column.max - 8.0, rect.center().y);
        let painter = self.painter.with_clip_rect(self.cell(rect, column));
        painter.text(at, Align2::RIGHT_CENTER, text, FontId::monospace(DIGITS), colour);
    }

    fn cell(&self, rect: Rect, column: Rangef) -> Rect {
        Rect::from_x_y_ranges(column, rect.y_range()).intersect(self.painter.clip_rect())
    }

    /// Paints the rates of the last minute, computed only if the column is visible.
    pub fn curve_of(&self, rect: Rect, rates: impl FnOnce() -> [f32; LENGTH]) {
        if let Some(place) = self.curve_place(rect) {
            sparkline::paint(self.painter, place, rates().into_iter(), self.palette);
        }
    }

    /// Paints a row's rates of the last minute.
    pub fn curve(&self, rect: Rect, row: &LiveRow, tick: u64) {
        if let Some((series, place)) = row.series.as_ref().zip(self.curve_place(rect)) {
            sparkline::paint(self.painter, place, series.at(tick), self.palette);
        }
    }

    fn curve_place(&self, rect: Rect) -> Option<Rect> {
        let range = self.columns.range(TableColumn::Spark).filter(|range| range.span() > CURVE)?;
        Some(Rect::from_x_y_ranges(range, rect.y_range()).shrink2(vec2(8.0, 4.0)))
    }
}
