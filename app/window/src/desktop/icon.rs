//! The icon of the window, which packages install as well.

use eframe::egui::IconData;
use eframe::icon_data;
use std::sync::Arc;

/// `assets/package/redial.svg`, 128 pixels a side.
const PICTURE: &[u8] = include_bytes!("../../../../assets/package/redial.png");

/// Returns the icon.
pub fn icon() -> Arc<IconData> {
    Arc::new(icon_data::from_png_bytes(PICTURE).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_transparent_corners_and_a_light_knob() {
        let icon = icon();
        assert_eq!((icon.width, icon.height), (128, 128));
        let pixel = |x: usize, y: usize| icon.rgba[(y * 128 + x) * 4..][..4].to_vec();
        assert_eq!(pixel(0, 0)[3], 0);
        assert_eq!(pixel(64, 75), [0xee, 0xf3, 0xf8, 0xff]);
    }
}
