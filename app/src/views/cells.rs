//! What stands in the cells of a row: names with their matched letters, states, numbers, a curve.

use super::columns::Columns;
use super::face::Face;
use crate::model::catalogue::FullName;
use crate::model::connection::{Connection, Shape};
use crate::model::live::LiveRow;
use crate::model::query::within;
use crate::output::words;
use crate::ui::theme::{DIGITS, Palette};
use crate::ui::{numbers, sparkline};
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Align2, Color32, FontId, Painter, Rangef, Rect, TextFormat, pos2, vec2};
use std::ops::Range;

/// Size of names, points.
const NAME: f32 = 14.0;

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
    job: LayoutJob,
    palette: &'static Palette,
}

impl<'a> Name<'a> {
    /// Nothing of `text` yet; what the filter found in it will be marked.
    pub fn new(text: &'a str, connection: &Connection, palette: &'static Palette) -> Name<'a> {
        let highlights = connection.list.query().highlights(text);
        Name { text, highlights, job: LayoutJob::default(), palette }
    }

    /// A method's name: of a list with its type, of a tree without.
    pub fn of_method(full: &'a FullName, connection: &Connection, palette: &'static Palette) -> Name<'a> {
        let mut name = Name::new(&full.text, connection, palette);
        if connection.shape == Shape::List {
            name.part(full.type_name.start..full.method.start, palette.weak);
        }
        name.part(full.method.clone(), palette.text);
        name.part(full.signature.clone(), palette.weak);
        name
    }

    /// Appends a part of the text.
    pub fn part(&mut self, range: Range<usize>, colour: Color32) {
        let Some(part) = self.text.get(range.clone()) else { return };
        let plain = TextFormat::simple(FontId::proportional(NAME), colour);
        let marked =
            TextFormat { background: self.palette.mark, color: self.palette.marked, ..plain.clone() };
        let mut at = 0;
        for hit in within(&self.highlights, range) {
            self.job.append(part.get(at..hit.start).unwrap_or_default(), 0.0, plain.clone());
            self.job.append(part.get(hit.clone()).unwrap_or_default(), 0.0, marked.clone());
            at = hit.end;
        }
        self.job.append(part.get(at..).unwrap_or_default(), 0.0, plain);
    }

    /// Appends a remark in small letters.
    pub fn remark(&mut self, text: &str, colour: Color32) {
        self.job.append(text, 0.0, TextFormat::simple(FontId::proportional(12.0), colour));
    }
}

impl Paint<'_> {
    /// A name, from `left` to the end of its column, elided.
    pub fn name(&self, rect: Rect, left: f32, name: Name<'_>) {
        let mut job = name.job;
        let room = Rangef::new(left, self.columns.name.max - 8.0).span();
        job.wrap = TextWrapping::truncate_at_width(room.max(10.0));
        let galley = self.painter.layout_job(job);
        let at = pos2(left, rect.center().y - galley.size().y / 2.0);
        self.painter.galley(at, galley, Color32::PLACEHOLDER);
    }

    /// The state in words.
    pub fn state(&self, rect: Rect, face: &Face) {
        if self.columns.state.span() == 0.0 {
            return;
        }
        let at = pos2(self.columns.state.min + 4.0, rect.center().y);
        let colour = face.colour(self.palette);
        self.painter.text(at, Align2::LEFT_CENTER, &face.says, FontId::proportional(13.0), colour);
    }

    /// Calls behind a mark, and calls a second where they are known.
    pub fn counted(&self, rect: Rect, mark: &str, calls: u64, rate: Option<f64>) {
        self.number(rect, self.columns.calls, &format!("{mark}{}", words::grouped(calls)));
        if let Some(rate) = rate {
            self.number(rect, self.columns.rate, &numbers::rate(rate));
        }
    }

    fn number(&self, rect: Rect, column: Rangef, text: &str) {
        if column.span() == 0.0 {
            return;
        }
        let at = pos2(column.max - 8.0, rect.center().y);
        self.painter.text(at, Align2::RIGHT_CENTER, text, FontId::monospace(DIGITS), self.palette.text);
    }

    /// The last minute.
    pub fn curve(&self, rect: Rect, row: &LiveRow, tick: u64) {
        if let Some(series) = row.series.as_ref().filter(|_| self.columns.spark.span() > 20.0) {
            let place = Rect::from_x_y_ranges(self.columns.spark, rect.y_range()).shrink2(vec2(8.0, 4.0));
            sparkline::paint(self.painter, place, series.at(tick), self.palette);
        }
    }
}
