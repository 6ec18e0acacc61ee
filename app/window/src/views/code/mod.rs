//! Source and IL of the selected method.

mod il;
mod source;
mod state;

pub use state::{CodeState, CodeView};

use crate::commands::UiCommand;
use crate::settings::DEFAULT_EDITOR;
use crate::ui::segmented::{self, Segment};
use crate::ui::theme::{Palette, SMALL};
use eframe::egui::containers::menu::MenuButton;
use eframe::egui::{Button, Label, RichText, ScrollArea, TextEdit, Ui};
use redial_model::method_code::{MethodCode, SourceFile};
use redial_protocol::peer_text::clean;
use redial_text::width::cut_middle;

/// Editors whose commands are offered.
pub const EDITORS: [(&str, &str); 2] = [("VS Code", DEFAULT_EDITOR), ("Rider", RIDER)];
/// The command of Rider; its program has another name on Windows.
const RIDER: &str =
    if cfg!(windows) { "rider64.exe --line {line} {file}" } else { "rider --line {line} {file}" };

/// Shows the line above source and IL.
pub fn header(
    ui: &mut Ui,
    state: &mut CodeState,
    method: &str,
    code: Option<&MethodCode>,
    commands: &mut Vec<UiCommand>,
) {
    ui.horizontal(|ui| {
        let views =
            [Segment::new(CodeView::Source, "Source"), Segment::new(CodeView::Il, "IL before and after")];
        if let Some(view) = segmented::show(ui, "Code shown", &views, Some(state.view)) {
            state.view = view;
        }
        ui.separator();
        let Some(SourceFile::Known { file, local, lines, pdb, .. }) = code.map(|code| &code.source) else {
            ui.add(Label::new(RichText::new(clean(method)).strong()).truncate());
            return;
        };
        let enabled = local.is_some();
        let open = ui
            .add_enabled(enabled, Button::new("Open in editor").small())
            .on_hover_text(format!("Runs {}", state.editor))
            .on_disabled_hover_text("The file is not on this machine.");
        if let (true, Some(file)) = (open.clicked(), local) {
            commands.push(UiCommand::OpenInEditor(file.clone(), lines.0));
        }
        MenuButton::from_button(Button::new("Editor…").small()).ui(ui, |ui| {
            for (name, command) in EDITORS {
                if ui.selectable_label(state.editor == command, name).clicked() {
                    commands.push(UiCommand::SetEditor(command.to_owned()));
                    ui.close();
                }
            }
            ui.label("Command, with {file} and {line}");
            let mut text = state.editor.clone();
            let edit = TextEdit::singleline(&mut text).desired_width(280.0);
            if ui.add(edit).accessible_name("Editor command").changed() {
                commands.push(UiCommand::SetEditor(text));
            }
        });
        let place = format!("{}:{}", clean(file), lines.0);
        let room = (ui.available_width() / 7.0).max(8.0) as usize;
        ui.add(Label::new(RichText::new(cut_middle(&place, room)).size(SMALL)).truncate())
            .on_hover_text(format!("{place}\nby {}", clean(pdb)));
    });
}

/// Shows source or IL in the rest of `ui`.
pub fn show(ui: &mut Ui, state: &mut CodeState, code: Option<&MethodCode>) {
    let Some(code) = code else {
        ui.add_space(12.0);
        ui.vertical_centered(|ui| ui.weak("Loading source and IL…"));
        return;
    };
    match (state.view, &code.source) {
        (CodeView::Source, SourceFile::Known { text, lines, .. }) if !text.is_empty() => {
            source::show(ui, state, text, *lines);
        }
        (CodeView::Source, source) => unknown(ui, source),
        (CodeView::Il, _) => il::show(ui, state, code),
    }
}

/// Explains why there is no source, and where a PDB was looked for.
fn unknown(ui: &mut Ui, source: &SourceFile) {
    ScrollArea::both().auto_shrink(false).show(ui, |ui| {
        ui.add_space(8.0);
        let palette = Palette::of(ui);
        let line = |ui: &mut Ui, text: &str| {
            let text = RichText::new(clean(text)).size(SMALL).monospace().color(palette.weak);
            ui.add(Label::new(text).extend());
        };
        match source {
            SourceFile::Known { file, .. } => {
                ui.label("The source file is not on this machine. The compiler read it from");
                line(ui, file);
            }
            SourceFile::Unknown { why, searched } => {
                ui.label(clean(why).as_ref());
                if !searched.is_empty() {
                    ui.label("Searched in");
                    searched.iter().for_each(|place| line(ui, place));
                    ui.label("Build with portable PDBs, and put the PDB beside its module.");
                }
            }
        }
    });
}
