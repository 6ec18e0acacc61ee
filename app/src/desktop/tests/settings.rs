//! What the window remembers from one opening to the next.

use super::stage::{act, still};
use crate::commands::Command;
use crate::desktop::{App, Options};
use crate::persist::ThemeChoice;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("redial-window-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }
}

impl Drop for Folder {
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
fn what_was_set_is_there_when_it_opens_again() {
    let folder = Folder::new("again");
    let file = folder.0.join("deep").join("window.json");
    let mut harness = opened(&file);
    for command in [
        Command::Theme(ThemeChoice::Light),
        Command::Tree,
        Command::HideFramework,
        Command::Log,
        Command::ZoomIn,
        Command::ZoomIn,
    ] {
        act(&mut harness, command);
    }
    // The edge between the processes and the rest is dragged by 70 points of the screen.
    let width = crate::desktop::layout::PROCESSES;
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
    assert!(!after.log_open && harness.query_by_label_contains("requests, transitions").is_none());
    assert_eq!(harness.ctx.zoom_factor(), before.zoom);
    assert!((before.zoom - 1.2).abs() < 1e-4);
    let shown = after.processes_width.expect("kept");
    assert!((shown - wider).abs() < 2.0, "{wider} became {shown}");
}

#[test]
fn a_corrupt_file_is_set_aside_and_the_window_says_so() {
    let folder = Folder::new("corrupt");
    let file = folder.0.join("window.json");
    std::fs::write(&file, "{\"zoom\": ").expect("written");
    let harness = opened(&file);
    assert!(harness.query_by_label_contains("the saved layout could not be used").is_some());
    assert!(harness.query_by_label_contains("window.json.bad1").is_some());
    assert_eq!(std::fs::read_to_string(folder.0.join("window.json.bad1")).expect("kept"), "{\"zoom\": ");
}

#[test]
fn what_cannot_be_set_aside_is_left_as_it_is() {
    let folder = Folder::new("stuck");
    let file = folder.0.join("window.json");
    std::fs::write(&file, "no settings").expect("written");
    for number in 1..1000 {
        std::fs::write(folder.0.join(format!("window.json.bad{number}")), "earlier").expect("written");
    }
    let mut harness = opened(&file);
    assert!(harness.query_by_label_contains("nothing is saved").is_some());
    act(&mut harness, Command::Tree);
    eframe::App::on_exit(harness.state_mut(), None);
    assert_eq!(std::fs::read_to_string(&file).expect("kept"), "no settings");
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_written_to_is_said_when_something_is_to_be_saved() {
    // No folder can be made there, by root neither.
    let mut harness = opened(Path::new("/proc/redial/window.json"));
    assert!(harness.query_by_label_contains("could not be saved").is_none());
    act(&mut harness, Command::Tree);
    assert!(harness.query_by_label_contains("the layout could not be saved to /proc/redial").is_some());
}

/// What the user gave it is only put aside while there is no room.
#[test]
fn a_panel_is_as_wide_again_once_the_window_is() {
    let mut harness = super::stage::with_shop(eframe::egui::Theme::Dark);
    let field = |harness: &Harness<'static, App>| harness.get_by_label("find a process").rect().width();
    let before = field(&harness);
    let edge = eframe::egui::pos2(crate::desktop::layout::PROCESSES, 300.0);
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
    for (size, expected) in [(600.0, 0.35 * 600.0), (1180.0, 310.0)] {
        harness.set_size(eframe::egui::vec2(size, 720.0));
        harness.run_steps(4);
        let now = field(&harness) + 310.0 - wide;
        assert!((now - expected).abs() < 2.0, "at {size}: {now}, not {expected}");
    }
}
