//! Ids of the panel's widgets, and the keys that its fields take.

use eframe::egui::{EventFilter, Id};

/// Returns the id of the filter field.
pub fn filter_id() -> Id {
    Id::unique("Event filter")
}

/// Returns the keys that a field of the panel takes itself: Escape drops what was typed and keeps the focus.
pub fn field_keys(tab: bool) -> EventFilter {
    EventFilter { tab, horizontal_arrows: true, vertical_arrows: true, escape: true }
}

/// Returns the id under which the toolkit's memory has whether the panel is shown.
pub fn shown_id() -> Id {
    Id::unique("events are shown")
}

/// Returns the id of the rows, which take keys while they have the focus.
pub fn rows_id() -> Id {
    Id::unique("rows of events")
}

/// Returns the id of the field of the condition.
pub fn condition_id() -> Id {
    Id::unique("condition of traces")
}
