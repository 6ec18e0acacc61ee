//! Several processes side by side: a table each, with the same rows in all of them.

use super::{App, unread};
use crate::commands::{Command, Situation};
use crate::model::connection::Connection;
use crate::model::ids::ConnectionId;
use crate::model::lines::Lines;
use crate::model::list::Key;
use crate::ui::theme::Palette;
use crate::views::{methods, progress, several};
use eframe::egui::{Frame, Margin, Panel, Rect, Ui, UiBuilder, pos2, vec2};

/// Between two tables, points.
const GAP: f32 = 4.0;

impl App {
    /// Draws them in the rest of `ui`.
    pub(super) fn beside(&mut self, ui: &mut Ui, situation: &Situation, commands: &mut Vec<Command>) {
        let colours = Palette::of(ui);
        if let Some(list) = self.model.list() {
            Frame::new().fill(colours.panel).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 6.0;
                methods::toolbar(ui, &mut self.methods, list, situation, commands);
            });
        }
        let ids = self.in_order();
        let shown = several::shown_beside(ids.len(), self.beside_from, ui.available_width());
        let titles: Vec<String> =
            ids.iter().filter_map(|id| self.model.connections.get(id)).map(Connection::title).collect();
        let sums = self.model.list().is_some_and(|all| all.list.sort().key != Key::Name);
        several::paging(ui, &titles, &shown, sums, commands);
        let needs = methods::Needs::of(ids.iter().filter_map(|id| self.model.connections.get(id)));
        let ids = ids.get(shown).unwrap_or_default();
        self.model.show_beside(ids);
        // Keys, and what stands at the edges, go to one that is in sight.
        let current = self.model.current;
        if let Some(first) = ids.first().filter(|_| current.is_none_or(|current| !ids.contains(&current))) {
            commands.push(Command::Focus(*first));
        }
        let room = ui.available_rect_before_wrap();
        let width = (room.width() - GAP * (ids.len().max(1) - 1) as f32) / ids.len().max(1) as f32;
        for (place, id) in ids.iter().enumerate() {
            let left = room.left() + place as f32 * (width + GAP);
            let rect = Rect::from_min_size(pos2(left, room.top()), vec2(width, room.height()));
            let mut pane = ui.new_child(UiBuilder::new().max_rect(rect).id_salt(("pane", id.0)));
            pane.set_clip_rect(rect.intersect(ui.clip_rect()));
            let before = self.beside_scroll;
            self.pane(&mut pane, *id, (situation, needs), commands);
            if before != self.beside_scroll && place > 0 {
                // Those before it follow in the next frame.
                ui.ctx().request_repaint();
            }
        }
        ui.advance_cursor_after_rect(room);
    }

    /// All of them, as they stand in the list of processes when they are chosen. While one looks at them none moves: whoever
    /// ends stays with its last numbers, and whoever joins stands at the end.
    fn in_order(&mut self) -> Vec<ConnectionId> {
        let (running, ended) = (self.model.running(), self.model.ended());
        let order = &mut self.beside_order;
        order.retain(|id| running.iter().chain(&ended).any(|member| member.id == *id));
        let new: Vec<ConnectionId> =
            running.iter().map(|member| member.id).filter(|id| !order.contains(id)).collect();
        order.extend(new);
        if order.is_empty() {
            order.extend(ended.iter().map(|member| member.id));
        }
        order.clone()
    }

    fn pane(
        &mut self,
        ui: &mut Ui,
        id: ConnectionId,
        (situation, needs): (&Situation, methods::Needs),
        commands: &mut Vec<Command>,
    ) {
        let mono = self.now().mono;
        let App { model, methods: of_current, panes, beside_scroll, near, .. } = self;
        let is_current = model.current == Some(id);
        let Some(lines) = model.lines(id) else { return };
        let Lines { own: connection, list, .. } = lines;
        let state = if is_current { of_current } else { panes.entry(id).or_default() };
        ui.spacing_mut().item_spacing.y = 0.0;
        several::head(ui, connection, is_current, commands);
        let mut of_pane = Vec::new();
        if progress::is_any(connection, mono) {
            // Above the rows it would put them out of line with those beside them.
            Panel::bottom("progress").frame(Frame::NONE).show_separator_line(false).show(ui, |ui| {
                progress::show(ui, connection, mono, &mut of_pane);
            });
        }
        if connection.catalogue.is_empty() {
            unread::show(ui, model, connection, situation, &mut of_pane);
        } else if lines.is_empty() {
            unread::show_none(ui, list, near, situation, &mut of_pane);
        } else {
            state.share_scroll(*beside_scroll);
            if !is_current {
                state.leave_focus();
            }
            methods::table(ui, state, lines, needs, &mut of_pane);
            *beside_scroll = state.scrolled().unwrap_or(*beside_scroll);
        }
        // What is done in a table is meant for its process.
        if !of_pane.is_empty() && !is_current {
            commands.push(Command::Focus(id));
        }
        commands.append(&mut of_pane);
    }
}
