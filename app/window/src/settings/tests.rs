//! Tests of the settings file.

use super::*;

struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> TempFolder {
        let folder = std::env::temp_dir().join(format!("redial-persist-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        TempFolder(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join(FILE)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn reads_saved_settings_back() {
    let folder = TempFolder::new("round");
    let mut settings = Settings { theme: ThemeChoice::Light, zoom: 1.5, ..Settings::default() };
    settings.window = Some([1200.0, 800.0]);
    settings.launch.program = "dotnet".into();
    save(&folder.file(), &settings).expect("saved");
    assert_eq!(load(&folder.file()), LoadedSettings { settings, notice: None, may_be_saved: true });
    assert_eq!(std::fs::read_dir(&folder.0).expect("folder").count(), 1, "no half-written file stays");
}

#[test]
#[cfg(unix)]
fn the_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempFolder::new("private");
    let mode = || folder.file().metadata().expect("there").permissions().mode() & 0o777;
    let open = std::fs::Permissions::from_mode(0o644);
    save(&folder.file(), &Settings::default()).expect("saved");
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(folder.file(), open.clone()).expect("opened");
    assert_eq!(load(&folder.file()).notice, None);
    assert_eq!(mode(), 0o600, "loading makes a readable file private");
    std::fs::set_permissions(folder.file(), open).expect("opened");
    save(&folder.file(), &Settings::default()).expect("saved");
    assert_eq!(mode(), 0o600);
}

#[test]
fn a_missing_file_gives_defaults_without_notice() {
    let folder = TempFolder::new("none");
    let defaults = LoadedSettings { settings: Settings::default(), notice: None, may_be_saved: true };
    assert_eq!(load(&folder.file()), defaults);
}

#[test]
fn sets_a_corrupt_file_aside_with_a_notice() {
    let folder = TempFolder::new("corrupt");
    let wrong_types = r#"{"version": 1, "zoom": "large", "recent": 3}"#;
    let all = ["{\"zoom\": ", "\0\u{1}", "{\"version\": 99}", wrong_types, ""];
    for (number, bad) in all.into_iter().enumerate() {
        std::fs::write(folder.file(), bad).expect("written");
        let LoadedSettings { settings, notice, may_be_saved } = load(&folder.file());
        assert_eq!((settings, may_be_saved), (Settings::default(), true));
        let aside = folder.0.join(format!("window.json.bad{}", number + 1));
        assert_eq!(std::fs::read_to_string(&aside).expect("kept"), bad);
        let notice = notice.expect("a notice");
        assert!(notice.contains("set aside") && notice.contains(&aside.display().to_string()), "{notice}");
        assert!(!folder.file().exists());
    }
}

#[test]
fn sets_a_folder_aside_with_its_content() {
    let folder = TempFolder::new("directory");
    std::fs::create_dir_all(folder.file()).expect("a folder");
    std::fs::write(folder.file().join("dear"), "to somebody").expect("written");
    let loaded = load(&folder.file());
    assert!(loaded.may_be_saved && loaded.notice.is_some_and(|text| text.contains("set aside as")));
    let dear = folder.0.join("window.json.bad1").join("dear");
    assert_eq!(std::fs::read_to_string(dear).expect("kept"), "to somebody");
    save(&folder.file(), &loaded.settings).expect("saved");
}

#[test]
fn never_overwrites_a_file_that_cannot_be_set_aside() {
    let folder = TempFolder::new("stuck");
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
fn replaces_senseless_numbers_and_ignores_unknown_fields() {
    let folder = TempFolder::new("numbers");
    let text = r#"{"version": 1, "zoom": 0.0, "window": [3, 1e9], "later": true}"#;
    std::fs::write(folder.file(), text).expect("written");
    let defaults = LoadedSettings { settings: Settings::default(), notice: None, may_be_saved: true };
    assert_eq!(load(&folder.file()), defaults);
}

#[test]
fn values_of_a_later_version_cost_only_themselves() {
    let folder = TempFolder::new("later");
    let text = r#"{"version": 1, "theme": "sepia", "lower_tab": {"new": 1}, "zoom": 1.5,
        "columns": [{"hidden": true}, {"name": "calls", "hidden": true}],
        "programs": {"Shop.dll": {"pins": ["Shop!Shop.Cart.Add(int)"]}}}"#;
    std::fs::write(folder.file(), text).expect("written");
    let LoadedSettings { settings, notice, may_be_saved } = load(&folder.file());
    assert_eq!((notice, may_be_saved), (None, true));
    assert_eq!((settings.theme, settings.lower_tab), (ThemeChoice::System, LowerTab::Events));
    assert_eq!(settings.zoom, 1.5);
    assert!(settings.columns.get(columns::TableColumn::Calls).hidden);
    assert_eq!(settings.programs.get("Shop.dll").map(|program| program.pins.len()), Some(1));
}

#[test]
fn keeps_recent_launches_once_each_latest_first() {
    let mut settings = Settings::default();
    let of = |program: usize| SavedLaunch { program: program.to_string(), ..SavedLaunch::default() };
    for program in (0..20).chain([15]) {
        settings.launch = of(program);
        settings.launched();
    }
    let programs: Vec<&str> = settings.recent.iter().map(|one| one.program.as_str()).collect();
    assert_eq!(programs, ["15", "19", "18", "17", "16", "14", "13", "12", "11", "10"]);
}

#[test]
fn sections_of_a_later_version_cost_only_themselves() {
    let folder = TempFolder::new("sections");
    std::fs::write(folder.file(), r#"{"version": 1, "closed_sections": ["rate", "weather"]}"#)
        .expect("written");
    let closed = load(&folder.file()).settings.closed_sections;
    assert_eq!(closed.into_iter().collect::<Vec<_>>(), [sections::DetailSection::Rate]);
}
