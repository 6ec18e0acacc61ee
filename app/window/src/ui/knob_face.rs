//! The values that a knob shows, and the key and description of each level.

use eframe::egui::Key;
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;

/// The state that a knob shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnobFace<'a> {
    /// The wanted level; `None` if the dials differ.
    pub wanted: Option<Level>,
    /// The actual state as reported by the agent; `None` if the dials differ.
    pub actual: Option<CopyState>,
    /// The level that runs, shown by the needle.
    pub runs: Level,
    /// Whether the agent has not confirmed the wanted level yet.
    pub pending: bool,
    /// The levels the agent offers, including off.
    pub offered: &'a [Level],
    /// Why other levels are not offered.
    pub not_offered: &'a str,
    /// Its target, as the accessible name: `Dial of Shop.Cart.Add`.
    pub label: &'a str,
    /// The state as text for screen readers and hints: `live v1`.
    pub state_text: &'a str,
    /// For several dials: how many are on, and how many there are.
    pub several: Option<(u64, u64)>,
}

/// Returns the key of a level.
pub fn digit(level: Level) -> Key {
    match level {
        Level::Off => Key::Num0,
        Level::Count => Key::Num1,
        Level::Time => Key::Num2,
        Level::Trace => Key::Num3,
    }
}

/// Returns a short description of a level.
pub fn meaning(level: Level) -> &'static str {
    match level {
        Level::Off => "original code",
        Level::Count => "exact number of calls",
        Level::Time => "calls and their durations",
        Level::Trace => "one event per call",
    }
}
