//! Where tracks and lanes stand.

use eframe::egui::Rangef;
use redial_model::call_history::{Lane, Spans, TrackKey};

/// Height of a lane, points.
pub const LANE: f32 = 18.0;
/// Space between tracks, points.
pub const GAP: f32 = 6.0;

/// A lane with its position below the first one.
#[derive(Clone, Copy)]
pub struct PlacedLane<'s> {
    /// Its track.
    pub track: TrackKey,
    /// Whether it is the first lane of its track.
    pub is_first: bool,
    /// Its spans.
    pub lane: &'s Lane,
    /// Its upper side, points below the first lane's.
    pub top: f32,
}

impl PlacedLane<'_> {
    /// Returns its vertical range when the lanes are scrolled by `offset` and begin at `top`.
    pub fn range(&self, top: f32, offset: f32) -> Rangef {
        let top = top + self.top - offset;
        Rangef::new(top, top + LANE)
    }
}

/// Returns the lanes, and the height of all.
pub fn lanes(spans: &Spans) -> (Vec<PlacedLane<'_>>, f32) {
    let (mut lanes, mut top): (Vec<PlacedLane<'_>>, f32) = (Vec::new(), 0.0);
    for (track, _, lane) in spans.lanes() {
        let is_first = lanes.last().is_none_or(|last| last.track != track);
        if is_first && !lanes.is_empty() {
            top += GAP;
        }
        lanes.push(PlacedLane { track, is_first, lane, top });
        top += LANE;
    }
    (lanes, top)
}
