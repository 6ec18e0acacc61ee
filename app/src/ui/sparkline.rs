//! A small curve of the last rates of a row.

use super::theme::Palette;
use eframe::egui::{Mesh, Painter, Pos2, Rect, Shape, Stroke, pos2};

/// Draws `values` (oldest first) into `rect`, filled to the bottom; the highest touches the top. A row that was
/// never measured gets no line; one that stood still gets one at the bottom.
pub fn paint(painter: &Painter, rect: Rect, values: impl Iterator<Item = f32>, palette: &Palette) {
    let values: Vec<f32> = values.map(|value| if value.is_finite() { value.max(0.0) } else { 0.0 }).collect();
    let points = points(rect, &values);
    if points.len() < 2 {
        return;
    }
    let fill = palette.accent.gamma_multiply(0.25);
    let mut mesh = Mesh::default();
    for (index, point) in (0u32..).zip(&points) {
        mesh.colored_vertex(*point, fill);
        mesh.colored_vertex(pos2(point.x, rect.bottom()), fill);
        if index > 0 {
            let at = index * 2;
            mesh.add_triangle(at - 2, at - 1, at);
            mesh.add_triangle(at - 1, at, at + 1);
        }
    }
    painter.add(mesh);
    painter.add(Shape::line(points, Stroke::new(1.25, palette.accent)));
}

/// The curve's points: the last value at the right edge.
fn points(rect: Rect, values: &[f32]) -> Vec<Pos2> {
    let top = values.iter().copied().fold(0.0_f32, f32::max);
    let step = rect.width() / (values.len().max(2) - 1) as f32;
    values
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let share = if top > 0.0 { value / top } else { 0.0 };
            pos2(rect.left() + step * index as f32, rect.bottom() - share * rect.height())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::vec2;

    #[test]
    fn the_highest_touches_the_top_and_the_last_the_right() {
        let rect = Rect::from_min_size(pos2(10.0, 20.0), vec2(100.0, 16.0));
        let points = points(rect, &[0.0, 4.0, 2.0]);
        assert_eq!(points, [pos2(10.0, 36.0), pos2(60.0, 20.0), pos2(110.0, 28.0)]);
    }

    #[test]
    fn standing_still_is_a_line_at_the_bottom() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(10.0, 10.0));
        assert!(points(rect, &[0.0, 0.0]).iter().all(|point| point.y == 10.0));
        assert!(points(rect, &[]).is_empty());
    }
}
