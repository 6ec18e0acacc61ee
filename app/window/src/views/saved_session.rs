//! Saved sessions: the question for a file, and what an opened or compared file holds. Its numbers are offline, and it
//! says so.

use crate::commands::{FileChoice, SessionPurpose, UiCommand};
use crate::ui::capitalized;
use crate::ui::dialog;
use crate::ui::theme::Palette;
use eframe::egui::{
    self, Align, Color32, Key, Layout, RichText, Role, ScrollArea, TextEdit, Ui, WidgetInfo, vec2,
};
use redial_model::connection::Connection;
use redial_model::ids::ConnectionId;
use redial_text::names;
use std::path::{Path, PathBuf};

/// Width of the button beside the field with the space before it, points.
const BROWSE: f32 = 90.0;
/// Height of a row, points.
const ROW: f32 = 20.0;

/// What became of the last answer to the question.
#[derive(Debug, Default, PartialEq, Eq)]
enum SessionProgress {
    /// Nothing has been confirmed yet.
    #[default]
    Typing,
    /// The file is being written or read.
    Running,
    /// It could not be; the reason.
    Refused(String),
}

/// The question for a file.
#[derive(Debug)]
pub struct SessionQuestion {
    /// What the file is for.
    pub purpose: SessionPurpose,
    /// The path as typed.
    pub file: String,
    /// The process when the question was asked, with its title. It stays the same whatever is selected meanwhile.
    process: Option<(ConnectionId, String)>,
    progress: SessionProgress,
    /// Whether the field has had the focus.
    focused: bool,
}

impl SessionQuestion {
    /// Asks for a file, with a suggestion and the process that is shown.
    pub fn new(purpose: SessionPurpose, file: String, process: Option<&Connection>) -> SessionQuestion {
        let process = process.map(|process| (process.id, process.title()));
        SessionQuestion { purpose, file, process, progress: SessionProgress::Typing, focused: false }
    }

    /// Returns the connection to the process.
    pub fn process(&self) -> Option<ConnectionId> {
        self.process.as_ref().map(|(id, _)| *id)
    }

    /// Returns the folder of the file, or where the window was started.
    pub fn folder(&self) -> PathBuf {
        let known = Path::new(self.file.trim()).parent().filter(|folder| folder.is_absolute());
        let started = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        known.map_or_else(started, Path::to_path_buf)
    }

    /// Enters a chosen file, or a folder for the file.
    pub fn choose(&mut self, choice: FileChoice, path: &Path) {
        let name = Path::new(self.file.trim()).file_name().unwrap_or_default().to_owned();
        let path = if choice.is_folder() { path.join(name) } else { path.to_path_buf() };
        self.file = path.display().to_string();
    }

    /// Returns whether the file is being written or read.
    pub fn is_running(&self) -> bool {
        self.progress == SessionProgress::Running
    }

    /// Waits for the file.
    pub fn begin(&mut self) {
        self.progress = SessionProgress::Running;
    }

    /// Shows why the file could not be written or read, and lets the user change its path.
    pub fn refuse(&mut self, why: String) {
        (self.progress, self.focused) = (SessionProgress::Refused(why), false);
    }
}

/// The content of a file, as a table.
#[derive(Debug, Default)]
pub struct SavedTable {
    /// The title of the window.
    pub title: String,
    /// Lines above the table: where the numbers come from.
    pub lines: Vec<String>,
    /// The column headers; the last column is the method's name.
    pub headers: Vec<&'static str>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// Shows the question; returns true when it should close.
pub fn ask(context: &egui::Context, question: &mut SessionQuestion, commands: &mut Vec<UiCommand>) -> bool {
    let (title, button) = match question.purpose {
        SessionPurpose::Save => ("Save session", "Save"),
        SessionPurpose::Open => ("Open session", "Open"),
        SessionPurpose::Compare => ("Compare with a session", "Compare"),
        SessionPurpose::Speedscope => ("Export for speedscope", "Export"),
        SessionPurpose::Picture(None) => ("Save a picture of the window", "Save"),
        SessionPurpose::Picture(Some(_)) => ("Save a picture of a panel", "Save"),
    };
    let open = dialog::show(context, dialog::titled(title), |ui| {
        ui.set_width((context.content_rect().width() - 80.0).clamp(240.0, 560.0));
        let is_export = matches!(question.purpose, SessionPurpose::Speedscope | SessionPurpose::Picture(_));
        let label = ui.label(if is_export { "File" } else { "Session file" });
        let field = ui.horizontal(|ui| {
            let width = (ui.available_width() - BROWSE).max(60.0);
            let edit = TextEdit::singleline(&mut question.file).desired_width(width);
            let field = ui.add(edit).labelled_by(label.id);
            let browse = UiCommand::Browse(match question.purpose {
                purpose if purpose.is_save() => FileChoice::SessionFolder,
                _ => FileChoice::Session,
            });
            let button = ui.button(browse.name());
            button.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Browse for session file"));
            if button.clicked() {
                commands.push(browse);
            }
            field
        });
        let field = field.inner;
        if !std::mem::replace(&mut question.focused, true) {
            field.request_focus();
        }
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        ui.weak(match question.purpose {
                SessionPurpose::Save => {
                    "Saves the numbers of all calls since each dial was turned, histograms, traced calls and the log. Only you can read \
                    the file; an existing one stays."
                }
                SessionPurpose::Open => "Shows the numbers saved there. They do not change.",
                SessionPurpose::Speedscope => {
                    "Saves the latest traced calls by thread, and self times of timed methods, for the viewer speedscope. Only \
                    you can read the file; an existing one stays."
                }
                SessionPurpose::Picture(None) => "Saves this window without the dialog as PNG. An existing file stays.",
                SessionPurpose::Picture(Some(_)) => "Saves the panel without the dialog as PNG. An existing file stays.",
                SessionPurpose::Compare => {
                    "Compares the numbers saved there with the present ones of this process: all calls since each dial was turned, \
                    whatever range of time the window shows."
                }
            });
        if let SessionPurpose::Picture(Some(panel)) = question.purpose {
            ui.weak(format!("Panel: {}", panel.title()));
        }
        if !matches!(question.purpose, SessionPurpose::Open | SessionPurpose::Picture(_))
            && let Some((_, process)) = &question.process
        {
            ui.weak(format!("Process: {process}"));
        }
        match &question.progress {
            SessionProgress::Typing => {}
            SessionProgress::Running => drop(ui.weak("Please wait…")),
            SessionProgress::Refused(why) => {
                drop(ui.label(RichText::new(capitalized(why)).color(Palette::of(ui).bad)));
            }
        }
        let filled = !question.file.trim().is_empty() && !question.is_running();
        let clicked = ui.add_enabled(filled, egui::Button::new(button)).clicked();
        if filled && (clicked || entered) {
            commands.push(UiCommand::Session(question.purpose, question.file.trim().to_owned()));
        }
    });
    !open
}

/// Shows a table; returns true when it should close.
pub fn show(context: &egui::Context, table: &SavedTable) -> bool {
    let room = context.content_rect().size();
    let size = vec2((room.x - 80.0).clamp(240.0, 1_000.0), (room.y - 160.0).clamp(120.0, 620.0));
    !dialog::show(context, dialog::titled(&table.title), |ui| {
        ui.set_width(size.x);
        table.lines.iter().for_each(|line| drop(ui.label(line)));
        ui.separator();
        rows(ui, table, size.y);
    })
}

fn rows(ui: &mut Ui, table: &SavedTable, height: f32) {
    let palette = Palette::of(ui);
    let widths = widths(ui, table);
    let line = |ui: &mut Ui, cells: &mut dyn Iterator<Item = (&str, bool)>| {
        ui.horizontal(|ui| {
            ui.set_height(ROW);
            for (at, (cell, strong)) in cells.enumerate() {
                let text = if strong { RichText::new(cell).color(palette.weak) } else { RichText::new(cell) };
                match widths.get(at) {
                    Some(width) => {
                        let right = Layout::right_to_left(Align::Center);
                        ui.allocate_ui_with_layout(vec2(*width, ROW), right, |ui| ui.label(text));
                    }
                    // The last one names a method; a name that does not fit loses its beginning first.
                    None => drop(method(ui, cell, text)),
                }
            }
        });
    };
    line(ui, &mut table.headers.iter().map(|header| (*header, true)));
    let area = ScrollArea::vertical().auto_shrink(false).max_height(height);
    area.show_rows(ui, ROW, table.rows.len(), |ui, shown| {
        for row in table.rows.get(shown).unwrap_or_default() {
            line(ui, &mut row.iter().map(|cell| (cell.as_str(), false)));
        }
    });
}

/// Shows a method's name, shortened from its beginning to fit, with the whole one as a hint.
fn method(ui: &mut Ui, name: &str, style: RichText) -> egui::Response {
    let font = egui::TextStyle::Body.resolve(ui.style());
    let room = ui.available_width();
    let fits = |text: &&str| {
        ui.painter().layout_no_wrap((*text).to_owned(), font.clone(), Color32::WHITE).size().x <= room
    };
    let shown = names::shorter(name).find(fits).or_else(|| names::shorter(name).last()).unwrap_or(name);
    if shown == name {
        return ui.add(egui::Label::new(style).truncate());
    }
    ui.add(egui::Label::new(shown).truncate()).on_hover_text(name)
}

/// Returns the widths of all columns but the last, which takes the rest.
fn widths(ui: &Ui, table: &SavedTable) -> Vec<f32> {
    let letter = ui.fonts_mut(|fonts| fonts.glyph_width(&egui::TextStyle::Body.resolve(ui.style()), '0'));
    let numbers = table.headers.len().saturating_sub(1);
    let longest = |at: usize| {
        let cells = table.rows.iter().take(2_000).filter_map(|row| Some(row.get(at)?.chars().count()));
        cells.chain(table.headers.get(at).map(|header| header.chars().count())).max().unwrap_or(0)
    };
    (0..numbers).map(|at| longest(at) as f32 * letter + 12.0).collect()
}
