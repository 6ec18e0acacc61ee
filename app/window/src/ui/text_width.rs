//! Character widths, to estimate the width of a text before layout. Layout takes some fifty times as long as
//! adding up characters.

use eframe::egui::text::LayoutJob;
use eframe::egui::{Context, FontFamily, FontId, Id};
use std::sync::Arc;

/// Measured characters: those of ASCII.
const KNOWN: usize = 128;

/// The widths of characters without kerning.
pub struct GlyphWidths {
    context: Context,
    known: Arc<KnownWidths>,
}

/// The widths of these characters at font size 1, points: proportional, and the one width of monospace.
#[derive(Debug)]
struct KnownWidths {
    proportional: [f32; KNOWN],
    monospace: [f32; KNOWN],
}

impl GlyphWidths {
    /// Returns the widths in the window's fonts, measured once.
    pub fn of(context: &Context) -> GlyphWidths {
        let id = Id::unique("widths of letters");
        let known = context.data(|data| data.get_temp::<Arc<KnownWidths>>(id)).unwrap_or_else(|| {
            let read = |font: FontId| {
                context.fonts_mut(|fonts| {
                    std::array::from_fn(|letter| fonts.glyph_width(&font, char::from(letter as u8)))
                })
            };
            let (proportional, monospace) = (read(FontId::proportional(1.0)), read(FontId::monospace(1.0)));
            let known = Arc::new(KnownWidths { proportional, monospace });
            context.data_mut(|data| data.insert_temp(id, Arc::clone(&known)));
            known
        });
        GlyphWidths { context: context.clone(), known }
    }

    /// Returns the width of a character, points.
    pub fn letter(&self, font: &FontId, letter: char) -> f32 {
        let known = match font.family {
            FontFamily::Proportional => self.known.proportional.get(letter as usize),
            FontFamily::Monospace => self.known.monospace.get(letter as usize),
            FontFamily::Name(_) => None,
        };
        match known {
            Some(width) => width * font.size,
            None => self.context.fonts_mut(|fonts| fonts.glyph_width(font, letter)),
        }
    }

    /// Returns the approximate width of a text on one line, points; off by a few percent.
    pub fn text(&self, job: &LayoutJob) -> f32 {
        let of_section = |section: &eframe::egui::text::LayoutSection| -> f32 {
            let bytes = section.byte_range.start.0..section.byte_range.end.0;
            let letters = job.text.get(bytes).unwrap_or_default().chars();
            section.leading_space
                + letters.map(|letter| self.letter(&section.format.font_id, letter)).sum::<f32>()
        };
        job.sections.iter().map(of_section).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::{Color32, RawInput, TextFormat};

    #[test]
    fn estimated_text_width_is_close_to_layout() {
        let context = Context::default();
        crate::ui::theme::install(&context);
        let output = context.run_ui(RawInput::default(), |ui| {
            let widths = GlyphWidths::of(ui.ctx());
            for (text, font) in [
                (
                    "System.Collections.Generic.Dictionary<TKey, TValue>.TryGetValue",
                    FontId::proportional(14.0),
                ),
                ("WAVE AVATAR To. Ty. Ve. LT", FontId::proportional(12.0)),
                ("Größe … →", FontId::proportional(13.0)),
                ("0x06000012", FontId::monospace(12.0)),
            ] {
                let mut job = LayoutJob::default();
                job.append(text, 3.0, TextFormat::simple(font, Color32::WHITE));
                let about = widths.text(&job);
                let real = ui.ctx().fonts_mut(|fonts| fonts.layout_job(job)).size().x;
                assert!((about / real - 1.0).abs() < 0.05, "{text}: {about} beside {real}");
            }
        });
        output.drop_without_applying_deltas();
    }
}
