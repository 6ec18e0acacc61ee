//! What stands in the cells of a row: names with their matched letters, states, numbers, a curve.

use super::columns::Columns;
use super::face::Face;
use crate::model::catalogue::FullName;
use crate::model::catalogue::builder::namespace_length;
use crate::model::connection::{Connection, Shape};
use crate::model::live::LiveRow;
use crate::model::query::within;
use crate::model::series::LENGTH;
use crate::output::times::TimeColumn;
use crate::output::words;
use crate::ui::theme::{BODY, DIGITS, Palette, SMALL};
use crate::ui::widths::Widths;
use crate::ui::{numbers, sparkline};
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Align2, Color32, FontId, Galley, Painter, Rangef, Rect, TextFormat, pos2, vec2};
use std::ops::Range;
use std::sync::Arc;

/// Size of names, points.
const NAME: f32 = BODY;

/// What numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// They may be others at any moment.
    Live,
    /// They are the last there were: nothing counts, or times, any more, as far as anybody knows.
    Last,
}

impl Numbers {
    /// Of what goes on, or does not.
    pub fn of(goes_on: bool) -> Numbers {
        if goes_on { Numbers::Live } else { Numbers::Last }
    }

    /// Their colour.
    pub fn colour(self, palette: &Palette) -> Color32 {
        match self {
            Numbers::Live => palette.text,
            Numbers::Last => palette.weak,
        }
    }
}

/// Where and in which colours cells are painted.
pub struct Paint<'a> {
    /// The painter, clipped to the rows.
    pub painter: &'a Painter,
    /// The columns.
    pub columns: &'a Columns,
    /// The colours.
    pub palette: &'static Palette,
}

/// A name that is put together of parts.
pub struct Name<'a> {
    text: &'a str,
    highlights: Vec<Range<usize>>,
    parts: Vec<(Range<usize>, Color32)>,
    /// What may lose its beginning where there is little room.
    head: Range<usize>,
    /// A method's parameters: where there is little room, only that there are some.
    parameters: Range<usize>,
    /// What stands before it, in small letters.
    front: String,
    /// Of the compiler's methods, whose body it is.
    body: Option<String>,
    remarks: Vec<(String, Color32)>,
    palette: &'static Palette,
}

/// What is left out of a name.
#[derive(Clone, Copy, Debug, Default)]
struct Less {
    /// Bytes of its head.
    head: usize,
    /// Its parameters.
    parameters: bool,
    /// Bytes of the method's name whose body it is.
    body: usize,
}

/// How much narrower a text may be than its letters are one by one, and mostly is.
const KERNED: f32 = 1.05;
const USUAL: f32 = 1.02;

/// What stands before the name of the method whose body it is, and for parameters that find no room.
const BODY_OF: &str = "body of ";
const BODY_BEFORE: &str = "   ";
const SOME_PARAMETERS: &str = "(…)";

impl<'a> Name<'a> {
    /// Nothing of `text` yet; what the filter found in it will be marked.
    pub fn new(text: &'a str, connection: &Connection, palette: &'static Palette) -> Name<'a> {
        let highlights = connection.list.query().highlights(text);
        let (parts, remarks) = (Vec::new(), Vec::new());
        let (head, parameters, front, body) = (0..0, 0..0, String::new(), None);
        Name { text, highlights, parts, head, parameters, front, body, remarks, palette }
    }

    /// A method's name: of a list with its type, of a tree without.
    pub fn of_method(full: &'a FullName, connection: &Connection, palette: &'static Palette) -> Name<'a> {
        let mut name = Name::new(&full.text, connection, palette);
        let explicit = full.text.get(full.method.clone()).map_or(0, explicit_length);
        let own = full.method.start + explicit;
        name.head = match connection.shape {
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

    /// A caller's: `text` is all of it, the module included, and `method` where its type and name stand in that.
    pub fn of_caller(text: &'a str, method: Range<usize>, palette: &'static Palette) -> Name<'a> {
        let whole = text.get(method.clone()).unwrap_or_default();
        let own = method.start + method_start(whole);
        let parts = vec![
            (0..own, palette.weak),
            (own..method.end, palette.text),
            (method.end..text.len(), palette.weak),
        ];
        let (highlights, parameters) = (Vec::new(), method.end..text.len());
        let (front, body, remarks) = (String::new(), None, Vec::new());
        Name { text, highlights, parts, head: 0..own, parameters, front, body, remarks, palette }
    }

    /// Appends a part of the text.
    pub fn part(&mut self, range: Range<usize>, colour: Color32) {
        self.parts.push((range, colour));
    }

    /// Puts something before it, in small letters, that is never cut off.
    pub fn front(&mut self, text: &str) {
        text.clone_into(&mut self.front);
    }

    /// Appends a remark in small letters.
    pub fn remark(&mut self, text: &str, colour: Color32) {
        self.remarks.push((text.to_owned(), colour));
    }

    /// All of it but for what is left out.
    fn job(&self, less: Less) -> LayoutJob {
        let mut job = self.job_without_remarks(less);
        self.append_remarks(&mut job);
        job
    }

    fn job_without_remarks(&self, less: Less) -> LayoutJob {
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

    /// It in a room of so many points. Mostly it is laid out once, whether it fits or not: that is what a frame with new
    /// names takes longest for.
    pub fn laid_out(&self, painter: &Painter, room: f32) -> Arc<Galley> {
        let widths = Widths::of(painter.ctx());
        let whole = self.job(Less::default());
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

    /// What has to go of a name that is so much too wide for `room`, given how wide a letter of a size is. Of a name and
    /// the method whose body it is both stay readable: the latter loses its beginning, but gets half of the room at least.
    fn fitted(&self, mut excess: f32, room: f32, mut width: impl FnMut(f32, char) -> f32) -> Less {
        let mut long = |text: &str, size: f32| text.chars().map(|letter| width(size, letter)).sum::<f32>();
        let sign = long("…", NAME);
        let mut less = Less::default();
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
            // Without them there may be room for the namespace.
            let left = excess - shorter;
            less.head = if left > 0.0 { self.less(left, remarks, |letter| long(letter, NAME)) } else { 0 };
        }
        less
    }

    /// Bytes of the head that have to go so that what matters fits, given how much too wide all of it is, how much of that
    /// can go behind the method's name, and how wide letters are. Namespaces go first, then the parameters at the other
    /// end, and of the type only what must.
    fn less(&self, excess: f32, tail: f32, mut width: impl FnMut(&str) -> f32) -> usize {
        let head = self.text.get(self.head.clone()).unwrap_or_default();
        // The sign that something is left out takes room itself, at either end.
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

/// How remarks are written.
fn small(colour: Color32) -> TextFormat {
    TextFormat::simple(FontId::proportional(SMALL), colour)
}

/// The letters of a name, and where each begins.
fn letters(name: &str) -> impl Iterator<Item = (usize, &str)> {
    name.char_indices().map(|(at, letter)| (at, name.get(at..at + letter.len_utf8()).unwrap_or_default()))
}

/// Bytes that have to go from the beginning of a name so that it is so much narrower: whole words, if some are left.
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

/// Of a method that implements an interface explicitly, how much of its name is the interface's, the dot included:
/// `System.Collections.Generic.IEnumerator<int>.get_Current`.
fn explicit_length(method: &str) -> usize {
    let mut depth = 0;
    let mut length = 0;
    for (at, letter) in method.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            // That of `.ctor` ends nothing.
            '.' if depth == 0 && at > 0 => length = at + 1,
            _ => {}
        }
    }
    length
}

/// Where in a name with its type the method's own begins: `Touch` in `Shop.Cart.Touch`, `.ctor` in `Shop.Cart..ctor`.
fn method_start(name: &str) -> usize {
    let start = explicit_length(name);
    let special = name.get(..start).is_some_and(|before| before.ends_with(".."));
    start - usize::from(special)
}

impl Paint<'_> {
    /// A name, from `left` to the end of its column, elided; where no state is told, to the end of that column.
    pub fn name(&self, rect: Rect, left: f32, name: &Name<'_>, face: &Face) {
        let end = if face.says.is_empty() { self.columns.state.max } else { self.columns.name.max };
        let room = Rangef::new(left, end - 8.0).span().max(10.0);
        if !name.remarks.is_empty() && self.with_remarks(rect, left, room, name) {
            return;
        }
        let galley = name.laid_out(self.painter, room);
        let at = pos2(left, rect.center().y - galley.size().y / 2.0);
        self.painter.galley(at, galley, Color32::PLACEHOLDER);
    }

    /// A name and its remarks, where there is room for all of it; whether there was. Each is laid out by itself: while twenty
    /// processes load the same module, the remark of each of its rows changes twenty times, and is the same in all of them.
    fn with_remarks(&self, rect: Rect, left: f32, room: f32, name: &Name<'_>) -> bool {
        let (own, mut remarks) = (name.job_without_remarks(Less::default()), LayoutJob::default());
        name.append_remarks(&mut remarks);
        let widths = Widths::of(self.painter.ctx());
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

    /// The state in words.
    pub fn state(&self, rect: Rect, face: &Face) {
        if self.columns.state.span() == 0.0 {
            return;
        }
        let at = pos2(self.columns.state.min + 4.0, rect.center().y);
        let colour = face.colour(self.palette);
        self.painter.text(at, Align2::LEFT_CENTER, &face.says, FontId::proportional(DIGITS), colour);
    }

    /// Calls, and calls a second where they are known.
    pub fn counted(&self, rect: Rect, numbers: Numbers, calls: &str, rate: Option<f64>) {
        self.number(rect, self.columns.calls, numbers, calls);
        if let Some(rate) = rate {
            self.number(rect, self.columns.rate, numbers, &numbers::rate(rate));
        }
    }

    /// Times, as far as they are known.
    pub fn times(&self, rect: Rect, numbers: Numbers, cell: impl Fn(TimeColumn) -> Option<String>) {
        for (column, range) in TimeColumn::ALL.into_iter().zip(self.columns.times) {
            if range.span() > 0.0
                && let Some(text) = cell(column)
            {
                self.number(rect, range, numbers, &text);
            }
        }
    }

    fn number(&self, rect: Rect, column: Rangef, numbers: Numbers, text: &str) {
        if column.span() == 0.0 {
            return;
        }
        let at = pos2(column.max - 8.0, rect.center().y);
        let colour = numbers.colour(self.palette);
        self.painter.text(at, Align2::RIGHT_CENTER, text, FontId::monospace(DIGITS), colour);
    }

    /// Rates of the last minute, made where there is room for them.
    pub fn curve_of(&self, rect: Rect, rates: impl FnOnce() -> [f32; LENGTH]) {
        if self.columns.spark.span() > 20.0 {
            let place = Rect::from_x_y_ranges(self.columns.spark, rect.y_range()).shrink2(vec2(8.0, 4.0));
            sparkline::paint(self.painter, place, rates().into_iter(), self.palette);
        }
    }

    /// The last minute.
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
