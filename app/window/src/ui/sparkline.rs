//! Sparkline of a row's recent rates.

use super::theme::Palette;
use eframe::egui::{Mesh, Painter, Pos2, Rect, Shape, Stroke, pos2};

/// Draws `values` (oldest first) into `rect`, filled to the bottom; the highest touches the top. NaN means
/// not measured and leaves a gap; zero is a line at the bottom.
pub fn paint(painter: &Painter, rect: Rect, values: impl Iterator<Item = f32>, palette: &Palette) {
    let values: Vec<f32> = values.collect();
    for points in lines(rect, &values).into_iter().filter(|points| points.len() > 1) {
        line(painter, rect, points, palette);
    }
}

fn line(painter: &Painter, rect: Rect, points: Vec<Pos2>, palette: &Palette) {
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

/// Returns the curve's points, one line per uninterrupted measurement; the last value is at the right edge.
fn lines(rect: Rect, values: &[f32]) -> Vec<Vec<Pos2>> {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let top = finite.fold(0.0_f32, f32::max);
    let step = rect.width() / (values.len().max(2) - 1) as f32;
    let point = |index: usize, value: f32| {
        let share = if top > 0.0 && value.is_finite() { (value / top).clamp(0.0, 1.0) } else { 0.0 };
        pos2(rect.left() + step * index as f32, rect.bottom() - share * rect.height())
    };
    let mut lines = vec![Vec::new()];
    for (index, value) in values.iter().enumerate() {
        match lines.last_mut() {
            Some(line) if !value.is_nan() => line.push(point(index, *value)),
            Some(line) if !line.is_empty() => lines.push(Vec::new()),
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::vec2;

    #[test]
    fn the_highest_touches_the_top_and_the_last_the_right() {
        let rect = Rect::from_min_size(pos2(10.0, 20.0), vec2(100.0, 16.0));
        let whole = lines(rect, &[0.0, 4.0, 2.0]);
        assert_eq!(whole, [[pos2(10.0, 36.0), pos2(60.0, 20.0), pos2(110.0, 28.0)]]);
        let young = lines(rect, &[f32::NAN, 4.0, f32::INFINITY]);
        assert_eq!(young, [[pos2(60.0, 20.0), pos2(110.0, 36.0)]], "nothing before the measurement");
    }

    #[test]
    fn no_line_while_off() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(50.0, 10.0));
        let nan = f32::NAN;
        let broken = lines(rect, &[4.0, 4.0, nan, nan, 2.0, nan]);
        let expected = vec![vec![pos2(0.0, 0.0), pos2(10.0, 0.0)], vec![pos2(40.0, 5.0)], vec![]];
        assert_eq!(broken, expected);
    }

    #[test]
    fn idle_method_has_a_line_at_the_bottom() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(10.0, 10.0));
        assert!(lines(rect, &[0.0, 0.0]).iter().flatten().all(|point| point.y == 10.0));
        assert!(lines(rect, &[]).iter().all(Vec::is_empty));
    }
}
