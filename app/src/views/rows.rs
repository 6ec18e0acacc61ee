//! Rows of the methods: one method each in the table; methods and the groups above them in the tree.

mod menu;

use super::blank;
use super::cells::{Name, Numbers, Paint};
use super::columns::Columns;
use super::cost;
use super::face::Face;
use super::several;
use crate::commands::Command;
use crate::model::catalogue::copies::EVERY_DOMAIN;
use crate::model::connection::{Connection, GroupDial, Shape};
use crate::model::ids::{MethodIx, ModuleIx, Node};
use crate::model::lines::{Line, Lines};
use crate::model::live::LiveRow;
use crate::model::methodset::MethodSet;
use crate::model::selection::Mode;
use crate::output::times::{self, TimeColumn};
use crate::output::words;
use crate::ui::knob::{self, Knob};
use crate::ui::list::Window;
use crate::ui::signs::{self, Way};
use crate::ui::theme::Palette;
use eframe::egui::{self, Painter, Popup, Rect, Response, Sense, Ui, pos2, vec2};
use redial_protocol::state::State;
use redial_protocol::times::Times;

const KNOB: f32 = 24.0;
const INDENT: f32 = 16.0;
/// Least width of a row's hint, points.
const HINT: f32 = 280.0;
/// Refusals told in a hint.
const REFUSALS: usize = 8;

/// A row in view.
struct Row<'a> {
    paint: Paint<'a>,
    connection: &'a Connection,
    node: Node,
    /// What stands there in the list.
    line: Line,
    /// Its number among all rows.
    place: usize,
    rect: Rect,
    /// The part of it that is in view.
    clip: Rect,
    /// Where its name begins.
    left: f32,
    response: Response,
    /// Selected itself, or by a group that has no row here.
    selected: bool,
    /// Keys are for what is selected here.
    keys: bool,
    /// The pointer came for the rows: where it merely rests, a hint would cover them.
    hints: bool,
    /// In the tree, every method selected.
    inside: &'a MethodSet,
}

/// Draws the rows in view and takes clicks in; with `hints` what is pointed at explains itself.
pub fn show(
    ui: &mut Ui,
    painter: &Painter,
    window: &Window,
    columns: &Columns,
    (lines, hints): (Lines<'_>, bool),
    commands: &mut Vec<Command>,
) {
    let connection = lines.own;
    let (below, inside) = match connection.shape {
        Shape::List => (connection.selection.below_groups(&connection.catalogue), MethodSet::default()),
        Shape::Tree => (MethodSet::default(), connection.targets()),
    };
    for place in window.rows.clone() {
        let Some(line) = lines.at(place) else { continue };
        let rect = window.row_rect(place);
        let clip = rect.intersect(window.rect);
        let Some(node) = line.node else {
            blank::show(ui, painter, (rect, clip), (lines, line.row, place));
            continue;
        };
        let row = Row {
            paint: Paint { painter, columns, palette: Palette::of(ui) },
            connection,
            node,
            line,
            place,
            rect,
            clip,
            left: columns.name.min + 4.0 + f32::from(line.depth) * INDENT,
            response: ui.interact(clip, ui.scope_id().with(node), Sense::click()),
            selected: connection.selection.contains(node)
                || matches!(node, Node::Method(method) if below.contains(method)),
            keys: lines.keys,
            hints,
            inside: &inside,
        };
        row.ground();
        let (face, name) = match node {
            Node::Method(method) => row.method(ui, method),
            _ => row.group(ui, commands),
        };
        let knob = row.knob(ui, &face, &name, commands);
        row.clicks(ui, knob.as_ref(), commands);
        row.menus(ui, knob.as_ref(), (&face, &name), commands);
    }
}

impl Row<'_> {
    fn ground(&self) {
        let Paint { painter, palette, .. } = self.paint;
        let selection = &self.connection.selection;
        if self.selected && self.keys {
            painter.rect_filled(self.rect, 0.0, palette.selected);
        } else if self.response.hovered() {
            painter.rect_filled(self.rect, 0.0, palette.hover);
        } else if self.place % 2 == 1 {
            painter.rect_filled(self.rect, 0.0, palette.stripe);
        }
        if self.selected && !self.keys {
            let outline = egui::Stroke::new(1.0, palette.accent);
            painter.rect_stroke(self.rect.shrink(0.5), 0.0, outline, egui::StrokeKind::Inside);
        } else if selection.focus() == Some(self.node) {
            let stripe = Rect::from_min_size(self.rect.min, vec2(3.0, self.rect.height()));
            painter.rect_filled(stripe, 0.0, palette.accent);
        }
    }

    /// Tells screen readers and tests what it is.
    fn tell(&self, ui: &Ui, name: &str, more: impl FnOnce(&mut egui::accesskit::Node)) {
        self.response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Row, true, self.selected, name));
        ui.ctx().accesskit_node_builder(self.response.id, more);
    }

    /// A method: its face and its full name.
    fn method(&self, ui: &mut Ui, method: MethodIx) -> (Face, String) {
        let Row { paint, connection, rect, .. } = self;
        let connected = connection.obstacle().is_none();
        let merged = connection.merged(method);
        if let Some(copies) = merged {
            return self.merged(ui, method, &copies);
        }
        let dial = connection.dial(method);
        let face = Face::of(&dial, connected);
        let catalogue = &connection.catalogue;
        let full = catalogue.full_name(method);
        let place = self.place_of(catalogue.module_of(method));
        let said = place.as_ref().map_or(full.text.clone(), |place| format!("{} {place}", full.text));
        self.tell(ui, &said, |node| {
            node.set_value(match dial.row {
                Some(row) => {
                    let least = if misses_calls(row) { "at least " } else { "" };
                    let times = told(row.times.as_deref(), connected && row.is_timed());
                    format!("{}, {least}{}{times}", face.says, words::count(row.calls, "call", "calls"))
                }
                None if dial.bodyless.is_some() => face.says.clone(),
                None => "never dialled".to_owned(),
            });
        });
        let palette = paint.palette;
        let mut name = Name::of_method(&full, connection, palette);
        if let Some(place) = place.filter(|_| connection.shape == Shape::List) {
            let module = catalogue.module(catalogue.module_of(method));
            match module.filter(|_| catalogue.spans_processes()) {
                // Behind a long name it would be cut off.
                Some(module) => name.front(&format!("{}  ", catalogue.short_place(module))),
                None => name.remark(&format!("   {place}"), palette.weak),
            }
        }
        paint.name(*rect, self.left, &name, &face);
        paint.state(*rect, &face);
        if let Some(row) = dial.row {
            let least = if misses_calls(row) { "≥ " } else { "" };
            let (calls, rate) = (format!("{least}{}", words::grouped(row.calls)), row.counted_rate());
            let rate = rate.filter(|_| connected).map(f64::from);
            paint.counted(*rect, Numbers::of(connected && row.counts()), &calls, rate);
            let numbers = Numbers::of(connected && row.is_timed());
            paint.times(*rect, numbers, |column| column.cell(row.times.as_deref()?));
            paint.curve(*rect, row, connection.live.tick());
        }
        if self.response.hovered() && !Popup::is_any_open(ui.ctx()) {
            let note = dial.row.and_then(|row| words::notes(row.note.as_deref(), row.times_note.as_deref()));
            self.hint(|ui| {
                ui.label(&said);
                if let Some(state) = dial.row.map(|row| row.state).filter(|_| connected) {
                    ui.weak(format!(
                        "{state}: {}",
                        words::state_means(state, dial.row.map(|row| row.wanted))
                    ));
                }
                let version = dial.row.and_then(|row| row.version).filter(|_| connected);
                if let Some(version) = version.filter(|version| *version > 1) {
                    ui.weak(words::version_means(version));
                }
                if let Some(last) = dial.row.filter(|_| connected).and_then(last_of_row) {
                    ui.weak(last);
                }
                if let Some(why) = face.unable {
                    ui.weak(why);
                }
                if let Some(note) = &note {
                    ui.colored_label(palette.asked, note.as_ref());
                }
            });
        }
        (face, said)
    }

    /// Shows a hint beneath the row, as wide as its name where that is not too little, so that it covers no numbers.
    fn hint(&self, show: impl FnOnce(&mut Ui)) {
        if !self.hints {
            return;
        }
        let width = (self.paint.columns.name.max - self.rect.left()).max(HINT);
        self.response.clone().on_hover_ui(|ui| {
            ui.set_max_width(width - 2.0 * ui.spacing().menu_margin.leftf());
            show(ui);
        });
    }

    /// Names the AppDomains that see the dials of a shared module.
    fn hover_shared(&self, ui: &Ui) {
        if !self.response.hovered() || Popup::is_any_open(ui.ctx()) {
            return;
        }
        let Node::Module(module) = self.node else { return };
        let catalogue = &self.connection.catalogue;
        let Some(module) = catalogue.module(module) else { return };
        let names = words::all(&catalogue.domain_titles(module));
        self.hint(|ui| {
            ui.label(format!("one copy serves {names}: a dial here is for all of them"));
        });
    }

    /// Where a copy is, where there are others with rows of their own.
    fn place_of(&self, module: ModuleIx) -> Option<String> {
        let catalogue = &self.connection.catalogue;
        catalogue.place(module).filter(|_| !catalogue.is_merged())
    }

    /// A method that stands for all its copies.
    fn merged(&self, ui: &mut Ui, method: MethodIx, copies: &MethodSet) -> (Face, String) {
        let Row { paint, connection, rect, .. } = self;
        let group = connection.group_of_set(copies);
        let connected = connection.obstacle().is_none();
        let refusals = several::refusals(connection, copies);
        let face = several::face(connection, &group, copies, refusals.len());
        let full = connection.catalogue.full_name(method);
        self.tell(ui, &full.text, |node| {
            node.set_value(match group.sums.known {
                0 if group.is_bodyless() => face.says.clone(),
                0 => "never dialled".to_owned(),
                _ => {
                    let times = told(group.sums.times.as_ref(), connected && group.is_timed());
                    format!("{}, {}{times}", face.says, words::count(group.sums.calls, "call", "calls"))
                }
            });
        });
        let palette = paint.palette;
        let mut name = Name::of_method(&full, connection, palette);
        match connection.catalogue.spans_processes().then(|| several::processes_of(connection, copies)) {
            // That all of them have it goes without saying.
            Some((some, all)) if some == all => {}
            Some((some, all)) => name.remark(&format!("   in {some} of {all} processes"), palette.weak),
            None => name.remark(&format!("   {} copies", words::grouped(copies.len())), palette.weak),
        }
        paint.name(*rect, self.left, &name, &face);
        paint.state(*rect, &face);
        if group.sums.known > 0 {
            self.sums(&group, |column| column.cell(group.sums.times.as_ref()?));
            paint.curve_of(*rect, || {
                let rows = copies.iter().filter_map(|copy| connection.live.of_method(copy));
                connection.live.rates_of(rows)
            });
        }
        if self.response.hovered() && !refusals.is_empty() && !Popup::is_any_open(ui.ctx()) {
            self.hint(|ui| {
                ui.label(&full.text);
                for (place, why) in refusals.iter().take(REFUSALS) {
                    ui.colored_label(palette.bad, format!("refused in {place}: {why}"));
                }
            });
        }
        (face, full.text)
    }

    /// A group: its face and what it is called.
    fn group(&self, ui: &mut Ui, commands: &mut Vec<Command>) -> (Face, String) {
        let Row { paint, connection, node, rect, .. } = self;
        let group = connection.group(*node);
        let mut face = Face::of_group(&group).seen(connection.obstacle().is_none());
        let shared = shared_by(connection, *node);
        let what = match node {
            Node::Domain(EVERY_DOMAIN) if connection.catalogue.spans_processes() => "merged",
            Node::Domain(_) if connection.catalogue.spans_processes() => "process",
            Node::Domain(_) => "AppDomain",
            Node::Module(_) => "module",
            Node::Namespace(_) => "namespace",
            Node::Type(_) | Node::Method(_) => "type",
        };
        let label = connection.catalogue.label(*node);
        let place = match node {
            Node::Module(module) => self.place_of(*module),
            _ => None,
        };
        let said = match &place {
            Some(place) => format!("{what} {label} {place}"),
            None => format!("{what} {label}"),
        };
        let title = match node {
            Node::Domain(_) => connection.catalogue.domain_title(*node),
            _ => label.to_owned(),
        };
        let row = self.line;
        self.tell(ui, &said, |node| node.set_expanded(row.expanded));
        let arrow = Rect::from_center_size(pos2(self.left + 6.0, rect.center().y), vec2(16.0, rect.height()));
        let open =
            ui.interact(arrow.intersect(self.clip), ui.scope_id().with(("arrow", self.node)), Sense::click());
        open.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::DisclosureTriangle, true, format!("expand {said}"))
        });
        let way = if row.expanded { Way::Down } else { Way::Right };
        let colour = if open.hovered() { paint.palette.accent } else { paint.palette.weak };
        signs::triangle(paint.painter, arrow.center(), way, 4.5, colour);
        if open.clicked() || self.response.double_clicked() {
            commands.push(Command::Expand(row.row));
        }
        let mut name = Name::new(&title, connection, paint.palette);
        name.part(0..title.len(), paint.palette.text);
        let count = words::methods(row.methods.into());
        if let Some(shared) = shared {
            // In the state's column it is read in a narrow table too.
            match face.says.is_empty() {
                true => face.says = shared,
                false => name.remark(&format!("   {shared}"), paint.palette.asked),
            }
            self.hover_shared(ui);
        }
        name.remark(&format!("   {what}, {count}{}", remarks(connection, *node)), paint.palette.weak);
        let hidden = self.selected_inside(row.expanded);
        if hidden > 0 {
            let hidden = format!("{} selected inside", words::grouped(hidden));
            ui.ctx().accesskit_node_builder(self.response.id, |node| node.set_value(hidden.clone()));
            name.remark(&format!(", {hidden}"), paint.palette.accent);
        }
        paint.name(*rect, self.left + 18.0, &name, &face);
        paint.state(*rect, &face);
        if group.sums.known > 0 {
            // Its methods call each other: their totals do not add up.
            let adds_up = |column: &TimeColumn| *column != TimeColumn::Total;
            self.sums(&group, |column| Some(column).filter(adds_up)?.cell(group.sums.times.as_ref()?));
        }
        (face, said)
    }

    /// The numbers of several methods together.
    fn sums(&self, group: &GroupDial, cell: impl Fn(TimeColumn) -> Option<String>) {
        let connected = self.connection.obstacle().is_none();
        let (calls, rate) = (words::grouped(group.sums.calls), group.counted_rate().filter(|_| connected));
        self.paint.counted(self.rect, Numbers::of(connected && group.counts()), &calls, rate);
        self.paint.times(self.rect, Numbers::of(connected && group.is_timed()), cell);
    }

    /// Methods selected that a closed group hides; none where the group itself is selected.
    fn selected_inside(&self, expanded: bool) -> u64 {
        if expanded || self.selected {
            return 0;
        }
        let below = self.connection.catalogue.methods_below(self.node);
        below.iter().map(|range| u64::from(self.inside.count_in(range))).sum()
    }

    /// Its knob, where there is room for it. Its menu is the row's.
    fn knob(&self, ui: &mut Ui, face: &Face, name: &str, commands: &mut Vec<Command>) -> Option<Response> {
        if self.clip.height() < self.rect.height() * 0.5 {
            return None;
        }
        let centre = pos2(self.paint.columns.knob.center(), self.rect.center().y);
        let place = Rect::from_center_size(centre, vec2(KNOB, KNOB)).intersect(self.clip);
        let label = format!("dial of {name}");
        let wheel = self.connection.selection.focus() == Some(self.node);
        let enabled = face.enabled(self.connection);
        let offered = self.connection.offered_at(self.node);
        let face_of_it = knob::Face { offered, ..face.knob(self.connection, &label) };
        let knob = Knob::new(face_of_it, KNOB).without_menu().wheel(wheel);
        let turns = || self.connection.turned_by(self.node);
        let costs = || cost::hints(self.connection, &turns().methods, face.wanted);
        let turned = knob.hinting(&costs).enabled(enabled).show_at(ui, dial_id(ui, self.node), place);
        if let Some(level) = turned.to {
            if !self.selected {
                commands.push(Command::Pick(self.line.row, Mode::Replace));
            }
            commands.push(Command::Turn { targets: turns(), level });
        }
        commands.extend(turned.refused.map(Command::NotOffered));
        Some(turned.response)
    }
}

/// The id of the knob of a row that stands in `ui`.
pub fn dial_id(ui: &Ui, node: Node) -> egui::Id {
    ui.scope_id().with(("dial", node))
}

/// Whether a row that counts has a note: then some calls are not counted.
pub fn misses_calls(row: &LiveRow) -> bool {
    row.note.is_some() && matches!(row.state, State::Asked | State::Live)
}

/// Times in words, behind others; those that do not go on are the last.
fn told(times: Option<&Times>, go_on: bool) -> String {
    let last = if go_on { "" } else { "last times: " };
    times.map_or_else(String::new, |times| format!(", {last}{}", times::in_words(times)))
}

/// That the numbers of a row are the last there were, where they are.
pub fn last_of_row(row: &LiveRow) -> Option<&'static str> {
    match (row.counts(), row.times.is_some()) {
        (false, _) if row.calls == 0 => None,
        (false, _) => Some("last numbers: it is not counted now"),
        (true, true) if !row.is_timed() => Some("last times: it is only counted now"),
        (true, _) => None,
    }
}

/// The same of several methods.
pub fn last_of_group(group: &GroupDial) -> Option<&'static str> {
    match (group.counts(), group.sums.times.is_some()) {
        (false, _) if group.sums.calls == 0 => None,
        (false, _) => Some("last numbers: none of them is counted now"),
        (true, true) if !group.is_timed() => Some("last times: they are only counted now"),
        (true, _) => None,
    }
}

/// Of a shared module, how many AppDomains see its dials.
fn shared_by(connection: &Connection, node: Node) -> Option<String> {
    let Node::Module(module) = node else { return None };
    let module = connection.catalogue.module(module)?;
    let number = connection.catalogue.domain_names(module).len();
    connection.catalogue.is_shared(module).then(|| format!("shared by {number}"))
}

fn remarks(connection: &Connection, node: Node) -> String {
    let catalogue = &connection.catalogue;
    let mut remarks = String::new();
    let (module, index) = match node {
        Node::Module(index) => match catalogue.module(index) {
            Some(module) => (module, index),
            None => return remarks,
        },
        Node::Domain(domain) => {
            let name = catalogue.label(node);
            if catalogue.domain_title(node) != name {
                remarks.push_str(&format!(", {name}"));
            }
            let shared = catalogue.domains().get(domain as usize).is_some_and(|one| one.shared);
            if shared && catalogue.has_domains() {
                remarks.push_str(", a dial here is for all of them");
            }
            return remarks;
        }
        _ => return remarks,
    };
    if module.shared && !catalogue.is_shared(module) {
        remarks.push_str(", shared by every AppDomain");
    }
    let copies = catalogue.namesakes(&module.name).count();
    if catalogue.is_merged() && catalogue.spans_processes() {
        let processes = catalogue.domains().len();
        if copies != processes {
            let copies = words::grouped(copies as u64);
            remarks.push_str(&format!(", {copies} copies in {processes} processes"));
        }
    } else if catalogue.is_merged() && copies > 1 {
        remarks.push_str(&format!(", {} copies", words::grouped(copies as u64)));
    } else if !catalogue.is_merged() && !catalogue.alone_in_domain(index) {
        remarks.push_str(&format!(", copy #{}", module.key.generation));
    }
    if module.dynamic {
        remarks.push_str(", dynamic");
    }
    if module.unloaded {
        remarks.push_str(", unloaded");
    }
    remarks
}
