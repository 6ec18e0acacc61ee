//! Mouse and keys on the timeline.

use super::areas::Canvas;
use super::state::{Gesture, TimelineState};
use eframe::egui::{EventFilter, Key, Modifiers, PointerButton, Response, Ui};
use redial_model::call_history::TimeView;

/// Share of the view by which a key moves it.
const STEP: f64 = 0.1;
/// How many times longer a key makes the view.
const ZOOM: f64 = 1.25;
/// Points of a wheel that double the view.
const WHEEL: f64 = 200.0;

/// Applies this frame's gestures to the view. `range` has all calls, `height` is that of all lanes.
pub fn apply(
    ui: &Ui,
    state: &mut TimelineState,
    canvas: &Canvas,
    response: &Response,
    range: Option<(i64, i64)>,
    height: f32,
) {
    let Some(view) = state.view().copied() else { return };
    wheel(ui, state, canvas, response);
    drag(ui, state, canvas, response, &view);
    keys(ui, state, response, range);
    let most = (height - canvas.tracks.height()).max(0.0);
    state.offset = state.offset.clamp(0.0, most);
}

fn wheel(ui: &Ui, state: &mut TimelineState, canvas: &Canvas, response: &Response) {
    if !response.contains_pointer() {
        return;
    }
    let (delta, pinch, pointer, shift) = ui.input(|input| {
        let delta = input.smooth_scroll_delta();
        (delta, input.zoom_delta(), input.pointer.hover_pos(), input.modifiers.shift)
    });
    let Some(pointer) = pointer else { return };
    let share = canvas.share(pointer.x);
    if pinch != 1.0 {
        state.change_view(|view| view.zoom(1.0 / f64::from(pinch), share));
        return;
    }
    // Over the names of tracks the wheel scrolls through them.
    if pointer.x < canvas.tracks.left() {
        state.offset -= delta.y;
        return;
    }
    let sideways = if shift && delta.x == 0.0 { delta.y } else { delta.x };
    if sideways != 0.0 {
        state.change_view(|view| view.pan(-f64::from(sideways) / f64::from(canvas.tracks.width())));
    }
    if delta.y != 0.0 && !shift {
        state.change_view(|view| view.zoom((-f64::from(delta.y) / WHEEL).exp2(), share));
    }
}

fn drag(ui: &Ui, state: &mut TimelineState, canvas: &Canvas, response: &Response, view: &TimeView) {
    let pointer = response.interact_pointer_pos();
    if response.drag_started()
        && let Some(from) = ui.input(|input| input.pointer.press_origin())
    {
        let measures = response.drag_started_by(PointerButton::Primary) && canvas.tracks.contains(from);
        state.gesture = Some(match measures {
            true => Gesture::Measure(view.time(canvas.share(from.x))),
            false => Gesture::Pan,
        });
    }
    match (state.gesture, pointer) {
        (Some(Gesture::Measure(from)), Some(pointer)) => {
            let to = view.time(canvas.share(pointer.x));
            state.measured = Some((from.min(to), from.max(to)));
        }
        (Some(Gesture::Pan), _) => {
            let delta = response.drag_delta();
            if delta.x != 0.0 {
                state.change_view(|view| view.pan(-f64::from(delta.x) / f64::from(canvas.tracks.width())));
            }
            state.offset -= delta.y;
        }
        _ => {}
    }
    if response.drag_stopped() {
        state.gesture = None;
    }
}

fn keys(ui: &Ui, state: &mut TimelineState, response: &Response, range: Option<(i64, i64)>) {
    if !response.has_focus() {
        return;
    }
    let filter = EventFilter { tab: false, horizontal_arrows: true, vertical_arrows: true, escape: true };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let pressed = |key| ui.input_mut(|input| input.count_and_consume_key(Modifiers::NONE, key)) as i32;
    for (key, share) in [(Key::A, -STEP), (Key::ArrowLeft, -STEP), (Key::D, STEP), (Key::ArrowRight, STEP)] {
        let times = pressed(key);
        if times > 0 {
            state.change_view(|view| view.pan(share * f64::from(times)));
        }
    }
    for (key, factor) in [(Key::W, 1.0 / ZOOM), (Key::S, ZOOM), (Key::Plus, 1.0 / ZOOM), (Key::Minus, ZOOM)] {
        let times = pressed(key);
        if times > 0 {
            state.change_view(|view| view.zoom(factor.powi(times), 0.5));
        }
    }
    state.offset += (pressed(Key::ArrowDown) - pressed(Key::ArrowUp)) as f32 * super::track_layout::LANE;
    if pressed(Key::Home) > 0 {
        state.show_all(range);
    }
    if pressed(Key::End) > 0 {
        state.set_follows(true);
    }
    if pressed(Key::F) > 0
        && let Some((_, span)) = state.selected()
    {
        let span = *span;
        state.zoom_to(&span);
    }
}
