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
    parts: Vec<(Range<usize>, Color32)>,
    /// What may lose its beginning where there is little room.
    head: Range<usize>,
    /// What stands before it, in small letters.
    front: String,
    remarks: Vec<(String, Color32)>,
    palette: &'static Palette,
}

impl<'a> Name<'a> {
    /// Nothing of `text` yet; what the filter found in it will be marked.
    pub fn new(text: &'a str, connection: &Connection, palette: &'static Palette) -> Name<'a> {
        let highlights = connection.list.query().highlights(text);
        let (parts, remarks) = (Vec::new(), Vec::new());
        Name { text, highlights, parts, head: 0..0, front: String::new(), remarks, palette }
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
        if let Some(body) = words::body_of(full.part(&(full.type_name.start..full.method.end))) {
            name.remark(&format!("   {body}"), palette.weak);
        }
        name
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

    /// All of it, without the first `less` bytes of its head.
    fn job(&self, less: usize) -> LayoutJob {
        let mut job = LayoutJob::default();
        if !self.front.is_empty() {
            let small = TextFormat::simple(FontId::monospace(12.0), self.palette.weak);
            job.append(&self.front, 0.0, small);
        }
        for (range, colour) in &self.parts {
            let plain = TextFormat::simple(FontId::proportional(NAME), *colour);
            let range = match *range == self.head && less > 0 {
                true => {
                    job.append("…", 0.0, plain.clone());
                    (range.start + less).min(range.end)..range.end
                }
                false => range.clone(),
            };
            self.append(&mut job, range, plain);
        }
        self.append_remarks(&mut job);
        job
    }

    /// What follows the method's name: its parameters, and the remarks.
    fn tail(&self) -> LayoutJob {
        let mut job = LayoutJob::default();
        if let Some((range, _)) = self.parts.last() {
            self.append(
                &mut job,
                range.clone(),
                TextFormat::simple(FontId::proportional(NAME), Color32::WHITE),
            );
        }
        self.append_remarks(&mut job);
        job
    }

    fn append_remarks(&self, job: &mut LayoutJob) {
        for (text, colour) in &self.remarks {
            job.append(text, 0.0, TextFormat::simple(FontId::proportional(12.0), *colour));
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

    /// Bytes of the head that have to go so that what matters fits, given how much too wide all of it is, how wide what
    /// follows the method's name is, and how wide letters are. Namespaces go first, then the parameters at the other end,
    /// and of the type only what must.
    fn less(&self, excess: f32, tail: f32, mut width: impl FnMut(char) -> f32) -> usize {
        let head = self.text.get(self.head.clone()).unwrap_or_default();
        // The sign that something is left out takes room itself, at either end.
        let sign = width('…');
        let namespaces = match namespace_length(head.trim_end_matches('.')) {
            0 => 0,
            length => length + 1,
        };
        let (mut gone, mut at) = (0.0, 0);
        for (dot, letter) in head.char_indices().take_while(|(at, _)| *at < namespaces) {
            gone += width(letter);
            if letter == '.' {
                at = dot + 1;
                if gone >= excess + sign {
                    return at;
                }
            }
        }
        for (at, letter) in head.char_indices().skip_while(move |(letter, _)| *letter < at) {
            if gone >= excess + 2.0 * sign - tail {
                return at;
            }
            gone += width(letter);
        }
        head.len()
    }
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

impl Paint<'_> {
    /// A name, from `left` to the end of its column, elided.
    pub fn name(&self, rect: Rect, left: f32, name: &Name<'_>) {
        let room = Rangef::new(left, self.columns.name.max - 8.0).span().max(10.0);
        let mut job = name.job(0);
        if !name.head.is_empty() {
            let whole = self.painter.layout_job(job.clone());
            if whole.size().x > room {
                let (excess, tail) = (whole.size().x - room, name.tail());
                let tail = self.painter.layout_job(tail).size().x;
                let font = FontId::proportional(NAME);
                job = self.painter.ctx().fonts_mut(|fonts| {
                    name.job(name.less(excess, tail, |letter| fonts.glyph_width(&font, letter)))
                });
            }
        }
        job.wrap = TextWrapping::truncate_at_width(room);
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

    /// Times, as far as they are known.
    pub fn times(&self, rect: Rect, cell: impl Fn(TimeColumn) -> Option<String>) {
        for (column, range) in TimeColumn::ALL.into_iter().zip(self.columns.times) {
            if range.span() > 0.0
                && let Some(text) = cell(column)
            {
                self.number(rect, range, &text);
            }
        }
    }

    fn number(&self, rect: Rect, column: Rangef, text: &str) {
        if column.span() == 0.0 {
            return;
        }
        let at = pos2(column.max - 8.0, rect.center().y);
        self.painter.text(at, Align2::RIGHT_CENTER, text, FontId::monospace(DIGITS), self.palette.text);
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
mod tests {
    use super::*;
    use crate::ui::theme::DARK;

    /// What is left of `head` and the method when all of it is so much too wide and the parameters so wide.
    fn less(head: &str, excess: f32, tail: f32) -> String {
        let text = format!("{head}Dispose(…)");
        let name = Name {
            text: &text,
            highlights: Vec::new(),
            parts: Vec::new(),
            head: 0..head.len(),
            front: String::new(),
            remarks: Vec::new(),
            palette: &DARK,
        };
        let less = name.less(excess, tail, |_| 1.0);
        text.get(less..).and_then(|left| left.strip_suffix("(…)")).unwrap_or("not at a letter").to_owned()
    }

    #[test]
    fn the_interface_is_not_the_method() {
        for (name, own) in [
            ("Add", "Add"),
            (".ctor", ".ctor"),
            ("Shop.ICart.Touch", "Touch"),
            ("System.Collections.Generic.IEnumerator<System.String>.get_Current", "get_Current"),
            ("Map<A.B, C.D>", "Map<A.B, C.D>"),
            ("", ""),
        ] {
            assert_eq!(name.get(explicit_length(name)..), Some(own), "{name}");
        }
        // In the tree the interface's namespace goes first, in the table what stands before it.
        let head = "System.Collections.Generic.IEnumerator<System.String>.";
        assert_eq!(less(head, 20.0, 3.0), "IEnumerator<System.String>.Dispose");
        let head = format!("Shop.Catalog+<Items>d__9.{head}");
        assert_eq!(
            less(&head, 20.0, 3.0),
            ">d__9.System.Collections.Generic.IEnumerator<System.String>.Dispose"
        );
        assert_eq!(less(&head, 48.0, 3.0), "eric.IEnumerator<System.String>.Dispose");
    }

    #[test]
    fn of_a_long_name_the_namespaces_go_first_and_the_type_last() {
        let head = "System.Linq.Enumerable+<Cast>d__6.";
        for (excess, tail, left) in [
            (0.5, 3.0, "Linq.Enumerable+<Cast>d__6.Dispose"),
            (6.0, 3.0, "Linq.Enumerable+<Cast>d__6.Dispose"),
            (7.0, 3.0, "Enumerable+<Cast>d__6.Dispose"),
            (11.0, 3.0, "Enumerable+<Cast>d__6.Dispose"),
            (13.0, 3.0, "Enumerable+<Cast>d__6.Dispose"),
            (100.0, 90.0, "Enumerable+<Cast>d__6.Dispose"),
            (102.0, 90.0, "umerable+<Cast>d__6.Dispose"),
            (500.0, 3.0, "Dispose"),
        ] {
            assert_eq!(less(head, excess, tail), left, "{excess} {tail}");
        }
        assert_eq!(less("Größe.", 9.0, 9.0), "öße.Dispose");
        assert_eq!(less("Größe.", 1.0, 9.0), "Größe.Dispose", "the parameters are cut");
        assert_eq!(less("", 5.0, 5.0), "Dispose");
    }
}
