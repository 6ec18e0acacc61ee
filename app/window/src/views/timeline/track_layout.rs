//! Where tracks and lanes stand.

use super::shown_processes::ShownProcess;
use eframe::egui::Rangef;
use redial_model::call_history::{Lane, TrackKey};

/// Height of a lane, points.
pub const LANE: f32 = 18.0;
/// Space between tracks, points.
pub const GAP: f32 = 6.0;

/// A lane with its position below the first one.
#[derive(Clone, Copy)]
pub struct PlacedLane<'s> {
    /// The place of its process.
    pub process: usize,
    /// Its track.
    pub track: TrackKey,
    /// Whether it is the first lane of its track.
    pub is_first: bool,
    /// Its spans.
    pub lane: &'s Lane,
    /// Its upper side, points below the first lane's.
    pub top: f32,
}

/// Everything with its position.
#[derive(Default)]
pub struct Layout<'s> {
    /// The lanes, from the top.
    pub lanes: Vec<PlacedLane<'s>>,
    /// The upper sides of the processes' titles, with the places of the processes.
    pub titles: Vec<(usize, f32)>,
    /// The height of all.
    pub height: f32,
}

/// Returns the vertical range of a lane or title at `place`, when all are scrolled by `offset` and begin at `top`.
pub fn vertical_range(place: f32, top: f32, offset: f32) -> Rangef {
    let top = top + place - offset;
    Rangef::new(top, top + LANE)
}

/// Places the lanes of processes that have calls, those of several processes below their titles.
pub fn layout<'s>(shown: &[ShownProcess<'s>]) -> Layout<'s> {
    let mut layout = Layout::default();
    let with_calls = shown.iter().enumerate().filter(|(_, process)| !process.history().spans().is_empty());
    for (place, process) in with_calls {
        if layout.height > 0.0 {
            layout.height += GAP;
        }
        if process.title.is_some() {
            layout.titles.push((place, layout.height));
            layout.height += LANE;
        }
        let mut before = None;
        for (track, _, lane) in process.history().spans().lanes() {
            let is_first = before.replace(track) != Some(track);
            let is_topmost = layout.lanes.last().is_none_or(|last| last.process != place);
            if is_first && !is_topmost {
                layout.height += GAP;
            }
            layout.lanes.push(PlacedLane { process: place, track, is_first, lane, top: layout.height });
            layout.height += LANE;
        }
    }
    layout
}
