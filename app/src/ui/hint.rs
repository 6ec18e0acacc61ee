//! Hints that stand beside a widget, never on it.

use eframe::egui::{Context, Order, RectAlign, Response, Tooltip};

/// Where one stands that finds no room below.
const ELSEWHERE: &[RectAlign] = &[RectAlign::LEFT_END, RectAlign::TOP_START];

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

/// Whether a dialog stands over the panels.
fn is_dialog_open(context: &Context) -> bool {
    context.memory(|memory| {
        let mut layers = memory.areas().visible_layer_ids().into_iter();
        memory.top_modal_layer().is_some() || layers.any(|layer| layer.order == Order::Middle)
    })
}
