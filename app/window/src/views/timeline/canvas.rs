//! Paints the tracks.

use super::areas::Canvas;
use super::shown_processes::{ShownProcess, origin, range};
use super::state::TimelineState;
use super::track_layout::{LANE, Layout, PlacedLane, layout, vertical_range};
use super::wording::{bar_font, canvas_id, length, method_name};
use super::{gestures, ruler};
use crate::commands::UiCommand;
use crate::ui::local_time::time_of_day;
use crate::ui::theme::Palette;
use crate::ui::{method_colours, painted_part};
use eframe::egui::{
    self, Align2, FontId, Key, Mesh, Modifiers, Painter, Rect, Sense, Shape, Stroke, Ui, accesskit, pos2,
    vec2,
};
use redial_model::call_history::{Bar, Span, TimeView, TrackKey};
use redial_model::ids::ConnectionId;
use redial_protocol::peer_text::clean;
use redial_text::traced_calls::{arguments, course, outcome};
use redial_text::width::cut_end;
use redial_text::words;
use std::sync::Arc;

/// Narrowest bar, points. Calls closer together are one bar.
const NARROWEST: f32 = 1.5;
/// Narrowest bar with a name, points.
const NAMED: f32 = 36.0;
/// Narrowest bar that screen readers find, points.
const DESCRIBED: f32 = 8.0;
/// Most names in a frame.
const MAX_NAMES: usize = 800;

/// What is painted of the bars, and what the pointer is over.
struct Bars {
    mesh: Mesh,
    /// With the places of their processes.
    names: Vec<(Rect, usize, Span)>,
    /// Bars that stand for several short calls, with their number.
    runs: Vec<(Rect, u32)>,
    hovered: Option<(Bar, Rect, usize)>,
    selected: Option<Rect>,
}

/// Shows the timeline in the rest of `ui`.
pub fn show(
    ui: &mut Ui,
    state: &mut TimelineState,
    shown: &[ShownProcess<'_>],
    commands: &mut Vec<UiCommand>,
) {
    let all = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(all);
    let (layout, range) = (layout(shown), range(shown));
    let canvas = Canvas::of(all, layout.height);
    let response = ui.interact(all, canvas_id(), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Timeline of calls"));
    if state.follow(range).is_none() {
        return;
    }
    gestures::apply(ui, state, &canvas, &response, range, layout.height);
    if let Some(rect) = canvas.scroll_bar {
        let place = (state.offset.into(), canvas.tracks.height().into(), layout.height.into());
        state.offset = state.scroll_bar.show(ui, canvas_id().with("bar"), rect, place) as f32;
    }
    if std::mem::take(&mut state.reveal) {
        reveal(state, shown, &layout.lanes, &canvas);
    }
    let Some(view) = state.view().copied() else { return };
    let palette = Palette::of(ui);
    let painter = ui.painter_at(all);
    ruler::paint(
        &painter.with_clip_rect(canvas.ruler.union(canvas.tracks)),
        &canvas,
        &view,
        origin(shown),
        palette,
    );
    let pointer = response.hover_pos().filter(|at| canvas.tracks.contains(*at) && state.gesture.is_none());
    let bars = bars(ui, state, &canvas, (shown, &layout.lanes), &view, pointer);
    let tracks = painter.with_clip_rect(canvas.tracks);
    tracks.add(Shape::mesh(bars.mesh));
    runs(ui, &tracks, &bars.runs, palette);
    let clicked = names(ui, &tracks, shown, &bars.names, palette);
    titles(ui, &painter, &canvas, shown, &layout, state.offset);
    track_names(&painter.with_clip_rect(canvas.names), &canvas, shown, &layout.lanes, state.offset, palette);
    if let Some(rect) = bars.selected {
        tracks.rect_stroke(rect, 1.0, Stroke::new(2.0, palette.accent), egui::StrokeKind::Inside);
    }
    if let Some((bar, rect, process)) = &bars.hovered {
        tracks.rect_stroke(*rect, 1.0, Stroke::new(1.0, palette.text), egui::StrokeKind::Inside);
        if let Some(process) = shown.get(*process) {
            response.clone().on_hover_ui_at_pointer(|ui| tooltip(ui, process, bar));
        }
    }
    measured(&tracks, &canvas, state, &view, palette);
    if response.has_focus() {
        painter.rect_stroke(all.shrink(0.5), 0.0, Stroke::new(1.0, palette.accent), egui::StrokeKind::Inside);
    }
    let hit = bars.hovered.map(|(bar, _, process)| (process, bar));
    if response.clicked() || clicked.is_some() {
        ui.memory_mut(|memory| memory.request_focus(canvas_id()));
        state.measured = None;
        match (clicked, hit) {
            (Some(call), _) => select(state, shown, Some(call), commands),
            (None, Some((process, bar))) if bar.count == 1 => {
                select(state, shown, Some((process, bar.first)), commands);
            }
            (None, Some((_, bar))) => state.change_view(|view| *view = TimeView::around(bar.start, bar.end)),
            (None, None) => select(state, shown, None, commands),
        }
    }
    if response.double_clicked()
        && let Some((_, bar)) = hit.filter(|(_, bar)| bar.count == 1)
    {
        state.zoom_to(&bar.first);
    }
    let enter = response.has_focus() && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
    if enter && let Some((process, span)) = state.selected() {
        commands.push(UiCommand::ShowEvent(process, span.number));
    }
}

/// Selects a call of the process at a place, or none.
fn select(
    state: &mut TimelineState,
    shown: &[ShownProcess<'_>],
    call: Option<(usize, Span)>,
    commands: &mut Vec<UiCommand>,
) {
    let call = call.and_then(|(process, span)| Some((shown.get(process)?, span)));
    state.select(call.map(|(process, span)| (process.connection, span)));
    let event = call.and_then(|(process, span)| process.events.by_number(span.number));
    commands.push(UiCommand::SelectEvent(event.map(Arc::clone)));
}

/// Scrolls the selected call's lane into view.
fn reveal(state: &mut TimelineState, shown: &[ShownProcess<'_>], lanes: &[PlacedLane<'_>], canvas: &Canvas) {
    let Some((process, span)) = state.selected() else { return };
    let holds = |one: &&PlacedLane<'_>| {
        is_of(shown, one.process, process)
            && one.lane.at(span.start).is_some_and(|at| at.number == span.number)
    };
    if let Some(lane) = lanes.iter().find(holds) {
        let (top, height) = (lane.top, canvas.tracks.height());
        if top < state.offset || top + LANE > state.offset + height {
            state.offset = (top - height / 2.0).max(0.0);
        }
    }
}

/// Whether the process at a place has this connection.
fn is_of(shown: &[ShownProcess<'_>], place: usize, connection: ConnectionId) -> bool {
    shown.get(place).is_some_and(|process| process.connection == connection)
}

fn bars(
    ui: &Ui,
    state: &TimelineState,
    canvas: &Canvas,
    (shown, lanes): (&[ShownProcess<'_>], &[PlacedLane<'_>]),
    view: &TimeView,
    pointer: Option<egui::Pos2>,
) -> Bars {
    let palette = Palette::of(ui);
    let mut bars =
        Bars { mesh: Mesh::default(), names: Vec::new(), runs: Vec::new(), hovered: None, selected: None };
    let width = f64::from(canvas.tracks.width().max(1.0));
    let grain = (view.length() / width * f64::from(NARROWEST)).ceil().max(1.0) as i64;
    for placed in lanes {
        let Some(process) = shown.get(placed.process) else { continue };
        let selected = state.selected().filter(|(selected, _)| *selected == process.connection);
        let selected = selected.map(|(_, span)| span.number);
        let range = vertical_range(placed.top, canvas.tracks.top(), state.offset);
        if range.max < canvas.tracks.top() {
            continue;
        }
        if range.min > canvas.tracks.bottom() {
            break;
        }
        placed.lane.bars(view.start(), view.end(), grain, |bar| {
            let left = canvas.x(view, bar.start).max(canvas.tracks.left() - 2.0);
            let right = canvas.x(view, bar.end).max(left + NARROWEST).min(canvas.tracks.right() + 2.0);
            // A thin line stays between neighbours that are wide enough.
            let gap = if right - left > 4.0 { 0.75 } else { 0.0 };
            let rect = Rect::from_min_max(pos2(left, range.min + 1.0), pos2(right - gap, range.max - 1.0));
            bars.mesh.add_colored_rect(rect, method_colours::of(ui, process.colour(bar.first.method)));
            if bar.count > 1 {
                // Runs of short calls have a line on top, so they do not look like one call.
                let line = Rect::from_min_max(rect.min, pos2(rect.right(), rect.top() + 2.0));
                bars.mesh.add_colored_rect(line, palette.edge);
                if right - left >= NAMED && bars.runs.len() < MAX_NAMES {
                    bars.runs.push((rect.intersect(canvas.tracks), bar.count));
                }
            } else if bar.first.threw {
                let line = Rect::from_min_max(pos2(rect.left(), rect.bottom() - 2.0), rect.max);
                bars.mesh.add_colored_rect(line, palette.bad);
            }
            if bar.count == 1 && selected == Some(bar.first.number) {
                bars.selected = Some(rect);
            }
            if pointer.is_some_and(|at| rect.x_range().contains(at.x) && range.contains(at.y)) {
                bars.hovered = Some((bar, rect, placed.process));
            }
            if bar.count == 1 && right - left >= DESCRIBED && bars.names.len() < MAX_NAMES {
                bars.names.push((rect.intersect(canvas.tracks), placed.process, bar.first));
            }
        });
    }
    bars
}

/// Paints the names of wide bars and describes those to screen readers. Returns the one that a screen reader clicked, with
/// the place of its process.
fn names(
    ui: &Ui,
    painter: &Painter,
    shown: &[ShownProcess<'_>],
    bars: &[(Rect, usize, Span)],
    palette: &Palette,
) -> Option<(usize, Span)> {
    let font = bar_font();
    let letter = ui.fonts_mut(|fonts| fonts.glyph_width(&font, 'x')).max(1.0);
    let mut clicked = None;
    for (rect, place, span) in bars {
        let Some(process) = shown.get(*place) else { continue };
        let name = method_name(process.history(), span);
        if rect.width() >= NAMED {
            let room = ((rect.width() - 6.0) / letter) as usize;
            // The method's name alone, if its type does not fit too.
            let short = name.rsplit('.').next().unwrap_or(&name);
            let text = if name.chars().count() <= room { name.as_str() } else { short };
            let place = pos2(rect.left() + 3.0, rect.center().y);
            painter.text(place, Align2::LEFT_CENTER, cut_end(text, room), font.clone(), palette.text);
        }
        let id = canvas_id().with(place).with(span.number).with(span.start);
        let label = || {
            let of = process.title.as_ref().map_or(String::new(), |title| format!(", {title}"));
            format!("{name}, {}{of}", words::duration(span.duration().unsigned_abs()))
        };
        if painted_part::describe(ui, id, *rect, accesskit::Role::ListItem, label) {
            clicked = Some((*place, *span));
        }
    }
    clicked
}

/// Writes on bars that stand for several calls how many they are.
fn runs(ui: &Ui, painter: &Painter, bars: &[(Rect, u32)], palette: &Palette) {
    let font = bar_font();
    let letter = ui.fonts_mut(|fonts| fonts.glyph_width(&font, 'x')).max(1.0);
    for (rect, count) in bars {
        let room = ((rect.width() - 6.0) / letter) as usize;
        let number = words::grouped((*count).into());
        let texts = [format!("{number} short calls"), format!("{number} calls"), number];
        if let Some(text) = texts.into_iter().find(|text| text.chars().count() <= room) {
            let place = pos2(rect.left() + 3.0, rect.center().y);
            painter.text(place, Align2::LEFT_CENTER, text, font.clone(), palette.text);
        }
    }
}

/// Paints the titles of processes across names and tracks.
fn titles(
    ui: &Ui,
    painter: &Painter,
    canvas: &Canvas,
    shown: &[ShownProcess<'_>],
    layout: &Layout<'_>,
    offset: f32,
) {
    let palette = Palette::of(ui);
    let painter = painter.with_clip_rect(canvas.names.union(canvas.tracks));
    for (place, top) in &layout.titles {
        let range = vertical_range(*top, canvas.tracks.top(), offset);
        let title = shown.get(*place).and_then(|process| process.title.as_ref());
        let (Some(title), true) = (title, canvas.tracks.y_range().intersects(range)) else { continue };
        let rect = Rect::from_x_y_ranges(canvas.names.left()..=canvas.tracks.right(), range);
        painter.rect_filled(rect, 0.0, palette.raised);
        let text = clean(title).into_owned();
        painter.text(
            pos2(rect.left() + 8.0, rect.center().y),
            Align2::LEFT_CENTER,
            &text,
            FontId::proportional(12.0),
            palette.text,
        );
        let id = canvas_id().with(("title", place));
        painted_part::describe(ui, id, rect, accesskit::Role::Heading, || text.clone());
    }
}

fn track_names(
    painter: &Painter,
    canvas: &Canvas,
    shown: &[ShownProcess<'_>],
    lanes: &[PlacedLane<'_>],
    offset: f32,
    palette: &Palette,
) {
    painter.rect_filled(canvas.names, 0.0, palette.panel);
    let font = FontId::proportional(12.0);
    for placed in lanes.iter().filter(|lane| lane.is_first) {
        let Some(process) = shown.get(placed.process) else { continue };
        let range = vertical_range(placed.top, canvas.tracks.top(), offset);
        if range.max < canvas.names.top() || range.min > canvas.names.bottom() {
            continue;
        }
        let text = match placed.track {
            TrackKey::Thread(0) => "Unknown thread".to_owned(),
            TrackKey::Thread(id) => format!("Thread {id}"),
            TrackKey::Async(method) => {
                let method = process.history().method(method);
                let name = method.map_or("", |method| redial_text::traced_calls::name(method));
                format!("{} (async)", clean(name))
            }
        };
        let text = cut_end(&text, (canvas.names.width() / 6.6) as usize);
        let place = pos2(canvas.names.left() + 8.0, range.center());
        painter.text(place, Align2::LEFT_CENTER, text, font.clone(), palette.text);
        painter.hline(canvas.names.x_range(), range.min - 3.0, Stroke::new(1.0, palette.line));
    }
}

/// Paints the measured part of time with its length.
fn measured(painter: &Painter, canvas: &Canvas, state: &TimelineState, view: &TimeView, palette: &Palette) {
    let Some((from, to)) = state.measured else { return };
    let (left, right) = (canvas.x(view, from), canvas.x(view, to));
    let rect = Rect::from_x_y_ranges(left..=right, canvas.tracks.y_range());
    painter.rect_filled(rect, 0.0, palette.accent.gamma_multiply(0.16));
    for x in [left, right] {
        painter.vline(x, canvas.tracks.y_range(), Stroke::new(1.0, palette.accent));
    }
    let text = length(to.saturating_sub(from).unsigned_abs());
    let font = FontId::proportional(13.0);
    let galley = painter.layout_no_wrap(text, font, palette.text);
    let centre = pos2(rect.center().x, canvas.tracks.bottom() - 16.0);
    let place = Rect::from_center_size(centre, galley.size() + vec2(12.0, 6.0));
    let shift =
        (canvas.tracks.left() - place.left()).max(0.0) - (place.right() - canvas.tracks.right()).max(0.0);
    let place = place.translate(vec2(shift, 0.0));
    painter.rect_filled(place, 3.0, palette.raised);
    painter.rect_stroke(place, 3.0, Stroke::new(1.0, palette.accent), egui::StrokeKind::Inside);
    painter.galley(place.min + vec2(6.0, 3.0), galley, palette.text);
}

fn tooltip(ui: &mut Ui, process: &ShownProcess<'_>, bar: &Bar) {
    ui.set_max_width(520.0);
    if bar.count > 1 {
        ui.strong(words::count(bar.count.into(), "short call", "short calls"));
        ui.label(format!("within {}", length(bar.end.saturating_sub(bar.start).unsigned_abs())));
        ui.weak("Click to zoom in on them.");
        return;
    }
    let span = &bar.first;
    ui.strong(method_name(process.history(), span));
    ui.label(length(span.duration().unsigned_abs()));
    ui.weak(format!("began at {}", time_of_day(span.start.unsigned_abs())));
    match process.events.by_number(span.number) {
        Some(event) => {
            let text = arguments(&event.method, &event.call);
            let end = format!("{}{}", outcome(&event.call), course(&event.call));
            for line in [text, end.trim_start().to_owned()].iter().filter(|line| !line.is_empty()) {
                ui.label(cut_end(&clean(line), 300));
            }
        }
        None => {
            ui.weak("Its values are no longer kept.");
        }
    }
}
