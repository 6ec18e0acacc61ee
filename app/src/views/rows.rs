//! Rows of the methods: one method each in the table; methods and the groups above them in the tree.

use super::face::Face;
use crate::commands::Command;
use crate::model::connection::{Connection, Shape};
use crate::model::ids::{MethodIx, Node};
use crate::model::live::LiveRow;
use crate::model::query::within;
use crate::model::selection::Mode;
use crate::output::words;
use crate::ui::knob::Knob;
use crate::ui::list::Window;
use crate::ui::signs::{self, Way};
use crate::ui::theme::{DIGITS, Palette};
use crate::ui::{numbers, sparkline};
use eframe::egui::text::{LayoutJob, TextWrapping};
use eframe::egui::{
    self, Align2, Color32, FontId, Painter, Rangef, Rect, Response, Sense, TextFormat, Ui, pos2, vec2,
};
use std::ops::Range;

const KNOB: f32 = 22.0;
const INDENT: f32 = 16.0;
/// Room a name keeps while other columns can go.
const NAME: f32 = 190.0;

/// Where the columns stand.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The knob.
    pub knob: Rangef,
    /// The name.
    pub name: Rangef,
    /// The state.
    pub state: Rangef,
    /// Calls.
    pub calls: Rangef,
    /// Calls a second.
    pub rate: Rangef,
    /// The sparkline.
    pub spark: Rangef,
}

impl Columns {
    /// The columns of a table of that width. In a narrow one the name keeps its room, and others go: first the
    /// sparkline, then the state (the knob shows it too), then the rate.
    pub fn of(rect: Rect) -> Columns {
        let knob = Rangef::new(rect.left(), rect.left() + 40.0);
        let mut widths = [("spark", 96.0_f32), ("state", 108.0), ("rate", 88.0), ("calls", 104.0)];
        for index in 0..widths.len() {
            let taken: f32 = widths.iter().map(|(_, width)| width).sum();
            if rect.width() - knob.span() - taken >= NAME {
                break;
            }
            widths[index].1 = 0.0;
        }
        let mut right = rect.right();
        let mut column = |name: &str| {
            let width = widths.iter().find(|(one, _)| *one == name).map_or(0.0, |(_, width)| *width);
            right -= width;
            Rangef::new(right, right + width)
        };
        let (spark, rate, calls, state) = (column("spark"), column("rate"), column("calls"), column("state"));
        Columns { knob, name: Rangef::new(knob.max, right.max(knob.max)), state, calls, rate, spark }
    }
}

/// What a row needs to be drawn.
struct Context<'a> {
    painter: &'a Painter,
    columns: &'a Columns,
    connection: &'a Connection,
    palette: &'static Palette,
}

/// Draws the rows in view and takes clicks in.
pub fn show(
    ui: &mut Ui,
    painter: &Painter,
    window: &Window,
    columns: &Columns,
    connection: &Connection,
    commands: &mut Vec<Command>,
) {
    let context = Context { painter, columns, connection, palette: Palette::of(ui) };
    for place in window.rows.clone() {
        let Some(node) = connection.row_at(place) else { continue };
        let rect = window.row_rect(place);
        let clip = rect.intersect(window.rect);
        let response = ui.interact(clip, ui.scope_id().with(node), Sense::click());
        ground(&context, rect, place, node, &response);
        let depth = match connection.shape {
            Shape::List => 0,
            Shape::Tree => connection.tree.rows().get(place).map_or(0, |row| row.depth),
        };
        let left = columns.name.min + 4.0 + f32::from(depth) * INDENT;
        match node {
            Node::Method(method) => method_row(ui, &context, rect, clip, method, left, &response, commands),
            group => group_row(ui, &context, rect, clip, group, place, left, &response, commands),
        }
        if response.clicked() {
            let mode = ui.input(|input| match (input.modifiers.shift, input.modifiers.command) {
                (true, _) => Mode::Extend,
                (false, true) => Mode::Toggle,
                (false, false) => Mode::Replace,
            });
            commands.push(Command::Pick(node, mode));
        }
        if response.double_clicked() && !matches!(node, Node::Method(_)) {
            commands.push(Command::Expand(node));
        }
    }
}

fn ground(context: &Context<'_>, rect: Rect, place: usize, node: Node, response: &Response) {
    let palette = context.palette;
    let selection = &context.connection.selection;
    if selection.contains(node) {
        context.painter.rect_filled(rect, 0.0, palette.selected);
    } else if response.hovered() {
        context.painter.rect_filled(rect, 0.0, palette.hover);
    } else if place % 2 == 1 {
        context.painter.rect_filled(rect, 0.0, palette.stripe);
    }
    if selection.focus() == Some(node) {
        let stripe = Rect::from_min_size(rect.min, vec2(3.0, rect.height()));
        context.painter.rect_filled(stripe, 0.0, palette.accent);
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "a row is one thing; a struct for one call would only hide that"
)]
fn method_row(
    ui: &mut Ui,
    context: &Context<'_>,
    rect: Rect,
    clip: Rect,
    method: MethodIx,
    left: f32,
    response: &Response,
    commands: &mut Vec<Command>,
) {
    let Context { painter, columns, connection, palette } = context;
    let dial = connection.dial(method);
    let face = Face::of(&dial, connection.obstacle().is_none());
    let full = connection.catalogue.full_name(method);
    let selected = connection.selection.contains(Node::Method(method));
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Row, true, selected, &full.text));
    ui.ctx().accesskit_node_builder(response.id, |node| {
        node.set_value(match dial.row {
            Some(row) => format!("{}, {} calls", face.says, words::grouped(row.calls)),
            None => "never dialled".to_owned(),
        });
    });
    knob(ui, context, rect, clip, Node::Method(method), &face, &full.text, commands);
    let highlights = connection.list.query().highlights(&full.text);
    let shown = match connection.shape {
        Shape::List => full.type_name.start..full.text.len(),
        Shape::Tree => full.method.start..full.text.len(),
    };
    let parts = [
        (shown.start..full.method.start, palette.weak),
        (full.method.clone(), palette.text),
        (full.signature.clone(), palette.weak),
    ];
    let mut job = LayoutJob::default();
    for (range, colour) in parts {
        append(&mut job, &full.text, range, &highlights, colour, palette);
    }
    put_name(painter, rect, Rangef::new(left, columns.name.max - 8.0), job);
    numbers_of(context, rect, &face, dial.row);
    if response.hovered() {
        let note = dial.row.and_then(|row| row.note.as_deref()).map(str::to_owned);
        response.clone().on_hover_ui_at_pointer(|ui| {
            ui.set_max_width(560.0);
            ui.label(&full.text);
            if let Some(note) = note {
                ui.colored_label(palette.asked, note);
            }
        });
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "a row is one thing; a struct for one call would only hide that"
)]
fn group_row(
    ui: &mut Ui,
    context: &Context<'_>,
    rect: Rect,
    clip: Rect,
    node: Node,
    place: usize,
    left: f32,
    response: &Response,
    commands: &mut Vec<Command>,
) {
    let Context { painter, columns, connection, palette } = context;
    let Some(row) = connection.tree.rows().get(place) else { return };
    let group = connection.group(node);
    let face = Face::of_group(&group);
    let what = match node {
        Node::Domain(_) => "AppDomain",
        Node::Module(_) => "module",
        Node::Namespace(_) => "namespace",
        Node::Type(_) | Node::Method(_) => "type",
    };
    let label = connection.catalogue.label(node);
    let said = format!("{what} {label}");
    let selected = connection.selection.contains(node);
    response.widget_info(|| egui::WidgetInfo::selected(egui::Role::Row, true, selected, &said));
    ui.ctx().accesskit_node_builder(response.id, |node| node.set_expanded(row.expanded));
    knob(ui, context, rect, clip, node, &face, &said, commands);
    let arrow = Rect::from_center_size(pos2(left + 6.0, rect.center().y), vec2(16.0, rect.height()));
    let open = ui.interact(arrow.intersect(clip), ui.scope_id().with(("arrow", node)), Sense::click());
    open.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::DisclosureTriangle, true, format!("expand {said}"))
    });
    let way = if row.expanded { Way::Down } else { Way::Right };
    signs::triangle(painter, arrow.center(), way, 4.5, palette.weak);
    if open.clicked() {
        commands.push(Command::Expand(node));
    }
    let highlights = connection.list.query().highlights(label);
    let mut job = LayoutJob::default();
    append(&mut job, label, 0..label.len(), &highlights, palette.text, palette);
    let count = words::count(row.methods.into(), "method", "methods");
    let tail = format!("   {what}, {count}{}", remarks(connection, node));
    job.append(&tail, 0.0, TextFormat::simple(FontId::proportional(12.0), palette.weak));
    put_name(painter, rect, Rangef::new(left + 18.0, columns.name.max - 8.0), job);
    state_of(context, rect, &face);
    if group.sums.known > 0 {
        number(painter, rect, columns.calls, &words::grouped(group.sums.calls), palette.text);
        number(painter, rect, columns.rate, &numbers::rate(group.sums.rate), palette.text);
    }
}

fn remarks(connection: &Connection, node: Node) -> String {
    let Node::Module(module) = node else { return String::new() };
    let Some(module) = connection.catalogue.module(module) else { return String::new() };
    let mut remarks = String::new();
    if module.shared {
        remarks.push_str(", shared by every AppDomain");
    }
    if module.dynamic {
        remarks.push_str(", dynamic");
    }
    if module.unloaded {
        remarks.push_str(", unloaded");
    }
    remarks
}

#[expect(
    clippy::too_many_arguments,
    reason = "a row is one thing; a struct for one call would only hide that"
)]
fn knob(
    ui: &mut Ui,
    context: &Context<'_>,
    rect: Rect,
    clip: Rect,
    node: Node,
    face: &Face,
    name: &str,
    commands: &mut Vec<Command>,
) {
    let centre = pos2(context.columns.knob.center(), rect.center().y);
    let place = Rect::from_center_size(centre, vec2(KNOB, KNOB));
    if clip.height() < rect.height() * 0.5 {
        return;
    }
    let label = format!("dial of {name}");
    let connection = context.connection;
    let enabled = connection.obstacle().map_or(Ok(()), Err);
    let wheel = connection.selection.focus() == Some(node);
    let knob = Knob::new(face.knob(connection, &label), KNOB).wheel(wheel).enabled(enabled);
    let turned = knob.show_at(ui, ui.scope_id().with(("dial", node)), place.intersect(clip));
    if let Some(level) = turned.to {
        commands.push(Command::Turn { methods: connection.targets_of(node), level });
    }
    if let Some(level) = turned.refused {
        commands.push(Command::NotOffered(level));
    }
}

fn numbers_of(context: &Context<'_>, rect: Rect, face: &Face, row: Option<&LiveRow>) {
    let Context { painter, columns, connection, palette } = context;
    state_of(context, rect, face);
    let Some(row) = row else { return };
    number(painter, rect, columns.calls, &words::grouped(row.calls), palette.text);
    if let Some(rate) = row.rate.filter(|_| connection.obstacle().is_none()) {
        number(painter, rect, columns.rate, &numbers::rate(f64::from(rate)), palette.text);
    }
    if let Some(series) = row.series.as_ref().filter(|_| columns.spark.span() > 20.0) {
        let place = Rect::from_x_y_ranges(columns.spark, rect.y_range()).shrink2(vec2(8.0, 4.0));
        sparkline::paint(painter, place, series.at(connection.live.tick()), palette);
    }
}

fn state_of(context: &Context<'_>, rect: Rect, face: &Face) {
    if context.columns.state.span() == 0.0 {
        return;
    }
    let at = pos2(context.columns.state.min + 4.0, rect.center().y);
    let colour = face.colour(context.palette);
    context.painter.text(at, Align2::LEFT_CENTER, &face.says, FontId::proportional(13.0), colour);
}

fn number(painter: &Painter, rect: Rect, column: Rangef, text: &str, colour: Color32) {
    if column.span() == 0.0 {
        return;
    }
    let at = pos2(column.max - 8.0, rect.center().y);
    painter.text(at, Align2::RIGHT_CENTER, text, FontId::monospace(DIGITS), colour);
}

/// Appends a part of a text, matched letters marked.
fn append(
    job: &mut LayoutJob,
    text: &str,
    range: Range<usize>,
    highlights: &[Range<usize>],
    colour: Color32,
    palette: &Palette,
) {
    let Some(part) = text.get(range.clone()) else { return };
    let plain = TextFormat::simple(FontId::proportional(14.0), colour);
    let marked = TextFormat {
        background: palette.mark,
        color: palette.marked,
        ..TextFormat::simple(FontId::proportional(14.0), colour)
    };
    let mut at = 0;
    for hit in within(highlights, range) {
        job.append(part.get(at..hit.start).unwrap_or_default(), 0.0, plain.clone());
        job.append(part.get(hit.clone()).unwrap_or_default(), 0.0, marked.clone());
        at = hit.end;
    }
    job.append(part.get(at..).unwrap_or_default(), 0.0, plain);
}

fn put_name(painter: &Painter, rect: Rect, place: Rangef, mut job: LayoutJob) {
    job.wrap = TextWrapping::truncate_at_width(place.span().max(10.0));
    let galley = painter.layout_job(job);
    let at = pos2(place.min, rect.center().y - galley.size().y / 2.0);
    painter.galley(at, galley, Color32::PLACEHOLDER);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_narrow_table_the_name_keeps_its_room() {
        for (width, gone) in [(760.0, 0), (600.0, 1), (500.0, 2), (400.0, 3), (300.0, 4)] {
            let columns = Columns::of(Rect::from_min_size(pos2(10.0, 0.0), vec2(width, 100.0)));
            let all = [columns.spark, columns.state, columns.rate, columns.calls];
            assert_eq!(all.iter().filter(|column| column.span() == 0.0).count(), gone, "{width}");
            assert!(columns.name.span() >= NAME, "{width}");
            assert!(all.iter().all(|column| column.min >= columns.name.max && column.max <= 10.0 + width));
        }
    }
}
