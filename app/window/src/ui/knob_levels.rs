//! The names of levels around a large knob and in a knob's menu. Levels that are not offered appear, too,
//! with the reason.

use super::capitalized;
use super::knob_face::{KnobFace, digit, meaning};
use super::knob_paint;
use super::theme::Palette;
use eframe::egui::text::LayoutJob;
use eframe::egui::{
    self, Align, Button, FontId, Id, Layout, Modifiers, Popup, Rect, Response, RichText, Sense, TextFormat,
    Ui, WidgetInfo, vec2,
};
use redial_protocol::level::Level;
use redial_text::words;

/// Width of the names beside a large knob, points.
pub const ROOM: f32 = 46.0;
const SIZE: f32 = 13.0;
/// Width of the menu, points.
const MENU: f32 = 300.0;
/// Left end of the descriptions in the menu, points.
const MEANINGS: f32 = 52.0;

/// Shows the names around the knob in `rect`; returns the level clicked, offered or not.
pub fn around(ui: &mut Ui, id: Id, rect: Rect, face: &KnobFace<'_>, enabled: bool) -> Option<Level> {
    let palette = Palette::of(ui);
    let mut clicked = None;
    for level in Level::ALL {
        let (at, align) = knob_paint::name_place(rect, level);
        let size = ui.painter().layout_no_wrap(level.word().to_owned(), font(), palette.text).size();
        let place = align.anchor_size(at, size).expand2(vec2(4.0, 3.0));
        let sense = if enabled { Sense::click() } else { Sense::hover() };
        let response = ui.interact(place, id.with(("level", level as u8)), sense);
        let (chosen, offered) = (face.wanted == Some(level), face.offered.contains(&level));
        let usable = enabled && offered;
        response.widget_info(|| {
            WidgetInfo::selected(
                egui::Role::RadioButton,
                usable,
                chosen,
                format!("{} to {level}", face.label),
            )
        });
        let colour = match (chosen, offered) {
            (true, _) => palette.text,
            (false, true) if response.hovered() && enabled => palette.accent,
            (false, _) => palette.weak,
        };
        if response.has_focus() {
            let stroke = egui::Stroke::new(1.5, palette.accent);
            ui.painter().rect_stroke(place, 3.0, stroke, egui::StrokeKind::Inside);
        }
        let written = ui.painter().text(at, align, level.word(), font(), colour);
        if !offered && !chosen {
            // A weaker colour would be unreadable.
            let through = written.center().y + 1.0;
            ui.painter().hline(written.x_range(), through, egui::Stroke::new(1.0, palette.weak));
        }
        if response.clicked() {
            clicked = Some(level);
        }
        let hint = if offered { meaning(level) } else { face.not_offered };
        response.on_hover_text(capitalized(hint));
    }
    clicked
}

fn font() -> FontId {
    FontId::proportional(SIZE)
}

/// Returns a level with its description, aligned with the other levels.
fn described(ui: &Ui, level: Level, offered: bool) -> LayoutJob {
    let text = Palette::of(ui).text;
    let word = format!("{} ", level.word());
    let width = ui.painter().layout_no_wrap(word.clone(), font(), text).size().x;
    let mut format = TextFormat::simple(font(), text);
    if !offered {
        format.strikethrough = egui::Stroke::new(1.0, text);
    }
    let mut job = LayoutJob::default();
    job.append(&word, 0.0, format.clone());
    job.append(meaning(level), (MEANINGS - width).max(0.0), format);
    job
}

/// Shows a knob's open context menu; returns the level chosen.
pub fn menu(response: &Response, face: &KnobFace<'_>) -> Option<Level> {
    let mut chosen = None;
    // A list has many knobs and rarely a menu.
    if response.secondary_clicked() || Popup::is_any_open(&response.ctx) {
        Popup::context_menu(response).show(|ui| chosen = entries(ui, face));
    }
    chosen
}

/// Shows the levels as menu entries; returns the level chosen.
pub fn entries(ui: &mut Ui, face: &KnobFace<'_>) -> Option<Level> {
    let palette = Palette::of(ui);
    let mut chosen = None;
    ui.set_width(MENU);
    for level in Level::ALL {
        let offered = face.offered.contains(&level);
        let button = Button::new(described(ui, level, offered))
            .selected(face.wanted == Some(level))
            .shortcut_text((level as u8).to_string())
            .min_size(vec2(ui.available_width(), 0.0));
        let response = ui.add_enabled(offered, button).on_disabled_hover_text(capitalized(face.not_offered));
        // Its digit chooses it, too.
        let pressed = ui.input_mut(|input| input.consume_key(Modifiers::NONE, digit(level)));
        if response.clicked() || pressed && offered {
            chosen = Some(level);
            ui.close();
        }
    }
    let missing: Vec<Level> = Level::ALL.into_iter().filter(|level| !face.offered.contains(level)).collect();
    if !missing.is_empty() {
        let which: Vec<String> = missing.iter().map(Level::to_string).collect();
        let text = format!("{}: {}", words::all(&which), face.not_offered);
        // Entries are as wide as the menu; this layout would justify their text.
        ui.with_layout(Layout::top_down(Align::Min), |ui| {
            ui.label(RichText::new(text).small().color(palette.weak));
        });
    }
    chosen
}
