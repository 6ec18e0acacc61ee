//! Renders glyphs before they are needed. The toolkit renders a glyph when it is first drawn, once for each
//! quarter of a pixel at which it can start. The first frame of a table, full of new glyphs, would otherwise
//! take twice as long.

use super::text_width::GlyphWidths;
use eframe::egui::text::LayoutJob;
use eframe::egui::{Color32, Context, FontId, TextFormat};

/// Subpixel positions at which a glyph differs.
const QUARTERS: u8 = 4;

/// Glyphs rendered per frame; all at once would exceed a frame.
const SOME: usize = 12;

/// The characters of each font.
const ALL: std::ops::RangeInclusive<char> = '!'..='~';

/// The most common glyphs.
#[derive(Debug, Default)]
pub struct GlyphWarmup {
    /// The first frame is over; it already has to load the fonts.
    begun: bool,
    made: usize,
}

impl GlyphWarmup {
    /// Renders some more glyphs, font by font, and measures character widths. Call it while drawing each
    /// frame. Returns whether there are more.
    pub fn make_some(&mut self, context: &Context, fonts: &[FontId]) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            return true;
        }
        let each = ALL.count();
        let Some(font) = fonts.get(self.made / each) else { return false };
        let letters: Vec<char> = ALL.skip(self.made % each).take(SOME).collect();
        self.made += letters.len();
        GlyphWidths::of(context);
        let pixel = 1.0 / context.pixels_per_point();
        context.fonts_mut(|fonts| {
            for letter in letters {
                for quarter in 0..QUARTERS {
                    let mut job = LayoutJob::default();
                    let before = pixel * f32::from(quarter) / f32::from(QUARTERS);
                    let plain = TextFormat::simple(font.clone(), Color32::WHITE);
                    job.append(letter.encode_utf8(&mut [0; 4]), before, plain);
                    fonts.layout_job(job);
                }
            }
        });
        self.made < fonts.len() * each
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{Color32, FontId, RawInput, pos2};

    #[test]
    fn warmed_up_glyphs_suffice_for_names() {
        let context = Context::default();
        let font = FontId::proportional(14.0);
        let frame = |draw: &dyn Fn()| {
            let mut output = context.run_ui(RawInput::default(), |_| draw());
            let new = output.textures_delta.set.len();
            output.textures_delta.clear();
            new
        };
        let write = |name: &str| {
            for quarter in [0.0, 0.3, 0.5, 0.8] {
                let name = name.to_owned();
                context.debug_painter().text(
                    pos2(quarter, 0.0),
                    eframe::egui::Align2::LEFT_TOP,
                    name,
                    font.clone(),
                    Color32::WHITE,
                );
            }
        };
        frame(&|| write("Shop"));
        let mut letters = GlyphWarmup::default();
        let mut made = Vec::new();
        let (fonts, mut more) = ([FontId::monospace(13.0), font.clone()], true);
        while more {
            let so_far = letters.made;
            let mut output =
                context.run_ui(RawInput::default(), |_| more = letters.make_some(&context, &fonts));
            output.textures_delta.clear();
            made.push(letters.made - so_far);
        }
        let in_one = [SOME, SOME, SOME, SOME, SOME, SOME, SOME, 10];
        assert_eq!(made, [&[0], &in_one[..], &in_one].concat(), "some in each frame after the first");
        assert_eq!(frame(&|| write("Shop.Cart+<Add>d__9.MoveNext(string[], ref int)")), 0);
        assert_eq!(frame(&|| write("Größe")), 1, "new glyphs would be noticed");
    }
}
