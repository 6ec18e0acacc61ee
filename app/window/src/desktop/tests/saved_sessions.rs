//! Saved sessions and the search for hot methods in the window, without processes.

use super::fixture::{deliver, execute, rows, with_shop};
use crate::commands::{SessionPurpose, UiCommand};
use crate::views::saved_session::SavedTable;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::hot::{HotStep, HotUpdate};
use redial_model::update::ConnectionUpdate;

#[test]
fn a_saved_session_says_that_it_is_offline() {
    for theme in [Theme::Dark, Theme::Light] {
        let mut harness = with_shop(theme);
        let row = |calls: &str, name: &str| vec![calls.to_owned(), "1.20 s".to_owned(), name.to_owned()];
        harness.state_mut().dialogs.saved_table = Some(SavedTable {
            title: "Saved session, offline".to_owned(),
            lines: vec!["Shop.dll (4242) on shop-1, 2026-11-27 23:50:01Z".to_owned()],
            headers: vec!["Calls", "Self", "Method"],
            rows: (0..500).map(|_| row("1,234", "Shop!Shop.Cart.Add(int)")).collect(),
        });
        harness.run_steps(3);
        assert!(harness.query_by_label("Saved session, offline").is_some());
        super::contrast::check(harness.output(), theme, "saved session");
        harness.key_press(Key::Escape);
        harness.run_steps(3);
        assert!(harness.query_by_label("Saved session, offline").is_none());
    }
}

#[test]
fn asks_for_the_file_of_a_session() {
    let mut harness = with_shop(Theme::Dark);
    for (command, button) in [
        (UiCommand::SaveSession, "Save"),
        (UiCommand::OpenSession, "Open"),
        (UiCommand::CompareSession, "Compare"),
    ] {
        execute(&mut harness, command);
        harness.run_steps(3);
        assert!(harness.query_by_label(button).is_some(), "{button}");
        super::contrast::check(harness.output(), Theme::Dark, button);
        harness.key_press(Key::Escape);
        harness.run_steps(3);
        assert!(harness.query_by_label(button).is_none(), "{button}");
    }
    let asked = harness.state().dialogs.session.as_ref().map(|question| question.purpose);
    assert_eq!(asked, None::<SessionPurpose>);
}

#[test]
fn the_status_bar_shows_a_search_and_stops_it() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    let step = HotStep::Counting { methods: 12, ms: 2_500 };
    deliver(&mut harness, vec![ConnectionUpdate::Hot(HotUpdate::Step(step))]);
    assert!(harness.query_by_label("Counting the calls of 12 methods for 2.5 s…").is_some());
    assert_eq!(
        UiCommand::FindHot.enabled(&harness.state().command_context()),
        Err("a search is already running")
    );
    deliver(&mut harness, vec![ConnectionUpdate::Hot(HotUpdate::Cancelled)]);
    assert!(
        harness.query_by_label("Counting the calls of 12 methods for 2.5 s…").is_none(),
        "only the log has it"
    );
    assert_eq!(UiCommand::FindHot.enabled(&harness.state().command_context()), Ok(()));
}

#[test]
fn a_refused_session_keeps_its_path_and_process() {
    let mut harness = with_shop(Theme::Dark);
    let process = harness.state().model.current_process().map(|one| one.id);
    execute(&mut harness, UiCommand::SaveSession);
    harness.run_steps(3);
    let question = harness.state_mut().dialogs.session.as_mut().expect("a question");
    assert!(process.is_some() && question.process() == process);
    question.file = "shop.snapshot".to_owned();
    question.begin();
    harness.run_steps(3);
    assert!(harness.query_by_label("Please wait…").is_some());
    let question = harness.state_mut().dialogs.session.as_mut().expect("a question");
    question.refuse("the file exists already".to_owned());
    harness.run_steps(3);
    assert!(harness.query_by_label("The file exists already").is_some());
    let question = harness.state().dialogs.session.as_ref().expect("still open");
    assert_eq!((question.file.as_str(), question.process()), ("shop.snapshot", process));
}

/// The folder is read by a thread, which wakes the window.
fn listed(harness: &mut Harness<'static, crate::desktop::App>, entry: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while harness.query_by_label(entry).is_none() {
        assert!(std::time::Instant::now() < deadline, "{entry} is not listed");
        std::thread::yield_now();
        harness.step();
    }
}

#[test]
fn browse_enters_the_file_or_folder_of_a_session() {
    let folder = std::env::temp_dir().join(format!("redial-browse-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("shop.snapshot"), "").expect("a file");
    let mut harness = with_shop(Theme::Dark);
    let file = |harness: &Harness<'static, crate::desktop::App>| {
        harness.state().dialogs.session.as_ref().map(|question| question.file.clone()).expect("a question")
    };
    execute(&mut harness, UiCommand::OpenSession);
    harness.get_by_label("Browse for session file").click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::OpenFolder(folder.clone()));
    listed(&mut harness, "shop.snapshot");
    harness.get_by_label("shop.snapshot").click();
    harness.run_steps(3);
    assert_eq!(file(&harness), folder.join("shop.snapshot").display().to_string());
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    execute(&mut harness, UiCommand::SaveSession);
    let name = file(&harness);
    let name = std::path::Path::new(&name).file_name().expect("a suggestion").to_owned();
    harness.get_by_label("Browse for session file").click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::OpenFolder(folder.clone()));
    listed(&mut harness, "Use this folder");
    // The folder before it may still be shown.
    while harness.state().dialogs.files.as_ref().is_some_and(|files| files.folder != folder) {
        harness.step();
    }
    harness.get_by_label("Use this folder").click();
    harness.run_steps(3);
    assert_eq!(file(&harness), folder.join(name).display().to_string());
    std::fs::remove_dir_all(&folder).expect("removed");
}
