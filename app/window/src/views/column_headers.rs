//! The column headers: they sort, move and resize, list the hidden columns, and show whether the order is frozen.

use super::column_menu;
use super::columns::Columns;
use super::differences;
use super::number_range;
use crate::commands::UiCommand;
use crate::settings::columns::{ColumnLayout, TableColumn, WIDTHS};
use crate::ui::capitalized;
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{self, Align, Align2, CursorIcon, FontId, Layout, Rangef, Rect, Sense, Ui, pos2, vec2};
use redial_model::list::{Sort, SortKey};
use redial_model::method_table::Shape;
use redial_model::number_range::NumberRange;
use redial_model::subject::Subject;
use redial_text::times::{TimeColumn, resolution};
use redial_text::words;

/// Width of the name column below which the button of hidden columns shows a number only, points.
const SHORT: f32 = 150.0;
/// Width below which that button leaves room only for a shorter note about the order.
const WHOLE: f32 = 280.0;
/// Width below which it leaves room only for the button that sorts again.
const NARROW: f32 = 180.0;
/// Half the width in which an edge can be grabbed, points.
const EDGE: f32 = 5.0;
/// Padding of the button, points.
const PADDING: f32 = 5.0;
/// Width of the menu of hidden columns, points.
const MENU: f32 = 260.0;
/// Width from which the longest note about the order fits, points.
const POINTED: f32 = 330.0;

/// The headers' own state.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadersState {
    /// The column whose edge is being dragged.
    resized: Option<Resize>,
}

/// A column that the user makes wider or narrower.
#[derive(Clone, Copy, Debug)]
struct Resize {
    column: TableColumn,
    /// The pointer and the width when the drag began, points. Side by side, the tables move meanwhile.
    from: (f32, f32),
    /// The width so far, points.
    width: f32,
}

impl HeadersState {
    /// Returns the layout with the width that is being dragged.
    pub fn dragged(&self, layout: &ColumnLayout) -> Option<ColumnLayout> {
        self.resized.map(|resize| layout.with_width(resize.column, Some(resize.width)))
    }
}

/// The column headers of a table.
#[derive(Clone, Copy)]
pub struct Headers<'a> {
    /// The places of the columns.
    pub columns: &'a Columns,
    /// The columns that the user wants.
    pub layout: &'a ColumnLayout,
    /// The table's process or processes.
    pub subject: Subject<'a>,
    /// Whether the pointer freezes the order.
    pub by_pointer: bool,
    /// Whether numbers are compared with those of other tables.
    pub compares: bool,
}

impl Headers<'_> {
    /// Shows the column headers; returns whether the pointer is at the button that sorts again.
    pub fn show(
        &self,
        ui: &mut Ui,
        head: Rect,
        state: &mut HeadersState,
        commands: &mut Vec<UiCommand>,
    ) -> bool {
        let palette = Palette::of(ui);
        ui.painter_at(head).rect_filled(head, 0.0, palette.raised);
        let Headers { columns, subject, by_pointer, .. } = *self;
        let (table, gone) = (subject.table(), columns.gone());
        let mut name = columns.name;
        let mut at_sign = false;
        let by = match (table.list.is_frozen(), by_pointer) {
            (true, _) => FreezeReason::Wish,
            (false, true) => FreezeReason::Pointer,
            (false, false) => FreezeReason::Moment,
        };
        let note = frozen(name, !gone.is_empty(), by);
        // First, so that it keeps its place when the order freezes.
        if !gone.is_empty() && columns.is_named {
            name.max = left_out(ui, head, name, gone, commands);
        }
        if table.is_order_behind() && columns.is_named {
            (name.max, at_sign) = sort_again(ui, head, name, note, commands);
        }
        if columns.is_named {
            name.max = number_range::header(ui, head, name, &table.live);
        }
        let named = columns.is_named.then_some((SortKey::Name, "method", name));
        for (key, text, range) in [(SortKey::Wanted, "dial", columns.knob)].into_iter().chain(named) {
            let rect = Rect::from_x_y_ranges(range, head.y_range());
            let response = self.sorting(ui, rect, (text, Some(key)), false, commands);
            column_menu::show(ui, &response, None, self.layout, commands);
        }
        for (column, range) in columns.shown() {
            let rect = Rect::from_x_y_ranges(*range, head.y_range());
            let right = !matches!(column, TableColumn::State | TableColumn::Spark);
            let response = self.sorting(ui, rect, (column.name(), column.sort_key()), right, commands);
            self.moving(ui, &response, (*column, head), commands);
            column_menu::show(ui, &response, Some(*column), self.layout, commands);
        }
        // The edge of a column that went is never let go.
        state.resized = state.resized.filter(|one| columns.range(one.column).is_some());
        // Above the headers, because they overlap them.
        for (column, range) in columns.shown() {
            self.edge(ui, (*column, range.min, head), state, commands);
        }
        at_sign
    }

    /// Shows one header, which sorts by its number.
    fn sorting(
        &self,
        ui: &mut Ui,
        rect: Rect,
        (text, key): (&str, Option<SortKey>),
        right: bool,
        commands: &mut Vec<UiCommand>,
    ) -> egui::Response {
        let palette = Palette::of(ui);
        let table = self.subject.table();
        let sort = table.list.sort();
        let response = ui.interact(rect, ui.scope_id().with(("head", text)), Sense::click_and_drag());
        let chosen = key == Some(sort.key);
        let label = match key {
            Some(_) => format!("Sort by {text}"),
            None => capitalized(text),
        };
        response.widget_info(|| {
            egui::WidgetInfo::selected(egui::Role::ColumnHeader, true, chosen, label.clone())
        });
        let colour = if response.hovered() || chosen { palette.text } else { palette.weak };
        let (x, align) = match right {
            true => (rect.right() - 8.0, Align2::RIGHT_CENTER),
            false => (rect.left() + 4.0, Align2::LEFT_CENTER),
        };
        let painter = ui.painter_at(rect);
        let font = FontId::proportional(SMALL);
        let written = painter.text(pos2(x, rect.center().y), align, capitalized(text), font, colour);
        if chosen {
            let way = if sort.descending { TriangleDirection::Down } else { TriangleDirection::Up };
            let x = if right { written.left() - 8.0 } else { written.right() + 8.0 };
            icons::triangle(&painter, pos2(x, rect.center().y), way, 4.0, palette.accent);
        }
        if response.has_focus() {
            let stroke = egui::Stroke::new(1.5, palette.accent);
            painter.rect_stroke(rect.shrink(1.0), 2.0, stroke, egui::StrokeKind::Inside);
        }
        if let Some(key) = key.filter(|_| response.clicked()) {
            // Numbers sort from the largest, names from A.
            let descending = if chosen { !sort.descending } else { key != SortKey::Name };
            commands.push(UiCommand::Sort(Sort { key, descending }));
        }
        if egui::Popup::is_any_open(ui.ctx()) {
            return response;
        }
        let mut meaning = self.meaning(text, key);
        let column = TableColumn::ALL.into_iter().find(|column| column.name() == text);
        if self.compares && column.is_some_and(differences::is_compared) {
            meaning.push_str(differences::MEANING);
        }
        let covers = number_range::label(&table.live).filter(|_| is_ranged(key));
        meaning.extend(covers.map(|label| format!("\nCovers calls {label}.")));
        response.on_hover_text(match table.shape {
            _ if key.is_none() => meaning,
            _ if chosen => format!("Sorted by {text}. Click to reverse the order.{meaning}"),
            Shape::List => format!("Click to sort by {text}.{meaning}"),
            Shape::Tree => format!("Click to sort within each group by {text}.{meaning}"),
        })
    }

    fn meaning(&self, text: &str, key: Option<SortKey>) -> String {
        match key {
            _ if text == TableColumn::Share.name() => {
                "\nThe method's part of the self time of all timed methods.".to_owned()
            }
            Some(SortKey::Time(column)) if column.is_percentile() => {
                let precision = resolution(None, self.subject.timing_cost());
                format!("\n{}\n{precision}", capitalized(column.meaning()))
            }
            Some(SortKey::Time(column)) => format!("\n{}", capitalized(column.meaning())),
            Some(SortKey::Calls) => match self.subject.table().live.range() {
                NumberRange::Total => "\nCalls counted since the method was first dialled.".to_owned(),
                _ => "\nCalls counted.".to_owned(),
            },
            Some(SortKey::Rate) if self.subject.table().shape == Shape::List => {
                "\nCalls per second now. Methods no longer counted sort by their last rate.".to_owned()
            }
            None => "Calls per second over the last minute. Each row has its own scale, so compare shapes \
                here and numbers in the other columns."
                .to_owned(),
            _ => String::new(),
        }
    }

    /// Moves a column that the user drags to the place of another.
    fn moving(
        &self,
        ui: &Ui,
        response: &egui::Response,
        (column, head): (TableColumn, Rect),
        commands: &mut Vec<UiCommand>,
    ) {
        let Some(at) =
            response.interact_pointer_pos().filter(|_| response.dragged() || response.drag_stopped())
        else {
            return;
        };
        let over = self.columns.shown().iter().find(|(_, range)| range.contains(at.x));
        let Some((other, range)) = over.filter(|(other, _)| *other != column) else { return };
        if response.drag_stopped() {
            commands.push(UiCommand::SetColumns(self.layout.with_moved(column, *other)));
            return;
        }
        ui.ctx().set_cursor_icon(CursorIcon::Grabbing);
        let x = if range.center() > response.rect.center().x { range.max } else { range.min };
        ui.painter_at(head).vline(x, head.y_range(), egui::Stroke::new(3.0, Palette::of(ui).accent));
    }

    /// Lets the user drag a column's left edge; a double click restores the width.
    fn edge(
        &self,
        ui: &Ui,
        (column, x, head): (TableColumn, f32, Rect),
        state: &mut HeadersState,
        commands: &mut Vec<UiCommand>,
    ) {
        let palette = Palette::of(ui);
        let place = Rect::from_x_y_ranges(Rangef::new(x - EDGE, x + EDGE), head.y_range());
        let id = ui.scope_id().with(("edge", column));
        // Reached with the pointer only: the dialog *Columns* has the widths for the keyboard.
        let response = ui.interact(place, id, Sense::CLICK.union(Sense::DRAG));
        let label = format!("Left edge of {}", column.name());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Splitter, true, &label));
        let is_at = response.hovered() || response.dragged();
        let (width, colour) = if is_at { (2.0, palette.accent) } else { (1.0, palette.line) };
        ui.painter_at(head).vline(x, head.shrink(5.0).y_range(), egui::Stroke::new(width, colour));
        if response.dragged()
            && let Some(at) = response.interact_pointer_pos()
        {
            let now = self.columns.range(column).map_or(0.0, Rangef::span);
            let from = ui.input(|input| input.pointer.press_origin()).map_or(at.x, |origin| origin.x);
            let new = Resize { column, from: (from, now), width: now };
            let mut resize = state.resized.filter(|one| one.column == column).unwrap_or(new);
            let widest = self.columns.widest(column).max(*WIDTHS.start());
            resize.width = (resize.from.1 + resize.from.0 - at.x).clamp(*WIDTHS.start(), widest);
            state.resized = Some(resize);
        }
        if response.double_clicked() {
            commands.push(UiCommand::SetColumns(self.layout.with_width(column, None)));
        } else if response.drag_stopped()
            && let Some(Resize { column, width, .. }) = state.resized.take()
        {
            commands.push(UiCommand::SetColumns(self.layout.with_width(column, Some(width.round()))));
        }
        response.on_hover_cursor(CursorIcon::ResizeHorizontal);
    }
}

/// Returns whether a column's numbers follow the range that the user chose.
fn is_ranged(key: Option<SortKey>) -> bool {
    matches!(key, Some(SortKey::Calls | SortKey::Time(_))) && key != Some(SortKey::Time(TimeColumn::InFlight))
}

/// Shows a button with the number of hidden columns and a menu of them; returns its left end.
fn left_out(
    ui: &mut Ui,
    head: Rect,
    name: Rangef,
    gone: &[TableColumn],
    commands: &mut Vec<UiCommand>,
) -> f32 {
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
    let keys = UiCommand::ZoomOut.keys(ui.ctx()).unwrap_or_default();
    let how = format!(
        "To see more columns, widen the window, shrink a panel beside the table, or zoom \
                      out ({keys})."
    );
    egui::Popup::menu(&response).show(|ui| {
        ui.set_max_width(MENU);
        // Entries are as wide as the menu; this layout would justify their text.
        let text = |ui: &mut Ui, text: &str| {
            ui.with_layout(Layout::top_down(Align::Min), |ui| ui.weak(text));
        };
        text(ui, "Hidden for lack of room. Sort by one to show it:");
        for column in gone {
            let key = column.sort_key();
            let entry = egui::Button::new(capitalized(column.name()));
            let entry = ui
                .add_enabled(key.is_some(), entry)
                .on_disabled_hover_text("Rows cannot be sorted by this column");
            if let Some(key) = key.filter(|_| entry.clicked()) {
                commands.push(UiCommand::Sort(Sort { key, descending: true }));
                ui.close();
            }
        }
        text(ui, &how);
        if ui.button(UiCommand::Columns.name()).clicked() {
            commands.push(UiCommand::Columns);
            ui.close();
        }
    });
    let names: Vec<&str> = gone.iter().map(|column| column.name()).collect();
    if !egui::Popup::is_any_open(ui.ctx()) {
        response.on_hover_text(format!("Hidden columns: {}\n{how}", names.join(", ")));
    }
    place.left() - 4.0
}

/// The cause that freezes the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FreezeReason {
    /// The user asked for it.
    Wish,
    /// The pointer is over a row.
    Pointer,
    /// The pointer left a moment ago, or a key changed a row.
    Moment,
}

/// Returns the note before *Sort again* that fits beside the header and the button of hidden columns
/// (`gone`). It says why the order is frozen, because the user may not have asked for it.
fn frozen(name: Rangef, gone: bool, by: FreezeReason) -> &'static str {
    match (name.span(), gone, by) {
        (width, true, _) if width < NARROW => "",
        (width, _, FreezeReason::Pointer) if width >= POINTED => "Frozen while you point at a row · ",
        (width, true, _) if width < WHOLE => "Frozen · ",
        (_, _, FreezeReason::Pointer) => "Frozen at the pointer · ",
        (_, _, FreezeReason::Moment) => "Frozen for a moment · ",
        (_, _, FreezeReason::Wish) => "Order frozen · ",
    }
}

/// Shows the button that sorts rows by the current numbers, with the note `frozen` before it. The header always
/// has room for it and for the button of hidden columns, so nothing below moves when it appears. Returns its
/// left end and whether the pointer is over it.
fn sort_again(
    ui: &mut Ui,
    head: Rect,
    name: Rangef,
    frozen: &str,
    commands: &mut Vec<UiCommand>,
) -> (f32, bool) {
    let palette = Palette::of(ui);
    let painter = ui.painter_at(head);
    let font = FontId::proportional(SMALL);
    let right = pos2(name.max - 8.0, head.center().y);
    let again = painter.layout_no_wrap("Sort again".to_owned(), font.clone(), palette.accent);
    let button = Align2::RIGHT_CENTER.anchor_size(right, again.size());
    painter.galley(button.min, again, palette.accent);
    let words = painter.text(button.left_center(), Align2::RIGHT_CENTER, frozen, font, palette.weak);
    let place = button.expand2(vec2(4.0, 6.0)).intersect(head);
    let response = ui.interact(place, ui.scope_id().with("Sort again"), Sense::click());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, "Sort again"));
    if response.hovered() || response.has_focus() {
        painter.hline(button.x_range(), button.bottom(), egui::Stroke::new(1.0, palette.accent));
    }
    let (clicked, at_it) = (response.clicked(), response.hovered());
    let keys = UiCommand::SortAgain.keys(ui.ctx()).unwrap_or_default();
    let why = UiCommand::SortAgain.explained().unwrap_or_default();
    response.on_hover_text(format!("{} ({keys})\n{why}", UiCommand::SortAgain.name()));
    if clicked {
        commands.push(UiCommand::SortAgain);
    }
    (words.left(), at_it)
}
