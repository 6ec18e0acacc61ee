//! Paints a knob of any size: groove and detents, the wanted level as a ring, the actual one as a needle.

use super::knob_face::KnobFace;
use super::theme::Palette;
use eframe::egui::{
    Align2, Color32, FontId, Painter, Pos2, Rect, Response, Shape, Stroke, Ui, Vec2, pos2, vec2,
};
use redial_protocol::level::Level;
use redial_protocol::state::CopyState;
use std::f32::consts::PI;

/// Angle of the first detent, clockwise from the top; the last is opposite.
const FIRST: f32 = -0.75 * PI;
/// Angle from the first detent to the last.
const SWEEP: f32 = 1.5 * PI;

/// Paints a knob into `rect`. `shown` is the wanted level; `None` if mixed.
pub fn paint(
    ui: &Ui,
    rect: Rect,
    face: &KnobFace<'_>,
    shown: Option<Level>,
    pending: bool,
    enabled: bool,
    response: &Response,
) {
    let palette = Palette::of(ui);
    let painter = ui.painter_at(rect.expand(2.0));
    let size = rect.width().min(rect.height());
    let (centre, radius) = (rect.center(), size * 0.5);
    let ring = radius * 0.80;
    // The strokes of a small knob are its visible part.
    let thick = (size * 0.085).max(2.75);
    let colour = ring_colour(face.actual, pending, palette);
    let strength = if enabled { 1.0 } else { 0.45 };

    arc(
        &painter,
        centre,
        ring,
        FIRST,
        FIRST + SWEEP,
        Stroke::new(thick, palette.groove.gamma_multiply(strength)),
    );
    let lit = |from: f32, to: f32, colour: Color32| {
        arc(&painter, centre, ring, from, to, Stroke::new(thick, colour.gamma_multiply(strength)));
    };
    match shown {
        Some(Level::Off) if pending => lit(FIRST, angle(Level::Off) + 0.3, colour),
        Some(Level::Off) => {}
        // A pending level is dashed: colour is never the only signal.
        Some(level) if pending || face.actual == Some(CopyState::Asked) => {
            for (from, to) in dashes(FIRST, angle(level)) {
                lit(from, to, colour);
            }
        }
        Some(level) => lit(FIRST, angle(level), colour),
        None => {
            for (from, to) in dashes(FIRST, FIRST + SWEEP) {
                lit(from, to, palette.weak);
            }
        }
    }
    detents(&painter, centre, radius, size, face, palette, strength);
    body(&painter, centre, radius, face, palette, strength);
    if response.has_focus() {
        painter.circle_stroke(centre, radius + 0.5, Stroke::new(2.0, palette.accent));
    } else if response.hovered() && enabled {
        painter.circle_stroke(centre, radius * 0.56, Stroke::new(1.0, palette.accent));
    }
}

fn ring_colour(actual: Option<CopyState>, pending: bool, palette: &Palette) -> Color32 {
    if pending {
        return palette.waiting;
    }
    match actual {
        Some(CopyState::Asked | CopyState::Reverting) => palette.waiting,
        Some(CopyState::Refused | CopyState::Failed) => palette.bad,
        Some(CopyState::Live) => palette.live,
        Some(CopyState::Lost) => palette.weak,
        Some(CopyState::Off) | None => palette.accent,
    }
}

/// Returns the angle of a level, clockwise from the top.
fn angle(level: Level) -> f32 {
    FIRST + SWEEP * f32::from(level as u8) / 3.0
}

/// Returns the position of a level's name beside the knob in `rect`.
pub fn name_place(rect: Rect, level: Level) -> (Pos2, Align2) {
    let out = direction(angle(level));
    let at = rect.center() + out * (rect.width() * 0.5 + 1.0);
    (at, if out.x < 0.0 { Align2::RIGHT_CENTER } else { Align2::LEFT_CENTER })
}

fn direction(angle: f32) -> Vec2 {
    vec2(angle.sin(), -angle.cos())
}

fn arc(painter: &Painter, centre: Pos2, radius: f32, from: f32, to: f32, stroke: Stroke) {
    let steps = (((to - from).abs() * radius / 2.0).ceil() as usize).clamp(2, 96);
    let at = |step: usize| centre + direction(from + (to - from) * step as f32 / steps as f32) * radius;
    painter.add(Shape::line((0..=steps).map(at).collect(), stroke));
}

fn dashes(from: f32, to: f32) -> impl Iterator<Item = (f32, f32)> {
    const DASH: f32 = 0.26;
    let count = ((to - from) / (DASH * 2.0)).ceil().max(1.0) as usize;
    (0..count).map(move |index| {
        let start = from + DASH * 2.0 * index as f32;
        (start, (start + DASH).min(to))
    })
}

/// Paints a dot for each level offered, and a short line for each other one.
fn detents(
    painter: &Painter,
    centre: Pos2,
    radius: f32,
    size: f32,
    face: &KnobFace<'_>,
    palette: &Palette,
    strength: f32,
) {
    for level in Level::ALL {
        let out = direction(angle(level));
        if size < 30.0 {
            // A small knob marks only offered levels: lines would look like dirt.
            if face.offered.contains(&level) {
                painter.circle_filled(
                    centre + out * radius * 0.80,
                    1.25,
                    palette.text.gamma_multiply(0.8 * strength),
                );
            }
        } else if face.offered.contains(&level) {
            painter.circle_filled(centre + out * radius * 0.80, size * 0.028, palette.text);
        } else {
            let line = [centre + out * radius * 0.73, centre + out * radius * 0.87];
            painter.line_segment(line, Stroke::new(1.0, palette.weak));
        }
    }
}

/// Paints the face with the needle that shows the actual level.
fn body(painter: &Painter, centre: Pos2, radius: f32, face: &KnobFace<'_>, palette: &Palette, strength: f32) {
    let inner = radius * 0.56;
    painter.circle_filled(centre, inner, palette.face.gamma_multiply(strength));
    painter.circle_stroke(centre, inner, Stroke::new(1.0, palette.line));
    let width = (radius * 0.13).max(2.25);
    let needle = |level: Level, colour: Color32| {
        let out = direction(angle(level));
        let from = if radius < 15.0 { 0.0 } else { 0.2 };
        painter.line_segment(
            [centre + out * inner * from, centre + out * inner * 0.95],
            Stroke::new(width, colour),
        );
    };
    match face.actual {
        Some(CopyState::Live) => needle(face.runs, palette.live),
        Some(CopyState::Refused | CopyState::Failed) => sign(painter, centre, inner, "!", palette.bad),
        Some(CopyState::Lost) => cross(painter, centre, inner * 0.5, Stroke::new(width, palette.weak)),
        Some(CopyState::Reverting) => needle(Level::Off, palette.waiting),
        // Part of a pending group runs already.
        Some(CopyState::Asked) if face.runs != Level::Off => needle(face.runs, palette.live),
        Some(CopyState::Off | CopyState::Asked) => needle(Level::Off, palette.weak.gamma_multiply(strength)),
        None => {
            painter.line_segment(
                [centre - vec2(inner * 0.5, 0.0), centre + vec2(inner * 0.5, 0.0)],
                Stroke::new(width, palette.weak),
            );
        }
    }
}

fn sign(painter: &Painter, centre: Pos2, inner: f32, text: &str, colour: Color32) {
    painter.text(centre, Align2::CENTER_CENTER, text, FontId::proportional(inner * 1.7), colour);
}

fn cross(painter: &Painter, centre: Pos2, half: f32, stroke: Stroke) {
    for side in [1.0, -1.0] {
        let from = pos2(centre.x - half, centre.y - half * side);
        painter.line_segment([from, pos2(centre.x + half, centre.y + half * side)], stroke);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_lies_at_the_lower_left_and_trace_opposite() {
        let (off, trace) = (direction(angle(Level::Off)), direction(angle(Level::Trace)));
        assert!(off.x < -0.5 && off.y > 0.5, "{off:?}");
        assert!((off.x + trace.x).abs() < 1e-5 && (off.y - trace.y).abs() < 1e-5, "{trace:?}");
    }

    #[test]
    fn dashes_stay_within_the_arc() {
        for to in [angle(Level::Count), angle(Level::Trace)] {
            let dashes: Vec<_> = dashes(FIRST, to).collect();
            assert!(dashes.len() > 2 && dashes.iter().all(|(start, end)| start < end && *end <= to + 1e-5));
        }
    }
}
