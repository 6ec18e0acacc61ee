//! Clicks on a row, and its context menu on the knob and beside it.

use super::{KnobState, RowView};
use crate::commands::{CopyFormat, UiCommand};
use crate::ui::{capitalized, knob_levels};
use crate::views::row_start::selection_mode;
use eframe::egui::{self, Popup, Response, Ui};
use redial_model::ids::Node;
use redial_model::method_table::Targets;
use redial_model::selection::SelectionMode;
use redial_text::words;

impl RowView<'_> {
    /// Selects the row or a range. A secondary click selects the row only if it is not selected yet.
    pub(super) fn clicks(&self, ui: &Ui, knob: Option<&Response>, commands: &mut Vec<UiCommand>) {
        let menu_requested =
            self.response.secondary_clicked() || knob.is_some_and(Response::secondary_clicked);
        if self.response.clicked() {
            commands.push(UiCommand::Pick(self.line.row, selection_mode(ui)));
        } else if menu_requested && !self.selected {
            commands.push(UiCommand::Pick(self.line.row, SelectionMode::Replace));
        }
    }

    /// Shows the open context menu; it applies to all selected rows.
    pub(super) fn menus(
        &self,
        ui: &Ui,
        knob: Option<&Response>,
        face: (&KnobState, &str),
        commands: &mut Vec<UiCommand>,
    ) {
        for on in [Some(&self.response), knob].into_iter().flatten() {
            if on.secondary_clicked() || Popup::is_any_open(ui.ctx()) {
                Popup::context_menu(on).show(|ui| self.menu(ui, face, commands));
            }
        }
    }

    fn menu(&self, ui: &mut Ui, (face, name): (&KnobState, &str), commands: &mut Vec<UiCommand>) {
        let targets = match self.selected {
            true => self.table.turned_by_selection(),
            false => self.table.turned_by(self.node),
        };
        let title = self.title(name, &targets);
        ui.add(egui::Label::new(egui::RichText::new(&title).small()).truncate());
        // For several rows, the state of all counts, not of the one under the pointer.
        let several = (targets.methods.len() > 1).then(|| {
            let group = self.table.group_of_set(&targets.methods);
            KnobState::of_group(&group).seen(self.subject.obstacle().is_none())
        });
        let face = several.as_ref().unwrap_or(face);
        match face.enabled(self.subject) {
            Err(why) => {
                ui.with_layout(egui::Layout::top_down(egui::Align::Min), |ui| ui.weak(capitalized(why)));
            }
            Ok(()) => {
                let knob = face.knob(self.subject, &title);
                if let Some(level) = knob_levels::entries(ui, &knob) {
                    commands.push(UiCommand::Turn { targets, level });
                }
            }
        }
        ui.separator();
        if let Node::Method(method) = self.node {
            let text = if self.table.list.is_pinned(method) { "Unpin" } else { "Pin to the top" };
            let hint = UiCommand::Pin.explained().unwrap_or_default();
            if ui.button(text).on_hover_text(hint).clicked() {
                commands.push(UiCommand::Pin);
                ui.close();
            }
        }
        let copy = UiCommand::Copy(CopyFormat::Text);
        if ui.button(copy.name()).clicked() {
            commands.push(copy);
            ui.close();
        }
    }

    /// Returns the menu's title.
    fn title(&self, name: &str, targets: &Targets) -> String {
        let selection = &self.table.selection;
        let alone = selection.len() == 1 && selection.contains(self.node);
        match self.node {
            _ if self.selected && !alone => {
                words::count(self.table.targets().len(), "selected method", "selected methods")
            }
            Node::Method(_) => name.to_owned(),
            _ => format!("{name}: {}", words::methods(targets.methods.len())),
        }
    }
}
