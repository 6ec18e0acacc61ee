//! Draws movable panels: their tabs, their menus and their content.

use super::App;
use super::dock::{Dock, SIMPLE};
use crate::commands::{CommandContext, UiCommand};
use crate::settings::layouts::{PanelId, Side};
use crate::ui::theme::Palette;
use crate::views::sections::Sections;
use crate::views::{self, detail, fleet_header, log, processes};
use eframe::egui::{
    self, Align2, Color32, Frame, Id, Margin, Response, Role, Sense, Stroke, TextStyle, Ui, Visuals,
    WidgetInfo, WidgetText, vec2,
};
use egui_tiles::{Behavior, EditAction, TabState, Tabs, Tile, TileId, Tiles, UiResponse};

/// Height of tabs, points.
const TABS: f32 = 26.0;
/// Distance of a tab's text from its edges, points.
const TAB_SPACE: f32 = 10.0;
/// Distance of the button that hides a panel from the panel's edge, points.
const HIDE_SPACE: f32 = 8.0;
/// Width that the details need, points.
const DETAILS: f32 = 200.0;
/// Least width and height of a panel, points.
const LEAST: f32 = 60.0;
/// Width of splitters, points.
const SPLITTER: f32 = 4.0;

impl App {
    /// Draws the movable panels in the rest of `ui`.
    pub(super) fn show_dock(&mut self, ui: &mut Ui, now: &CommandContext, commands: &mut Vec<UiCommand>) {
        // The panels need the rest of the window's state.
        let Some(mut dock) = self.dock.take() else { return };
        let mut panes = Panes { app: self, now, commands, is_edited: false };
        dock.tree.ui(&mut panes, ui);
        let is_edited = panes.is_edited;
        self.dock = Some(dock);
        if is_edited {
            self.keep_dock();
            ui.ctx().request_repaint();
        }
    }

    /// Copies the places of movable panels to the settings.
    pub(super) fn keep_dock(&mut self) {
        if let Some(layout) = self.dock.as_ref().and_then(Dock::layout) {
            self.settings.layouts.dock = Some(layout);
        }
    }

    /// Draws the details of the selection.
    pub(super) fn show_details(&mut self, ui: &mut Ui, commands: &mut Vec<UiCommand>) {
        // The scroll bar stands beside the numbers, not on them, and can be seen. Its room stays free without it, so that
        // nothing moves when it appears.
        let scroll = &mut ui.spacing_mut().scroll;
        scroll.floating_allocated_width = scroll.bar_width + scroll.bar_inner_margin;
        scroll.dormant_handle_opacity = 0.6;
        let width = ui.available_width() - ui.spacing().scroll.floating_allocated_width;
        let lines = self.model.current.and_then(|id| self.model.lines(id));
        let is_narrow = self.settings.layouts.movable && ui.available_width() < DETAILS;
        let mut area = egui::ScrollArea::new([is_narrow, true]).auto_shrink(false);
        if lines.is_some_and(|lines| detail::is_another(ui, lines)) {
            area = area.vertical_scroll_offset(0.0);
        }
        area.show(ui, |ui| {
            let Some(lines) = lines else { return };
            ui.set_width(if is_narrow { DETAILS } else { width.max(0.0) });
            fleet_header::current_process(ui, lines);
            if !lines.lacks_selection() {
                detail::show(ui, lines.own, Sections(&self.settings.closed_sections), commands);
            }
        });
    }
}

/// Draws the panels.
struct Panes<'a> {
    app: &'a mut App,
    now: &'a CommandContext,
    commands: &'a mut Vec<UiCommand>,
    /// The user moved, resized or chose a panel.
    is_edited: bool,
}

impl Panes<'_> {
    fn content(&mut self, ui: &mut Ui, panel: PanelId) {
        let Panes { app, now, commands, .. } = self;
        app.panel_areas.note(panel, ui);
        let loaded = app.model.current_table().is_some_and(|table| !table.catalogue.is_empty());
        match panel {
            PanelId::Methods => app.middle(ui, now, commands),
            PanelId::Processes => {
                let mono = app.now().mono;
                processes::show(ui, &mut app.processes, &app.model, mono, commands);
            }
            PanelId::Log => log::show(ui, &mut app.log, &app.model, commands),
            PanelId::Details if loaded => {
                app.show_details(ui, commands);
                app.ask_about_looked_at(ui.ctx());
            }
            PanelId::Details => {
                super::lower_panel::empty(ui, "Select a process to see its methods' details.")
            }
            _ if !loaded => super::lower_panel::empty(ui, "Select a process to see its calls and numbers."),
            lower => {
                ui.spacing_mut().item_spacing.y = 0.0;
                if let Some(tab) = lower.lower_tab() {
                    app.show_lower(ui, tab, now, commands);
                }
            }
        }
    }

    /// Returns the names of the panels in an area.
    fn title(tiles: &Tiles<PanelId>, id: TileId) -> String {
        match tiles.get(id) {
            Some(Tile::Pane(panel)) => panel.title().to_owned(),
            Some(Tile::Container(container)) => {
                let shown = container.active_children(tiles).filter(|child| tiles.is_visible(*child));
                let titles = shown.map(|child| Panes::title(tiles, child));
                titles.collect::<Vec<_>>().join(" + ")
            }
            None => String::new(),
        }
    }

    /// Shows the menu of a panel's tab. Without a pointer, the palette moves panels and the × button hides them.
    fn menu(&mut self, ui: &mut Ui, panel: PanelId) {
        for side in Side::ALL {
            if ui.button(format!("Move to the {}", side.word())).clicked() {
                self.commands.push(UiCommand::MovePanel(panel, side));
                ui.close();
            }
        }
        ui.separator();
        if ui.button("Save a picture…").clicked() {
            self.commands.push(UiCommand::ExportPanel(panel));
            ui.close();
        }
        if panel != PanelId::Methods {
            ui.separator();
            if ui.button("Hide").clicked() {
                self.commands.push(UiCommand::Panel(panel));
                ui.close();
            }
        }
    }
}

impl Behavior<PanelId> for Panes<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _id: TileId, panel: &mut PanelId) -> UiResponse {
        let palette = Palette::of(ui);
        let (fill, margin) = match panel {
            PanelId::Methods => (palette.base, Margin::ZERO),
            PanelId::Processes | PanelId::Details | PanelId::Log => (palette.panel, Margin::symmetric(10, 6)),
            _ => (palette.base, Margin::ZERO),
        };
        ui.set_clip_rect(ui.max_rect().intersect(ui.clip_rect()));
        ui.painter().rect_filled(ui.max_rect(), 0.0, fill);
        Frame::new().inner_margin(margin).show(ui, |ui| self.content(ui, *panel));
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, panel: &PanelId) -> WidgetText {
        panel.title().into()
    }

    fn tab_title_for_tile(&mut self, tiles: &Tiles<PanelId>, id: TileId) -> WidgetText {
        Panes::title(tiles, id).into()
    }

    fn tab_ui(
        &mut self,
        tiles: &mut Tiles<PanelId>,
        ui: &mut Ui,
        id: Id,
        tile: TileId,
        state: &TabState,
    ) -> Response {
        let palette = Palette::of(ui);
        let title = Panes::title(tiles, tile);
        let panel = tiles.get_pane(&tile).copied();
        let font = TextStyle::Button.resolve(ui.style());
        let colour = if state.active { palette.text } else { palette.weak };
        let text = ui.painter().layout_no_wrap(title.clone(), font, colour);
        let size = vec2(text.size().x + 2.0 * TAB_SPACE, ui.available_height());
        let (_, rect) = ui.allocate_space(size);
        let response = ui.interact(rect, id, Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::selected(Role::Tab, true, state.active, &title));
        if ui.is_rect_visible(rect) && !state.is_being_dragged {
            let fill = match (state.active, response.hovered()) {
                (true, _) => palette.panel,
                (false, true) => palette.hover,
                (false, false) => Color32::TRANSPARENT,
            };
            ui.painter().rect_filled(rect, 0.0, fill);
            if state.active {
                ui.painter().hline(rect.x_range(), rect.top() + 1.0, Stroke::new(2.0, palette.accent));
            }
            if response.has_focus() {
                let stroke = ui.visuals().widgets.active.bg_stroke;
                ui.painter().rect_stroke(rect, 2.0, stroke, egui::StrokeKind::Inside);
            }
            let at = Align2::CENTER_CENTER.align_size_within_rect(text.size(), rect).min;
            ui.painter().galley(at, text, colour);
        }
        if let Some(panel) = panel {
            response.context_menu(|ui| self.menu(ui, panel));
        }
        response.on_hover_text("Drag to move. Right-click for more.")
    }

    fn top_bar_right_ui(
        &mut self,
        tiles: &Tiles<PanelId>,
        ui: &mut Ui,
        _tile: TileId,
        tabs: &Tabs,
        _offset: &mut f32,
    ) {
        let active = tabs.active.and_then(|active| tiles.get_pane(&active).copied());
        let Some(panel) = active.filter(|panel| *panel != PanelId::Methods) else { return };
        let name = format!("Hide {}", panel.title());
        // Beside the splitter's reach.
        ui.add_space(HIDE_SPACE);
        let close = ui.add(egui::Button::new("×").frame(false).min_size(vec2(18.0, 18.0)));
        close.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
        if close.on_hover_text(name).clicked() {
            self.commands.push(UiCommand::Panel(panel));
        }
        if matches!(panel, PanelId::Timeline | PanelId::Calls) {
            views::lower_panel::clear(ui, self.commands);
        }
    }

    fn tab_bar_height(&self, _style: &egui::Style) -> f32 {
        TABS
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        SPLITTER
    }

    fn min_size(&self) -> f32 {
        LEAST
    }

    fn tab_bar_color(&self, visuals: &Visuals) -> Color32 {
        if visuals.dark_mode { crate::ui::theme::DARK.raised } else { crate::ui::theme::LIGHT.raised }
    }

    fn simplification_options(&self) -> egui_tiles::SimplificationOptions {
        SIMPLE
    }

    fn on_edit(&mut self, action: EditAction) {
        self.is_edited |= action != EditAction::TileDragged;
    }
}
