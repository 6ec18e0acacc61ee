//! Colours that tell the bars of methods apart. Each has a contrast of at least 4.5:1 with its theme's text.

use eframe::egui::{Color32, Ui};

const DARK: [Color32; 10] = [
    Color32::from_rgb(0x24, 0x4c, 0x72),
    Color32::from_rgb(0x2b, 0x57, 0x3c),
    Color32::from_rgb(0x5a, 0x3f, 0x72),
    Color32::from_rgb(0x66, 0x4a, 0x20),
    Color32::from_rgb(0x1d, 0x58, 0x5e),
    Color32::from_rgb(0x6b, 0x38, 0x45),
    Color32::from_rgb(0x4b, 0x50, 0x22),
    Color32::from_rgb(0x40, 0x42, 0x80),
    Color32::from_rgb(0x63, 0x43, 0x34),
    Color32::from_rgb(0x38, 0x52, 0x66),
];

const LIGHT: [Color32; 10] = [
    Color32::from_rgb(0xa9, 0xcd, 0xf0),
    Color32::from_rgb(0xae, 0xdf, 0xbc),
    Color32::from_rgb(0xd8, 0xbf, 0xea),
    Color32::from_rgb(0xec, 0xd1, 0xa4),
    Color32::from_rgb(0xa6, 0xde, 0xde),
    Color32::from_rgb(0xf0, 0xc1, 0xc8),
    Color32::from_rgb(0xd6, 0xdb, 0xa2),
    Color32::from_rgb(0xc4, 0xc6, 0xf3),
    Color32::from_rgb(0xe6, 0xc6, 0xb5),
    Color32::from_rgb(0xb9, 0xd0, 0xe1),
];

/// Returns the colour of a method's bars.
pub fn of(ui: &Ui, method: u32) -> Color32 {
    let colours = if ui.visuals().dark_mode { &DARK } else { &LIGHT };
    // Neighbouring numbers are often caller and callee, so they differ.
    colours.get(method as usize % colours.len()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::theme::tests::contrast;
    use crate::ui::theme::{self, Palette};

    #[test]
    fn text_is_legible_on_bars() {
        let themes: [(&Palette, _); 2] = [(&theme::DARK, DARK), (&theme::LIGHT, LIGHT)];
        for (palette, colours) in themes {
            for colour in colours {
                let ratio = contrast(palette.text, colour);
                assert!(ratio >= 4.5, "{colour:?}: {ratio:.2}");
            }
        }
    }
}
