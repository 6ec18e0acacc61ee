//! A control for one choice among few: adjoining segments, of which one is chosen. The arrow keys move the choice.

use crate::ui::theme::Palette;
use eframe::egui::{
    self, Align2, Color32, CornerRadius, EventFilter, Key, Modifiers, Rect, Role, Sense, Stroke, StrokeKind,
    TextStyle, Ui, WidgetInfo, vec2,
};

/// Distance of a text from the sides of its segment, points.
const SIDE: f32 = 10.0;
const ROUND: u8 = 4;

/// A choice.
#[derive(Clone, Debug)]
pub struct Segment<'a, T> {
    /// The value that it chooses.
    pub value: T,
    /// Its text.
    pub text: &'a str,
    /// Its hint; empty for none.
    pub hint: String,
    /// Whether it can be chosen.
    pub enabled: bool,
}

impl<'a, T> Segment<'a, T> {
    /// Returns a choice that can be chosen and has no hint.
    pub fn new(value: T, text: &'a str) -> Segment<'a, T> {
        Segment { value, text, hint: String::new(), enabled: true }
    }
}

/// Shows the choices; returns the one that the user chose. `name` is for screen readers; without `current` none is
/// chosen.
pub fn show<T: Copy + PartialEq>(
    ui: &mut Ui,
    name: &str,
    segments: &[Segment<'_, T>],
    current: Option<T>,
) -> Option<T> {
    let mut chosen = None;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        let group = ui.unique_id();
        ui.ctx().accesskit_node_builder(group, |node| {
            node.set_role(Role::RadioGroup);
            node.set_label(name);
        });
        for (index, segment) in segments.iter().enumerate() {
            let is_on = current == Some(segment.value);
            let id = ui.scope_id().with(("segment", index));
            let (rect, response) = allocate(ui, id, segment);
            response.widget_info(|| {
                WidgetInfo::selected(Role::RadioButton, segment.enabled, is_on, segment.text)
            });
            let ends = (index == 0, index + 1 == segments.len());
            paint(ui, (rect, ends), segment, is_on, &response);
            if segment.enabled && response.clicked() && !is_on {
                chosen = Some(segment.value);
            }
            if response.has_focus() {
                let filter = EventFilter { horizontal_arrows: true, ..EventFilter::default() };
                ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
                let step = ui.input_mut(|input| {
                    input.count_and_consume_key(Modifiers::NONE, Key::ArrowRight) as isize
                        - input.count_and_consume_key(Modifiers::NONE, Key::ArrowLeft) as isize
                });
                if let Some((place, next)) = neighbour(segments, index, step) {
                    chosen = Some(next.value).filter(|next| Some(*next) != current);
                    let next = ui.scope_id().with(("segment", place));
                    ui.memory_mut(|memory| memory.request_focus(next));
                }
            }
            if !segment.hint.is_empty() {
                response.on_hover_text(&segment.hint);
            }
        }
    });
    chosen
}

/// Returns the enabled segment that lies some steps away, or the last one in that direction.
fn neighbour<'s, 't, T>(
    segments: &'s [Segment<'t, T>],
    from: usize,
    step: isize,
) -> Option<(usize, &'s Segment<'t, T>)> {
    let mut found = None;
    let mut place = from;
    for _ in 0..step.unsigned_abs() {
        loop {
            let next = place.checked_add_signed(step.signum());
            let Some((at, segment)) = next.and_then(|at| Some((at, segments.get(at)?))) else { return found };
            place = at;
            if segment.enabled {
                found = Some((place, segment));
                break;
            }
        }
    }
    found
}

fn allocate<T>(ui: &mut Ui, id: egui::Id, segment: &Segment<'_, T>) -> (Rect, egui::Response) {
    let font = TextStyle::Button.resolve(ui.style());
    let text = ui.painter().layout_no_wrap(segment.text.to_owned(), font, Color32::PLACEHOLDER);
    let size = vec2(text.size().x + 2.0 * SIDE, ui.spacing().interact_size.y);
    let (_, rect) = ui.allocate_space(size);
    let sense = if segment.enabled { Sense::click() } else { Sense::hover() };
    (rect, ui.interact(rect, id, sense))
}

fn paint<T>(
    ui: &Ui,
    (rect, (first, last)): (Rect, (bool, bool)),
    segment: &Segment<'_, T>,
    is_on: bool,
    response: &egui::Response,
) {
    if !ui.is_rect_visible(rect) {
        return;
    }
    let palette = Palette::of(ui);
    let (left, right) = (if first { ROUND } else { 0 }, if last { ROUND } else { 0 });
    let round = CornerRadius { nw: left, sw: left, ne: right, se: right };
    let fill = match (is_on, segment.enabled && response.hovered()) {
        (true, _) => palette.selected,
        (false, true) => palette.hover,
        (false, false) => palette.raised,
    };
    let stroke = match response.has_focus() {
        true => ui.visuals().widgets.active.bg_stroke,
        false => Stroke::new(1.0, palette.edge),
    };
    ui.painter().rect(rect, round, fill, stroke, StrokeKind::Inside);
    let colour = match (segment.enabled, is_on) {
        (true, true) => palette.text,
        (true, false) | (false, _) => palette.weak,
    };
    let font = TextStyle::Button.resolve(ui.style());
    ui.painter().text(rect.center(), Align2::CENTER_CENTER, segment.text, font, colour);
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::accesskit::Toggled;
    use egui_kittest::Harness;
    use egui_kittest::kittest::{NodeT, Queryable};

    const TEXTS: [&str; 3] = ["One", "Two", "Three"];

    fn harness(two_is_enabled: bool) -> Harness<'static, usize> {
        Harness::new_ui_state(
            move |ui, chosen: &mut usize| {
                let mut segments: Vec<Segment<'_, usize>> =
                    TEXTS.into_iter().enumerate().map(|(index, text)| Segment::new(index, text)).collect();
                segments[1].enabled = two_is_enabled;
                if let Some(next) = show(ui, "Numbers", &segments, Some(*chosen)) {
                    *chosen = next;
                }
            },
            0,
        )
    }

    #[test]
    fn a_click_chooses() {
        let mut harness = harness(true);
        harness.get_by_label("Three").click();
        harness.run();
        assert_eq!(*harness.state(), 2);
        let is_on = |text| harness.get_by_label(text).accesskit_node().toggled() == Some(Toggled::True);
        assert_eq!(TEXTS.map(is_on), [false, false, true]);
        assert!(harness.query_by_role_and_label(Role::RadioGroup, "Numbers").is_some());
    }

    #[test]
    fn arrow_keys_skip_disabled_segments() {
        let mut harness = harness(true);
        harness.get_by_label("One").focus();
        harness.run();
        for (key, chosen) in
            [(Key::ArrowRight, 1), (Key::ArrowRight, 2), (Key::ArrowRight, 2), (Key::ArrowLeft, 1)]
        {
            harness.key_press(key);
            harness.run();
            assert_eq!(*harness.state(), chosen);
            assert!(harness.get_by_label(TEXTS[chosen]).is_focused());
        }
        let mut harness = self::harness(false);
        harness.get_by_label("One").focus();
        harness.run();
        harness.key_press(Key::ArrowRight);
        harness.run();
        assert_eq!(*harness.state(), 2, "the second is disabled");
        harness.key_press(Key::ArrowLeft);
        harness.run();
        harness.key_press(Key::ArrowLeft);
        harness.run();
        assert_eq!(*harness.state(), 0);
    }
}
