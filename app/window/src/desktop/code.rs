//! Source and IL of the selected method: what is requested, and opening the file in an editor.

use super::App;
use crate::settings::layouts::PanelId;
use crate::views::code;
use eframe::egui::{self, Ui};
use redial_link::worker::CodeRequest;
use redial_model::connection::Connection;
use redial_model::ids::MethodIx;
use redial_model::log::LogKind;
use redial_model::method_code::CodeVersion;
use redial_protocol::level::Level;
use std::process::{Command, Stdio};

/// Returns the only selected method, or one of its copies.
fn selected(connection: &Connection) -> Option<MethodIx> {
    let table = &connection.table;
    let is_one = table.selection.len() == 1;
    let targets = is_one.then(|| table.targets())?;
    targets.iter().next()
}

impl App {
    /// Requests the code of the selected method while it is shown.
    pub(super) fn refresh_code(&mut self, context: &egui::Context) {
        if !self.shows(PanelId::Code) {
            return;
        }
        let now = self.now().mono;
        let Some(connection) = self.model.current_process_mut() else { return };
        let Some(method) = selected(connection) else { return };
        let table = &connection.table;
        let Some(copy) = table.catalogue.copy_of(method) else { return };
        let row = table.live.of_method(method);
        let version = CodeVersion {
            copy,
            wanted: row.map_or(Level::Off, |row| row.wanted),
            version: row.and_then(|row| row.version),
        };
        let module = table.catalogue.module(table.catalogue.module_of(method));
        let module = module.map(|module| module.path.clone()).unwrap_or_default();
        let (id, pid) = (connection.id, connection.process.pid);
        self.lower.code.look_at(copy);
        if connection.codes.ask(version, now) {
            self.workers.method_code(id, CodeRequest { pid, copy, module, folders: Vec::new() });
        } else if connection.codes.of(copy).is_none() {
            // A request about another method is answered soon; its own answer repaints by itself.
            let wait = if connection.codes.holds_back(copy) { 50 } else { 1000 };
            context.request_repaint_after(std::time::Duration::from_millis(wait));
        }
    }

    /// Shows the tab; returns what to do first if no method is selected.
    pub(super) fn show_code(
        &mut self,
        ui: &mut Ui,
        commands: &mut Vec<crate::commands::UiCommand>,
    ) -> Option<&str> {
        const SELECT: Option<&str> = Some("Select one method to see its source and IL.");
        let App { model, lower, settings, .. } = self;
        lower.code.editor.clone_from(&settings.editor);
        let Some(connection) = model.current_process() else {
            return Some("Select a single process to see source and IL of a method.");
        };
        let Some(method) = selected(connection) else { return SELECT };
        let Some(copy) = connection.table.catalogue.copy_of(method) else { return SELECT };
        let name = connection.table.catalogue.pattern(method);
        let found = connection.codes.of(copy);
        super::lower_panel::bar(ui, |ui| code::header(ui, &mut lower.code, &name, found, commands));
        code::show(ui, &mut lower.code, found);
        None
    }

    /// Opens a file in the editor that the settings name.
    pub(super) fn open_in_editor(&mut self, file: &str, line: u32) {
        let now = self.now();
        let Some((program, arguments)) = command(&self.settings.editor, file, line) else {
            let why = "Open in editor: the editor's command is empty";
            return self.model.log.add(now, None, LogKind::Refusal, why);
        };
        let mut command = Command::new(&program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(mut child) => {
                // Waits, so that the editor leaves no zombie.
                let wait = move || drop(child.wait());
                let _ = std::thread::Builder::new().name("editor".into()).spawn(wait);
                self.model.log.add(now, None, LogKind::Notice, format!("Opened {file} with {program}"));
            }
            Err(error) => {
                let why = format!("Open in editor: {program} cannot be started: {error}");
                self.model.log.add(now, None, LogKind::Refusal, why);
            }
        }
    }
}

/// Returns program and arguments of a template. Placeholders are replaced in each word, so a path is one argument whatever it
/// contains.
fn command(template: &str, file: &str, line: u32) -> Option<(String, Vec<String>)> {
    let line = line.to_string();
    let fill = |word: &str| {
        // The line first: a path may contain the text of a placeholder.
        word.split("{file}").map(|part| part.replace("{line}", &line)).collect::<Vec<_>>().join(file)
    };
    let mut words = template.split_whitespace().map(fill);
    Some((words.next()?, words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_argument_whatever_it_contains() {
        let of = |template: &str, file: &str| {
            command(template, file, 7).map(|(program, arguments)| format!("{program} {arguments:?}"))
        };
        assert_eq!(
            of("code --goto {file}:{line}", "/a b/C.cs").as_deref(),
            Some(r#"code ["--goto", "/a b/C.cs:7"]"#)
        );
        assert_eq!(
            of("rider --line {line} {file}", "/{line};rm -r/C.cs").as_deref(),
            Some(r#"rider ["--line", "7", "/{line};rm -r/C.cs"]"#)
        );
        assert_eq!(of("  ", "/a"), None);
    }
}
