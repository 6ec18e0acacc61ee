//! Dialogs: windows in the middle, above the panels, which take neither clicks nor the focus meanwhile.

use eframe::egui::{Align2, Context, LayerId, Ui, WidgetText, Window, vec2};

/// Returns a dialog of fixed size, for [`show`].
pub fn titled(title: impl Into<WidgetText>) -> Window<'static> {
    Window::new(title).resizable(false).collapsible(false).anchor(Align2::CENTER_CENTER, vec2(0.0, 0.0))
}

/// Shows a dialog with a button that closes it. Returns whether it stays open.
pub fn show(context: &Context, dialog: Window<'_>, content: impl FnOnce(&mut Ui)) -> bool {
    let mut open = true;
    if let Some(shown) = dialog.open(&mut open).show(context, content) {
        keep_focus(context, shown.response.layer_id);
    }
    open
}

/// Keeps clicks and the focus in a layer and those above it, until the next frame.
pub fn keep_focus(context: &Context, layer: LayerId) {
    context.memory_mut(|memory| memory.set_modal_layer(layer));
}
