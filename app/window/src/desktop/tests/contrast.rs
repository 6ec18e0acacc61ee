//! Checks legibility: compares the colour of every glyph in a frame with what is painted beneath it (WCAG
//! 2.2, 1.4.3: at least 4.5:1), including disabled, selected, hovered and highlighted text.

use super::fixture::{deliver, minute, rows, window, with_shop};
use crate::desktop::App;
use crate::ui::theme::tests::contrast;
use crate::ui::theme::{DARK, LIGHT, Palette};
use eframe::egui::epaint::{ClippedShape, TextShape};
use eframe::egui::{Color32, FullOutput, Pos2, Rect, Shape, Theme, pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::collections::BTreeSet;

/// The least ratio for text.
const LEAST: f64 = 4.5;

/// The areas filled so far, and texts too weak on them.
struct Reader {
    fills: Vec<(Rect, Color32)>,
    weak: BTreeSet<String>,
    glyphs: usize,
}

/// Panics unless every glyph of the last frame is legible; returns the number of glyphs checked.
pub fn check(output: &FullOutput, theme: Theme, what: &str) -> usize {
    let palette: &Palette = if theme == Theme::Dark { &DARK } else { &LIGHT };
    let mut reader =
        Reader { fills: vec![(Rect::EVERYTHING, palette.base)], weak: BTreeSet::new(), glyphs: 0 };
    for ClippedShape { clip_rect, shape, .. } in &output.shapes {
        reader.read(*clip_rect, shape);
    }
    assert!(reader.weak.is_empty(), "{what}, {theme:?}: {:#?}", reader.weak);
    reader.glyphs
}

impl Reader {
    fn read(&mut self, clip: Rect, shape: &Shape) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| self.read(clip, shape)),
            // A shadow lies beside its widget.
            Shape::Rect(rect) if rect.blur_width == 0.0 => self.fill(clip, rect.rect, rect.fill),
            Shape::Circle(circle) => {
                // The area certainly within it.
                let side = circle.radius * std::f32::consts::SQRT_2;
                self.fill(clip, Rect::from_center_size(circle.center, [side, side].into()), circle.fill);
            }
            Shape::Text(text) => self.text(clip, text),
            _ => {}
        }
    }

    fn fill(&mut self, clip: Rect, rect: Rect, fill: Color32) {
        let rect = rect.intersect(clip);
        if fill != Color32::TRANSPARENT && rect.is_positive() {
            self.fills.push((rect, fill));
        }
    }

    fn ground(&self, at: Pos2) -> Color32 {
        let here = self.fills.iter().filter(|(rect, _)| rect.contains(at));
        here.fold(Color32::BLACK, |ground, (_, fill)| ground.blend(*fill))
    }

    fn text(&mut self, clip: Rect, text: &TextShape) {
        for row in &text.galley.rows {
            let offset = text.pos.to_vec2() + row.pos.to_vec2();
            let visuals = &row.row.visuals;
            let quads = |from: usize, to: usize| {
                let vertices = visuals.mesh.vertices.get(from..to).unwrap_or_default();
                vertices.chunks_exact(4).map(move |quad| {
                    let corners = quad.iter().map(|vertex| vertex.pos + offset);
                    (
                        corners.fold(Rect::NOTHING, |all, corner| all.union(Rect::from_pos(corner))),
                        quad[0].color,
                    )
                })
            };
            let glyphs = &visuals.glyph_vertex_range;
            // Highlights extend a point into neighbouring letters.
            let marks: Vec<(Rect, Color32)> =
                quads(0, glyphs.start).map(|(rect, colour)| (rect.shrink(1.0), colour)).collect();
            for (rect, colour) in quads(glyphs.start, glyphs.end) {
                let at = rect.center();
                if !rect.is_positive() || !clip.contains(at) {
                    continue;
                }
                let colour = match (text.override_text_color, colour) {
                    (Some(colour), _) => colour,
                    (None, Color32::PLACEHOLDER) => text.fallback_color,
                    (None, colour) => colour,
                };
                let marked = marks.iter().filter(|(rect, _)| rect.contains(at));
                let ground = marked.fold(self.ground(at), |ground, (_, mark)| {
                    ground.blend(mark.gamma_multiply(text.opacity_factor))
                });
                let seen = ground.blend(colour.gamma_multiply(text.opacity_factor));
                self.glyphs += 1;
                let ratio = contrast(seen, ground);
                if ratio < LEAST {
                    let whole = text.galley.text();
                    self.weak.insert(format!("{whole:?}: {seen:?} on {ground:?} has {ratio:.2}"));
                }
            }
        }
    }
}

fn counting(theme: Theme) -> Harness<'static, App> {
    let mut harness = with_shop(theme);
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, minute());
    harness
}

#[test]
fn hovered_widgets_are_legible() {
    for theme in [Theme::Dark, Theme::Light] {
        let mut harness = counting(theme);
        harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
        harness.run_steps(3);
        let size = harness.ctx.content_rect().size();
        let mut glyphs = 0;
        for y in 0..16 {
            for x in 0..10 {
                let at = pos2((x as f32 + 0.5) * size.x / 10.0, (y as f32 + 0.5) * size.y / 16.0);
                harness.hover_at(at);
                harness.run_steps(2);
                glyphs += check(harness.output(), theme, &format!("with the pointer at {at}"));
            }
        }
        assert!(glyphs > 160 * 500, "{glyphs} glyphs are not a window");
    }
}

#[test]
fn disabled_widgets_are_legible() {
    for theme in [Theme::Dark, Theme::Light] {
        for menu in ["Dials", "Methods", "Process", "View"] {
            for mut harness in [window(theme), counting(theme)] {
                harness.get_by_label(menu).click();
                harness.run_steps(3);
                assert!(check(harness.output(), theme, menu) > 100);
            }
        }
    }
}

#[test]
fn text_too_weak_is_found() {
    let context = eframe::egui::Context::default();
    let weak = |colour: Color32| {
        let output = context.run_ui(eframe::egui::RawInput::default(), |ui| {
            ui.colored_label(colour, "weak");
        });
        let shapes = FullOutput { shapes: output.shapes.clone(), ..FullOutput::default() };
        output.drop_without_applying_deltas();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&shapes, Theme::Dark, "a label")))
    };
    assert!(weak(DARK.groove).is_err());
    assert!(weak(DARK.weak).is_ok_and(|glyphs| glyphs == 4));
}
