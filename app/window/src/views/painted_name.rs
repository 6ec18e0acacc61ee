//! Names in table cells: `Type.Method` whole and bright, then parameters and namespace, weaker. A narrow cell loses the
//! namespace first, then the parameters, then the beginning of the type.

use crate::ui::text_width::GlyphWidths;
use crate::ui::theme::{BODY, Palette, SMALL};
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{Color32, FontId, Galley, Painter, TextFormat};
use redial_model::catalogue::{Catalogue, FullName};
use redial_model::ids::MethodIx;
use redial_model::method_table::{MethodTable, Shape};
use redial_model::query::{Query, within};
use redial_text::display_names::{DisplayName, StateMachine};
use redial_text::names::{method_start, namespace_length};
use std::ops::Range;
use std::sync::Arc;

/// Size of names, points.
const NAME: f32 = BODY;
/// Ratio of the summed glyph widths to the laid-out width: the upper bound, and the usual value.
const KERNED: f32 = 1.05;
const USUAL: f32 = 1.02;
/// The space before a namespace, and the sign for omitted parameters.
const GAP: &str = "   ";
const SOME_PARAMETERS: &str = "(…)";

/// A name composed of coloured parts.
pub struct PaintedName<'a> {
    text: &'a str,
    highlights: Vec<Range<usize>>,
    pieces: Vec<Piece>,
    /// Small text before the name that is never cut.
    front: String,
    remarks: Vec<(String, Color32)>,
    palette: &'static Palette,
}

/// A part of a name.
struct Piece {
    content: Content,
    colour: Color32,
    role: Role,
}

/// The text of a part.
enum Content {
    /// A part of the full name.
    Part(Range<usize>),
    /// Other text; highlighted if it stands for a part of the name with a match.
    Sign(String, bool),
}

/// How a part gives way in a narrow cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It stays.
    Fixed,
    /// It loses as much of its beginning as it must.
    Type,
    /// It loses namespaces from its beginning, and letters before the type does. The beginning of a namespace in the tree
    /// does, too.
    Interface,
    /// Only a sign remains.
    Parameters,
    /// Small and behind the rest; loses its beginning, then everything.
    Namespace,
}

/// The parts of a name to leave out: bytes from the beginning of each, and all parameters.
#[derive(Clone, Copy, Debug, Default)]
struct NameCuts {
    type_name: usize,
    interface: usize,
    parameters: bool,
    namespace: usize,
}

impl<'a> PaintedName<'a> {
    /// Returns a name without parts; matches of the filter in `text` will be highlighted.
    pub fn new(text: &'a str, table: &MethodTable, palette: &'static Palette) -> PaintedName<'a> {
        let highlights = table.list.query().highlights(text);
        let (pieces, front, remarks) = (Vec::new(), String::new(), Vec::new());
        PaintedName { text, highlights, pieces, front, remarks, palette }
    }

    /// Returns a method's name: with type and namespace in the flat table, without in the tree.
    pub fn of_method(
        full: &'a FullName,
        method: MethodIx,
        table: &MethodTable,
        palette: &'static Palette,
    ) -> PaintedName<'a> {
        let mut name = PaintedName::new(&full.text, table, palette);
        let machine = || state_machine(&table.catalogue, method);
        name.method(full.type_name.start..full.method.end, full.method.start, machine);
        if table.shape == Shape::Tree {
            let is_generated =
                |piece: &Piece| matches!(&piece.content, Content::Sign(text, _) if text == ".");
            let dot = name.pieces.iter().position(is_generated).map_or(0, |dot| dot + 1);
            name.pieces.drain(..dot);
        }
        name.push(Content::Part(full.signature.clone()), palette.weak, Role::Parameters);
        if table.shape == Shape::List {
            name.namespace(full, table.list.query());
        }
        name
    }

    /// Returns a caller's name. `text` is the full name with its module, `method` the range of type and
    /// method in it.
    pub fn of_caller(text: &'a str, method: Range<usize>, palette: &'static Palette) -> PaintedName<'a> {
        let start = method.start + method_start(text.get(method.clone()).unwrap_or_default());
        let (highlights, pieces) = (Vec::new(), Vec::new());
        let (front, remarks) = (String::new(), Vec::new());
        let mut name = PaintedName { text, highlights, pieces, front, remarks, palette };
        name.method(method.clone(), start, || StateMachine::Unknown);
        name.push(Content::Part(method.end..text.len()), palette.weak, Role::Parameters);
        let type_name = text.get(method.start..start).unwrap_or_default().trim_end_matches('.');
        let namespace = method.start..method.start + namespace_length(type_name);
        name.push(Content::Part(namespace), palette.weak, Role::Namespace);
        name
    }

    /// Appends type and method, in `range` of the text with the method at `start`.
    fn method(&mut self, range: Range<usize>, start: usize, machine: impl FnOnce() -> StateMachine) {
        let PaintedName { text, palette, .. } = *self;
        let name = text.get(range.clone()).unwrap_or_default();
        let parts = DisplayName::of(name, start - range.start, machine);
        let part = |of: &Range<usize>| of.start + range.start..of.end + range.start;
        let type_name = part(&parts.type_name);
        if !type_name.is_empty() {
            self.push(Content::Part(type_name.clone()), palette.text, Role::Type);
            self.push(Content::Sign(".".to_owned(), false), palette.text, Role::Fixed);
        }
        self.push(Content::Part(part(&parts.interface)), palette.weak, Role::Interface);
        for (index, own) in parts.method.iter().enumerate() {
            if index > 0 {
                self.push(Content::Sign(".".to_owned(), false), palette.text, Role::Fixed);
            }
            self.push(Content::Part(part(own)), palette.text, Role::Fixed);
        }
        self.push(Content::Part(part(&parts.parameters)), palette.text, Role::Fixed);
        if !parts.generated.is_empty() {
            // A match in the generated name is not on screen otherwise.
            let shown = |hit: &Range<usize>| {
                let whole = parts.method.iter().map(part).chain([type_name.clone()]);
                whole.into_iter().any(|own| own.start <= hit.start && hit.end <= own.end)
            };
            let hidden = within(&self.highlights, type_name.start..range.end);
            let hidden = hidden
                .iter()
                .map(|hit| hit.start + type_name.start..hit.end + type_name.start)
                .any(|hit| !shown(&hit));
            let sign = format!(" ({})", parts.generated);
            self.push(Content::Sign(sign, hidden), palette.weak, Role::Fixed);
        }
    }

    /// Appends the namespace; with the module, if a word of the filter is found only there.
    fn namespace(&mut self, full: &FullName, query: &Query) {
        let length = namespace_length(full.part(&full.type_name));
        let namespace = full.type_name.start..full.type_name.start + length;
        let range = match query.has_word_only_in(self.text, full.module.clone()) {
            true => full.module.start..namespace.end.max(full.module.end),
            false => namespace,
        };
        self.push(Content::Part(range), self.palette.weak, Role::Namespace);
    }

    fn push(&mut self, content: Content, colour: Color32, role: Role) {
        if !matches!(&content, Content::Part(range) if range.is_empty()) {
            self.pieces.push(Piece { content, colour, role });
        }
    }

    /// Appends a part of the text that is never cut.
    pub fn part(&mut self, range: Range<usize>, colour: Color32) {
        self.push(Content::Part(range), colour, Role::Fixed);
    }

    /// Appends a part of the text that loses its beginning in a narrow cell.
    pub fn shrinking(&mut self, range: Range<usize>, colour: Color32) {
        self.push(Content::Part(range), colour, Role::Type);
    }

    /// Appends a namespace, in `range` of the text: its last part bright, and dim what its siblings share, which goes first
    /// in a narrow cell.
    pub fn namespace_group(&mut self, range: Range<usize>) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let last = range.start + text.rfind('.').map_or(0, |dot| dot + 1);
        self.push(Content::Part(range.start..last), self.palette.weak, Role::Interface);
        self.push(Content::Part(last..range.end), self.palette.text, Role::Type);
    }

    /// Puts small text before the name that is never cut.
    pub fn front(&mut self, text: &str) {
        text.clone_into(&mut self.front);
    }

    /// Appends a note in small letters.
    pub fn remark(&mut self, text: &str, colour: Color32) {
        self.remarks.push((text.to_owned(), colour));
    }

    /// Returns whether it has notes.
    pub fn has_remarks(&self) -> bool {
        !self.remarks.is_empty()
    }

    /// Lays out the name and its notes separately if both fit into `room`.
    pub fn beside_remarks(&self, painter: &Painter, room: f32) -> Option<(Arc<Galley>, Arc<Galley>)> {
        let (own, mut remarks) = (self.job_without_remarks(NameCuts::default()), LayoutJob::default());
        self.append_remarks(&mut remarks);
        let widths = GlyphWidths::of(painter.ctx());
        if widths.text(&own) + widths.text(&remarks) > room * KERNED {
            return None;
        }
        let (own, remarks) = (painter.layout_job(own), painter.layout_job(remarks));
        (own.size().x + remarks.size().x <= room).then_some((own, remarks))
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
            painter.layout_job(LayoutJob { wrap, ..self.job(self.fitted(excess, width)) })
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

    /// Returns the layout of the name without the parts in `cuts`.
    fn job(&self, cuts: NameCuts) -> LayoutJob {
        let mut job = self.job_without_remarks(cuts);
        self.append_remarks(&mut job);
        job
    }

    fn job_without_remarks(&self, cuts: NameCuts) -> LayoutJob {
        let mut job = LayoutJob { break_on_newline: false, ..LayoutJob::default() };
        if !self.front.is_empty() {
            job.append(&self.front, 0.0, TextFormat::simple(FontId::monospace(SMALL), self.palette.weak));
        }
        for piece in &self.pieces {
            let plain = TextFormat::simple(FontId::proportional(NAME), piece.colour);
            match (&piece.content, piece.role) {
                (Content::Sign(sign, hit), _) => job.append(sign, 0.0, self.marked(&plain, *hit)),
                (Content::Part(range), Role::Fixed) => self.append(&mut job, range.clone(), &plain),
                (Content::Part(range), Role::Type) => {
                    self.append_cut(&mut job, range.clone(), cuts.type_name, &plain);
                }
                (Content::Part(range), Role::Interface) => {
                    self.append_cut(&mut job, range.clone(), cuts.interface, &plain);
                }
                (Content::Part(range), Role::Parameters) if cuts.parameters => {
                    job.append(SOME_PARAMETERS, 0.0, self.marked(&plain, self.hits(range.clone())));
                }
                (Content::Part(range), Role::Parameters) => self.append(&mut job, range.clone(), &plain),
                (Content::Part(range), Role::Namespace) => {
                    let is_gone = cuts.namespace >= range.len();
                    if !is_gone || self.hits(range.clone()) {
                        let small = small(piece.colour);
                        job.append(GAP, 0.0, small.clone());
                        self.append_cut(&mut job, range.clone(), cuts.namespace, &small);
                    }
                }
            }
        }
        job
    }

    fn append_remarks(&self, job: &mut LayoutJob) {
        for (text, colour) in &self.remarks {
            job.append(text, 0.0, small(*colour));
        }
    }

    /// Appends a part without the first `cut` bytes.
    fn append_cut(&self, job: &mut LayoutJob, range: Range<usize>, cut: usize, plain: &TextFormat) {
        let from = (range.start + cut).min(range.end);
        if cut > 0 {
            job.append("…", 0.0, self.marked(plain, self.hits(range.start..from)));
        }
        self.append(job, from..range.end, plain);
    }

    fn append(&self, job: &mut LayoutJob, range: Range<usize>, plain: &TextFormat) {
        let Some(part) = self.text.get(range.clone()) else { return };
        let mut at = 0;
        for hit in within(&self.highlights, range) {
            job.append(part.get(at..hit.start).unwrap_or_default(), 0.0, plain.clone());
            job.append(part.get(hit.clone()).unwrap_or_default(), 0.0, self.marked(plain, true));
            at = hit.end;
        }
        job.append(part.get(at..).unwrap_or_default(), 0.0, plain.clone());
    }

    fn hits(&self, range: Range<usize>) -> bool {
        !within(&self.highlights, range).is_empty()
    }

    /// Returns the format, highlighted if `hit`. The background does not reach into the letters beside it.
    fn marked(&self, plain: &TextFormat, hit: bool) -> TextFormat {
        let plain = plain.clone();
        match hit {
            true => TextFormat {
                background: self.palette.mark,
                expand_bg: 0.0,
                color: self.palette.marked,
                ..plain
            },
            false => plain,
        }
    }

    /// Returns the text of the part with this role.
    fn role(&self, role: Role) -> &str {
        let of = self.pieces.iter().find(|piece| piece.role == role);
        match of.map(|piece| &piece.content) {
            Some(Content::Part(range)) => self.text.get(range.clone()).unwrap_or_default(),
            _ => "",
        }
    }

    /// Returns the parts to leave out of a name that is `excess` points too wide, given the widths of letters
    /// by size.
    fn fitted(&self, mut excess: f32, mut width: impl FnMut(f32, char) -> f32) -> NameCuts {
        let mut long = |text: &str, size: f32| text.chars().map(|letter| width(size, letter)).sum::<f32>();
        let mut cuts = NameCuts::default();
        let namespace = self.role(Role::Namespace);
        if !namespace.is_empty() && excess > 0.0 {
            let sign = long("…", SMALL);
            let at_dot = namespace.match_indices(['.', '!']).map(|(dot, _)| dot + 1).find_map(|at| {
                let gone = long(namespace.get(..at).unwrap_or_default(), SMALL) - sign;
                (gone >= excess).then_some((at, gone))
            });
            let all = || (namespace.len(), long(namespace, SMALL) + long(GAP, SMALL));
            let (cut, gone) = at_dot.unwrap_or_else(all);
            cuts.namespace = cut;
            excess -= gone;
        }
        let parameters = self.role(Role::Parameters);
        let shorter = (long(parameters, NAME) - long(SOME_PARAMETERS, NAME)).max(0.0);
        if excess > 0.0 && shorter > 0.0 {
            cuts.parameters = true;
            excess -= shorter;
        }
        // Notes are cut at their end by the layout.
        let remarks: f32 = self.remarks.iter().map(|(text, _)| long(text, SMALL)).sum();
        let interface = self.role(Role::Interface);
        if excess > 0.0 && !interface.is_empty() {
            let own = match namespace_length(interface.trim_end_matches('.')) {
                0 => 0,
                length => length + 1,
            };
            let (cut, gone) = beginning(interface, own, (excess, excess - remarks), |text| long(text, NAME));
            cuts.interface = cut;
            excess -= gone;
        }
        let type_name = self.role(Role::Type);
        if excess - remarks > 0.0 && !type_name.is_empty() {
            let (cut, _) = beginning(type_name, 0, (excess, excess - remarks), |text| long(text, NAME));
            cuts.type_name = cut;
        }
        cuts
    }
}

/// Returns the bytes to cut from the beginning of a name, and the width gained: up to `free` bytes at a dot to gain
/// `wanted`, beyond that letter by letter to gain `needed`.
fn beginning(
    name: &str,
    free: usize,
    (wanted, needed): (f32, f32),
    mut width: impl FnMut(&str) -> f32,
) -> (usize, f32) {
    let sign = width("…");
    let (mut gone, mut at, mut saved) = (-sign, 0, 0.0);
    for (start, letter) in letters(name) {
        let is_free = start < free;
        if saved >= if is_free { wanted } else { needed } {
            break;
        }
        gone += width(letter);
        let end = start + letter.len();
        if !is_free || letter == "." {
            (at, saved) = (end, gone);
        }
    }
    (at, saved.max(0.0))
}

/// Returns the text format of notes.
fn small(colour: Color32) -> TextFormat {
    TextFormat::simple(FontId::proportional(SMALL), colour)
}

/// Returns the letters of a name with their byte offsets.
fn letters(name: &str) -> impl Iterator<Item = (usize, &str)> {
    name.char_indices().map(|(at, letter)| (at, name.get(at..at + letter.len_utf8()).unwrap_or_default()))
}

/// Returns what a `MoveNext` implements, told by the other methods of its type.
fn state_machine(catalogue: &Catalogue, method: MethodIx) -> StateMachine {
    let siblings = catalogue.methods_of_type(catalogue.type_of(method)).map(MethodIx);
    let mut found = StateMachine::Unknown;
    for name in siblings.map(|sibling| catalogue.method_name(sibling)) {
        if name.ends_with("SetStateMachine") {
            return StateMachine::Async;
        }
        if name.ends_with("IEnumerator.Reset") {
            found = StateMachine::Iterator;
        }
    }
    found
}

#[cfg(test)]
#[path = "painted_name_tests.rs"]
mod tests;
