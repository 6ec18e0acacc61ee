//! The ruler: marks at round times since the first call.

use super::areas::Canvas;
use crate::ui::theme::Palette;
use eframe::egui::{Align2, FontId, Painter, Stroke, pos2};
use redial_model::call_history::{TimeView, ruler_step};

/// Least distance of marks, points.
const MARKS: f64 = 110.0;

/// Paints the ruler, and a line down the tracks at each mark.
pub fn paint(painter: &Painter, canvas: &Canvas, view: &TimeView, origin: i64, palette: &Palette) {
    let ruler = canvas.ruler;
    painter.rect_filled(ruler, 0.0, palette.raised);
    let step = ruler_step(view.length(), f64::from(canvas.tracks.width()) / MARKS);
    let first = view.start().saturating_sub(origin).div_euclid(step);
    for number in 0..200 {
        let since = first.saturating_add(number).saturating_mul(step);
        let time = origin.saturating_add(since);
        if time > view.end() {
            break;
        }
        let x = canvas.x(view, time);
        if x < canvas.tracks.left() - 1.0 {
            continue;
        }
        painter.vline(x, canvas.tracks.y_range(), Stroke::new(1.0, palette.line.gamma_multiply(0.6)));
        painter.vline(x, ruler.y_range(), Stroke::new(1.0, palette.line));
        let text = since_origin(since, step);
        let galley = painter.layout_no_wrap(text, FontId::monospace(11.0), palette.weak);
        let place = Align2::LEFT_CENTER.anchor_size(pos2(x + 4.0, ruler.center().y), galley.size());
        if place.right() <= ruler.right() {
            painter.galley(place.min, galley, palette.weak);
        }
    }
}

/// Formats a time since the first call with as many digits as `step` needs: `12 ms`, `1.25 s`, `3:02.5`.
pub fn since_origin(ns: i64, step: i64) -> String {
    const MINUTE: u64 = 60_000_000_000;
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let (unit, digits, name) = match ns {
        0 => return "0".to_owned(),
        1..1_000 => (1, 0, " ns"),
        1_000..1_000_000 => (1_000, 3, " µs"),
        1_000_000..1_000_000_000 => (1_000_000, 6, " ms"),
        1_000_000_000..MINUTE => (1_000_000_000, 9, " s"),
        _ => (1_000_000_000, 9, ""),
    };
    let whole = match (ns / unit, ns / MINUTE) {
        (units, 0) => units.to_string(),
        (seconds, minutes @ 1..60) => format!("{minutes}:{:02}", seconds % 60),
        (seconds, minutes) => format!("{}:{:02}:{:02}", minutes / 60, minutes % 60, seconds % 60),
    };
    let step = step.unsigned_abs().max(1);
    let is_enough = |shown: &u32| step.is_multiple_of(10_u64.pow(digits - shown));
    let needed = (0..digits).find(is_enough).unwrap_or(digits) as usize;
    let fraction = format!("{:0width$}", ns % unit, width = digits as usize);
    match fraction.get(..needed).filter(|fraction| !fraction.is_empty()) {
        Some(fraction) => format!("{sign}{whole}.{fraction}{name}"),
        None => format!("{sign}{whole}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_the_digits_that_they_need() {
        assert_eq!(since_origin(0, 1), "0");
        assert_eq!(since_origin(20_000_000, 10_000_000), "20 ms");
        assert_eq!(since_origin(1_500_000, 500_000), "1.5 ms");
        assert_eq!(since_origin(2_000_000, 500_000), "2.0 ms");
        assert_eq!(since_origin(500_000, 500_000), "500 µs");
        assert_eq!(since_origin(7, 1), "7 ns");
        assert_eq!(since_origin(12_345_000_000, 5_000_000), "12.345 s");
        assert_eq!(since_origin(12_000_000_000, 2_000_000_000), "12 s");
        assert_eq!(since_origin(182_500_000_000, 500_000_000), "3:02.5");
        assert_eq!(since_origin(3_723_000_000_001, 1), "1:02:03.000000001");
        assert_eq!(since_origin(-1_500_000_000, 100_000_000), "-1.5 s");
        assert_eq!(since_origin(i64::MIN, 1), "-2562047:47:16.854775808");
    }
}
