//! Jumps to methods, and the way back: like a browser, the window remembers the methods looked at, each with the
//! filter that showed it.

use super::App;
use super::history::Place;
use crate::commands::UiCommand;
use crate::settings::layouts::PanelId;
use eframe::egui;
use redial_model::ids::{MethodIx, Node};
use redial_model::list::Filter;
use redial_model::method_table::MethodTable;
use redial_model::query::Query;
use redial_model::selection::SelectionMode;
use redial_protocol::level::Level;

impl App {
    /// Executes a command that jumps.
    pub(super) fn execute_navigation(&mut self, context: &egui::Context, command: UiCommand) {
        match command {
            UiCommand::Reveal(method) => self.jump(context, |app| app.reveal(method)),
            UiCommand::ShowHidden => self.jump(context, App::show_hidden),
            UiCommand::Back => self.step_through_history(context, false),
            UiCommand::Forward => self.step_through_history(context, true),
            _ => {}
        }
    }

    /// Makes a change after which *Back* returns to where the user is now.
    fn jump(&mut self, context: &egui::Context, change: impl FnOnce(&mut App)) {
        self.note_place();
        change(self);
        self.note_place();
        // Space must turn the dial of the method jumped to.
        context.memory_mut(|memory| memory.surrender_focus(crate::views::methods_toolbar::filter_id()));
    }

    /// Remembers the focused method as a place to return to.
    pub(super) fn note_place(&mut self) {
        if let Some(place) = self.place() {
            self.history.visit(place);
        }
    }

    fn place(&self) -> Option<Place> {
        let (subject, table) = (self.model.current?, self.model.list()?);
        let Some(Node::Method(method)) = table.selection.focus() else { return None };
        let copy = table.catalogue.copy_of(method)?;
        Some(Place { subject, copy, filter: table.list.filter().clone() })
    }

    /// Selects a method and scrolls to it. The details show it even where the filter hides its row.
    fn reveal(&mut self, method: MethodIx) {
        self.show_panel(PanelId::Methods);
        self.model.change_list(|table| {
            let row = table.catalogue.row_method(method);
            table.tree.reveal(Node::Method(row), &table.catalogue);
            table.click(Node::Method(row), SelectionMode::Replace);
        });
        self.methods.follow = true;
        self.methods.release_rows();
    }

    /// Relaxes the filter as far as the selected method needs.
    fn show_hidden(&mut self) {
        let Some(table) = self.model.list() else { return };
        let Some(Node::Method(method)) = table.selection.focus() else { return };
        let filter = relaxed(table, method);
        self.set_filter(filter);
        self.reveal(method);
    }

    fn step_through_history(&mut self, context: &egui::Context, forward: bool) {
        // The user may have moved on with the arrow keys since.
        if !self.history.has_forward()
            && let Some(place) = self.place()
        {
            self.history.visit(place);
        }
        while let Some(place) = self.history.step(forward) {
            if self.model.current != Some(place.subject) {
                let id = place.subject.process();
                let Some(one) = id.and_then(|id| self.model.connections.get(&id)) else { continue };
                self.select(one.process);
            }
            let method = self.model.list().and_then(|table| table.catalogue.find(place.copy));
            let Some(method) = method else { continue };
            self.set_filter(place.filter);
            self.reveal(method);
            context.memory_mut(|memory| memory.surrender_focus(crate::views::methods_toolbar::filter_id()));
            return;
        }
    }

    fn set_filter(&mut self, filter: Filter) {
        self.methods.text.clone_from(&filter.text);
        self.settings.hide_framework = filter.hide_framework;
        self.settings.hide_generated = filter.hide_generated;
        self.model.change_list(|table| table.set_filter(filter));
    }
}

/// Returns the filter with only those conditions dropped that hide a method.
fn relaxed(table: &MethodTable, method: MethodIx) -> Filter {
    let MethodTable { catalogue, live, list, .. } = table;
    let mut filter = list.filter().clone();
    if !Query::parse(&filter.text).matches_text(&catalogue.full_name(method).text) {
        filter.text.clear();
    }
    let framework = catalogue.module(catalogue.module_of(method)).is_some_and(|module| module.framework);
    filter.hide_framework &= !framework;
    filter.hide_generated &= !catalogue.is_generated(method);
    if filter.only_dialled {
        let copies = if catalogue.is_merged() { catalogue.copies(method) } else { vec![method] };
        let rows: Vec<_> = copies.into_iter().filter_map(|copy| live.of_method(copy)).collect();
        match rows.iter().any(|row| row.wanted > Level::Off) {
            true => {}
            false if rows.is_empty() => filter.only_dialled = false,
            false => filter.off_again = true,
        }
    }
    filter
}
