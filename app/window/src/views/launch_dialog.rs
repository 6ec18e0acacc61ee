//! The dialog that launches a program with the agent.

use crate::commands::{FileChoice, UiCommand};
use crate::settings::SavedLaunch;
use crate::ui::capitalized;
use crate::ui::dialog;
use crate::ui::theme::Palette;
use eframe::egui::{self, Grid, Id, Key, KeyboardShortcut, Modifiers, RichText, TextEdit, Ui, vec2};
use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use redial_text::words;
use std::path::{Path, PathBuf};

/// Launches from every field; in single-line fields plain Enter does, too.
const LAUNCH: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Enter);

/// Width of the button beside a field, points.
const BROWSE: f32 = 92.0;

/// A program to launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchPlan {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working folder; `None` for the current one.
    pub folder: Option<PathBuf>,
    /// Variables added to the environment.
    pub environment: Vec<(String, String)>,
    /// Dials set before its first instruction.
    pub orders: Vec<Order>,
}

impl LaunchPlan {
    /// Returns the command line with file names in place of paths: `dotnet Shop.dll --forever`.
    pub fn title(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let short = |word: &String| {
            let name = Path::new(word).file_name().filter(|_| Path::new(word).is_absolute());
            name.map_or(word.clone(), |name| name.to_string_lossy().into_owned())
        };
        words.map(short).collect::<Vec<_>>().join(" ")
    }
}

/// The state of the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchProgress {
    /// Nothing was launched.
    None,
    /// The program is starting.
    Starting,
    /// It could not be started; the reason as a sentence.
    Failed(String),
}

/// Shows the dialog; returns true when it should close.
pub fn show(
    context: &egui::Context,
    launch: &mut SavedLaunch,
    recent: &[SavedLaunch],
    progress: &LaunchProgress,
    commands: &mut Vec<UiCommand>,
) -> bool {
    !dialog::show(context, dialog::titled("Launch a program"), |ui| {
        let room = context.content_rect().size();
        ui.set_width((room.x - 60.0).min(600.0));
        egui::ScrollArea::vertical().max_height(room.y - 90.0).show(ui, |ui| {
            choose(ui, launch, recent);
            inside(ui, launch, progress, commands);
        });
    })
}

/// Fills the fields from an earlier launch.
fn choose(ui: &mut Ui, launch: &mut SavedLaunch, recent: &[SavedLaunch]) {
    if recent.is_empty() {
        return;
    }
    let line =
        |one: &SavedLaunch| format!("{} {}", one.program.trim(), one.arguments.trim()).trim().to_owned();
    let now = recent.iter().find(|one| *one == launch).map_or("Recent launches…".to_owned(), line);
    egui::ComboBox::new("recent", "")
        .selected_text(now)
        .width(ui.available_width() - 8.0)
        .truncate()
        .show_ui(ui, |ui| {
            for one in recent {
                if ui.selectable_label(one == launch, line(one)).clicked() {
                    launch.clone_from(one);
                }
            }
        });
    ui.add_space(6.0);
}

fn inside(ui: &mut Ui, launch: &mut SavedLaunch, progress: &LaunchProgress, commands: &mut Vec<UiCommand>) {
    let palette = Palette::of(ui);
    ui.label("The program starts with the agent, so you can count every call from the first one on.");
    ui.add_space(4.0);
    // Consumes the key before a multi-line field takes it as a line break.
    let mut entered = ui.input_mut(|input| input.consume_shortcut(&LAUNCH));
    Grid::new("launch").num_columns(2).spacing(vec2(12.0, 8.0)).show(ui, |ui| {
        let hint = "e.g. dotnet, or the path of a program";
        let program =
            field_to_browse(ui, "Program", &mut launch.program, hint, FileChoice::Program, commands);
        let arguments = field(
            ui,
            "Arguments",
            &mut launch.arguments,
            "e.g. Shop.dll --forever; quote \"two words\" to keep them together",
            1,
        );
        let hint = "defaults to the folder Redial was started in";
        let folder = field_to_browse(ui, "Folder", &mut launch.folder, hint, FileChoice::Folder, commands);
        let enter = ui.input(|input| input.key_pressed(egui::Key::Enter));
        entered |= enter && [&program, &arguments, &folder].iter().any(|field| field.lost_focus());
        // The dialog opens with the keyboard in its first field.
        if ui.memory(|memory| memory.focused().is_none()) {
            program.request_focus();
        }
        let variables = "e.g. DOTNET_ROLL_FORWARD=Major, one per line";
        field(ui, "Environment", &mut launch.environment, variables, 2);
        let dials = "e.g. Shop!*=count, one per line; set before the first instruction";
        field(ui, "Dials", &mut launch.dials, dials, 2);
    });
    let plan = plan(launch);
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let button = egui::Button::new("Launch").shortcut_text(ui.ctx().format_shortcut(&LAUNCH));
        let ready = plan.is_ok() && *progress != LaunchProgress::Starting;
        let missing = plan.as_ref().err().map_or("The program is starting", String::as_str);
        let response = ui.add_enabled(ready, button).on_disabled_hover_text(capitalized(missing));
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, ready, "Launch"));
        let chosen = response.clicked() || entered && ready;
        match (&plan, progress) {
            (Ok(_), LaunchProgress::Starting) => drop(ui.weak("Starting…")),
            (Ok(_), LaunchProgress::Failed(why)) => {
                ui.add(egui::Label::new(RichText::new(capitalized(why)).color(palette.bad)).wrap());
            }
            (Ok(_), LaunchProgress::None) => {
                let text = "Its output appears below. It keeps running when this window closes, unless \
                           it ends at the end of its input.";
                ui.add(egui::Label::new(RichText::new(text).color(palette.weak)).wrap());
            }
            (Err(why), _) if launch.program.trim().is_empty() => drop(ui.weak(why)),
            (Err(why), _) => drop(ui.label(RichText::new(capitalized(why)).color(palette.bad))),
        }
        if chosen {
            commands.push(UiCommand::StartLaunch);
        }
    });
}

fn field(ui: &mut Ui, name: &str, text: &mut String, hint: &str, lines: usize) -> egui::Response {
    let label = ui.label(name);
    let edit =
        if lines == 1 { TextEdit::singleline(text) } else { TextEdit::multiline(text).desired_rows(lines) };
    let edit = edit.id(field_id(name)).hint_text(hint).desired_width(f32::INFINITY);
    let response = ui.add(edit).labelled_by(label.id);
    ui.end_row();
    response
}

/// Shows a field with a button that opens the file list.
fn field_to_browse(
    ui: &mut Ui,
    name: &str,
    text: &mut String,
    hint: &str,
    choice: FileChoice,
    commands: &mut Vec<UiCommand>,
) -> egui::Response {
    let label = ui.label(name);
    let response = ui.horizontal(|ui| {
        let browse = UiCommand::Browse(choice);
        let width = (ui.available_width() - BROWSE).max(60.0);
        let edit = TextEdit::singleline(text).id(field_id(name)).hint_text(hint).desired_width(width);
        let response = ui.add(edit).labelled_by(label.id);
        let button = ui.button(browse.name());
        let named = format!("Browse for {}", name.to_lowercase());
        button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &named));
        if button.clicked() {
            commands.push(browse);
        }
        response
    });
    ui.end_row();
    response.inner
}

fn field_id(name: &str) -> Id {
    Id::unique("launch a program").with(name)
}

/// Returns the id of the program field, which gets the keyboard first.
pub fn program_id() -> Id {
    field_id("Program")
}

/// Returns the launch that the fields describe, or an error.
pub fn plan(launch: &SavedLaunch) -> Result<LaunchPlan, String> {
    let program = launch.program.trim();
    if program.is_empty() {
        return Err("Enter a program to launch.".to_owned());
    }
    let folder = match launch.folder.trim() {
        "" => None,
        folder => Some(PathBuf::from(folder)),
    };
    if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(format!("{} is not a folder", folder.display()));
    }
    Ok(LaunchPlan {
        program: program.to_owned(),
        arguments: split(&launch.arguments)?,
        folder,
        environment: lines(&launch.environment).map(variable).collect::<Result<_, _>>()?,
        orders: lines(&launch.dials).map(order).collect::<Result<_, _>>()?,
    })
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn variable(line: &str) -> Result<(String, String), String> {
    match line.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("'{line}' is not NAME=VALUE")),
    }
}

fn order(line: &str) -> Result<Order, String> {
    let (pattern, level) = line.rsplit_once('=').ok_or(format!("'{line}' is not PATTERN=LEVEL"))?;
    let level = Level::from_word(level.trim())
        .ok_or_else(|| format!("'{}' is not a level ({})", level.trim(), words::levels()))?;
    Pattern::parse(pattern.trim()).map_err(|error| error.to_string())?;
    Ok(Order::new(pattern.trim(), level))
}

/// Splits at spaces. Double quotes keep an argument together; `\"` is a literal quote.
fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut arguments, mut word, mut begun, mut quoted) = (Vec::new(), String::new(), false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'"') => {
                word.extend(letters.next());
                begun = true;
            }
            '"' => {
                quoted = !quoted;
                begun = true;
            }
            space if space.is_whitespace() && !quoted => {
                if std::mem::take(&mut begun) {
                    arguments.push(std::mem::take(&mut word));
                }
            }
            other => {
                word.push(other);
                begun = true;
            }
        }
    }
    if quoted {
        return Err("the arguments have an unclosed quote".to_owned());
    }
    if begun {
        arguments.push(word);
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_like_in_a_shell() {
        assert_eq!(
            split(r#" a  "b c" d\"e "" "#),
            Ok(vec!["a".into(), "b c".into(), "d\"e".into(), "".into()])
        );
        assert_eq!(split(r"C:\dir\x.dll"), Ok(vec![r"C:\dir\x.dll".into()]));
        assert!(split("\"open").is_err());
    }

    #[test]
    fn invalid_launch_fields_are_explained() {
        let launch = |program: &str, environment: &str, dials: &str| SavedLaunch {
            program: program.into(),
            environment: environment.into(),
            dials: dials.into(),
            ..SavedLaunch::default()
        };
        for (launch, part) in [
            (launch(" ", "", ""), "Enter a program"),
            (launch("x", "=1", ""), "NAME=VALUE"),
            (launch("x", "", "Shop!*"), "PATTERN=LEVEL"),
            (launch("x", "", "Shop!*=loud"), "not a level"),
            (launch("x", "", "Shop!*(=count"), ""),
            (SavedLaunch { folder: "/no/such".into(), ..launch("x", "", "") }, "not a folder"),
        ] {
            let why = plan(&launch).expect_err("refused");
            assert!(why.contains(part), "{why}");
        }
        let good = plan(&launch("dotnet", "A=b=c\n\n", "Shop!Shop.Cart.*=count\n")).expect("good");
        assert_eq!(good.environment, [("A".to_owned(), "b=c".to_owned())]);
        assert_eq!((good.orders.len(), good.orders[0].level), (1, Level::Count));
        let here = std::env::current_exe().expect("a program").to_string_lossy().into_owned();
        let name = Path::new(&here).file_name().expect("a name").to_string_lossy().into_owned();
        let arguments = vec![here.clone(), "--forever".to_owned(), "a/b".to_owned()];
        let plan = LaunchPlan { program: here, arguments, ..good };
        assert_eq!(plan.title(), format!("{name} {name} --forever a/b"));
    }
}
