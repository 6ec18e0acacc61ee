//! Small painted icons that the fonts lack.

use eframe::egui::{Color32, Painter, Pos2, Shape, Stroke, vec2};

/// The direction of a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriangleDirection {
    /// Up: ascending.
    Up,
    /// Down: descending, expanded.
    Down,
    /// Right: collapsed, forward.
    Right,
    /// Left: back.
    Left,
}

/// Paints a filled triangle around `centre`.
pub fn triangle(painter: &Painter, centre: Pos2, way: TriangleDirection, half: f32, colour: Color32) {
    let points = match way {
        TriangleDirection::Up => [vec2(-half, half * 0.6), vec2(half, half * 0.6), vec2(0.0, -half * 0.7)],
        TriangleDirection::Down => [vec2(-half, -half * 0.6), vec2(half, -half * 0.6), vec2(0.0, half * 0.7)],
        TriangleDirection::Left => [vec2(half * 0.6, -half), vec2(-half * 0.7, 0.0), vec2(half * 0.6, half)],
        TriangleDirection::Right => {
            [vec2(-half * 0.6, -half), vec2(half * 0.7, 0.0), vec2(-half * 0.6, half)]
        }
    };
    painter.add(Shape::convex_polygon(points.map(|point| centre + point).to_vec(), colour, Stroke::NONE));
}
