//! The rotary knob widget. Its ring shows the wanted level, its needle the actual one, and the two are never
//! mixed. It responds to clicks, drags, the wheel and keys. Screen readers and tests drive it through
//! AccessKit, as a slider whose value is the index of the level.

pub use super::knob_face::{KnobFace, digit, meaning};
use super::theme::Palette;
use super::{capitalized, hint, knob_levels, knob_paint};
use eframe::egui::{self, EventFilter, Key, Pos2, Response, Sense, Tooltip, Ui, WidgetInfo, accesskit, vec2};
use redial_protocol::level::Level;

/// Drag distance from one detent to the next, points.
const DRAG_STEP: f32 = 18.0;
/// Size from which a knob has level names around it, with its hint beside them, points.
const LARGE: f32 = 60.0;
/// Wheel distance from one detent to the next, points: a notch of a mouse.
const WHEEL_STEP: f32 = 40.0;
/// Wheel distance that reaches the next detent, points. A notch arrives spread over frames and adds up to
/// slightly more or less than a step. Half a step turns the knob; a trembling finger does not.
const WHEEL_REACHES: f32 = 20.0;
/// Pause after which an incomplete step is forgotten, seconds.
const WHEEL_RESTS: f64 = 2.0;
/// Movement in the same direction within this time after a detent belongs to it, seconds. X reports a notch
/// twice if it came over a network (as with VNC), and an extra level is worse than a lost notch.
const WHEEL_SETTLES: f64 = 0.12;

/// A sentence of a knob's hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The sentence.
    pub text: String,
    /// Whether it is a warning.
    pub warns: bool,
}

/// A knob widget.
#[derive(Clone, Copy)]
pub struct Knob<'a> {
    face: KnobFace<'a>,
    size: f32,
    wheel: bool,
    menu: bool,
    hints: Option<&'a dyn Fn() -> Vec<Hint>>,
    enabled: Result<(), &'a str>,
}

/// Wheel movement over a knob.
#[derive(Clone, Default)]
struct WheelState {
    /// Points since the current detent.
    total: f32,
    /// The last direction: 1 or -1.
    way: f32,
    /// Time of the last movement, seconds.
    moved: f64,
    /// Time and direction of the last detent.
    stepped: (f64, f32),
}

impl WheelState {
    /// Adds a movement; returns the detents passed: none, or one up or down.
    fn by(&mut self, delta: f32, now: f64) -> i32 {
        let way = delta.signum();
        let turned_round = std::mem::replace(&mut self.way, way) != way;
        let rested = now - std::mem::replace(&mut self.moved, now) > WHEEL_RESTS;
        if turned_round || rested {
            self.total = 0.0;
        }
        self.total += delta;
        if now - self.stepped.0 < WHEEL_SETTLES && self.stepped.1 == way {
            self.total = way * (way * self.total).min(0.0);
        }
        if way * self.total < WHEEL_REACHES {
            return 0;
        }
        self.total -= way * WHEEL_STEP;
        self.stepped = (now, way);
        way as i32
    }
}

/// The user's action on a knob.
#[derive(Debug)]
pub struct KnobResponse {
    /// The level chosen.
    pub to: Option<Level>,
    /// A level chosen although it is not offered.
    pub refused: Option<Level>,
    /// The widget's response.
    pub response: Response,
}

impl<'a> Knob<'a> {
    /// Returns a knob with a diameter of `size` points.
    pub fn new(face: KnobFace<'a>, size: f32) -> Knob<'a> {
        Knob { face, size, wheel: true, menu: true, hints: None, enabled: Ok(()) }
    }

    /// Sets whether the wheel turns it. In a list only the selected row's may, because the wheel scrolls over
    /// the others.
    pub fn wheel(mut self, wheel: bool) -> Knob<'a> {
        self.wheel = wheel;
        self
    }

    /// Adds sentences to its hint, computed when the hint is shown.
    pub fn hinting(mut self, hints: &'a dyn Fn() -> Vec<Hint>) -> Knob<'a> {
        self.hints = Some(hints);
        self
    }

    /// Removes its menu, because its container has one.
    pub fn without_menu(mut self) -> Knob<'a> {
        self.menu = false;
        self
    }

    /// Disables it, with the reason.
    pub fn enabled(mut self, enabled: Result<(), &'a str>) -> Knob<'a> {
        self.enabled = enabled;
        self
    }

    /// Shows it at the next free position, with clickable level names around it.
    pub fn show(self, ui: &mut Ui) -> KnobResponse {
        let room = vec2(self.size + 2.0 * knob_levels::ROOM, self.size);
        let (rect, _) = ui.allocate_exact_size(room, Sense::hover());
        let id = ui.scope_id().with(("knob", self.face.label));
        let place = egui::Rect::from_center_size(rect.center(), vec2(self.size, self.size));
        self.turn(ui, id, place, true)
    }

    /// Shows it in `rect`. `id` must identify the dial.
    pub fn show_at(self, ui: &mut Ui, id: egui::Id, rect: egui::Rect) -> KnobResponse {
        self.turn(ui, id, rect, false)
    }

    fn turn(self, ui: &mut Ui, id: egui::Id, rect: egui::Rect, with_names: bool) -> KnobResponse {
        let enabled = self.enabled.is_ok() && ui.is_enabled();
        let sense = if enabled { Sense::click_and_drag() } else { Sense::hover() };
        let mut response = ui.interact(rect, id, sense);
        let face = self.face;
        // After the knob, whose corners the names overlap: later widgets are on top.
        let named = with_names.then(|| knob_levels::around(ui, id, rect, &face, enabled)).flatten();
        let before = face.wanted.unwrap_or(Level::Off);
        let wish = match enabled {
            true => {
                let chosen =
                    named.or_else(|| self.menu.then(|| knob_levels::menu(&response, &face)).flatten());
                chosen.or_else(|| self.wish(ui, &response, before))
            }
            false => None,
        };
        let (to, refused) = match wish {
            Some(level) if level == before && face.wanted.is_some() => (None, None),
            Some(level) if face.offered.contains(&level) => (Some(level), None),
            Some(level) => (None, Some(level)),
            None => (None, None),
        };
        if to.is_some() {
            response.mark_changed();
        }
        let shown = to.or(face.wanted);
        self.describe(ui, &response, enabled, shown);
        if ui.is_rect_visible(rect) {
            knob_paint::paint(ui, rect, &face, shown, to.is_some() || face.pending, enabled, &response);
        }
        if !egui::Popup::is_any_open(ui.ctx()) {
            response = match self.enabled {
                Err(why) => response.on_hover_text(capitalized(why)),
                Ok(()) => {
                    self.hint(&response);
                    response
                }
            };
        }
        KnobResponse { to, refused, response }
    }

    /// Shows its hint while the pointer is over it; that of a large knob beside its level names.
    fn hint(&self, response: &Response) {
        if !response.hovered() {
            return;
        }
        match self.size >= LARGE {
            true => hint::left_of(response, knob_levels::ROOM + 4.0, |ui| self.explain(ui)),
            false => drop(Tooltip::for_enabled(response).show(|ui| self.explain(ui))),
        }
    }

    /// Returns the level chosen in this frame.
    fn wish(&self, ui: &Ui, response: &Response, before: Level) -> Option<Level> {
        let mut wish = None;
        let steps = self.by_keys(ui, response, &mut wish)
            + self.by_drag(ui, response)
            + self.by_wheel(ui, response)
            + by_actions(ui, response, &mut wish);
        if response.clicked() {
            wish = Some(self.toggled());
        }
        if steps != 0 && wish.is_none() {
            wish = Some(self.stepped(before, steps));
        }
        wish
    }

    /// Returns off if it is on, otherwise the lowest level above off.
    fn toggled(&self) -> Level {
        match self.face.wanted {
            Some(Level::Off) | None => {
                self.face.offered.iter().copied().find(|level| *level != Level::Off).unwrap_or(Level::Off)
            }
            Some(_) => Level::Off,
        }
    }

    /// Returns the level `steps` detents from `before`, skipping levels that are not offered, at most the
    /// last one offered.
    fn stepped(&self, before: Level, steps: i32) -> Level {
        let mut level = before;
        for _ in 0..steps.unsigned_abs() {
            let next = match steps > 0 {
                true => self.face.offered.iter().copied().filter(|other| *other > level).min(),
                false => self.face.offered.iter().copied().filter(|other| *other < level).max(),
            };
            level = next.unwrap_or(level);
        }
        level
    }

    fn by_keys(&self, ui: &Ui, response: &Response, wish: &mut Option<Level>) -> i32 {
        // An open menu takes the keys.
        if !response.has_focus() || egui::Popup::is_any_open(ui.ctx()) {
            return 0;
        }
        let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..Default::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
        ui.input(|input| {
            let pressed = |key| input.num_presses(key) as i32;
            if pressed(Key::Home) > 0 {
                *wish = Some(Level::Off);
            }
            if pressed(Key::End) > 0 {
                *wish = self.face.offered.iter().copied().max();
            }
            for level in Level::ALL {
                if pressed(digit(level)) > 0 {
                    *wish = Some(level);
                }
            }
            pressed(Key::ArrowUp) + pressed(Key::ArrowRight)
                - pressed(Key::ArrowDown)
                - pressed(Key::ArrowLeft)
        })
    }

    /// Returns the detents passed by dragging in this frame; up and right increase the level.
    fn by_drag(&self, ui: &Ui, response: &Response) -> i32 {
        // Start of the drag, and detents passed. (The toolkit's own drag misses one that starts and ends in a
        // single frame.)
        type Drag = (Pos2, i32);
        let memory = response.id.with("dragged");
        let (pressed, down, origin, now) = ui.input(|input| {
            let pointer = &input.pointer;
            (pointer.primary_pressed(), pointer.primary_down(), pointer.press_origin(), pointer.latest_pos())
        });
        let keep = |drag: Option<Drag>| ui.data_mut(|data| data.insert_temp(memory, drag));
        if pressed {
            keep(origin.filter(|_| response.is_pointer_button_down_on()).map(|origin| (origin, 0)));
        }
        let began = ui.data(|data| data.get_temp::<Option<Drag>>(memory)).flatten();
        let Some(((origin, passed), now)) = began.zip(now) else { return 0 };
        let delta = now - origin;
        let total = ((delta.x - delta.y) / DRAG_STEP).round() as i32;
        keep(down.then_some((origin, total)));
        total - passed
    }

    fn by_wheel(&self, ui: &Ui, response: &Response) -> i32 {
        if !self.wheel || !response.hovered() {
            return 0;
        }
        // Turning the knob scrolls nothing around it.
        let delta = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
        if delta == 0.0 {
            return 0;
        }
        let (memory, now) = (response.id.with("wheeled"), ui.input(|input| input.time));
        ui.data_mut(|data| data.get_temp_mut_or_default::<WheelState>(memory).by(delta, now))
    }

    /// Describes the knob to screen readers and tests.
    fn describe(&self, ui: &Ui, response: &Response, enabled: bool, shown: Option<Level>) {
        let value = f64::from(shown.unwrap_or(Level::Off) as u8);
        response.widget_info(|| WidgetInfo::slider(enabled, value, self.face.label));
        let highest = self.face.offered.iter().copied().max().unwrap_or(Level::Off);
        ui.ctx().accesskit_node_builder(response.id, |node| {
            node.set_min_numeric_value(0.0);
            node.set_max_numeric_value(f64::from(highest as u8));
            node.set_numeric_value_step(1.0);
            node.set_value(self.in_words(shown));
            if enabled {
                self.click().into_iter().for_each(|click| node.set_description(click));
                node.add_action(accesskit::Action::SetValue);
                node.add_action(accesskit::Action::Increment);
                node.add_action(accesskit::Action::Decrement);
            }
        });
    }

    fn in_words(&self, shown: Option<Level>) -> String {
        let wanted = shown.map_or("mixed", Level::word);
        // `off, off` would add nothing.
        if self.face.state_text.is_empty() || self.face.state_text == wanted {
            wanted.to_owned()
        } else {
            format!("{wanted}, {}", self.face.state_text)
        }
    }

    /// Returns the effect of a click on several dials.
    fn click(&self) -> Option<String> {
        let (on, all) = self.face.several?;
        let to = self.toggled();
        Some(match (self.face.wanted, to) {
            (None, _) => {
                let are = if on == 1 { "is" } else { "are" };
                format!("A click sets all {all} to {to}; {on} {are} on now.")
            }
            (_, Level::Off) => format!("A click turns all {all} off."),
            _ => format!("A click sets all {all} to {to}."),
        })
    }

    fn explain(&self, ui: &mut Ui) {
        ui.strong(self.in_words(self.face.wanted));
        self.click().into_iter().for_each(|click| drop(ui.label(click)));
        for Hint { text, warns } in self.hints.map(|hints| hints()).unwrap_or_default() {
            match warns {
                true => ui.colored_label(Palette::of(ui).asked, text),
                false => ui.label(text),
            };
        }
        // Level names and the menu explain the levels. A longer hint would cover the rows below whenever the
        // pointer rests.
        let wheel = if self.wheel { ", wheel" } else { "" };
        if self.face.several.is_none() {
            ui.weak(match self.toggled() {
                Level::Off => "Click or press Space to turn it off.".to_owned(),
                level => format!("Click or press Space to set it to {level}."),
            });
        }
        ui.weak(format!("Drag{wheel} or arrow keys change the level; right-click lists all levels."));
    }
}

/// Returns the steps requested through AccessKit, and stores a requested value in `wish`.
fn by_actions(ui: &Ui, response: &Response, wish: &mut Option<Level>) -> i32 {
    ui.input(|input| {
        let requested = |action| input.num_accesskit_action_requests(response.id, action) as i32;
        let requests = input.accesskit_action_requests(response.id, accesskit::Action::SetValue);
        for request in requests {
            if let Some(accesskit::ActionData::NumericValue(value)) = request.data {
                let index = value.round().clamp(0.0, 3.0) as u8;
                *wish = Level::from_byte(index);
            }
        }
        requested(accesskit::Action::Increment) - requested(accesskit::Action::Decrement)
    })
}

#[cfg(test)]
#[path = "knob_tests.rs"]
mod tests;
