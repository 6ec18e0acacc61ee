//! The two themes. Every text colour has a contrast of at least 4.5:1 with every surface it may be on (WCAG
//! 2.2, 1.4.3); the tests below compute it.

use crate::ui::icons;
use eframe::egui::{
    self, Color32, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Stroke, TextStyle, Theme,
    Visuals,
};
use std::sync::Arc;

/// Height of table rows and controls, points; and with compact rows.
pub const ROW: f32 = 26.0;
const COMPACT_ROW: f32 = 20.0;
/// Space above and below the text of a button, points; and with compact rows.
const PADDING: f32 = 4.0;
const COMPACT_PADDING: f32 = 1.0;
/// Size of titles and main numbers, points.
pub const TITLE: f32 = 18.0;
/// Size of body text, points.
pub const BODY: f32 = 14.0;
/// Size of numbers and states in tables, points.
pub const DIGITS: f32 = 13.0;
/// Size of secondary text, points.
pub const SMALL: f32 = 12.0;

/// Width of the border of the widget with the keyboard focus, points.
const FOCUS: f32 = 2.0;
/// Distance from which a splitter can be grabbed, points.
const GRAB: f32 = 8.0;
/// Opacity of disabled widgets: weaker but still readable.
const DISABLED: f32 = 0.85;

/// The colours of a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// The window's background.
    pub base: Color32,
    /// Panels.
    pub panel: Color32,
    /// Bars and headings.
    pub raised: Color32,
    /// Every other row.
    pub stripe: Color32,
    /// The row under the pointer.
    pub hover: Color32,
    /// The selected row.
    pub selected: Color32,
    /// Separators.
    pub line: Color32,
    /// Borders of buttons and fields.
    pub edge: Color32,
    /// Text.
    pub text: Color32,
    /// Secondary text.
    pub weak: Color32,
    /// Wanted levels, links, focus.
    pub accent: Color32,
    /// Live methods.
    pub live: Color32,
    /// Pending work that needs no action: dials, connections being made.
    pub waiting: Color32,
    /// Warnings.
    pub asked: Color32,
    /// Failures and refusals.
    pub bad: Color32,
    /// Background of highlighted matches.
    pub mark: Color32,
    /// Text of highlighted matches.
    pub marked: Color32,
    /// The face of a knob.
    pub face: Color32,
    /// The groove of a knob.
    pub groove: Color32,
    /// Background of the one dangerous button.
    pub alarm: Color32,
    /// Its text.
    pub on_alarm: Color32,
}

/// The dark theme.
pub const DARK: Palette = Palette {
    base: Color32::from_rgb(0x12, 0x15, 0x1a),
    panel: Color32::from_rgb(0x17, 0x1b, 0x21),
    raised: Color32::from_rgb(0x1f, 0x25, 0x2d),
    stripe: Color32::from_rgb(0x1a, 0x1f, 0x26),
    hover: Color32::from_rgb(0x22, 0x2a, 0x34),
    selected: Color32::from_rgb(0x1c, 0x3a, 0x55),
    line: Color32::from_rgb(0x33, 0x3c, 0x48),
    edge: Color32::from_rgb(0x70, 0x7d, 0x8d),
    text: Color32::from_rgb(0xe4, 0xe9, 0xef),
    weak: Color32::from_rgb(0xa7, 0xb2, 0xbf),
    accent: Color32::from_rgb(0x62, 0xb8, 0xff),
    live: Color32::from_rgb(0x57, 0xd9, 0x9a),
    waiting: Color32::from_rgb(0x62, 0xb8, 0xff),
    asked: Color32::from_rgb(0xf2, 0xb8, 0x4b),
    bad: Color32::from_rgb(0xff, 0x91, 0x85),
    mark: Color32::from_rgb(0x5a, 0x47, 0x12),
    marked: Color32::from_rgb(0xff, 0xe0, 0x8a),
    face: Color32::from_rgb(0x2b, 0x33, 0x3e),
    groove: Color32::from_rgb(0x3d, 0x48, 0x57),
    alarm: Color32::from_rgb(0x7c, 0x1f, 0x1b),
    on_alarm: Color32::from_rgb(0xff, 0xf1, 0xef),
};

/// The light theme.
pub const LIGHT: Palette = Palette {
    base: Color32::from_rgb(0xff, 0xff, 0xff),
    panel: Color32::from_rgb(0xf6, 0xf8, 0xfa),
    raised: Color32::from_rgb(0xeb, 0xef, 0xf3),
    stripe: Color32::from_rgb(0xf1, 0xf4, 0xf7),
    hover: Color32::from_rgb(0xe4, 0xeb, 0xf2),
    selected: Color32::from_rgb(0xd2, 0xe6, 0xf8),
    line: Color32::from_rgb(0xc8, 0xd1, 0xda),
    edge: Color32::from_rgb(0x76, 0x82, 0x8f),
    text: Color32::from_rgb(0x1a, 0x20, 0x28),
    weak: Color32::from_rgb(0x4a, 0x56, 0x63),
    accent: Color32::from_rgb(0x00, 0x54, 0x99),
    live: Color32::from_rgb(0x0b, 0x5f, 0x38),
    waiting: Color32::from_rgb(0x00, 0x54, 0x99),
    asked: Color32::from_rgb(0x7a, 0x49, 0x00),
    bad: Color32::from_rgb(0xa1, 0x1d, 0x16),
    mark: Color32::from_rgb(0xff, 0xe0, 0x8a),
    marked: Color32::from_rgb(0x3d, 0x2e, 0x00),
    face: Color32::from_rgb(0xdc, 0xe3, 0xea),
    groove: Color32::from_rgb(0xb6, 0xc1, 0xcd),
    alarm: Color32::from_rgb(0xb4, 0x24, 0x1c),
    on_alarm: Color32::from_rgb(0xff, 0xff, 0xff),
};

impl Palette {
    /// Returns the palette of the theme of `ui`.
    pub fn of(ui: &egui::Ui) -> &'static Palette {
        if ui.visuals().dark_mode { &DARK } else { &LIGHT }
    }
}

/// Returns the font of all numbers; its digits have equal widths.
pub fn digits(size: f32) -> FontId {
    FontId::monospace(size)
}

/// Returns the most used fonts, the most common first.
pub fn text_fonts() -> [FontId; 7] {
    let (proportional, monospace) = (FontId::proportional, FontId::monospace);
    [
        proportional(BODY),
        proportional(SMALL),
        monospace(DIGITS),
        proportional(DIGITS),
        monospace(SMALL),
        proportional(TITLE),
        monospace(TITLE),
    ]
}

/// Installs both themes.
pub fn install(context: &egui::Context) {
    context.set_fonts(fonts());
    for (theme, palette) in [(Theme::Dark, &DARK), (Theme::Light, &LIGHT)] {
        context.set_visuals_of(theme, visuals(theme, palette));
        context.style_mut_of(theme, |style| {
            style.text_styles = [
                (TextStyle::Heading, FontId::new(20.0, FontFamily::Proportional)),
                (TextStyle::Body, FontId::new(BODY, FontFamily::Proportional)),
                (TextStyle::Button, FontId::new(BODY, FontFamily::Proportional)),
                (TextStyle::Small, FontId::new(SMALL, FontFamily::Proportional)),
                (TextStyle::Monospace, FontId::new(DIGITS, FontFamily::Monospace)),
            ]
            .into();
            style.spacing.item_spacing = egui::vec2(8.0, 6.0);
            style.spacing.button_padding = egui::vec2(10.0, PADDING);
            style.spacing.window_margin = egui::Margin::same(14);
            style.spacing.menu_margin = egui::Margin::same(8);
            style.spacing.interact_size.y = ROW;
            style.interaction.selectable_labels = false;
            // Splitters are easy to grab.
            style.interaction.resize_grab_radius_side = GRAB;
            // Animations keep a core busy and add nothing.
            style.animation_time = 0.0;
        });
    }
}

/// Sets the height of rows and controls in both themes.
pub fn set_density(context: &egui::Context, compact: bool) {
    let (row, padding, gap) = if compact { (COMPACT_ROW, COMPACT_PADDING, 4.0) } else { (ROW, PADDING, 6.0) };
    context.all_styles_mut(|style| {
        style.spacing.interact_size.y = row;
        style.spacing.button_padding.y = padding;
        style.spacing.item_spacing.y = gap;
    });
}

/// Returns the height of table rows, points.
pub fn row_height(ui: &egui::Ui) -> f32 {
    ui.ctx().global_style().spacing.interact_size.y
}

/// Gives checkboxes and radio buttons in menus their outline, which the toolkit omits there; unticked ones
/// have nothing else.
pub fn outline_ticks(ui: &mut egui::Ui) {
    let palette = Palette::of(ui);
    let widgets = &mut ui.visuals_mut().widgets;
    widgets.inactive.bg_stroke = Stroke::new(1.0, palette.edge);
    for widget in [&mut widgets.hovered, &mut widgets.active] {
        widget.bg_stroke = Stroke::new(1.0, palette.accent);
    }
}

/// Returns the toolkit's fonts, with the digits' font as fallback for text: it has more arrows and
/// mathematical signs.
fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let icons = Arc::new(FontData::from_static(icons::FONT));
    fonts.font_data.insert(icons::FAMILY.to_owned(), icons);
    fonts.families.insert(FontFamily::Name(icons::FAMILY.into()), vec![icons::FAMILY.to_owned()]);
    let spare = fonts.families.get(&FontFamily::Monospace).cloned().unwrap_or_default();
    let text = fonts.families.entry(FontFamily::Proportional).or_default();
    for font in spare {
        if !text.contains(&font) {
            text.push(font);
        }
    }
    fonts
}

fn visuals(theme: Theme, palette: &Palette) -> Visuals {
    let mut visuals = theme.default_visuals();
    visuals.override_text_color = None;
    visuals.disabled_alpha = DISABLED;
    visuals.weak_text_color = Some(palette.weak);
    visuals.hyperlink_color = palette.accent;
    visuals.faint_bg_color = palette.stripe;
    visuals.extreme_bg_color = palette.base;
    visuals.text_edit_bg_color = Some(palette.base);
    visuals.code_bg_color = palette.raised;
    visuals.warn_fg_color = palette.asked;
    visuals.error_fg_color = palette.bad;
    visuals.window_fill = palette.panel;
    visuals.window_stroke = Stroke::new(1.0, palette.line);
    visuals.panel_fill = palette.panel;
    visuals.selection.bg_fill = palette.selected;
    visuals.selection.stroke = Stroke::new(1.0, palette.accent);
    let widgets = &mut visuals.widgets;
    // Only the widget with the keyboard focus has a thick, coloured border.
    for (widget, fill, (width, line), text) in [
        (&mut widgets.noninteractive, palette.panel, (1.0, palette.line), palette.text),
        (&mut widgets.inactive, palette.raised, (1.0, palette.edge), palette.text),
        (&mut widgets.hovered, palette.hover, (1.0, palette.edge), palette.text),
        (&mut widgets.active, palette.selected, (FOCUS, palette.accent), palette.text),
        (&mut widgets.open, palette.hover, (1.0, palette.line), palette.text),
    ] {
        widget.bg_fill = fill;
        widget.weak_bg_fill = fill;
        widget.bg_stroke = Stroke::new(width, line);
        widget.fg_stroke = Stroke::new(1.0, text);
        widget.corner_radius = CornerRadius::same(4);
        widget.expansion = 0.0;
    }
    visuals
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Returns the relative luminance (WCAG 2.2).
    fn luminance(colour: Color32) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(colour.r()) + 0.7152 * linear(colour.g()) + 0.0722 * linear(colour.b())
    }

    /// Returns the contrast ratio of two colours (WCAG 2.2).
    pub fn contrast(one: Color32, other: Color32) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn contrast_matches_known_values() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 0.01);
        assert!((contrast(Color32::from_rgb(0x77, 0x77, 0x77), Color32::WHITE) - 4.48).abs() < 0.01);
    }

    #[test]
    fn text_is_legible_on_every_surface() {
        for (name, palette) in [("dark", &DARK), ("light", &LIGHT)] {
            let surfaces = [
                palette.base,
                palette.panel,
                palette.raised,
                palette.stripe,
                palette.hover,
                palette.selected,
            ];
            let texts = [
                palette.text,
                palette.weak,
                palette.accent,
                palette.waiting,
                palette.live,
                palette.asked,
                palette.bad,
            ];
            for text in texts {
                for surface in surfaces {
                    let ratio = contrast(text, surface);
                    assert!(ratio >= 4.5, "{name}: {text:?} on {surface:?} has {ratio:.2}");
                }
            }
            for surface in [palette.panel, palette.raised] {
                let faded = surface.lerp_to_gamma(palette.text, DISABLED);
                let ratio = contrast(faded, surface);
                assert!(ratio >= 4.5, "{name}: disabled text on {surface:?} has {ratio:.2}");
            }
            assert!(contrast(palette.marked, palette.mark) >= 4.5, "{name}: matched letters");
            assert!(contrast(palette.on_alarm, palette.alarm) >= 4.5, "{name}: the alarm button");
        }
    }

    #[test]
    fn controls_are_distinct_from_their_background() {
        // WCAG 2.2, 1.4.11: 3:1 for the parts of a control that the user must see.
        for palette in [&DARK, &LIGHT] {
            for mark in [palette.accent, palette.waiting, palette.live, palette.asked, palette.bad] {
                for ground in [palette.face, palette.panel, palette.selected] {
                    assert!(contrast(mark, ground) >= 3.0, "{mark:?} on {ground:?}");
                }
            }
            for ground in [palette.base, palette.panel, palette.raised] {
                assert!(contrast(palette.edge, ground) >= 3.0, "edge on {ground:?}");
            }
        }
    }

    #[test]
    fn digits_have_equal_width_in_both_fonts() {
        let context = egui::Context::default();
        install(&context);
        let output = context.run_ui(egui::RawInput::default(), |ui| {
            for family in [FontFamily::Proportional, FontFamily::Monospace] {
                let font = FontId::new(DIGITS, family.clone());
                let widths: Vec<f32> =
                    ui.fonts_mut(|fonts| ('0'..='9').map(|digit| fonts.glyph_width(&font, digit)).collect());
                assert!(
                    widths.iter().all(|width| *width > 0.0 && *width == widths[0]),
                    "{family}: {widths:?}"
                );
            }
        });
        output.drop_without_applying_deltas();
    }
}
