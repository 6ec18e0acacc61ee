//! The list that chooses a program or a folder for the launch dialog, or the file of a session.

use crate::commands::{FileChoice, UiCommand};
use crate::settings::SavedLaunch;
use crate::ui::capitalized;
use crate::ui::dialog;
use crate::ui::theme::Palette;
use eframe::egui::{self, Button, Id, RichText, ScrollArea, TextEdit, Ui, vec2};
use redial_text::words;
use std::path::{Path, PathBuf};

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// The entries of a folder, of a very large one only the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderContent {
    /// The entries listed.
    pub entries: Vec<FileEntry>,
    /// The number of all entries.
    pub total: usize,
}

/// The list's state while it is open.
#[derive(Debug)]
pub struct FileListState {
    choice: FileChoice,
    /// The folder that is listed.
    pub folder: PathBuf,
    /// The folder's path as edited.
    text: String,
    /// `None` while the folder is being read.
    content: Option<Result<FolderContent, String>>,
}

impl FileListState {
    /// Returns a list that waits for its first folder.
    pub fn new(choice: FileChoice, folder: PathBuf) -> FileListState {
        let text = folder.display().to_string();
        FileListState { choice, folder, text, content: None }
    }

    /// Shows a folder that was read, or why it cannot be.
    pub fn show_folder(&mut self, folder: PathBuf, content: Result<FolderContent, String>) {
        self.text = folder.display().to_string();
        (self.folder, self.content) = (folder, Some(content));
    }
}

/// Returns the folder in which the list begins: that of the launch, or where the window was started.
pub fn first_folder(launch: &SavedLaunch) -> PathBuf {
    let folder = PathBuf::from(launch.folder.trim());
    let program = Path::new(launch.program.trim()).parent().map(Path::to_path_buf);
    let known = [Some(folder), program].into_iter().flatten();
    let mut known = known.filter(|folder| folder.is_absolute());
    known.next().or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| PathBuf::from("/"))
}

/// Enters a chosen path into the launch. An assembly is a program for `dotnet`.
pub fn enter(launch: &mut SavedLaunch, choice: FileChoice, path: &Path) {
    let text = path.display().to_string();
    match choice {
        FileChoice::Folder => launch.folder = text,
        FileChoice::Program if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("dll")) => {
            launch.program = "dotnet".to_owned();
            let assembly = if text.contains(' ') { format!("\"{text}\"") } else { text };
            launch.arguments = with_assembly(&launch.arguments, &assembly);
        }
        FileChoice::Program => launch.program = text,
        FileChoice::Session | FileChoice::SessionFolder => {}
    }
}

/// Returns arguments with an assembly in place of the first word that names one, or before all words without any.
fn with_assembly(arguments: &str, assembly: &str) -> String {
    let (mut start, mut quoted, mut escaped) = (0, false, false);
    for (at, letter) in arguments.char_indices().chain([(arguments.len(), ' ')]) {
        quoted ^= letter == '"' && !escaped;
        escaped = letter == '\\';
        if !letter.is_whitespace() || quoted && at < arguments.len() {
            continue;
        }
        let word = arguments.get(start..at).unwrap_or_default();
        if word.trim_matches('"').to_ascii_lowercase().ends_with(".dll") {
            let (before, after) = (arguments.get(..start), arguments.get(at..));
            return format!("{}{assembly}{}", before.unwrap_or_default(), after.unwrap_or_default());
        }
        start = at + letter.len_utf8();
    }
    format!("{assembly} {}", arguments.trim()).trim_end().to_owned()
}

/// Shows the list; returns true when it should close.
pub fn show(context: &egui::Context, state: &mut FileListState, commands: &mut Vec<UiCommand>) -> bool {
    let mut done = false;
    let title = match state.choice {
        FileChoice::Program => "Choose a program or an assembly",
        FileChoice::Folder => "Choose a folder",
        FileChoice::Session => "Choose a session file",
        FileChoice::SessionFolder => "Choose a folder for the session",
    };
    let room = context.content_rect().size();
    let dialog = dialog::titled(title).id(Id::unique("file list")).order(egui::Order::Foreground);
    let open = dialog::show(context, dialog, |ui| {
        ui.set_width((room.x - 80.0).min(560.0));
        done = inside(ui, state, room.y - 200.0, commands);
    });
    !open || done
}

fn inside(ui: &mut Ui, state: &mut FileListState, height: f32, commands: &mut Vec<UiCommand>) -> bool {
    let mut done = false;
    ui.horizontal(|ui| {
        let up = state.folder.parent();
        if ui.add_enabled(up.is_some(), Button::new("Up")).clicked() {
            commands.extend(up.map(|up| UiCommand::OpenFolder(up.to_path_buf())));
        }
        let edit = ui.add(TextEdit::singleline(&mut state.text).desired_width(f32::INFINITY));
        let edit = edit.accessible_name("Folder to list");
        if edit.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter)) {
            commands.push(UiCommand::OpenFolder(PathBuf::from(state.text.trim())));
        }
    });
    ui.add_space(4.0);
    ScrollArea::vertical().max_height(height.clamp(100.0, 420.0)).auto_shrink(false).show(ui, |ui| {
        match &state.content {
            None => drop(ui.weak("Reading the folder…")),
            Some(Err(why)) => {
                drop(ui.label(RichText::new(capitalized(why)).color(Palette::of(ui).bad)));
            }
            Some(Ok(content)) => {
                let is_file = |entry: &&FileEntry| entry.is_folder || !state.choice.is_folder();
                let mut shown = content.entries.iter().filter(is_file).peekable();
                if shown.peek().is_none() {
                    ui.weak("Nothing here.");
                }
                for entry in shown {
                    let name = if entry.is_folder { format!("{}/", entry.name) } else { entry.name.clone() };
                    let button = Button::new(name).frame(false).min_size(vec2(ui.available_width(), 0.0));
                    if ui.add(button).clicked() {
                        let path = entry.path.clone();
                        done |= !entry.is_folder;
                        commands.push(match entry.is_folder {
                            true => UiCommand::OpenFolder(path),
                            false => UiCommand::ChooseFile(state.choice, path),
                        });
                    }
                }
                if content.entries.len() < content.total {
                    let [listed, all] =
                        [content.entries.len(), content.total].map(|n| words::grouped(n as u64));
                    ui.weak(format!("The first {listed} of {all}. Type a path above to see another folder."));
                }
            }
        }
    });
    if state.choice.is_folder() {
        ui.add_space(4.0);
        if ui.button("Use this folder").clicked() {
            commands.push(UiCommand::ChooseFile(state.choice, state.folder.clone()));
            done = true;
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assemblies_run_with_dotnet() {
        let mut launch = SavedLaunch::default();
        enter(&mut launch, FileChoice::Program, Path::new("/srv/my shop/Shop.dll"));
        assert_eq!(
            (launch.program.as_str(), launch.arguments.as_str()),
            ("dotnet", "\"/srv/my shop/Shop.dll\"")
        );
        enter(&mut launch, FileChoice::Program, Path::new("/srv/Shop"));
        assert_eq!(launch.program, "/srv/Shop");
        assert_eq!(first_folder(&launch), PathBuf::from("/srv"));
        enter(&mut launch, FileChoice::Folder, Path::new("/tmp"));
        assert_eq!((launch.folder.as_str(), first_folder(&launch)), ("/tmp", PathBuf::from("/tmp")));
    }

    #[test]
    fn a_chosen_assembly_keeps_other_arguments() {
        for (arguments, expected) in [
            ("", "New.dll"),
            ("--urls any:5000", "New.dll --urls any:5000"),
            ("exec \"/my shop/Old.DLL\"  --slow  Second.dll", "exec New.dll  --slow  Second.dll"),
            ("Old.dll", "New.dll"),
            (r#"--name "a.dll b" \"c"#, r#"New.dll --name "a.dll b" \"c"#),
        ] {
            let mut launch = SavedLaunch { arguments: arguments.to_owned(), ..SavedLaunch::default() };
            enter(&mut launch, FileChoice::Program, Path::new("New.dll"));
            assert_eq!((launch.program.as_str(), launch.arguments.as_str()), ("dotnet", expected));
        }
    }
}
