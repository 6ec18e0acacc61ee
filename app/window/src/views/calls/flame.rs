//! The tree as a flame graph: callers above, callees below, each bar as wide as the time in it.

use super::nodes::{canvas_id, node_name};
use super::state::CallsState;
use crate::ui::scroll_bar;
use crate::ui::theme::Palette;
use crate::ui::{method_colours, painted_part};
use eframe::egui::{
    self, Align2, EventFilter, FontId, Key, Mesh, Modifiers, Rect, Sense, Shape, Stroke, Ui, accesskit, pos2,
};
use redial_model::call_history::{CallHistory, FlameBar, ROOT, flame_rows};
use redial_text::width::cut_end;
use redial_text::words;

/// Height of a bar, points.
const BAR: f32 = 19.0;
/// Narrowest bar, points.
const NARROWEST: f32 = 1.5;
/// Narrowest bar with a name, points.
const NAMED: f32 = 30.0;

/// Shows the bars in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut CallsState, history: &CallHistory) {
    let mut all = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(all);
    let response = ui.interact(all, canvas_id(), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Canvas, true, "Flame graph of calls"));
    state.has_focus = response.has_focus();
    state.held = false;
    let narrowest = f64::from(NARROWEST) / f64::from(all.width().max(1.0));
    let rows = flame_rows(history.tree(), state.weights(), state.top(), narrowest);
    if response.contains_pointer() {
        state.offset -= ui.input(|input| input.smooth_scroll_delta().y);
    }
    state.offset -= response.drag_delta().y;
    let height = rows.len() as f32 * BAR;
    state.offset = state.offset.clamp(0.0, (height - all.height()).max(0.0));
    if height > all.height() {
        let mut bar = all;
        bar.set_left((all.right() - scroll_bar::WIDTH).max(all.left()));
        all.set_right(bar.left());
        let place = (state.offset.into(), all.height().into(), height.into());
        state.offset = state.scroll_bar.show(ui, canvas_id().with("bar"), bar, place) as f32;
    }
    let palette = Palette::of(ui);
    let painter = ui.painter_at(all);
    let font = FontId::monospace(11.0);
    let letter = ui.fonts_mut(|fonts| fonts.glyph_width(&font, 'x')).max(1.0);
    let pointer = response.hover_pos();
    let mut mesh = Mesh::default();
    let mut named: Vec<(Rect, u32)> = Vec::new();
    let mut hovered: Option<(FlameBar, Rect)> = None;
    for (bars, number) in rows.iter().zip(0_u16..) {
        let top = all.top() + f32::from(number) * BAR - state.offset;
        if top + BAR < all.top() || top > all.bottom() {
            continue;
        }
        for bar in bars {
            let left = all.left() + (bar.left * f64::from(all.width())) as f32;
            let right = left + (bar.width * f64::from(all.width())) as f32;
            let gap = if right - left > 4.0 { 0.75 } else { 0.0 };
            let rect = Rect::from_min_max(pos2(left, top + 0.5), pos2(right - gap, top + BAR - 0.5));
            let method = history.tree().node(bar.node).map_or(0, |node| node.place.method);
            let colour = match (state.has_search(), bar.count) {
                (true, _) if state.is_match(bar.node) => palette.mark,
                (true, _) => palette.hover,
                (false, 2..) => palette.groove,
                (false, _) => method_colours::of(ui, method),
            };
            mesh.add_colored_rect(rect, colour);
            if pointer.is_some_and(|at| rect.contains(at)) {
                hovered = Some((*bar, rect));
            }
            if bar.count == 1 && rect.width() >= NAMED {
                named.push((rect, bar.node));
            }
        }
    }
    painter.add(Shape::mesh(mesh));
    let mut clicked = None;
    for (rect, node) in named {
        let name = node_name(history, node);
        let room = ((rect.width() - 6.0) / letter) as usize;
        let short = name.rsplit('.').next().unwrap_or(&name);
        let time = words::duration(state.weight(node));
        let with_time = format!("{name}  {time}");
        let texts = [with_time.as_str(), &name, short];
        let fitting = texts.into_iter().find(|text| text.chars().count() <= room);
        let text = cut_end(fitting.unwrap_or(short), room);
        let colour = if state.has_search() && state.is_match(node) { palette.marked } else { palette.text };
        painter.text(
            pos2(rect.left() + 3.0, rect.center().y),
            Align2::LEFT_CENTER,
            text,
            font.clone(),
            colour,
        );
        let label = || format!("{name}: {} including callees", words::duration(state.weight(node)));
        if painted_part::describe(
            ui,
            canvas_id().with(node),
            rect.intersect(all),
            accesskit::Role::TreeItem,
            label,
        ) {
            clicked = Some(node);
        }
    }
    if rows.is_empty() {
        let font = FontId::proportional(14.0);
        painter.text(all.center(), Align2::CENTER_CENTER, "No calls yet.", font, palette.weak);
    }
    if let Some((bar, rect)) = &hovered {
        painter.rect_stroke(*rect, 1.0, Stroke::new(1.0, palette.text), egui::StrokeKind::Inside);
        response.clone().on_hover_ui_at_pointer(|ui| match bar.count {
            1 => tooltip(ui, state, history, bar.node),
            count => {
                ui.strong(format!("{} methods, each too narrow to be seen", words::grouped(count.into())));
                ui.weak("Zoom in on their caller to see them.");
            }
        });
    }
    if response.has_focus() {
        painter.rect_stroke(all.shrink(0.5), 0.0, Stroke::new(1.0, palette.accent), egui::StrokeKind::Inside);
        let filter = EventFilter { tab: false, horizontal_arrows: true, vertical_arrows: true, escape: true };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(canvas_id(), filter));
        if ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Home)) {
            state.zoom(ROOT);
        }
    }
    if response.clicked() || clicked.is_some() {
        ui.memory_mut(|memory| memory.request_focus(canvas_id()));
        let node = clicked.or(hovered.filter(|(bar, _)| bar.count == 1).map(|(bar, _)| bar.node));
        state.selected = node;
        if let Some(node) = node {
            state.zoom(node);
        }
    }
}

/// Shows the numbers of a node.
pub fn tooltip(ui: &mut Ui, state: &CallsState, history: &CallHistory, node: u32) {
    let Some(found) = history.tree().node(node) else { return };
    let sums = &found.sums;
    ui.set_max_width(460.0);
    ui.strong(node_name(history, node));
    let share = |of: u32| 100.0 * state.weight(node) as f64 / state.weight(of).max(1) as f64;
    ui.label(words::count(sums.calls, "call", "calls"));
    ui.label(format!("total {}, self {}", words::duration(sums.total_ns), words::duration(sums.self_ns)));
    if let Some(mean) = sums.total_ns.checked_div(sums.calls) {
        ui.label(format!("{} a call", words::duration(mean)));
    }
    if sums.thrown > 0 {
        ui.colored_label(Palette::of(ui).bad, words::count(sums.thrown, "exception", "exceptions"));
    }
    let above = history.tree().node(node).map_or(ROOT, |node| node.parent);
    ui.weak(format!(
        "{} of all, {} of the caller",
        words::percent(share(ROOT)),
        words::percent(share(above))
    ));
}
