//! Letters drawn before they are needed. What a letter looks like is made where it is drawn first, once for each quarter of a
//! pixel it may begin at: the first frame of a table, which is full of new ones, would take twice as long.

use eframe::egui::text::LayoutJob;
use eframe::egui::{Color32, Context, FontId, TextFormat};

/// Places within a pixel at which a letter looks different.
const QUARTERS: u8 = 4;

/// Makes the letters that names consist of mostly, in one font; to be called while a frame is being made.
pub fn make(context: &Context, font: &FontId) {
    let pixel = 1.0 / context.pixels_per_point();
    context.fonts_mut(|fonts| {
        for letter in '!'..='~' {
            for quarter in 0..QUARTERS {
                let mut job = LayoutJob::default();
                let before = pixel * f32::from(quarter) / f32::from(QUARTERS);
                let plain = TextFormat::simple(font.clone(), Color32::WHITE);
                job.append(letter.encode_utf8(&mut [0; 4]), before, plain);
                fonts.layout_job(job);
            }
        }
    });
}
