//! Ids of the panel's widgets, and names of nodes.

use eframe::egui::Id;
use redial_model::call_history::{CallHistory, OTHER, ROOT};
use redial_protocol::peer_text::clean;
use redial_text::traced_calls::name;

/// Returns the id of the rows or bars, which take keys while they have the focus.
pub fn canvas_id() -> Id {
    Id::unique("calls")
}

/// Returns the id of the search field.
pub fn search_id() -> Id {
    Id::unique("search calls")
}

/// Returns the name of a node.
pub fn node_name(history: &CallHistory, node: u32) -> String {
    let Some(place) = history.tree().node(node).map(|node| node.place) else { return String::new() };
    if node == ROOT {
        return "All calls".to_owned();
    }
    if place.method == OTHER {
        return "Other methods".to_owned();
    }
    let name = history.method(place.method).map_or(String::new(), |method| clean(name(method)).into_owned());
    if place.is_async { format!("{name} (async)") } else { name }
}
