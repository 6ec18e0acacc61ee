//! Names and lengths on the timeline, their font, and the id of the canvas.

use eframe::egui::{FontId, Id};
use redial_model::call_history::{CallHistory, Span};
use redial_protocol::peer_text::clean;
use redial_text::traced_calls::name;
use redial_text::words;

/// Returns the id of the canvas, which takes keys while it has the focus.
pub fn canvas_id() -> Id {
    Id::unique("timeline")
}

/// Returns the name of a call's method.
pub fn method_name(history: &CallHistory, span: &Span) -> String {
    history.method(span.method).map_or(String::new(), |method| clean(name(method)).into_owned())
}

/// Formats a length of time, with all its nanoseconds if rounding hides some.
pub fn length(ns: u64) -> String {
    match ns {
        ..1_000 => words::duration(ns),
        _ => format!("{} ({} ns)", words::duration(ns), words::grouped(ns)),
    }
}

/// Returns the font of names on bars: all of its letters have the same width.
pub fn bar_font() -> FontId {
    FontId::monospace(11.0)
}
