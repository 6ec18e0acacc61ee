//! Tests that settings survive closing and opening the window.

use super::fixture::{execute, still};
use crate::commands::UiCommand;
use crate::desktop::{App, Options};
use crate::settings::ThemeChoice;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::{Path, PathBuf};

struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> TempFolder {
        let folder = std::env::temp_dir().join(format!("redial-window-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        TempFolder(folder)
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn opened(file: &Path) -> Harness<'static, App> {
    let options = Options { settings: Some(file.to_owned()), ..still() };
    let mut harness = Harness::builder()
        .with_size([1280.0, 800.0])
        .with_max_steps(20)
        .build_eframe(|creation| App::new(&creation.egui_ctx, options));
    harness.run_steps(3);
    harness
}

#[test]
fn settings_are_restored() {
    let folder = TempFolder::new("again");
    let file = folder.0.join("deep").join("window.json");
    let mut harness = opened(&file);
    for command in [
        UiCommand::Theme(ThemeChoice::Light),
        UiCommand::Tree,
        UiCommand::HideFramework,
        UiCommand::HideGenerated,
        UiCommand::Log,
        UiCommand::ZoomIn,
        UiCommand::ZoomIn,
    ] {
        execute(&mut harness, command);
    }
    // Drags the edge between process list and methods by 70 points of the screen.
    let width = crate::desktop::layout::initial_widths(1_280.0 / 1.2)[0];
    let edge = eframe::egui::pos2(width, 300.0);
    harness.drag_at(edge);
    harness.run_steps(2);
    harness.hover_at(edge + eframe::egui::vec2(70.0, 0.0));
    harness.run_steps(2);
    harness.drop_at(edge + eframe::egui::vec2(70.0, 0.0));
    harness.run_steps(2);
    eframe::App::on_exit(harness.state_mut(), None);
    let before = harness.state().settings.clone();
    let wider = before.processes_width.expect("dragged");
    assert!((wider - width - 70.0).abs() < 2.0, "{width} became {wider}");
    drop(harness);

    let harness = opened(&file);
    let after = &harness.state().settings;
    assert_eq!((after.theme, after.tree, after.hide_framework), (ThemeChoice::Light, true, false));
    assert!(!after.hide_generated);
    assert!(!after.log_open && harness.query_by_label_contains("requests, transitions").is_none());
    assert_eq!(harness.ctx.zoom_factor(), before.zoom);
    assert!((before.zoom - 1.2).abs() < 1e-4);
    let shown = after.processes_width.expect("kept");
    assert!((shown - wider).abs() < 2.0, "{wider} became {shown}");
}

#[test]
fn sets_corrupt_settings_aside_and_reports_it() {
    let folder = TempFolder::new("corrupt");
    let file = folder.0.join("window.json");
    std::fs::write(&file, "{\"zoom\": ").expect("written");
    let harness = opened(&file);
    assert!(harness.query_by_label_contains("The saved layout could not be used").is_some());
    assert!(harness.query_by_label_contains("window.json.bad1").is_some());
    assert_eq!(std::fs::read_to_string(folder.0.join("window.json.bad1")).expect("kept"), "{\"zoom\": ");
}

#[test]
fn settings_file_that_cannot_be_renamed_stays() {
    let folder = TempFolder::new("stuck");
    let file = folder.0.join("window.json");
    std::fs::write(&file, "no settings").expect("written");
    for number in 1..1000 {
        std::fs::write(folder.0.join(format!("window.json.bad{number}")), "earlier").expect("written");
    }
    let mut harness = opened(&file);
    assert!(harness.query_by_label_contains("nothing is saved").is_some());
    execute(&mut harness, UiCommand::Tree);
    eframe::App::on_exit(harness.state_mut(), None);
    assert_eq!(std::fs::read_to_string(&file).expect("kept"), "no settings");
}

#[test]
#[cfg(target_os = "linux")]
fn reports_an_unwritable_folder_on_first_save() {
    // Even root cannot create a folder there.
    let mut harness = opened(Path::new("/proc/redial/window.json"));
    assert!(harness.query_by_label_contains("could not be saved").is_none());
    execute(&mut harness, UiCommand::Tree);
    assert!(harness.query_by_label_contains("The settings could not be saved to /proc/redial").is_some());
}

/// A small window only shrinks a panel temporarily.
#[test]
fn panel_regains_its_width_with_the_window() {
    let mut harness = super::fixture::with_shop(eframe::egui::Theme::Dark);
    let field = |harness: &Harness<'static, App>| harness.get_by_label("Filter processes").rect().width();
    let before = field(&harness);
    let edge = eframe::egui::pos2(crate::desktop::layout::initial_widths(1_180.0)[0], 300.0);
    for step in [0.0, 60.0] {
        let at = edge + eframe::egui::vec2(step, 0.0);
        if step == 0.0 {
            harness.drag_at(at)
        } else {
            harness.hover_at(at)
        }
        harness.run_steps(2);
    }
    harness.drop_at(edge + eframe::egui::vec2(60.0, 0.0));
    harness.run_steps(2);
    let wide = field(&harness);
    assert!((wide - before - 60.0).abs() < 2.0, "{before} became {wide}");
    let dragged = crate::desktop::layout::initial_widths(1_180.0)[0] + 60.0;
    for (size, expected) in [(600.0, 0.35 * 600.0), (1180.0, dragged)] {
        harness.set_size(eframe::egui::vec2(size, 720.0));
        harness.run_steps(4);
        let now = field(&harness) + dragged - wide;
        assert!((now - expected).abs() < 2.0, "at {size}: {now}, not {expected}");
    }
}

#[test]
fn two_windows_keep_each_others_pins_and_filters() {
    let folder = TempFolder::new("two");
    let file = folder.0.join("window.json");
    let (mut one, mut other) = (opened(&file), opened(&file));
    let pin = |harness: &mut Harness<'static, App>, name: &str| {
        harness.state_mut().settings.programs.pin("Shop.dll", &[name.to_owned()], true).expect("room");
    };
    pin(&mut one, "A");
    execute(&mut one, UiCommand::SaveFilter("cart".to_owned()));
    pin(&mut other, "B");
    execute(&mut other, UiCommand::SaveFilter("order".to_owned()));
    execute(&mut other, UiCommand::Theme(ThemeChoice::Light));
    execute(&mut one, UiCommand::SaveFilter("cart".to_owned()));
    let saved = crate::settings::glance(&file).expect("settings");
    assert_eq!(saved.programs.get("Shop.dll").expect("pins").pins, ["A", "B"]);
    assert_eq!((saved.filters, saved.theme), (vec!["order".to_owned()], ThemeChoice::Light));
}

#[test]
fn a_filter_beyond_the_limit_is_refused_with_a_notice() {
    let folder = TempFolder::new("filters");
    let mut harness = opened(&folder.0.join("window.json"));
    for number in 0..=crate::settings::FILTERS {
        execute(&mut harness, UiCommand::SaveFilter(format!("filter {number}")));
    }
    assert_eq!(harness.state().settings.filters.len(), crate::settings::FILTERS);
    let log = harness.state().model.log.entries();
    assert!(log.iter().any(|entry| entry.text.contains("50 filters are saved already: remove one first")));
}

#[test]
fn a_failed_save_is_made_up_for_by_the_next() {
    let folder = TempFolder::new("again");
    let file = folder.0.join("folder").join("window.json");
    let mut harness = opened(&file);
    std::fs::write(folder.0.join("folder"), "in the way").expect("written");
    execute(&mut harness, UiCommand::SaveFilter("cart".to_owned()));
    assert!(harness.query_by_label_contains("could not be saved").is_some());
    std::fs::remove_file(folder.0.join("folder")).expect("removed");
    let other = crate::settings::Settings { zoom: 1.5, ..Default::default() };
    crate::settings::save(&file, &other).expect("saved by another window");
    execute(&mut harness, UiCommand::Theme(ThemeChoice::Light));
    let saved = crate::settings::glance(&file).expect("settings");
    assert_eq!((saved.filters, saved.theme, saved.zoom), (vec!["cart".to_owned()], ThemeChoice::Light, 1.5));
}
