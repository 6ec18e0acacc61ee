//! Parts of a widget that it paints and hits itself, described to screen readers as if they were widgets.

use eframe::egui::{Id, Rect, Ui, accesskit};

/// Describes a painted part; returns whether a screen reader requests a click on it. Costs nothing without a screen reader.
pub fn describe(ui: &Ui, id: Id, rect: Rect, role: accesskit::Role, label: impl FnOnce() -> String) -> bool {
    let described = ui.ctx().accesskit_node_builder(id, |node| {
        node.set_role(role);
        node.set_label(label());
        node.set_bounds(accesskit::Rect {
            x0: rect.min.x.into(),
            y0: rect.min.y.into(),
            x1: rect.max.x.into(),
            y1: rect.max.y.into(),
        });
        node.add_action(accesskit::Action::Click);
    });
    described.is_some()
        && ui.input(|input| input.num_accesskit_action_requests(id, accesskit::Action::Click)) > 0
}
