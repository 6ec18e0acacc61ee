//! Letters drawn before they are needed. What a letter looks like is made where it is drawn first, once for each quarter of a
//! pixel it may begin at: the first frame of a table, which is full of new ones, would take twice as long.

use super::widths::Widths;
use eframe::egui::text::LayoutJob;
use eframe::egui::{Color32, Context, FontId, TextFormat};

/// Places within a pixel at which a letter looks different.
const QUARTERS: u8 = 4;

/// Letters made in one frame: all at once would take longer than a frame lasts.
const SOME: usize = 12;

/// All of them in one font.
const ALL: std::ops::RangeInclusive<char> = '!'..='~';

/// The letters that texts consist of mostly.
#[derive(Debug, Default)]
pub struct Letters {
    /// The first frame is over, which has the fonts to read.
    begun: bool,
    made: usize,
}

impl Letters {
    /// Makes some more of them, first in the first font, and reads how wide letters are; to be called in each frame, while it is
    /// being made. Whether there are more to make.
    pub fn make_some(&mut self, context: &Context, fonts: &[FontId]) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            return true;
        }
        let each = ALL.count();
        let Some(font) = fonts.get(self.made / each) else { return false };
        let letters: Vec<char> = ALL.skip(self.made % each).take(SOME).collect();
        self.made += letters.len();
        Widths::of(context);
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
    fn a_name_needs_no_letter_that_was_not_made() {
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
        let mut letters = Letters::default();
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
        assert_eq!(made, [&[0], &in_one[..], &in_one].concat(), "some in each frame but the first");
        assert_eq!(frame(&|| write("Shop.Cart+<Add>d__9.MoveNext(string[], ref int)")), 0);
        assert_eq!(frame(&|| write("Größe")), 1, "so new letters would be seen");
    }
}
