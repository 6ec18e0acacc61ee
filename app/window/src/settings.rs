//! The window's saved settings: one small versioned JSON file in the user's configuration folder. An unreadable file is
//! renamed, never deleted, and never fatal.

pub mod columns;
pub mod layouts;
mod lower_tab;
mod merge;
#[cfg(test)]
mod merge_tests;
pub mod programs;
pub mod sections;
#[cfg(test)]
mod tests;

pub use lower_tab::LowerTab;

use columns::ColumnLayout;
use layouts::{Layouts, StandardLayout};
use programs::SavedPrograms;
use sections::DetailSection;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The version that this program writes.
const VERSION: u32 = 1;
/// The variable that names another folder for the file (tests, portable installations).
pub const VARIABLE: &str = "REDIAL_CONFIG";
const FILE: &str = "window.json";
/// The command that opens a file in VS Code. On Windows `code` is a script, which starts only by its whole name.
pub const DEFAULT_EDITOR: &str =
    if cfg!(windows) { "code.cmd --goto {file}:{line}" } else { "code --goto {file}:{line}" };

/// The theme that the user chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    /// The desktop's theme.
    #[default]
    System,
    /// Dark.
    Dark,
    /// Light.
    Light,
}

/// All saved settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// [`VERSION`] of the program that wrote the file.
    pub version: u32,
    /// The theme.
    #[serde(deserialize_with = "known_or_default")]
    pub theme: ThemeChoice,
    /// The scale of the window; 1 is the desktop's own.
    pub zoom: f32,
    /// Whether rows are lower, so that more fit.
    pub compact: bool,
    /// The size of the window, in desktop points.
    pub window: Option<[f32; 2]>,
    /// The upper left corner of the window, in desktop points; absent if the desktop does not report it.
    pub position: Option<[f32; 2]>,
    /// Whether the window is maximized.
    pub maximized: bool,
    /// Whether the process list is shown.
    pub processes_open: bool,
    /// Whether the selection's panel is shown where there is room.
    pub details_open: bool,
    /// The width of the process list, in points.
    pub processes_width: Option<f32>,
    /// Width of the selection's panel, points.
    pub detail_width: Option<f32>,
    /// The height of the log, in points.
    pub log_height: Option<f32>,
    /// Whether the log is shown.
    pub log_open: bool,
    /// Whether the panel below the methods is shown.
    pub events_open: bool,
    /// Its tab.
    #[serde(deserialize_with = "known_or_default")]
    pub lower_tab: LowerTab,
    /// The command that opens a file in an editor, with `{file}` and `{line}`.
    pub editor: String,
    /// The height of that panel, in points.
    pub events_height: Option<f32>,
    /// The width of the selected call beside it, in points.
    pub call_width: Option<f32>,
    /// Whether framework methods are hidden.
    pub hide_framework: bool,
    /// Whether methods that the compiler wrote are hidden.
    pub hide_generated: bool,
    /// Whether methods are shown as a tree.
    pub tree: bool,
    /// Whether copies of one method are merged into one row.
    pub merge_copies: bool,
    /// Filters that the user saved, in order.
    pub filters: Vec<String>,
    /// What is kept for each program.
    pub programs: SavedPrograms,
    /// The columns of the method table.
    pub columns: ColumnLayout,
    /// The sections of the details that are collapsed.
    #[serde(deserialize_with = "sections::known")]
    pub closed_sections: BTreeSet<DetailSection>,
    /// Layouts of the panels.
    pub layouts: Layouts,
    /// The last values of the launch dialog.
    pub launch: SavedLaunch,
    /// The recent launches, latest first.
    pub recent: Vec<SavedLaunch>,
}

/// Reads a value, or takes the default for one that only a later version knows.
fn known_or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The most filters to save.
pub const FILTERS: usize = 50;
/// The most recent launches to save.
const RECENT: usize = 10;

/// The values of the launch dialog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedLaunch {
    /// The program.
    pub program: String,
    /// Its arguments, as typed.
    pub arguments: String,
    /// Its working folder.
    pub folder: String,
    /// NAME=VALUE lines.
    pub environment: String,
    /// PATTERN=LEVEL lines.
    pub dials: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            version: VERSION,
            theme: ThemeChoice::System,
            zoom: 1.0,
            compact: false,
            window: None,
            position: None,
            maximized: false,
            processes_open: true,
            details_open: true,
            processes_width: None,
            detail_width: None,
            log_height: None,
            log_open: true,
            events_open: false,
            lower_tab: LowerTab::Events,
            editor: DEFAULT_EDITOR.to_owned(),
            events_height: None,
            call_width: None,
            hide_framework: true,
            hide_generated: true,
            tree: false,
            merge_copies: false,
            filters: Vec::new(),
            programs: SavedPrograms::default(),
            columns: ColumnLayout::default(),
            closed_sections: BTreeSet::new(),
            layouts: Layouts::default(),
            launch: SavedLaunch::default(),
            recent: Vec::new(),
        }
    }
}

impl Settings {
    /// Saves a filter, or removes it if it is saved.
    ///
    /// # Errors
    ///
    /// Returns the reason if [`FILTERS`] are saved already, or if the filter is empty.
    pub fn toggle_filter(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim();
        let before = self.filters.len();
        self.filters.retain(|filter| filter != text);
        if before != self.filters.len() {
            return Ok(());
        }
        if text.is_empty() {
            return Err("the filter is empty".to_owned());
        }
        if before >= FILTERS {
            return Err(format!("{FILTERS} filters are saved already: remove one first"));
        }
        self.filters.push(text.to_owned());
        Ok(())
    }

    /// Opens a section of the details, or closes it.
    pub fn toggle_section(&mut self, section: DetailSection) {
        if !self.closed_sections.remove(&section) {
            self.closed_sections.insert(section);
        }
    }

    /// Returns the panels of the standard layout and their sizes.
    pub fn standard_layout(&self) -> StandardLayout {
        StandardLayout {
            processes_open: self.processes_open,
            details_open: self.details_open,
            log_open: self.log_open,
            events_open: self.events_open,
            lower_tab: self.lower_tab,
            processes_width: self.processes_width,
            detail_width: self.detail_width,
            log_height: self.log_height,
            events_height: self.events_height,
            call_width: self.call_width,
        }
    }

    /// Sets the panels of the standard layout and their sizes.
    pub fn set_standard_layout(&mut self, layout: StandardLayout) {
        self.processes_open = layout.processes_open;
        self.details_open = layout.details_open;
        self.log_open = layout.log_open;
        self.events_open = layout.events_open;
        self.lower_tab = layout.lower_tab;
        self.processes_width = layout.processes_width;
        self.detail_width = layout.detail_width;
        self.log_height = layout.log_height;
        self.events_height = layout.events_height;
        self.call_width = layout.call_width;
    }

    /// Adds the current launch to the recent ones.
    pub fn launched(&mut self) {
        let launch = self.launch.clone();
        self.recent.retain(|one| *one != launch);
        self.recent.insert(0, launch);
        self.recent.truncate(RECENT);
    }
}

/// Returns the path of the file, or `None` if the system has no configuration folder.
pub fn place() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        return Some(PathBuf::from(folder).join(FILE));
    }
    directories::ProjectDirs::from("", "", "redial").map(|folders| folders.config_dir().join(FILE))
}

/// Reads the settings without side effects; returns `None` if they are missing or unusable.
pub fn glance(path: &Path) -> Option<Settings> {
    let settings: Settings = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    (settings.version <= VERSION).then(|| sound(settings))
}

/// The result of loading settings.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedSettings {
    /// The settings, or the defaults.
    pub settings: Settings,
    /// A notice for the user, if the file could not be used.
    pub notice: Option<String>,
    /// Whether settings may be saved; false if an unusable file could not be renamed.
    pub may_be_saved: bool,
}

/// Reads the settings and renames a file that cannot be used.
pub fn load(path: &Path) -> LoadedSettings {
    let found = |settings| LoadedSettings { settings, notice: None, may_be_saved: true };
    let why = match std::fs::read(path) {
        Ok(text) => {
            // An earlier version let others read the file. If the mode cannot be changed, the file is still usable.
            let _ = make_private(path);
            match serde_json::from_slice::<Settings>(&text) {
                Ok(settings) if settings.version <= VERSION => {
                    let mut settings = sound(settings);
                    return match std::mem::take(&mut settings.layouts.dropped) {
                        0 => found(settings),
                        dropped => without_layouts(path, settings, dropped),
                    };
                }
                Ok(settings) => {
                    format!("it has version {}, but this program supports only {VERSION}", settings.version)
                }
                Err(error) => error.to_string(),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return found(Settings::default()),
        Err(error) => error.to_string(),
    };
    let aside = set_aside(path);
    let may_be_saved = aside.is_ok();
    let whereto = match aside {
        Ok(aside) => format!("it was set aside as {} and replaced by the defaults", aside.display()),
        Err(error) => {
            format!("it cannot be set aside, so nothing is saved over {}: {error}", path.display())
        }
    };
    let notice = Some(format!("the saved layout could not be used ({why}); {whereto}"));
    LoadedSettings { settings: Settings::default(), notice, may_be_saved }
}

/// Returns settings some of whose layouts could not be used, and keeps a copy of the file that has them.
fn without_layouts(path: &Path, settings: Settings, dropped: usize) -> LoadedSettings {
    let layouts = if dropped == 1 { "a saved layout" } else { "saved layouts" };
    let kept = free_name(path).and_then(|to| std::fs::copy(path, &to).map(|_| to));
    let copy = match &kept {
        Ok(to) => format!("{} still has what could not be used", to.display()),
        Err(error) => format!("the file cannot be copied, so nothing is saved over it: {error}"),
    };
    let notice = format!("{layouts} could not be used; other settings and layouts are unchanged, and {copy}");
    LoadedSettings { settings, notice: Some(notice), may_be_saved: kept.is_ok() }
}

/// Writes the changes that a window made since `before`, and leaves alone those that another window has saved meanwhile.
///
/// # Errors
///
/// If the file cannot be written.
pub fn save_changes(path: &Path, before: &Settings, now: &Settings) -> io::Result<()> {
    let merged = glance(path).map(|file| merge::merged(before, now, &file));
    save(path, merged.as_ref().unwrap_or(now))
}

/// Writes the settings atomically.
pub fn save(path: &Path, settings: &Settings) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_vec_pretty(settings).map_err(io::Error::other)?;
    let fresh = path.with_extension(format!("json.{}", std::process::id()));
    // The environment of the launch dialog may contain secrets.
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&fresh).and_then(|mut file| {
        make_private(&fresh)?;
        file.write_all(&text)
    });
    written.and_then(|()| std::fs::rename(&fresh, path)).inspect_err(|_| drop(std::fs::remove_file(&fresh)))
}

/// Lets only this user read a file, on systems with file modes.
fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let _ = path;
    Ok(())
}

/// Replaces senseless numbers: nobody would find a window without size again.
fn sound(mut settings: Settings) -> Settings {
    let within = |value: f32, low: f32, high: f32| value.is_finite() && (low..=high).contains(&value);
    settings.version = VERSION;
    if !within(settings.zoom, 0.5, 4.0) {
        settings.zoom = 1.0;
    }
    settings.window = settings
        .window
        .filter(|[width, height]| within(*width, 400.0, 16_000.0) && within(*height, 300.0, 16_000.0));
    settings.position =
        settings.position.filter(|at| at.iter().all(|side| within(*side, -32_000.0, 32_000.0)));
    settings.detail_width = settings.detail_width.filter(|width| within(*width, 100.0, 2_000.0));
    settings.processes_width = settings.processes_width.filter(|width| within(*width, 100.0, 2_000.0));
    settings.recent.truncate(RECENT);
    settings.events_height = settings.events_height.filter(|height| within(*height, 40.0, 4_000.0));
    settings.call_width = settings.call_width.filter(|width| within(*width, 100.0, 2_000.0));
    settings.log_height = settings.log_height.filter(|height| within(*height, 40.0, 4_000.0));
    settings
}

fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let aside = free_name(path)?;
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

/// Returns the name for a file to set aside.
fn free_name(path: &Path) -> io::Result<PathBuf> {
    let mut names = (1..1000).map(|number| path.with_extension(format!("json.bad{number}")));
    names
        .find(|name| !name.exists())
        .ok_or_else(|| io::Error::other("there are too many files set aside already"))
}
