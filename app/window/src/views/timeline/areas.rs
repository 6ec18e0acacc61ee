//! The parts of the timeline: ruler, names of tracks, bars, scroll bar.

use crate::ui::scroll_bar::WIDTH;
use eframe::egui::{Rect, pos2};
use redial_model::call_history::TimeView;

/// Height of the ruler, points.
const RULER: f32 = 20.0;

/// Where the parts of the timeline are.
#[derive(Clone, Copy, Debug)]
pub struct Canvas {
    /// Marks of time.
    pub ruler: Rect,
    /// The bars.
    pub tracks: Rect,
    /// Names of tracks.
    pub names: Rect,
    /// The scroll bar, if not all tracks fit.
    pub scroll_bar: Option<Rect>,
}

impl Canvas {
    /// Divides an area for tracks with this height, points.
    pub fn of(all: Rect, height: f32) -> Canvas {
        let names = (all.width() * 0.18).clamp(60.0, 190.0);
        let top = (all.top() + RULER).min(all.bottom());
        let scrolls = height > all.bottom() - top;
        let right = if scrolls { (all.right() - WIDTH).max(all.left() + names) } else { all.right() };
        Canvas {
            ruler: Rect::from_min_max(pos2(all.left() + names, all.top()), pos2(right, top)),
            tracks: Rect::from_min_max(pos2(all.left() + names, top), pos2(right, all.bottom())),
            names: Rect::from_min_max(pos2(all.left(), top), pos2(all.left() + names, all.bottom())),
            scroll_bar: scrolls.then(|| Rect::from_min_max(pos2(right, top), all.max)),
        }
    }

    /// Returns the horizontal position of a time; far outside the tracks it is not exact.
    pub fn x(&self, view: &TimeView, time: i64) -> f32 {
        let share = view.share(time).clamp(-1.0, 2.0);
        self.tracks.left() + (share * f64::from(self.tracks.width())) as f32
    }

    /// Returns the share of the view at a horizontal position.
    pub fn share(&self, x: f32) -> f64 {
        f64::from(x - self.tracks.left()) / f64::from(self.tracks.width().max(1.0))
    }
}
