//! What the window remembers: one small versioned JSON file in the user's configuration folder. A file that cannot
//! be read is set aside under another name, never thrown away and never fatal.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The version this program writes.
const VERSION: u32 = 1;
/// Variable that names another folder for the file (tests, portable installations).
pub const VARIABLE: &str = "REDIAL_CONFIG";
const FILE: &str = "window.json";

/// Which theme the user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    /// What the desktop has.
    #[default]
    System,
    /// Dark.
    Dark,
    /// Light.
    Light,
}

/// Everything that is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// [`VERSION`] of the program that wrote it.
    pub version: u32,
    /// The theme.
    pub theme: ThemeChoice,
    /// Scale of everything; 1 is the desktop's own.
    pub zoom: f32,
    /// Size of the window, points of the desktop.
    pub window: Option<[f32; 2]>,
    /// Its upper left corner, points of the desktop; where the desktop tells nobody, absent.
    pub position: Option<[f32; 2]>,
    /// Whether it fills the screen.
    pub maximized: bool,
    /// Width of the process list, points.
    pub processes_width: Option<f32>,
    /// Width of the selection's panel, points.
    pub detail_width: Option<f32>,
    /// Height of the log, points.
    pub log_height: Option<f32>,
    /// Whether the log is shown.
    pub log_open: bool,
    /// Whether methods of the framework are hidden.
    pub hide_framework: bool,
    /// Whether methods stand as a tree.
    pub tree: bool,
    /// Whether copies of one method are one row.
    pub merge_copies: bool,
    /// The launch dialog's last program and arguments.
    pub launch: Launch,
    /// What was launched of late, the latest first.
    pub recent: Vec<Launch>,
}

/// Launches remembered.
const RECENT: usize = 10;

/// What the launch dialog was filled with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Launch {
    /// The program.
    pub program: String,
    /// Its arguments, as typed.
    pub arguments: String,
    /// Its folder.
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
            window: None,
            position: None,
            maximized: false,
            processes_width: None,
            detail_width: None,
            log_height: None,
            log_open: true,
            hide_framework: true,
            tree: false,
            merge_copies: false,
            launch: Launch::default(),
            recent: Vec::new(),
        }
    }
}

impl Settings {
    /// Remembers what is launched now.
    pub fn launched(&mut self) {
        let launch = self.launch.clone();
        self.recent.retain(|one| *one != launch);
        self.recent.insert(0, launch);
        self.recent.truncate(RECENT);
    }
}

/// Where the file is; None where the system has no such folder.
pub fn place() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        return Some(PathBuf::from(folder).join(FILE));
    }
    directories::ProjectDirs::from("", "", "redial").map(|folders| folders.config_dir().join(FILE))
}

/// Reads the settings and touches nothing; None when there are none that can be used.
pub fn glance(path: &Path) -> Option<Settings> {
    let settings: Settings = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    (settings.version <= VERSION).then(|| sound(settings))
}

/// What was found of the settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The settings, or the defaults.
    pub settings: Settings,
    /// For the user, when there was a file that could not be used.
    pub notice: Option<String>,
    /// Whether settings may be saved: not over what could be neither used nor set aside.
    pub may_be_saved: bool,
}

/// Reads the settings. What stands in their place and cannot be used is set aside.
pub fn load(path: &Path) -> Loaded {
    let found = |settings| Loaded { settings, notice: None, may_be_saved: true };
    let why = match std::fs::read(path) {
        Ok(text) => {
            // An earlier version let others read it; where that cannot be changed it can still be used.
            let _ = make_private(path);
            match serde_json::from_slice::<Settings>(&text) {
                Ok(settings) if settings.version <= VERSION => return found(sound(settings)),
                Ok(settings) => {
                    format!("it is of version {}, this program writes {VERSION}", settings.version)
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
        Ok(aside) => format!("it was set aside as {}, and the defaults are in place", aside.display()),
        Err(error) => {
            format!("it cannot be set aside, so nothing is saved over {}: {error}", path.display())
        }
    };
    let notice = Some(format!("the saved layout could not be used ({why}); {whereto}"));
    Loaded { settings: Settings::default(), notice, may_be_saved }
}

/// Writes the settings, whole or not at all.
pub fn save(path: &Path, settings: &Settings) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_vec_pretty(settings).map_err(io::Error::other)?;
    let fresh = path.with_extension(format!("json.{}", std::process::id()));
    // The environment of the launch dialog may hold what is nobody else's business.
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

/// Lets only this user read a file, where the system has such a thing as a mode.
fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let _ = path;
    Ok(())
}

/// Numbers that cannot be meant are replaced: a window of no size would never be found again.
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
    settings.log_height = settings.log_height.filter(|height| within(*height, 40.0, 4_000.0));
    settings
}

fn set_aside(path: &Path) -> io::Result<PathBuf> {
    for number in 1..1000 {
        let aside = path.with_extension(format!("json.bad{number}"));
        if !aside.exists() {
            std::fs::rename(path, &aside)?;
            return Ok(aside);
        }
    }
    Err(io::Error::other("there are a thousand of them already"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("redial-persist-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("a folder");
            Folder(folder)
        }

        fn file(&self) -> PathBuf {
            self.0.join(FILE)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_saved_is_read_back() {
        let folder = Folder::new("round");
        let mut settings = Settings { theme: ThemeChoice::Light, zoom: 1.5, ..Settings::default() };
        settings.window = Some([1200.0, 800.0]);
        settings.launch.program = "dotnet".into();
        save(&folder.file(), &settings).expect("saved");
        assert_eq!(load(&folder.file()), Loaded { settings, notice: None, may_be_saved: true });
        assert_eq!(std::fs::read_dir(&folder.0).expect("folder").count(), 1, "no half-written file stays");
    }

    #[test]
    #[cfg(unix)]
    fn nobody_else_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("private");
        let mode = || folder.file().metadata().expect("there").permissions().mode() & 0o777;
        let open = std::fs::Permissions::from_mode(0o644);
        save(&folder.file(), &Settings::default()).expect("saved");
        assert_eq!(mode(), 0o600);
        std::fs::set_permissions(folder.file(), open.clone()).expect("opened");
        assert_eq!(load(&folder.file()).notice, None);
        assert_eq!(mode(), 0o600, "an open one is closed when it is read");
        std::fs::set_permissions(folder.file(), open).expect("opened");
        save(&folder.file(), &Settings::default()).expect("saved");
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn without_a_file_there_are_the_defaults_and_no_notice() {
        let folder = Folder::new("none");
        let defaults = Loaded { settings: Settings::default(), notice: None, may_be_saved: true };
        assert_eq!(load(&folder.file()), defaults);
    }

    #[test]
    fn a_corrupt_file_is_set_aside_and_said() {
        let folder = Folder::new("corrupt");
        let wrong_types = r#"{"version": 1, "zoom": "large", "recent": 3}"#;
        let all = ["{\"zoom\": ", "\0\u{1}", "{\"version\": 99}", wrong_types, ""];
        for (number, bad) in all.into_iter().enumerate() {
            std::fs::write(folder.file(), bad).expect("written");
            let Loaded { settings, notice, may_be_saved } = load(&folder.file());
            assert_eq!((settings, may_be_saved), (Settings::default(), true));
            let aside = folder.0.join(format!("window.json.bad{}", number + 1));
            assert_eq!(std::fs::read_to_string(&aside).expect("kept"), bad);
            let notice = notice.expect("it is said");
            assert!(
                notice.contains("set aside") && notice.contains(&aside.display().to_string()),
                "{notice}"
            );
            assert!(!folder.file().exists());
        }
    }

    #[test]
    fn what_is_no_file_is_set_aside_with_all_that_is_in_it() {
        let folder = Folder::new("directory");
        std::fs::create_dir_all(folder.file()).expect("a folder");
        std::fs::write(folder.file().join("dear"), "to somebody").expect("written");
        let loaded = load(&folder.file());
        assert!(loaded.may_be_saved && loaded.notice.is_some_and(|text| text.contains("set aside as")));
        let dear = folder.0.join("window.json.bad1").join("dear");
        assert_eq!(std::fs::read_to_string(dear).expect("kept"), "to somebody");
        save(&folder.file(), &loaded.settings).expect("saved");
    }

    #[test]
    fn nothing_is_saved_over_what_cannot_be_set_aside() {
        let folder = Folder::new("stuck");
        std::fs::write(folder.file(), "no settings").expect("written");
        for number in 1..1000 {
            std::fs::write(folder.0.join(format!("window.json.bad{number}")), "earlier").expect("written");
        }
        let loaded = load(&folder.file());
        assert!(!loaded.may_be_saved);
        assert!(loaded.notice.is_some_and(|text| text.contains("nothing is saved")));
        // The folder itself is a file: it can be neither read nor moved.
        let loaded = load(&folder.file().join(FILE));
        assert!(!loaded.may_be_saved && loaded.notice.is_some());
    }

    #[test]
    fn numbers_nobody_means_are_replaced_and_unknown_fields_ignored() {
        let folder = Folder::new("numbers");
        let text = r#"{"version": 1, "zoom": 0.0, "window": [3, 1e9], "later": true}"#;
        std::fs::write(folder.file(), text).expect("written");
        let defaults = Loaded { settings: Settings::default(), notice: None, may_be_saved: true };
        assert_eq!(load(&folder.file()), defaults);
    }

    #[test]
    fn launches_are_remembered_once_each_the_latest_first() {
        let mut settings = Settings::default();
        let of = |program: usize| Launch { program: program.to_string(), ..Launch::default() };
        for program in (0..20).chain([15]) {
            settings.launch = of(program);
            settings.launched();
        }
        let programs: Vec<&str> = settings.recent.iter().map(|one| one.program.as_str()).collect();
        assert_eq!(programs, ["15", "19", "18", "17", "16", "14", "13", "12", "11", "10"]);
    }
}
