//! Several processes side by side: a table for each, with the same rows in all.

use super::{App, empty_state};
use crate::commands::{CommandContext, UiCommand};
use crate::ui::scroll_bar;
use crate::ui::theme::Palette;
use crate::views::columns::SharedNames;
use crate::views::fleet_header::{GAP, NAMES};
use crate::views::{change_progress, fleet_header, methods, methods_toolbar};
use eframe::egui::{Frame, Margin, Panel, Rect, Ui, UiBuilder, pos2, vec2};
use redial_model::connection::Connection;
use redial_model::ids::ConnectionId;
use redial_model::ids::SubjectId;
use redial_model::list::SortKey;
use redial_model::subject::Subject;
use redial_model::visible_rows::VisibleRows;

/// Least width of a table without the names while the names have room, points.
const TABLE: f32 = 200.0;

impl App {
    /// Draws the tables in the rest of `ui`.
    pub(super) fn beside(&mut self, ui: &mut Ui, now: &CommandContext, commands: &mut Vec<UiCommand>) {
        let colours = Palette::of(ui);
        if let Some(list) = self.model.list_owner() {
            Frame::new().fill(colours.panel).inner_margin(Margin::symmetric(10, 6)).show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 6.0;
                methods_toolbar::show(ui, &mut self.methods, list, (now, &self.settings), commands);
            });
        }
        let ids = self.in_order();
        let shown = fleet_header::shown_beside(ids.len(), self.columns.from, ui.available_width());
        let titles: Vec<String> =
            ids.iter().filter_map(|id| self.model.connections.get(id)).map(Connection::title).collect();
        let sums = self.model.list().is_some_and(|all| all.list.sort().key != SortKey::Name);
        fleet_header::paging(ui, &titles, &shown, sums, commands);
        let all = ids.iter().filter_map(|id| self.model.connections.get(id));
        // All tables follow when the user drags the edge of a column in one.
        let layout = self.settings.columns.clone();
        let states = self.columns.tables.values().chain([&self.methods]);
        let resized = states.filter_map(|state| state.resized(&layout)).next();
        let layout = resized.unwrap_or(layout);
        let needs = methods::Needs::of(all.map(Subject::Process), &layout);
        let sorted = self.model.list().map_or(SortKey::Name, |all| all.list.sort().key);
        let ids = ids.get(shown).unwrap_or_default();
        self.model.show_beside(ids);
        // Keys and panels refer to a visible process.
        let current = self.model.current_process().map(|connection| connection.id);
        if let Some(first) = ids.first().filter(|_| current.is_none_or(|current| !ids.contains(&current))) {
            commands.push(UiCommand::Focus(*first));
        }
        let room = ui.available_rect_before_wrap();
        let (names, width) = widths(room.width(), ids.len(), (needs, sorted));
        // A process without methods has no rows beside which names could stand.
        let named = ids.iter().position(|id| self.shows_table(*id)).unwrap_or(0);
        let mut left = room.left();
        for (place, id) in ids.iter().enumerate() {
            let is_here = place == named;
            let wide = if is_here { names.width + width } else { width };
            let rect = Rect::from_min_size(pos2(left, room.top()), vec2(wide, room.height()));
            left += wide + GAP;
            let part = SharedNames { is_here, ..names };
            let mut pane = ui.new_child(UiBuilder::new().max_rect(rect).id_salt(("pane", id.0)));
            pane.set_clip_rect(rect.intersect(ui.clip_rect()));
            let before = self.columns.scroll;
            self.pane(&mut pane, (*id, ids), (now, needs.with_names(part)), commands);
            if before != self.columns.scroll && place > 0 {
                // The tables before it follow in the next frame.
                ui.ctx().request_repaint();
            }
        }
        ui.advance_cursor_after_rect(room);
    }

    /// Returns whether a process has rows to show.
    fn shows_table(&self, id: ConnectionId) -> bool {
        let lines = self.model.lines(SubjectId::Process(id));
        lines.is_some_and(|lines| !lines.is_empty() && !lines.own.table().catalogue.is_empty())
    }

    /// Returns all of them, initially in the order of the process list. While they are shown none moves: an
    /// ended process stays with its last numbers, and a new one goes to the end.
    fn in_order(&mut self) -> Vec<ConnectionId> {
        let (running, ended) = (self.model.running(), self.model.ended());
        let order = &mut self.columns.order;
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
        (id, shown): (ConnectionId, &[ConnectionId]),
        (now, needs): (&CommandContext, methods::Needs<'_>),
        commands: &mut Vec<UiCommand>,
    ) {
        let mono = self.now().mono;
        let App { model, methods: of_current, columns, suggestions, .. } = self;
        let is_current = model.current == Some(SubjectId::Process(id));
        let Some(connection) = model.connections.get(&id) else { return };
        let Some(lines) = model.lines(SubjectId::Process(id)) else { return };
        let VisibleRows { own, list, .. } = lines;
        let state = if is_current { of_current } else { columns.tables.entry(id).or_default() };
        ui.spacing_mut().item_spacing.y = 0.0;
        fleet_header::head(ui, connection, is_current, commands);
        let mut of_pane = Vec::new();
        if change_progress::is_any(own, mono) {
            // Above the rows, it would misalign them with the other tables.
            Panel::bottom("progress").frame(Frame::NONE).show_separator_line(false).show(ui, |ui| {
                change_progress::show(ui, own, mono, &mut of_pane);
            });
        }
        if own.table().catalogue.is_empty() {
            empty_state::show(ui, model, own, now, &mut of_pane);
        } else if lines.is_empty() {
            empty_state::show_none(ui, list, suggestions, now, &mut of_pane);
        } else {
            state.share_scroll(columns.scroll);
            if !is_current {
                state.leave_focus();
            }
            let others = shown.iter().filter(|other| **other != id);
            let others: Vec<VisibleRows<'_>> =
                others.filter_map(|other| model.lines(SubjectId::Process(*other))).collect();
            methods::table(ui, state, (lines, &others), needs, &mut of_pane);
            columns.scroll = state.scrolled().unwrap_or(columns.scroll);
        }
        // A command in a table is for its process, unless it is for the rows of all.
        let of_all = |command: &UiCommand| {
            matches!(
                command,
                UiCommand::Expand(_)
                    | UiCommand::Sort(_)
                    | UiCommand::SortAgain
                    | UiCommand::SetColumns(_)
                    | UiCommand::Columns
            )
        };
        if !of_pane.iter().all(of_all) && !is_current {
            commands.push(UiCommand::Focus(id));
        }
        commands.append(&mut of_pane);
    }
}

/// Returns the names of `tables` side by side and the width of each table without them. Names get what the columns
/// leave.
fn widths(room: f32, tables: usize, (needs, sorted): (methods::Needs<'_>, SortKey)) -> (SharedNames, f32) {
    let tables = tables.max(1) as f32;
    let room = (room - GAP * (tables - 1.0)).max(0.0);
    let widest = ((room - NAMES) / tables).max(0.0);
    let unnamed = SharedNames { is_here: false, width: NAMES, spare: 0.0 };
    let inside = Rect::from_min_size(pos2(0.0, 0.0), vec2((widest - scroll_bar::WIDTH).max(0.0), 0.0));
    let used = needs.with_names(unnamed).columns(inside, sorted).used() + scroll_bar::WIDTH;
    let width = used.max(TABLE).ceil().min(widest);
    let names = room - width * tables;
    (SharedNames { is_here: false, width: names, spare: (names - NAMES) / tables }, width)
}
