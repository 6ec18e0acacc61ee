//! The heads of the columns: they sort, say how many columns found no room, and whether the order is held.

use super::columns::{Columns, SPARK};
use crate::commands::Command;
use crate::model::connection::{Connection, Shape};
use crate::model::list::{Key, Sort};
use crate::output::times::{TimeColumn, resolution};
use crate::output::words;
use crate::ui::signs::{self, Way};
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{self, Align, Align2, FontId, Layout, Rangef, Rect, Sense, Ui, pos2, vec2};

/// Width of the name's column below which its head finds room for a number only, points.
const SHORT: f32 = 150.0;
/// Width below which beside a number of columns there is room for less of what else it says.
const WHOLE: f32 = 280.0;
/// The same for all but what is clicked.
const NARROW: f32 = 180.0;
/// Room in a button beside what it says, points.
const PADDING: f32 = 5.0;
/// Width of the menu of columns, points.
const MENU: f32 = 260.0;
/// Width from which there is room for all of it.
const POINTED: f32 = 330.0;

/// A column that found no room: what it is called, and what rows are sorted by there.
type Gone = (&'static str, Option<Key>);

/// The heads of the columns; whether the pointer is at the sign that puts the rows in order.
pub fn show(
    ui: &mut Ui,
    head: Rect,
    (columns, gone): (&Columns, &[Gone]),
    (connection, by_pointer): (&Connection, bool),
    commands: &mut Vec<Command>,
) -> bool {
    let palette = Palette::of(ui);
    ui.painter_at(head).rect_filled(head, 0.0, palette.raised);
    let sort = connection.list.sort();
    let times = TimeColumn::ALL.into_iter().zip(columns.times);
    let mut name = columns.name;
    let mut at_sign = false;
    if connection.is_order_behind() {
        let by = match (connection.list.hold(), by_pointer) {
            (true, _) => HeldBy::Wish,
            (false, true) => HeldBy::Pointer,
            (false, false) => HeldBy::Moment,
        };
        (name.max, at_sign) = sort_again(ui, head, name, held(name, !gone.is_empty(), by), commands);
    }
    if !gone.is_empty() {
        name.max = left_out(ui, head, name, gone, commands);
    }
    for (key, text, range, right) in [
        (Key::Wanted, "dial", columns.knob, false),
        (Key::Name, "method", name, false),
        (Key::State, "state", columns.state, false),
        (Key::Calls, "calls", columns.calls, true),
        (Key::Rate, "per second", columns.rate, true),
    ]
    .into_iter()
    .chain(times.map(|(column, range)| (Key::Time(column), column.name(), range, true)))
    {
        if range.span() <= 0.0 {
            continue;
        }
        let rect = Rect::from_x_y_ranges(range, head.y_range());
        let response = ui.interact(rect, ui.scope_id().with(("head", text)), Sense::click());
        let chosen = sort.key == key;
        response.widget_info(|| {
            egui::WidgetInfo::selected(egui::Role::ColumnHeader, true, chosen, format!("sort by {text}"))
        });
        let colour = if response.hovered() || chosen { palette.text } else { palette.weak };
        let (x, align) = match right {
            true => (rect.right() - 8.0, Align2::RIGHT_CENTER),
            false => (rect.left() + 4.0, Align2::LEFT_CENTER),
        };
        let painter = ui.painter_at(rect);
        let written =
            painter.text(pos2(x, rect.center().y), align, text, FontId::proportional(SMALL), colour);
        if chosen {
            let way = if sort.descending { Way::Down } else { Way::Up };
            let x = if right { written.left() - 8.0 } else { written.right() + 8.0 };
            signs::triangle(&painter, pos2(x, rect.center().y), way, 4.0, palette.accent);
        }
        if response.has_focus() {
            let stroke = egui::Stroke::new(1.5, palette.accent);
            painter.rect_stroke(rect.shrink(1.0), 2.0, stroke, egui::StrokeKind::Inside);
        }
        let clicked = response.clicked();
        let meaning = match key {
            Key::Time(column) if column.is_percentile() => {
                format!("\n{}\n{}", column.meaning(), resolution(None, connection.cost_of_timing()))
            }
            Key::Time(column) => format!("\n{}", column.meaning()),
            Key::Calls => "\ncalls counted since it was first dialled".to_owned(),
            Key::Rate if connection.shape == Shape::List => {
                "\ncalls a second now; what is not counted any more stands by how often it was called last"
                    .to_owned()
            }
            _ => String::new(),
        };
        response.on_hover_text(match connection.shape {
            _ if chosen => format!("sorted by {text}; a click turns the order round{meaning}"),
            Shape::List => format!("sorts the methods by {text}{meaning}"),
            Shape::Tree => format!("sorts what is in each group by {text}{meaning}"),
        });
        if clicked {
            // Numbers are looked at for the largest, names from A on.
            let descending = if chosen { !sort.descending } else { key != Key::Name };
            commands.push(Command::Sort(Sort { key, descending }));
        }
    }
    if columns.spark.span() > 0.0 {
        let spark = Rect::from_x_y_ranges(columns.spark, head.y_range());
        let at = pos2(spark.left() + 8.0, spark.center().y);
        ui.painter_at(head).text(at, Align2::LEFT_CENTER, SPARK, FontId::proportional(SMALL), palette.weak);
        ui.interact(spark, ui.scope_id().with(("head", SPARK)), Sense::hover()).on_hover_text(
            "calls a second in the last minute, each row to its own scale: compare their shapes, and the numbers beside them",
        );
    }
    at_sign
}

/// A button that says how many columns found no room, with a menu of them; where it begins.
fn left_out(ui: &mut Ui, head: Rect, name: Rangef, gone: &[Gone], commands: &mut Vec<Command>) -> f32 {
    let palette = Palette::of(ui);
    let text = match name.span() < SHORT {
        true => format!("+{}", gone.len()),
        false => format!("+{}", words::count(gone.len() as u64, "column", "columns")),
    };
    let painter = ui.painter_at(head);
    let written = painter.layout_no_wrap(text.clone(), FontId::proportional(SMALL), palette.weak);
    let right = pos2(name.max - 8.0 - PADDING, head.center().y);
    let inner = Align2::RIGHT_CENTER.anchor_size(right, written.size());
    let place = inner.expand2(vec2(PADDING, 3.0)).intersect(head);
    let response = ui.interact(place, ui.scope_id().with("left out"), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &text));
    let look = *ui.style().interact(&response);
    painter.rect(place, look.corner_radius, look.bg_fill, look.bg_stroke, egui::StrokeKind::Inside);
    painter.galley(inner.min, written, palette.weak);
    let keys = Command::ZoomOut.keys(ui.ctx()).unwrap_or_default();
    let how = format!("Make the window wider, drag a panel beside the table narrower, or zoom out ({keys}).");
    egui::Popup::menu(&response).show(|ui| {
        ui.set_max_width(MENU);
        // Entries are as wide as the menu, and text in such a layout would be stretched to both of its edges.
        let text = |ui: &mut Ui, text: &str| {
            ui.with_layout(Layout::top_down(Align::Min), |ui| ui.weak(text));
        };
        text(ui, "No room for these; one that rows are sorted by has room:");
        for (name, key) in gone {
            let entry = egui::Button::new(*name);
            let entry =
                ui.add_enabled(key.is_some(), entry).on_disabled_hover_text("rows are not sorted by it");
            if let Some(key) = key.filter(|_| entry.clicked()) {
                commands.push(Command::Sort(Sort { key, descending: true }));
                ui.close();
            }
        }
        text(ui, &how);
    });
    let names: Vec<&str> = gone.iter().map(|(name, _)| *name).collect();
    if !egui::Popup::is_any_open(ui.ctx()) {
        response.on_hover_text(format!("no room for: {}\n{how}", names.join(", ")));
    }
    place.left() - 4.0
}

/// What holds the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeldBy {
    /// It was asked for.
    Wish,
    /// The pointer is at a row.
    Pointer,
    /// It was until a moment ago, or a key did something to a row.
    Moment,
}

/// What is said before *sort again*, as far as there is room beside the name's head and a number of columns that are `gone`:
/// who did not ask for the order to be held is told what holds it.
fn held(name: Rangef, gone: bool, by: HeldBy) -> &'static str {
    match (name.span(), gone, by) {
        (width, true, _) if width < NARROW => "",
        (width, _, HeldBy::Pointer) if width >= POINTED => "held while you point at a row · ",
        (width, true, _) if width < WHOLE => "held · ",
        (_, _, HeldBy::Pointer) => "held at the pointer · ",
        (_, _, HeldBy::Moment) => "held for a moment · ",
        (_, _, HeldBy::Wish) => "order held · ",
    }
}

/// The sign that the rows stand in an order of earlier numbers, which puts them in that of the present ones. In the head
/// there is always room for it, and beside it for how many columns found none: nothing below moves when it comes. `held` is
/// said before it. Where it begins, and whether the pointer is at it.
fn sort_again(ui: &mut Ui, head: Rect, name: Rangef, held: &str, commands: &mut Vec<Command>) -> (f32, bool) {
    let palette = Palette::of(ui);
    let painter = ui.painter_at(head);
    let font = FontId::proportional(SMALL);
    let right = pos2(name.max - 8.0, head.center().y);
    let again = painter.layout_no_wrap("sort again".to_owned(), font.clone(), palette.accent);
    let button = Align2::RIGHT_CENTER.anchor_size(right, again.size());
    painter.galley(button.min, again, palette.accent);
    let words = painter.text(button.left_center(), Align2::RIGHT_CENTER, held, font, palette.weak);
    let place = button.expand2(vec2(4.0, 6.0)).intersect(head);
    let response = ui.interact(place, ui.scope_id().with("sort again"), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "sort again"));
    if response.hovered() || response.has_focus() {
        painter.hline(button.x_range(), button.bottom(), egui::Stroke::new(1.0, palette.accent));
    }
    let (clicked, at_it) = (response.clicked(), response.hovered());
    let keys = Command::SortAgain.keys(ui.ctx()).unwrap_or_default();
    let why = Command::SortAgain.explained().unwrap_or_default();
    response.on_hover_text(format!("{} ({keys})\n{why}", Command::SortAgain.name()));
    if clicked {
        commands.push(Command::SortAgain);
    }
    (words.left(), at_it)
}
