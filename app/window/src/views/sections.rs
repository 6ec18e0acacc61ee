//! Headings of the details' sections, which collapse and expand them.

use crate::commands::UiCommand;
use crate::settings::sections::DetailSection;
use crate::ui::icons::{self, TriangleDirection};
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::{Align2, FontId, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};
use std::collections::BTreeSet;

/// Height of a heading, points.
const HEIGHT: f32 = 16.0;
/// Room of the triangle, points.
const TRIANGLE: f32 = 14.0;

/// The collapsed sections.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'a>(pub &'a BTreeSet<DetailSection>);

impl Sections<'_> {
    /// Shows a heading with a line behind it; returns whether the section is open.
    pub fn heading(
        self,
        ui: &mut Ui,
        section: DetailSection,
        title: &str,
        commands: &mut Vec<UiCommand>,
    ) -> bool {
        let width = ui.available_width();
        self.shown(ui, (section, title), Some(width), commands)
    }

    /// Shows a heading beside others; returns whether the section is open.
    pub fn toggle(
        self,
        ui: &mut Ui,
        section: DetailSection,
        title: &str,
        commands: &mut Vec<UiCommand>,
    ) -> bool {
        self.shown(ui, (section, title), None, commands)
    }

    /// Shows a triangle before a text that names the section already; returns whether the section is open. `name` is
    /// for screen readers.
    pub fn triangle(
        self,
        ui: &mut Ui,
        section: DetailSection,
        name: &str,
        commands: &mut Vec<UiCommand>,
    ) -> bool {
        self.shown_as(ui, (section, "", name), None, commands)
    }

    fn shown(
        self,
        ui: &mut Ui,
        (section, title): (DetailSection, &str),
        width: Option<f32>,
        commands: &mut Vec<UiCommand>,
    ) -> bool {
        self.shown_as(ui, (section, title, title), width, commands)
    }

    fn shown_as(
        self,
        ui: &mut Ui,
        (section, title, name): (DetailSection, &str, &str),
        width: Option<f32>,
        commands: &mut Vec<UiCommand>,
    ) -> bool {
        let open = !self.0.contains(&section);
        let palette = Palette::of(ui);
        let text = ui.painter().layout_no_wrap(title.to_owned(), FontId::proportional(SMALL), palette.weak);
        let natural = TRIANGLE + text.size().x + 4.0;
        let size = vec2(width.unwrap_or(natural).max(natural), HEIGHT);
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::DisclosureTriangle, true, name));
        ui.ctx().accesskit_node_builder(response.id, |node| node.set_expanded(open));
        if ui.is_rect_visible(rect) {
            let colour = if response.hovered() { palette.text } else { palette.weak };
            let way = if open { TriangleDirection::Down } else { TriangleDirection::Right };
            let at = pos2(rect.left() + TRIANGLE / 2.0 - 2.0, rect.center().y);
            icons::triangle(ui.painter(), at, way, 3.5, colour);
            let end = rect.left() + natural;
            let place = Align2::LEFT_CENTER.align_size_within_rect(text.size(), rect).min;
            ui.painter().galley_with_override_text_color(place + vec2(TRIANGLE, 0.0), text, colour);
            if end + 4.0 < rect.right() {
                let line = Stroke::new(1.0, palette.line);
                ui.painter().hline(end + 4.0..=rect.right(), rect.center().y, line);
            }
            if response.has_focus() {
                let stroke = ui.visuals().widgets.active.bg_stroke;
                ui.painter().rect_stroke(rect, 2.0, stroke, eframe::egui::StrokeKind::Outside);
            }
        }
        if response.clicked() {
            commands.push(UiCommand::ToggleSection(section));
        }
        open
    }
}
