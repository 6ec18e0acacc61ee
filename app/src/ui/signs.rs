//! Small signs, painted: the fonts have not all of them.

use eframe::egui::{Color32, Painter, Pos2, Shape, Stroke, vec2};

/// Which way a triangle points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Up: ascending.
    Up,
    /// Down: descending, expanded.
    Down,
    /// Right: closed.
    Right,
}

/// A filled triangle around `centre`.
pub fn triangle(painter: &Painter, centre: Pos2, way: Way, half: f32, colour: Color32) {
    let points = match way {
        Way::Up => [vec2(-half, half * 0.6), vec2(half, half * 0.6), vec2(0.0, -half * 0.7)],
        Way::Down => [vec2(-half, -half * 0.6), vec2(half, -half * 0.6), vec2(0.0, half * 0.7)],
        Way::Right => [vec2(-half * 0.6, -half), vec2(half * 0.7, 0.0), vec2(-half * 0.6, half)],
    };
    painter.add(Shape::convex_polygon(points.map(|point| centre + point).to_vec(), colour, Stroke::NONE));
}
