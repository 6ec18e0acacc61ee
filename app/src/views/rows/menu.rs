//! Clicks on a row, and its menu by the other mouse button, on its knob as beside it.

use super::{Face, Row};
use crate::commands::{Command, Form};
use crate::model::connection::Targets;
use crate::model::ids::Node;
use crate::model::selection::Mode;
use crate::output::words;
use crate::ui::knob_levels;
use eframe::egui::{self, Popup, Response, Ui};

impl Row<'_> {
    /// Selects it, or what is from here to there. The other button selects it alone, unless it is selected already.
    pub(super) fn clicks(&self, ui: &Ui, knob: Option<&Response>, commands: &mut Vec<Command>) {
        let asked = self.response.secondary_clicked() || knob.is_some_and(Response::secondary_clicked);
        if self.response.clicked() {
            let mode = ui.input(|input| match (input.modifiers.shift, input.modifiers.command) {
                (true, _) => Mode::Extend,
                (false, true) => Mode::Toggle,
                (false, false) => Mode::Replace,
            });
            commands.push(Command::Pick(self.line.row, mode));
        } else if asked && !self.selected {
            commands.push(Command::Pick(self.line.row, Mode::Replace));
        }
    }

    /// The menu, while it is open: of several selected rows it is for all.
    pub(super) fn menus(
        &self,
        ui: &Ui,
        knob: Option<&Response>,
        face: (&Face, &str),
        commands: &mut Vec<Command>,
    ) {
        for on in [Some(&self.response), knob].into_iter().flatten() {
            if on.secondary_clicked() || Popup::is_any_open(ui.ctx()) {
                Popup::context_menu(on).show(|ui| self.menu(ui, face, commands));
            }
        }
    }

    fn menu(&self, ui: &mut Ui, (face, name): (&Face, &str), commands: &mut Vec<Command>) {
        let targets = match self.selected {
            true => self.connection.turned_by_selection(),
            false => self.connection.turned_by(self.node),
        };
        let title = self.title(name, &targets);
        ui.add(egui::Label::new(egui::RichText::new(&title).small()).truncate());
        // Of several rows the one under the pointer says little.
        let several = (targets.methods.len() > 1).then(|| {
            let group = self.connection.group_of_set(&targets.methods);
            Face::of_group(&group).seen(self.connection.obstacle().is_none())
        });
        let face = several.as_ref().unwrap_or(face);
        match face.enabled(self.connection) {
            Err(why) => {
                ui.with_layout(egui::Layout::top_down(egui::Align::Min), |ui| ui.weak(why));
            }
            Ok(()) => {
                let knob = face.knob(self.connection, &title);
                if let Some(level) = knob_levels::entries(ui, &knob) {
                    commands.push(Command::Turn { targets, level });
                }
            }
        }
        ui.separator();
        let copy = Command::Copy(Form::Text);
        if ui.button(copy.name()).clicked() {
            commands.push(copy);
            ui.close();
        }
    }

    /// What the menu is for.
    fn title(&self, name: &str, targets: &Targets) -> String {
        let selection = &self.connection.selection;
        let alone = selection.len() == 1 && selection.contains(self.node);
        match self.node {
            _ if self.selected && !alone => {
                words::count(self.connection.targets().len(), "selected method", "selected methods")
            }
            Node::Method(_) => name.to_owned(),
            _ => format!("{name}: {}", words::methods(targets.methods.len())),
        }
    }
}
