//! Hints beside a widget, never on it.

use eframe::egui::{Context, RectAlign, Response, Tooltip, Ui};

/// Where a hint goes if it does not fit below.
const ELSEWHERE: &[RectAlign] = &[RectAlign::LEFT_END, RectAlign::TOP_START];

/// Width of a hint that covers other content, points.
const NARROW: f32 = 250.0;

/// Shows a text below a widget under the pointer, or `always`; not while a dialog is open, which it would
/// cover.
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

/// Shows a hint to the left of a widget under the pointer, with a gap; narrow, because it covers other
/// content.
pub fn left_of(response: &Response, gap: f32, says: impl FnOnce(&mut Ui)) {
    let mut hint = Tooltip::for_enabled(response);
    hint.popup = hint.popup.align(RectAlign::LEFT_START).gap(gap);
    hint.show(|ui| {
        ui.set_max_width(NARROW);
        says(ui);
    });
}

/// Returns whether a dialog is open.
fn is_dialog_open(context: &Context) -> bool {
    context.memory(|memory| memory.top_modal_layer().is_some())
}
