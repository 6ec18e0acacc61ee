//! Icons: those of the icon font, and triangles, which are painted to be sharp at every size.

use eframe::egui::{Color32, FontFamily, Painter, Pos2, RichText, Shape, Stroke, vec2};
pub use lucide_icons::Icon;

/// The name of the icon font's family.
pub const FAMILY: &str = "icons";
/// The icon font's file.
pub const FONT: &[u8] = lucide_icons::LUCIDE_FONT_BYTES;
/// Size of icons beside text, points.
pub const SIZE: f32 = 15.0;

/// Returns an icon as text, to stand beside a name. Screen readers need a name of their own.
pub fn text(icon: Icon) -> RichText {
    RichText::new(icon.unicode()).family(FontFamily::Name(FAMILY.into())).size(SIZE)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::listed;
    use eframe::egui::{Context, FontId, RawInput};

    #[test]
    fn the_font_has_every_icon() {
        let context = Context::default();
        crate::ui::theme::install(&context);
        let output = context.run_ui(RawInput::default(), |ui| {
            let font = FontId::new(SIZE, FontFamily::Name(FAMILY.into()));
            for icon in listed().filter_map(|command| command.icon()).chain([Icon::Check]) {
                assert!(ui.fonts_mut(|fonts| fonts.has_glyph(&font, icon.unicode())), "{icon}");
            }
        });
        output.drop_without_applying_deltas();
    }
}
