//! Tests of saved filters and dial sets, of the file list, and of dialogs that stay with their process.

use super::fixture::{deliver, execute, feed, rows, shop, shops, status, window, with_shop};
use super::fleet::logged;
use crate::commands::{FileChoice, UiCommand};
use crate::desktop::App;
use crate::settings::programs::SavedDialSet;
use eframe::egui::{Event as Typed, Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::connection::Orders;
use redial_model::log::LogKind;
use redial_model::processes::AgentState;
use redial_model::selection::SelectionMode;
use redial_model::update::{ConnectionUpdate, Update};
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, Holder};
use redial_protocol::order::{Lifetime, Order, StandingOrder};
use std::time::{Duration, Instant};

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

/// Reports the standing orders of Shop's agent.
fn standing(harness: &mut Harness<'static, App>, patterns: &[&str]) {
    let at = harness.state().now();
    let order = |pattern: &&str| StandingOrder {
        order: Order::new(*pattern, Level::Count),
        lifetime: Lifetime::Held,
        user: "www".into(),
        by: Holder { pid: std::process::id(), program: "redial".into() },
    };
    let standing = patterns.iter().map(order).collect();
    if let Some(shop) = harness.state_mut().model.current_process_mut() {
        shop.orders = Some(Orders { standing, undoable: 0, at });
    }
    harness.run_steps(3);
}

#[test]
fn filter_is_saved_offered_and_removed() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Filter("cart add".into()));
    harness.get_by_label("Saved filters").click();
    harness.run_steps(3);
    harness.get_by_label("Save this filter").click();
    harness.run_steps(3);
    execute(&mut harness, UiCommand::ClearFilter);
    harness.get_by_label("Saved filters").click();
    harness.run_steps(3);
    harness.get_by_label("cart add").click();
    harness.run_steps(3);
    assert_eq!(harness.state().methods.text, "cart add");
    assert_eq!(harness.state().model.list().expect("a table").list.matches(), 1);
    harness.get_by_label("Saved filters").click();
    harness.run_steps(3);
    harness.get_by_label("Remove this filter").click();
    harness.run_steps(3);
    assert!(harness.state().settings.filters.is_empty());
}

#[test]
fn dial_set_is_saved_and_applied_only_when_asked() {
    let mut harness = with_shop(Theme::Dark);
    standing(&mut harness, &["Shop!Shop.Cart.*", "Shop!Shop.Pricing.Discount"]);
    execute(&mut harness, UiCommand::DialSets);
    assert!(shows(&harness, "None saved yet."));
    execute(&mut harness, UiCommand::SaveDialSet("checkout".into()));
    assert!(shows(&harness, "checkout") && shows(&harness, "2 orders"));
    let program = harness.state().model.current_process().expect("Shop").name.clone();
    let saved = harness.state().settings.programs.get(&program).expect("kept").dial_sets.clone();
    assert!(saved[0].text.contains("Shop!Shop.Cart.* = count"), "{}", saved[0].text);
    assert_eq!(logged(&harness, LogKind::Request), [] as [String; 0], "saving turns nothing");
    harness.get_by_label("Apply checkout").click();
    harness.run_steps(3);
    assert_eq!(logged(&harness, LogKind::Request), ["dial set “checkout”: 2 orders"]);
    assert!(harness.state().dialogs.dial_sets.is_none());
    execute(&mut harness, UiCommand::DialSets);
    harness.get_by_label("Delete checkout").click();
    harness.run_steps(3);
    assert!(harness.state().settings.programs.get(&program).is_none());
}

#[test]
fn dial_sets_are_offered_when_the_program_returns() {
    let mut harness = window(Theme::Dark);
    let set = SavedDialSet { name: "checkout".into(), text: "# redial dials 1\nShop!* = count\n".into() };
    harness.state_mut().settings.programs.save_dial_set("dotnet", set).expect("saved");
    let mut harness = super::fixture::look_at_shop(harness);
    standing(&mut harness, &[]);
    let program = harness.state().model.current_process().expect("Shop").name.clone();
    assert_eq!(program, "dotnet");
    let hints = logged(&harness, LogKind::Hint);
    assert_eq!(hints.len(), 1);
    assert!(hints[0].contains("has 1 saved dial set"), "{hints:?}");
    assert_eq!(logged(&harness, LogKind::Request), [] as [String; 0], "none is applied by itself");
    harness.get_by_label("Dial sets…").click();
    harness.run_steps(3);
    assert!(shows(&harness, "Dial sets of dotnet"));
}

#[test]
fn budget_dialog_keeps_its_process() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![ConnectionUpdate::AgentStatus(Box::new(status()))]);
    execute(&mut harness, UiCommand::Budget);
    assert!(shows(&harness, "Overhead budget of dotnet (4242)"));
    feed(&mut harness, vec![Update::Processes(shops())]);
    execute(&mut harness, UiCommand::Select(shop(4243)));
    assert!(
        shows(&harness, "Overhead budget of dotnet (4242)"),
        "another process is shown, the dialog stays"
    );
    let about = harness.state().dialogs.budget.as_ref().map(|budget| budget.connection());
    assert_eq!(about, Some(super::fixture::CONNECTION));
}

#[test]
fn several_processes_without_agent_offer_to_load_it() {
    let mut harness = window(Theme::Dark);
    let mut processes = shops();
    for row in &mut processes.changed {
        row.agent = AgentState::Attachable;
    }
    feed(&mut harness, vec![Update::Processes(processes)]);
    execute(&mut harness, UiCommand::Select(shop(4242)));
    for pid in [4243, 977] {
        execute(&mut harness, UiCommand::Choose(shop(pid), SelectionMode::Toggle));
    }
    let ids: Vec<_> = harness.state().model.connections.keys().copied().collect();
    for id in ids {
        let lost = ConnectionUpdate::Lost {
            why: "it has no agent".into(),
            retry: redial_model::update::Retry::WithAgent,
        };
        feed(&mut harness, vec![Update::Connection(id, vec![lost])]);
    }
    harness.run_steps(3);
    assert!(shows(&harness, "3 processes have no agent"));
    let button = harness.get_by_label("Load the agent into 3 processes");
    button.click();
    harness.run_steps(3);
}

#[test]
fn all_off_tells_dials_of_others() {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    assert!(shows(&harness, "All dials off (3)"));
    let kept = AgentStatus { held: 2, kept: 1, ..status() };
    deliver(&mut harness, vec![ConnectionUpdate::AgentStatus(Box::new(kept))]);
    assert!(shows(&harness, "All dials off (3, 1 not yours)"));
    let other = Holder { pid: 1, program: "redial dial".into() };
    let theirs = AgentStatus { held: 3, kept: 0, control: Some(other), ..status() };
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![rows()]);
    deliver(&mut harness, vec![ConnectionUpdate::AgentStatus(Box::new(theirs))]);
    assert!(shows(&harness, "All dials off (3, none yours)"));
}

#[test]
fn program_is_chosen_from_a_list_of_files() {
    let folder = std::env::temp_dir().join(format!("redial-browse-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("Shop.dll"), "").expect("a file");
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::Launch);
    harness.state_mut().settings.launch.folder = folder.display().to_string();
    execute(&mut harness, UiCommand::Browse(FileChoice::Program));
    // A thread reads the folder.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !shows(&harness, "Shop.dll") {
        assert!(Instant::now() < deadline, "the folder is not read");
        std::thread::yield_now();
        harness.step();
    }
    harness.get_by_label("Shop.dll").click();
    harness.run_steps(3);
    let launch = &harness.state().settings.launch;
    assert_eq!(launch.program, "dotnet");
    assert!(launch.arguments.ends_with("Shop.dll"));
    assert!(harness.state().dialogs.launch && harness.state().dialogs.files.is_none());
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn panels_can_be_hidden_and_rows_made_lower() {
    let mut harness = with_shop(Theme::Dark);
    let top = |harness: &Harness<'static, App>, label: &str| harness.get_by_label(label).rect().top();
    let (add, clear) = ("Shop!Shop.Cart.Add(int)", "Shop!Shop.Cart.Clear()");
    assert_eq!(top(&harness, clear) - top(&harness, add), 26.0);
    execute(&mut harness, UiCommand::Compact);
    assert_eq!(top(&harness, clear) - top(&harness, add), 20.0);
    assert!(shows(&harness, "Show non-.NET processes") && shows(&harness, "No method selected"));
    execute(&mut harness, UiCommand::ProcessList);
    execute(&mut harness, UiCommand::Details);
    assert!(!shows(&harness, "Show non-.NET processes") && !shows(&harness, "No method selected"));
    execute(&mut harness, UiCommand::ProcessList);
    assert!(shows(&harness, "Show non-.NET processes"));
}

/// A watched process stays in the list whatever the filter is.
#[test]
fn process_filter_keeps_the_watched_process() {
    let mut harness = with_shop(Theme::Dark);
    harness.input_mut().events.push(Typed::Key {
        key: Key::Escape,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Default::default(),
    });
    execute(&mut harness, UiCommand::FindProcess("billing".into()));
    assert!(shows(&harness, "billing 977") && shows(&harness, "dotnet 4242"));
    assert!(!shows(&harness, "reports 31"));
}
