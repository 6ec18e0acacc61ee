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
        let font = FontId::monospace(11.0);
        painter.text(pos2(x + 4.0, ruler.center().y), Align2::LEFT_CENTER, text, font, palette.weak);
    }
}

/// Formats a time since the first call with as many digits as `step` needs: `0:12.345`.
pub fn since_origin(ns: i64, step: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let (seconds, part) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let whole = match hours {
        0 => format!("{sign}{minutes}:{seconds:02}"),
        _ => format!("{sign}{hours}:{minutes:02}:{seconds:02}"),
    };
    let digits = (0..9).find(|digits| step % 10_i64.pow(9 - digits) == 0).unwrap_or(9) as usize;
    if digits == 0 {
        return whole;
    }
    let fraction = format!("{part:09}");
    format!("{whole}.{}", fraction.get(..digits).unwrap_or(&fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_the_digits_that_they_need() {
        assert_eq!(since_origin(12_345_000_000, 5_000_000), "0:12.345");
        assert_eq!(since_origin(12_000_000_000, 2_000_000_000), "0:12");
        assert_eq!(since_origin(3_723_000_000_001, 1), "1:02:03.000000001");
        assert_eq!(since_origin(-1_500_000_000, 100_000_000), "-0:01.5");
    }
}
