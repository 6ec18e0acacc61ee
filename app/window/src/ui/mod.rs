//! Widgets and look: theme, knob, list, sparkline, histogram, hints, numbers. Widgets draw what they are
//! given and return the user's actions; they must not know processes or agents.

pub mod dialog;
pub mod glyph_warmup;
pub mod hint;
pub mod histogram;
pub mod icons;
pub mod knob;
mod knob_face;
pub mod knob_levels;
pub mod knob_paint;
pub mod list;
pub mod local_time;
pub mod method_colours;
pub mod numbers;
pub mod painted_part;
pub mod row_keys;
pub mod scroll_bar;
pub mod segmented;
pub mod sparkline;
pub mod text_width;
pub mod theme;

/// Returns a text with a capital first letter; percentiles (`p50`) stay as they are.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter();
    match letters.clone().next() {
        Some(second) if second.is_ascii_digit() => text.to_owned(),
        _ => first.flat_map(char::to_uppercase).chain(letters).collect(),
    }
}
