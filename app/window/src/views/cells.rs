//! The cells of a row: names with highlighted matches, states, numbers and sparklines.

use super::columns::Columns;
use super::knob_state::KnobState;
use crate::ui::text_width::GlyphWidths;
use crate::ui::theme::{BODY, DIGITS, Palette, SMALL};
use crate::ui::{numbers, sparkline};
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Align2, Color32, FontId, Galley, Painter, Rangef, Rect, TextFormat, pos2, vec2};
use redial_model::catalogue::FullName;
use redial_model::live::LiveRow;
use redial_model::method_table::{MethodTable, Shape};
use redial_model::query::within;
use redial_model::series::LENGTH;
use redial_text::names::{explicit_length, method_start, namespace_length};
use redial_text::times::TimeColumn;
use redial_text::words;
use std::ops::Range;
use std::sync::Arc;

/// Size of names, points.
const NAME: f32 = BODY;

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
}

/// A name composed of coloured parts.
pub struct PaintedName<'a> {
    text: &'a str,
    highlights: Vec<Range<usize>>,
    parts: Vec<(Range<usize>, Color32)>,
    /// The part that may lose its beginning in a narrow column.
    head: Range<usize>,
    /// A method's parameters; a narrow column shows only that there are some.
    parameters: Range<usize>,
    /// Small text before the name.
    front: String,
    /// For compiler-generated methods, the method they implement.
    body: Option<String>,
    remarks: Vec<(String, Color32)>,
    palette: &'static Palette,
}

/// The parts of a name to leave out.
#[derive(Clone, Copy, Debug, Default)]
struct NameCuts {
    /// Bytes of the head.
    head: usize,
    /// The parameters.
    parameters: bool,
    /// Bytes of the name of the implemented method.
    body: usize,
}

/// Ratio of the summed glyph widths to the laid-out width: the upper bound, and the usual value.
const KERNED: f32 = 1.05;
const USUAL: f32 = 1.02;

/// The text before the implemented method's name, and the sign for omitted parameters.
const BODY_OF: &str = "body of ";
const BODY_BEFORE: &str = "   ";
const SOME_PARAMETERS: &str = "(…)";

impl<'a> PaintedName<'a> {
    /// Returns a name without parts; matches of the filter in `text` will be highlighted.
    pub fn new(text: &'a str, table: &MethodTable, palette: &'static Palette) -> PaintedName<'a> {
        let highlights = table.list.query().highlights(text);
        let (parts, remarks) = (Vec::new(), Vec::new());
        let (head, parameters, front, body) = (0..0, 0..0, String::new(), None);
        PaintedName { text, highlights, parts, head, parameters, front, body, remarks, palette }
    }

    /// Returns a method's name: with its type in the flat table, without in the tree.
    pub fn of_method(full: &'a FullName, table: &MethodTable, palette: &'static Palette) -> PaintedName<'a> {
        let mut name = PaintedName::new(&full.text, table, palette);
        let explicit = full.text.get(full.method.clone()).map_or(0, explicit_length);
        let own = full.method.start + explicit;
        name.head = match table.shape {
            Shape::List => full.type_name.start..own,
            Shape::Tree => full.method.start..own,
        };
        name.part(name.head.clone(), palette.weak);
        name.part(own..full.method.end, palette.text);
        name.part(full.signature.clone(), palette.weak);
        name.parameters = full.signature.clone();
        name.body = words::body_of(full.part(&(full.type_name.start..full.method.end)));
        name
    }

    /// Returns a caller's name. `text` is the full name with its module, `method` the range of type and
    /// method in it.
    pub fn of_caller(text: &'a str, method: Range<usize>, palette: &'static Palette) -> PaintedName<'a> {
        let whole = text.get(method.clone()).unwrap_or_default();
        let own = method.start + method_start(whole);
        let parts = vec![
            (0..own, palette.weak),
            (own..method.end, palette.text),
            (method.end..text.len(), palette.weak),
        ];
        let (highlights, parameters) = (Vec::new(), method.end..text.len());
        let (front, body, remarks) = (String::new(), None, Vec::new());
        PaintedName { text, highlights, parts, head: 0..own, parameters, front, body, remarks, palette }
    }

    /// Appends a part of the text.
    pub fn part(&mut self, range: Range<usize>, colour: Color32) {
        self.parts.push((range, colour));
    }

    /// Puts small text before the name that is never cut.
    pub fn front(&mut self, text: &str) {
        text.clone_into(&mut self.front);
    }

    /// Appends a note in small letters.
    pub fn remark(&mut self, text: &str, colour: Color32) {
        self.remarks.push((text.to_owned(), colour));
    }

    /// Returns the layout of the name without the parts in `less`.
    fn job(&self, less: NameCuts) -> LayoutJob {
        let mut job = self.job_without_remarks(less);
        self.append_remarks(&mut job);
        job
    }

    fn job_without_remarks(&self, less: NameCuts) -> LayoutJob {
        let mut job = LayoutJob { break_on_newline: false, ..LayoutJob::default() };
        if !self.front.is_empty() {
            let small = TextFormat::simple(FontId::monospace(SMALL), self.palette.weak);
            job.append(&self.front, 0.0, small);
        }
        for (range, colour) in &self.parts {
            let plain = TextFormat::simple(FontId::proportional(NAME), *colour);
            if less.parameters && *range == self.parameters {
                job.append(SOME_PARAMETERS, 0.0, plain);
                continue;
            }
            let range = match *range == self.head && less.head > 0 {
                true => {
                    job.append("…", 0.0, plain.clone());
                    (range.start + less.head).min(range.end)..range.end
                }
                false => range.clone(),
            };
            self.append(&mut job, range, plain);
        }
        if let Some(of) = self.body.as_deref().and_then(|body| body.strip_prefix(BODY_OF)) {
            let sign = if less.body > 0 { "…" } else { "" };
            let left = of.get(less.body..).unwrap_or_default();
            job.append(&format!("{BODY_BEFORE}{BODY_OF}{sign}{left}"), 0.0, small(self.palette.weak));
        }
        job
    }

    fn append_remarks(&self, job: &mut LayoutJob) {
        for (text, colour) in &self.remarks {
            job.append(text, 0.0, small(*colour));
        }
    }

    fn append(&self, job: &mut LayoutJob, range: Range<usize>, plain: TextFormat) {
        let Some(part) = self.text.get(range.clone()) else { return };
        let marked =
            TextFormat { background: self.palette.mark, color: self.palette.marked, ..plain.clone() };
        let mut at = 0;
        for hit in within(&self.highlights, range) {
            job.append(part.get(at..hit.start).unwrap_or_default(), 0.0, plain.clone());
            job.append(part.get(hit.clone()).unwrap_or_default(), 0.0, marked.clone());
            at = hit.end;
        }
        job.append(part.get(at..).unwrap_or_default(), 0.0, plain);
    }

    /// Lays the name out in `room` points. Usually this takes one layout, whether the name fits or not:
    /// layout dominates the cost of a frame with new names.
    pub fn laid_out(&self, painter: &Painter, room: f32) -> Arc<Galley> {
        let widths = GlyphWidths::of(painter.ctx());
        let whole = self.job(NameCuts::default());
        let about = widths.text(&whole);
        let shortened = |excess: f32| {
            let width = |size, letter| widths.letter(&FontId::proportional(size), letter);
            let wrap = TextWrapping::truncate_at_width(room);
            painter.layout_job(LayoutJob { wrap, ..self.job(self.fitted(excess, room, width)) })
        };
        if about > room * KERNED {
            let galley = shortened(about / USUAL - room);
            if !galley.elided {
                return galley;
            }
        }
        let galley = painter.layout_job(whole);
        let excess = galley.size().x - room;
        if excess > 0.0 { shortened(excess) } else { galley }
    }

    /// Returns the parts to leave out of a name that is `excess` points too wide for `room`, given the widths
    /// of letters by size. The name and the method it implements both stay readable: the latter loses its
    /// beginning but keeps at least half of the room.
    fn fitted(&self, mut excess: f32, room: f32, mut width: impl FnMut(f32, char) -> f32) -> NameCuts {
        let mut long = |text: &str, size: f32| text.chars().map(|letter| width(size, letter)).sum::<f32>();
        let sign = long("…", NAME);
        let mut less = NameCuts::default();
        if let Some(of) = self.body.as_deref().and_then(|body| body.strip_prefix(BODY_OF)) {
            let all = long(BODY_BEFORE, SMALL) + long(BODY_OF, SMALL) + long(of, SMALL);
            let most = (room / 2.0).max(all - excess);
            if all > most {
                less.body = beginning(of, all - most + sign, |letter| long(letter, SMALL));
                excess -= long(of.get(..less.body).unwrap_or_default(), SMALL) - sign;
            }
        }
        if self.head.is_empty() || excess <= 0.0 {
            return less;
        }
        let parameters = self.text.get(self.parameters.clone()).unwrap_or_default();
        let shorter = (long(parameters, NAME) - long(SOME_PARAMETERS, NAME)).max(0.0);
        let remarks: f32 = self.remarks.iter().map(|(text, _)| long(text, SMALL)).sum();
        less.head = self.less(excess, shorter + remarks, |letter| long(letter, NAME));
        let head =
            self.text.get(self.head.clone()).and_then(|head| head.get(..less.head)).unwrap_or_default();
        let gone = long(head, NAME) - if less.head > 0 { sign } else { 0.0 };
        less.parameters = shorter > 0.0 && gone < excess;
        if less.parameters {
            // Without the parameters the namespace may fit.
            let left = excess - shorter;
            less.head = if left > 0.0 { self.less(left, remarks, |letter| long(letter, NAME)) } else { 0 };
        }
        less
    }

    /// Returns the bytes of the head to leave out so that the important part fits. `excess` is the missing
    /// room, `tail` the room that can be cut after the method's name. Namespaces go first, then parameters,
    /// then as little as possible of the type.
    fn less(&self, excess: f32, tail: f32, mut width: impl FnMut(&str) -> f32) -> usize {
        let head = self.text.get(self.head.clone()).unwrap_or_default();
        // The ellipsis takes room itself, at either end.
        let sign = width("…");
        let namespaces = match namespace_length(head.trim_end_matches('.')) {
            0 => 0,
            length => length + 1,
        };
        let (mut gone, mut at) = (0.0, 0);
        for (dot, letter) in letters(head).take_while(|(at, _)| *at < namespaces) {
            gone += width(letter);
            if letter == "." {
                at = dot + 1;
                if gone >= excess + sign {
                    return at;
                }
            }
        }
        for (at, letter) in letters(head).skip_while(move |(letter, _)| *letter < at) {
            if gone >= excess + 2.0 * sign - tail {
                return at;
            }
            gone += width(letter);
        }
        head.len()
    }
}

/// Returns the text format of notes.
fn small(colour: Color32) -> TextFormat {
    TextFormat::simple(FontId::proportional(SMALL), colour)
}

/// Returns the letters of a name with their byte offsets.
fn letters(name: &str) -> impl Iterator<Item = (usize, &str)> {
    name.char_indices().map(|(at, letter)| (at, name.get(at..at + letter.len_utf8()).unwrap_or_default()))
}

/// Returns the bytes to cut from the beginning of a name to make it `excess` narrower; cuts at a dot where
/// possible.
fn beginning(name: &str, excess: f32, mut width: impl FnMut(&str) -> f32) -> usize {
    let (mut gone, mut least) = (0.0, None);
    for (at, letter) in letters(name) {
        if gone >= excess && least.is_none() {
            least = Some(at);
        }
        gone += width(letter);
        if letter == "." && gone >= excess && at + 1 < name.len() {
            return at + 1;
        }
    }
    least.unwrap_or(name.len())
}

impl Paint<'_> {
    /// Paints a name from `left` to the end of its column, elided. It extends over the state's column where
    /// that is empty.
    pub fn name(&self, rect: Rect, left: f32, name: &PaintedName<'_>, face: &KnobState) {
        let end = if face.state_text.is_empty() { self.columns.state.max } else { self.columns.name.max };
        let room = Rangef::new(left, end - 8.0).span().max(10.0);
        if !name.remarks.is_empty() && self.with_remarks(rect, left, room, name) {
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
        let (own, mut remarks) = (name.job_without_remarks(NameCuts::default()), LayoutJob::default());
        name.append_remarks(&mut remarks);
        let widths = GlyphWidths::of(self.painter.ctx());
        if widths.text(&own) + widths.text(&remarks) > room * KERNED {
            return false;
        }
        let (own, remarks) = (self.painter.layout_job(own), self.painter.layout_job(remarks));
        if own.size().x + remarks.size().x > room {
            return false;
        }
        let at = pos2(left, rect.center().y - own.size().y / 2.0);
        let behind = pos2(left + own.size().x, at.y + own.size().y - remarks.size().y);
        self.painter.galley(at, own, Color32::PLACEHOLDER);
        self.painter.galley(behind, remarks, Color32::PLACEHOLDER);
        true
    }

    /// Paints the state.
    pub fn state(&self, rect: Rect, face: &KnobState) {
        if self.columns.state.span() == 0.0 {
            return;
        }
        let at = pos2(self.columns.state.min + 4.0, rect.center().y);
        let colour = face.colour(self.palette);
        self.painter.text(at, Align2::LEFT_CENTER, &face.state_text, FontId::proportional(DIGITS), colour);
    }

    /// Paints calls, and calls per second where known.
    pub fn counted(&self, rect: Rect, numbers: NumberAge, calls: &str, rate: Option<f64>) {
        self.number(rect, self.columns.calls, numbers, calls);
        if let Some(rate) = rate {
            self.number(rect, self.columns.rate, numbers, &numbers::rate(rate));
        }
    }

    /// Paints the known times.
    pub fn times(&self, rect: Rect, numbers: NumberAge, cell: impl Fn(TimeColumn) -> Option<String>) {
        for (column, range) in TimeColumn::ALL.into_iter().zip(self.columns.times) {
            if range.span() > 0.0
                && let Some(text) = cell(column)
            {
                self.number(rect, range, numbers, &text);
            }
        }
    }

    fn number(&self, rect: Rect, column: Rangef, numbers: NumberAge, text: &str) {
        if column.span() == 0.0 {
            return;
        }
        let at = pos2(column.max - 8.0, rect.center().y);
        let colour = numbers.colour(self.palette);
        self.painter.text(at, Align2::RIGHT_CENTER, text, FontId::monospace(DIGITS), colour);
    }

    /// Paints the rates of the last minute, computed only if the column is visible.
    pub fn curve_of(&self, rect: Rect, rates: impl FnOnce() -> [f32; LENGTH]) {
        if self.columns.spark.span() > 20.0 {
            let place = Rect::from_x_y_ranges(self.columns.spark, rect.y_range()).shrink2(vec2(8.0, 4.0));
            sparkline::paint(self.painter, place, rates().into_iter(), self.palette);
        }
    }

    /// Paints a row's rates of the last minute.
    pub fn curve(&self, rect: Rect, row: &LiveRow, tick: u64) {
        if let Some(series) = row.series.as_ref().filter(|_| self.columns.spark.span() > 20.0) {
            let place = Rect::from_x_y_ranges(self.columns.spark, rect.y_range()).shrink2(vec2(8.0, 4.0));
            sparkline::paint(self.painter, place, series.at(tick), self.palette);
        }
    }
}

#[cfg(test)]
#[path = "cells_tests.rs"]
mod tests;
