//! The rows of the method panel: methods in the table; methods and groups in the tree.

mod menu;

use super::cells::{NumberAge, Paint};
use super::columns::Columns;
use super::cost;
use super::differences;
use super::fleet_header;
use super::knob_state::KnobState;
use super::missing_row;
use super::painted_name::PaintedName;
use super::row_notes::{last_of_row, misses_calls, remarks, shared_by};
use super::row_start::{ARROW, arrow, name_start};
use crate::commands::UiCommand;
use crate::ui::capitalized;
use crate::ui::knob::{self, Knob};
use crate::ui::list::ListWindow;
use crate::ui::theme::Palette;
use eframe::egui::{self, Painter, Popup, Rect, Response, Sense, Ui, pos2, vec2};
use redial_model::ids::EVERY_DOMAIN;
use redial_model::ids::{MethodIx, ModuleIx, Node};
use redial_model::method_set::MethodSet;
use redial_model::method_table::{GroupDial, MethodTable, Shape};
use redial_model::selection::SelectionMode;
use redial_model::subject::Subject;
use redial_model::visible_rows::{VisibleRow, VisibleRows};
use redial_protocol::times::Times;
use redial_text::diagnostics::{Reader, row_notes};
use redial_text::times::{self, TimeColumn};
use redial_text::words;

const KNOB: f32 = 24.0;
/// Least width of a row's hint, points.
const HINT: f32 = 280.0;
/// Most refusals listed in a hint.
const REFUSALS: usize = 8;

/// A visible row.
struct RowView<'a> {
    paint: Paint<'a>,
    subject: Subject<'a>,
    /// The methods of `subject`.
    table: &'a MethodTable,
    /// The owner of the rows.
    list: &'a MethodTable,
    node: Node,
    /// Its line in the list.
    line: VisibleRow,
    /// Its position among all rows.
    place: usize,
    rect: Rect,
    /// The visible part of it.
    clip: Rect,
    /// The left end of its name.
    left: f32,
    response: Response,
    /// Whether it is selected, directly or through a group that has no row here.
    selected: bool,
    /// Whether keys go to the selection of this table.
    keys: bool,
    /// Whether the pointer was moved to the rows; under a resting pointer, a hint would cover rows unasked.
    hints: bool,
    /// In the tree, all selected methods.
    inside: &'a MethodSet,
}

/// Draws the visible rows and handles clicks; marks numbers that stand out among `others`, the rows of the tables beside
/// this one. `hints` enables hover hints.
pub fn show(
    ui: &mut Ui,
    (painter, columns): (&Painter, &Columns),
    window: &ListWindow,
    (lines, others, hints): (VisibleRows<'_>, &[VisibleRows<'_>], bool),
    commands: &mut Vec<UiCommand>,
) {
    let (subject, table) = (lines.own, lines.own.table());
    let (below, inside) = match table.shape {
        Shape::List => (table.selection.below_groups(&table.catalogue), MethodSet::default()),
        Shape::Tree => (MethodSet::default(), table.targets()),
    };
    for place in window.rows.clone() {
        let Some(line) = lines.at(place) else { continue };
        let rect = window.row_rect(place);
        let clip = rect.intersect(window.rect);
        let Some(node) = line.node else {
            missing_row::show(ui, (painter, columns), (rect, clip), (lines, line, place), commands);
            continue;
        };
        let marked = differences::standing_out(columns, node, (subject, others, place));
        let row = RowView {
            paint: Paint { painter, columns, palette: Palette::of(ui), marked: &marked },
            subject,
            table,
            list: lines.list.table(),
            node,
            line,
            place,
            rect,
            clip,
            left: name_start(columns, node, line.depth, table.shape),
            response: ui.interact(clip, ui.scope_id().with(node), Sense::click()),
            selected: table.selection.contains(node)
                || matches!(node, Node::Method(method) if below.contains(method)),
            keys: lines.keys,
            hints,
            inside: &inside,
        };
        row.ground();
        row.pin();
        let (face, name) = match node {
            Node::Method(method) => row.method(ui, method),
            _ => row.group(ui, commands),
        };
        let knob = row.knob(ui, &face, &name, commands);
        row.clicks(ui, knob.as_ref(), commands);
        row.menus(ui, knob.as_ref(), (&face, &name), commands);
    }
}

impl RowView<'_> {
    fn ground(&self) {
        let Paint { painter, palette, .. } = self.paint;
        let selection = &self.table.selection;
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

    /// Marks a pinned method at the beginning of its name.
    fn pin(&self) {
        let Node::Method(method) = self.node else { return };
        let is_named = self.paint.columns.is_named;
        if is_named && self.table.shape == Shape::List && self.table.list.is_pinned(method) {
            let at = pos2(self.left - 6.0, self.rect.center().y);
            self.paint.painter.circle_filled(at, 2.5, self.paint.palette.accent);
        }
    }

    /// Describes the row to screen readers and tests.
    fn describe(&self, ui: &Ui, name: &str, more: impl FnOnce(&mut egui::accesskit::Node)) {
        self.response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Row, true, self.selected, name));
        ui.ctx().accesskit_node_builder(self.response.id, more);
    }

    /// Draws a method; returns its state and its full name.
    fn method(&self, ui: &mut Ui, method: MethodIx) -> (KnobState, String) {
        let RowView { paint, subject, table, rect, .. } = self;
        let connected = subject.obstacle().is_none();
        let merged = table.merged(method);
        if let Some(copies) = merged {
            return self.merged(ui, method, &copies);
        }
        let dial = table.dial(method);
        let face = KnobState::of(&dial, connected);
        let catalogue = &table.catalogue;
        let full = catalogue.full_name(method);
        let place = self.place_of(catalogue.module_of(method));
        let accessible_name =
            place.as_ref().map_or(full.text.clone(), |place| format!("{} {place}", full.text));
        self.describe(ui, &accessible_name, |node| {
            node.set_value(match dial.row {
                Some(row) => {
                    let least = if misses_calls(row) { "at least " } else { "" };
                    let times = times_text(row.shown_times(), connected && row.is_timed());
                    let calls = words::count(row.shown_calls(), "call", "calls");
                    format!("{}, {least}{calls}{times}", face.state_text)
                }
                None if dial.bodyless.is_some() => face.state_text.clone(),
                None => "never dialled".to_owned(),
            });
        });
        let palette = paint.palette;
        let mut name = PaintedName::of_method(&full, method, table, palette);
        if let Some(place) = place.filter(|_| table.shape == Shape::List) {
            let module = catalogue.module(catalogue.module_of(method));
            match module.filter(|_| catalogue.spans_processes()) {
                // After a long name it would be cut off.
                Some(module) => name.front(&format!("{}  ", catalogue.short_place(module))),
                None => name.remark(&format!("   {place}"), palette.weak),
            }
        }
        paint.name(*rect, self.left, &name, &face);
        paint.state(*rect, &face);
        if let Some(row) = dial.row {
            let least = if misses_calls(row) { "≥ " } else { "" };
            let (calls, rate) = (format!("{least}{}", words::grouped(row.shown_calls())), row.counted_rate());
            let rate = rate.filter(|_| connected).map(f64::from);
            paint.counted(*rect, NumberAge::of(connected && row.counts()), &calls, rate);
            let numbers = NumberAge::of(connected && row.is_timed());
            paint.times(*rect, numbers, |column| column.cell(row.shown_times()?));
            self.share(row.shown_times(), numbers);
            paint.curve(*rect, row, table.live.tick());
        }
        if self.response.hovered() && !Popup::is_any_open(ui.ctx()) {
            let note = dial
                .row
                .and_then(|row| row_notes::notes(row.note, row.times_note.as_deref(), Reader::Window));
            self.hint(|ui| {
                ui.label(&accessible_name);
                if let Some(state) = dial.row.map(|row| row.state).filter(|_| connected) {
                    let means = words::state_means(state, dial.row.map(|row| row.wanted));
                    ui.weak(words::sentence(&format!("{}: {means}", words::state_word(state))));
                }
                let version = dial.row.and_then(|row| row.version).filter(|_| connected);
                if let Some(version) = version.filter(|version| *version > 1) {
                    ui.weak(words::version_means(version));
                }
                if let Some(last) = dial.row.filter(|_| connected).and_then(last_of_row) {
                    ui.weak(last);
                }
                if let Some(why) = face.unable {
                    ui.weak(capitalized(why));
                }
                if let Some(note) = &note {
                    ui.colored_label(palette.asked, capitalized(note));
                }
            });
        }
        (face, accessible_name)
    }

    /// Shows a hint below the row, at least as wide as a name, so that it covers no numbers.
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

    /// Shows a hint with the AppDomains that share the module's dials.
    fn hover_shared(&self, ui: &Ui) {
        if !self.response.hovered() || Popup::is_any_open(ui.ctx()) {
            return;
        }
        let Node::Module(module) = self.node else { return };
        let catalogue = &self.table.catalogue;
        let Some(module) = catalogue.module(module) else { return };
        let names = words::all(&catalogue.domain_titles(module));
        self.hint(|ui| {
            ui.label(format!("One copy serves {names}. A dial here turns it for all of them."));
        });
    }

    /// Returns a copy's location if other copies have rows of their own.
    fn place_of(&self, module: ModuleIx) -> Option<String> {
        let catalogue = &self.table.catalogue;
        catalogue.place(module).filter(|_| !catalogue.is_merged())
    }

    /// Draws a method that stands for all its copies.
    fn merged(&self, ui: &mut Ui, method: MethodIx, copies: &MethodSet) -> (KnobState, String) {
        let RowView { paint, subject, table, rect, .. } = self;
        let group = table.group_of_set(copies);
        let connected = subject.obstacle().is_none();
        let refusals = fleet_header::refusals(*subject, copies);
        let face = fleet_header::face(*subject, &group, copies, refusals.len());
        let full = table.catalogue.full_name(method);
        self.describe(ui, &full.text, |node| {
            node.set_value(match group.sums.known {
                0 if group.is_bodyless() => face.state_text.clone(),
                0 => "never dialled".to_owned(),
                _ => {
                    let times = times_text(group.sums.times.as_ref(), connected && group.is_timed());
                    format!("{}, {}{times}", face.state_text, words::count(group.sums.calls, "call", "calls"))
                }
            });
        });
        let palette = paint.palette;
        let mut name = PaintedName::of_method(&full, method, table, palette);
        match table.catalogue.spans_processes().then(|| fleet_header::processes_of(table, copies)) {
            // Only a subset of the processes is worth mentioning.
            Some((some, all)) if some == all => {}
            Some((some, all)) => name.remark(&format!("   in {some} of {all} processes"), palette.weak),
            None => name.remark(&format!("   {} copies", words::grouped(copies.len())), palette.weak),
        }
        paint.name(*rect, self.left, &name, &face);
        paint.state(*rect, &face);
        if group.sums.known > 0 {
            self.sums(&group, |column| column.cell(group.sums.times.as_ref()?));
            paint.curve_of(*rect, || {
                let rows = copies.iter().filter_map(|copy| table.live.of_method(copy));
                table.live.rates_of(rows)
            });
        }
        if self.response.hovered() && !refusals.is_empty() && !Popup::is_any_open(ui.ctx()) {
            self.hint(|ui| {
                ui.label(&full.text);
                for (place, why) in refusals.iter().take(REFUSALS) {
                    ui.colored_label(palette.bad, format!("Refused in {place}: {why}"));
                }
            });
        }
        (face, full.text)
    }

    /// Draws a group; returns its state and its label.
    fn group(&self, ui: &mut Ui, commands: &mut Vec<UiCommand>) -> (KnobState, String) {
        let RowView { paint, subject, table, node, rect, .. } = self;
        let group = table.group(*node);
        let mut face = KnobState::of_group(&group).seen(subject.obstacle().is_none());
        let shared = shared_by(table, *node);
        let kind = match node {
            Node::Domain(EVERY_DOMAIN) if table.catalogue.spans_processes() => "merged",
            Node::Domain(_) if table.catalogue.spans_processes() => "process",
            Node::Domain(_) => "AppDomain",
            Node::Module(_) => "module",
            Node::Namespace(_) => "namespace",
            Node::Type(_) | Node::Method(_) => "type",
        };
        let label = table.catalogue.label(*node);
        let place = match node {
            Node::Module(module) => self.place_of(*module),
            _ => None,
        };
        let accessible_name = match &place {
            Some(place) => format!("{kind} {label} {place}"),
            None => format!("{kind} {label}"),
        };
        let row = self.line;
        // Side by side, the first row stands for all processes.
        let is_root = matches!(row.row, Node::Domain(_)) && !std::ptr::eq(self.list, *table);
        let title = match node {
            _ if is_root => capitalized(self.list.catalogue.label(row.row)),
            Node::Domain(_) => table.catalogue.domain_title(*node),
            _ => label.to_owned(),
        };
        let methods = if is_root { self.list.list.shown() as u64 } else { row.methods.into() };
        self.describe(ui, &accessible_name, |node| node.set_expanded(row.expanded));
        let is_opened = paint.columns.is_named
            && arrow(ui, paint.painter, (self.left, *rect, self.clip), row, &accessible_name);
        if is_opened || self.response.double_clicked() {
            commands.push(UiCommand::Expand(row.row));
        }
        let mut name = PaintedName::new(&title, table, paint.palette);
        // The end tells namespaces of the same beginning apart.
        match node {
            Node::Namespace(_) => name.namespace_group(0..title.len()),
            Node::Type(_) => name.shrinking(0..title.len(), paint.palette.text),
            _ => name.part(0..title.len(), paint.palette.text),
        }
        let count = words::methods(methods);
        let kind = if is_root { "merged" } else { kind };
        if let Some(shared) = shared {
            // The state column shows it in narrow tables, too.
            match face.state_text.is_empty() {
                true => face.state_text = shared,
                false => name.remark(&format!("   {shared}"), paint.palette.asked),
            }
            self.hover_shared(ui);
        }
        let more = if is_root { String::new() } else { remarks(table, *node) };
        name.remark(&format!("   {kind}, {count}{more}"), paint.palette.weak);
        let hidden = self.selected_inside(row.expanded);
        if hidden > 0 {
            let hidden = format!("{} selected inside", words::grouped(hidden));
            ui.ctx().accesskit_node_builder(self.response.id, |node| node.set_value(hidden.clone()));
            name.remark(&format!(", {hidden}"), paint.palette.accent);
        }
        paint.name(*rect, self.left + ARROW, &name, &face);
        paint.state(*rect, &face);
        if group.sums.known > 0 {
            // The methods call each other, so their totals do not add up.
            let adds_up = |column: &TimeColumn| *column != TimeColumn::Total;
            self.sums(&group, |column| Some(column).filter(adds_up)?.cell(group.sums.times.as_ref()?));
        }
        (face, accessible_name)
    }

    /// Draws the numbers of several methods together.
    fn sums(&self, group: &GroupDial, cell: impl Fn(TimeColumn) -> Option<String>) {
        let connected = self.subject.obstacle().is_none();
        let (calls, rate) = (words::grouped(group.sums.calls), group.counted_rate().filter(|_| connected));
        self.paint.counted(self.rect, NumberAge::of(connected && group.counts()), &calls, rate);
        let numbers = NumberAge::of(connected && group.is_timed());
        self.paint.times(self.rect, numbers, cell);
        self.share(group.sums.times.as_ref(), numbers);
    }

    /// Draws the share of all methods' self time.
    fn share(&self, times: Option<&Times>, numbers: NumberAge) {
        if let Some(own) = times.and_then(|times| TimeColumn::Own.number(times)) {
            self.paint.share(self.rect, numbers, own, self.table.live.self_time_of_all());
        }
    }

    /// Returns the number of selected methods hidden in a collapsed group; none if the group itself is
    /// selected.
    fn selected_inside(&self, expanded: bool) -> u64 {
        if expanded || self.selected {
            return 0;
        }
        let below = self.table.catalogue.methods_below(self.node);
        below.iter().map(|range| u64::from(self.inside.count_in(range))).sum()
    }

    /// Draws the knob if it is visible. Its menu is the row's.
    fn knob(
        &self,
        ui: &mut Ui,
        face: &KnobState,
        name: &str,
        commands: &mut Vec<UiCommand>,
    ) -> Option<Response> {
        if self.clip.height() < self.rect.height() * 0.5 {
            return None;
        }
        let centre = pos2(self.paint.columns.knob.center(), self.rect.center().y);
        let size = KNOB.min(self.rect.height() - 1.0);
        let place = Rect::from_center_size(centre, vec2(size, size)).intersect(self.clip);
        let label = format!("Dial of {name}");
        let wheel = self.table.selection.focus() == Some(self.node);
        let enabled = face.enabled(self.subject);
        let offered = self.subject.offered_at(self.node);
        let face_of_it = knob::KnobFace { offered, ..face.knob(self.subject, &label) };
        let knob = Knob::new(face_of_it, size).without_menu().wheel(wheel);
        let turns = || self.table.turned_by(self.node);
        let costs = || cost::hints(self.subject, &turns().methods, face.wanted);
        let turned = knob.hinting(&costs).enabled(enabled).show_at(ui, dial_id(ui, self.node), place);
        if let Some(level) = turned.to {
            if !self.selected {
                commands.push(UiCommand::Pick(self.line.row, SelectionMode::Replace));
            }
            commands.push(UiCommand::Turn { targets: turns(), level });
        }
        commands.extend(turned.refused.map(UiCommand::NotOffered));
        Some(turned.response)
    }
}

/// Returns the id of a row's knob in `ui`.
pub fn dial_id(ui: &Ui, node: Node) -> egui::Id {
    ui.scope_id().with(("dial", node))
}

/// Returns times as text to append; marked as last values unless timing continues.
fn times_text(times: Option<&Times>, go_on: bool) -> String {
    let last = if go_on { "" } else { "last times: " };
    times.map_or_else(String::new, |times| format!(", {last}{}", times::in_words(times)))
}
