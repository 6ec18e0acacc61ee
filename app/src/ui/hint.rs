//! Hints that stand beside a widget, never on it.

use eframe::egui::{Context, Order, RectAlign, Response, Tooltip, Ui};

/// Where one stands that finds no room below.
const ELSEWHERE: &[RectAlign] = &[RectAlign::LEFT_END, RectAlign::TOP_START];

/// Width of one that stands on something, points.
const NARROW: f32 = 250.0;

/// Says that below a widget under the pointer, or `always`; not while a dialog is open, on which it would stand.
pub fn beside(response: &Response, always: bool, text: String) {
    if is_dialog_open(&response.ctx) {
        return;
    }
    let mut hint = if always { Tooltip::for_widget(response) } else { Tooltip::for_enabled(response) };
    hint.popup = hint.popup.align(RectAlign::BOTTOM_START).align_alternatives(ELSEWHERE);
    hint.show(|ui| {
        ui.set_max_width(ui.spacing().tooltip_width);
        ui.label(text);
    });
}

/// Says something at the left of a widget under the pointer, with a gap between; narrow, for it stands on what is there.
pub fn left_of(response: &Response, gap: f32, says: impl FnOnce(&mut Ui)) {
    let mut hint = Tooltip::for_enabled(response);
    hint.popup = hint.popup.align(RectAlign::LEFT_START).gap(gap);
    hint.show(|ui| {
        ui.set_max_width(NARROW);
        says(ui);
    });
}

/// Whether a dialog stands over the panels.
fn is_dialog_open(context: &Context) -> bool {
    context.memory(|memory| {
        let mut layers = memory.areas().visible_layer_ids().into_iter();
        memory.top_modal_layer().is_some() || layers.any(|layer| layer.order == Order::Middle)
    })
}
