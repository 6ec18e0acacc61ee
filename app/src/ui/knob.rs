//! The rotary knob: a dial one wants to turn. What is wanted is its ring, what the runtime does is its needle, and
//! the two are never mixed up. It can be clicked, dragged, turned by the wheel and by keys, and driven by a screen
//! reader or a test through AccessKit (a slider whose value is the index of the level).

use super::theme::Palette;
use super::{hint, knob_levels, knob_paint};
use eframe::egui::{self, EventFilter, Key, Pos2, Response, Sense, Tooltip, Ui, WidgetInfo, accesskit, vec2};
use redial_protocol::level::Level;
use redial_protocol::state::State;

/// Points of drag from one detent to the next.
const DRAG_STEP: f32 = 18.0;
/// From this size on a knob has names around it, beside which its hint stands, points.
const LARGE: f32 = 60.0;
/// Points of wheel from one detent to the next: a notch of a mouse.
const WHEEL_STEP: f32 = 40.0;
/// Points of wheel at which the next detent is reached. A notch comes spread over several frames and adds up to a little more or
/// less than a step: so half of one turns the knob, and a finger that trembles by less does not.
const WHEEL_REACHES: f32 = 20.0;
/// After a rest of so many seconds what was turned too little for a detent is forgotten.
const WHEEL_RESTS: f64 = 2.0;
/// What comes within so many seconds after a detent, the same way, belongs to it: X tells twice of a notch that is sent over a
/// network (as by VNC), and a level too many costs more than a notch.
const WHEEL_SETTLES: f64 = 0.12;

/// What a knob shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Face<'a> {
    /// What the user asked for; None when the dials it stands for differ.
    pub wanted: Option<Level>,
    /// What the runtime does, as the agent said it; None when the dials it stands for differ.
    pub actual: Option<State>,
    /// The level that runs: where the needle stands.
    pub runs: Level,
    /// Whether the wish was not confirmed by the agent yet.
    pub pending: bool,
    /// The levels the agent offers, off included.
    pub offered: &'a [Level],
    /// Why the others are not offered.
    pub not_offered: &'a str,
    /// What it turns, for screen readers: `dial of Shop.Cart.Add`.
    pub label: &'a str,
    /// What stands beside the number for screen readers and in the tooltip: `live v1`.
    pub says: &'a str,
    /// Where it turns several dials: how many of them are on, and how many there are.
    pub several: Option<(u64, u64)>,
}

/// A sentence of a knob's hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The sentence.
    pub text: String,
    /// Whether it is a warning.
    pub warns: bool,
}

/// A knob to be shown.
#[derive(Clone, Copy)]
pub struct Knob<'a> {
    face: Face<'a>,
    size: f32,
    wheel: bool,
    menu: bool,
    hints: Option<&'a dyn Fn() -> Vec<Hint>>,
    enabled: Result<(), &'a str>,
}

/// How the wheel stands at a knob.
#[derive(Clone, Default)]
struct Wheeled {
    /// Points since the detent it stands at.
    total: f32,
    /// The way it went last: 1 or -1.
    way: f32,
    /// When that was, seconds.
    moved: f64,
    /// When it passed a detent, and which way.
    stepped: (f64, f32),
}

impl Wheeled {
    /// Takes in how far it went; the detents passed: one or none, up or down.
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

/// What the user did with it.
#[derive(Debug)]
pub struct Turned {
    /// The level it was turned to.
    pub to: Option<Level>,
    /// A level that was asked for and is not offered.
    pub refused: Option<Level>,
    /// What the pointer does on it.
    pub response: Response,
}

impl<'a> Knob<'a> {
    /// A knob `size` points across.
    pub fn new(face: Face<'a>, size: f32) -> Knob<'a> {
        Knob { face, size, wheel: true, menu: true, hints: None, enabled: Ok(()) }
    }

    /// Whether the wheel turns it. In a list it must not, save on the selected row: one scrolls past it.
    pub fn wheel(mut self, wheel: bool) -> Knob<'a> {
        self.wheel = wheel;
        self
    }

    /// With more sentences in its hint, asked for where that is shown.
    pub fn hinting(mut self, hints: &'a dyn Fn() -> Vec<Hint>) -> Knob<'a> {
        self.hints = Some(hints);
        self
    }

    /// Without its menu: what it stands in has one.
    pub fn without_menu(mut self) -> Knob<'a> {
        self.menu = false;
        self
    }

    /// Disabled, with the reason.
    pub fn enabled(mut self, enabled: Result<(), &'a str>) -> Knob<'a> {
        self.enabled = enabled;
        self
    }

    /// Shows it in the next free place, with the names of the levels around it: each can be clicked.
    pub fn show(self, ui: &mut Ui) -> Turned {
        let room = vec2(self.size + 2.0 * knob_levels::ROOM, self.size);
        let (rect, _) = ui.allocate_exact_size(room, Sense::hover());
        let id = ui.scope_id().with(("knob", self.face.label));
        let place = egui::Rect::from_center_size(rect.center(), vec2(self.size, self.size));
        self.turn(ui, id, place, true)
    }

    /// Shows it in `rect`. `id` must stay the same for the same dial.
    pub fn show_at(self, ui: &mut Ui, id: egui::Id, rect: egui::Rect) -> Turned {
        self.turn(ui, id, rect, false)
    }

    fn turn(self, ui: &mut Ui, id: egui::Id, rect: egui::Rect, with_names: bool) -> Turned {
        let enabled = self.enabled.is_ok() && ui.is_enabled();
        let sense = if enabled { Sense::click_and_drag() } else { Sense::hover() };
        let mut response = ui.interact(rect, id, sense);
        let face = self.face;
        // After the knob, whose corners they reach into: what comes later is on top.
        let named = with_names.then(|| knob_levels::around(ui, id, rect, &face, enabled)).flatten();
        let before = face.wanted.unwrap_or(Level::Off);
        let wish = match enabled {
            true => {
                let picked =
                    named.or_else(|| self.menu.then(|| knob_levels::menu(&response, &face)).flatten());
                picked.or_else(|| self.wish(ui, &response, before))
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
        self.tell(ui, &response, enabled, shown);
        if ui.is_rect_visible(rect) {
            knob_paint::paint(ui, rect, &face, shown, to.is_some() || face.pending, enabled, &response);
        }
        if !egui::Popup::is_any_open(ui.ctx()) {
            response = match self.enabled {
                Err(why) => response.on_hover_text(why),
                Ok(()) => {
                    self.hint(&response);
                    response
                }
            };
        }
        Turned { to, refused, response }
    }

    /// Shows its hint while the pointer is at it and nothing lies upon it; that of a large one beside the names around it.
    fn hint(&self, response: &Response) {
        if !response.hovered() {
            return;
        }
        match self.size >= LARGE {
            true => hint::left_of(response, knob_levels::ROOM + 4.0, |ui| self.explain(ui)),
            false => drop(Tooltip::for_enabled(response).show(|ui| self.explain(ui))),
        }
    }

    /// The level the user asked for in this frame.
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

    /// Off when it is on, else the lowest level that is on.
    fn toggled(&self) -> Level {
        match self.face.wanted {
            Some(Level::Off) | None => {
                self.face.offered.iter().copied().find(|level| *level != Level::Off).unwrap_or(Level::Off)
            }
            Some(_) => Level::Off,
        }
    }

    /// `steps` detents from `before`, past levels that are not offered, ending at the last one that is.
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
        // The keys of an open menu are the menu's.
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

    /// Detents passed by the drag in this frame: up and right turn it up.
    fn by_drag(&self, ui: &Ui, response: &Response) -> i32 {
        // Where it began, and how many were passed. (What the toolkit calls a drag begins too late for one that moves and ends in
        // one frame.)
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
        // What turns the knob scrolls nothing around it.
        let delta = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
        if delta == 0.0 {
            return 0;
        }
        let (memory, now) = (response.id.with("wheeled"), ui.input(|input| input.time));
        ui.data_mut(|data| data.get_temp_mut_or_default::<Wheeled>(memory).by(delta, now))
    }

    /// What screen readers and tests are told.
    fn tell(&self, ui: &Ui, response: &Response, enabled: bool, shown: Option<Level>) {
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
        // `off, off` says nothing more.
        if self.face.says.is_empty() || self.face.says == wanted {
            wanted.to_owned()
        } else {
            format!("{wanted}, {}", self.face.says)
        }
    }

    /// Where it turns several dials, what a click does to them.
    fn click(&self) -> Option<String> {
        let (on, all) = self.face.several?;
        let to = self.toggled();
        Some(match (self.face.wanted, to) {
            (None, _) => {
                let are = if on == 1 { "is" } else { "are" };
                format!("A click turns all {all} to {to}; {on} {are} on now.")
            }
            (_, Level::Off) => format!("A click turns all {all} off."),
            _ => format!("A click turns all {all} to {to}."),
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
        // What levels mean is said by their names around a large one, and in the menu: a long hint would hide what stands below
        // at every stop of the pointer.
        let wheel = if self.wheel { ", wheel" } else { "" };
        if self.face.several.is_none() {
            ui.weak(match self.toggled() {
                Level::Off => "A click or Space turns it off.".to_owned(),
                level => format!("A click or Space turns it to {level}."),
            });
        }
        ui.weak(format!("Drag{wheel} and arrow keys go by levels; right-click lists them."));
    }
}

/// Steps and values that AccessKit asked for.
fn by_actions(ui: &Ui, response: &Response, wish: &mut Option<Level>) -> i32 {
    ui.input(|input| {
        let asked = |action| input.num_accesskit_action_requests(response.id, action) as i32;
        let requests = input.accesskit_action_requests(response.id, accesskit::Action::SetValue);
        for request in requests {
            if let Some(accesskit::ActionData::NumericValue(value)) = request.data {
                let index = value.round().clamp(0.0, 3.0) as u8;
                *wish = Level::from_byte(index);
            }
        }
        asked(accesskit::Action::Increment) - asked(accesskit::Action::Decrement)
    })
}

/// Why a level is not offered; `otherwise` is the reason for levels that this version has.
pub fn why_not(level: Level, otherwise: &str) -> &str {
    if level > Level::OFFERED { "to come in a later version" } else { otherwise }
}

/// The key of a level.
pub fn digit(level: Level) -> Key {
    match level {
        Level::Off => Key::Num0,
        Level::Count => Key::Num1,
        Level::Time => Key::Num2,
        Level::Trace => Key::Num3,
    }
}

/// What a level shows, in a few words.
pub fn meaning(level: Level) -> &'static str {
    match level {
        Level::Off => "the original code runs",
        Level::Count => "the exact number of calls",
        Level::Time => "calls and how long they take",
        Level::Trace => "one event per call",
    }
}

#[cfg(test)]
#[path = "knob_tests.rs"]
mod tests;
