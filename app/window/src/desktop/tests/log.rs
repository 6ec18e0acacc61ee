//! Tests of the log: its lines name their process for good, and can be filtered, copied and removed.

use super::fixture::{execute, shop, shops, window, with_shop};
use super::fleet::deliver_to;
use crate::commands::{LogTab, UiCommand};
use crate::desktop::App;
use eframe::egui::{Event, OutputCommand, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::facts;
use redial_model::log::LogKind;
use redial_model::update::{ConnectionUpdate, Update};

/// Returns how many lines of the log are in view with this text.
fn lines(harness: &Harness<'static, App>, text: &str) -> usize {
    harness.query_all_by_label_contains(text).count()
}

#[test]
fn lines_stay_as_written_when_another_process_is_chosen() {
    let mut harness = window(Theme::Dark);
    super::fixture::feed(&mut harness, vec![Update::Processes(shops())]);
    execute(&mut harness, UiCommand::Select(shop(4243)));
    deliver_to(&mut harness, 1, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    deliver_to(&mut harness, 1, vec![ConnectionUpdate::Notice("the agent is busy".into())]);
    let text = ": Shop.dll (4243): the agent is busy";
    assert_eq!(lines(&harness, text), 1);
    execute(&mut harness, UiCommand::Select(shop(4242)));
    harness.run_steps(3);
    assert_eq!(lines(&harness, text), 1, "the same line");
}

#[test]
fn log_is_filtered_copied_and_cleared() {
    let mut harness = with_shop(Theme::Dark);
    let now = harness.state().now();
    for text in ["Cart was saved", "Catalogue was read", "Cart was read"] {
        harness.state_mut().model.log.add(now, None, LogKind::Notice, text);
    }
    harness.run_steps(3);
    harness.get_by_label("Filter log").focus();
    harness.run_steps(3);
    harness.input_mut().events.push(Event::Text("READ cart".into()));
    harness.run_steps(3);
    assert_eq!(lines(&harness, "note: Cart was read"), 1);
    assert_eq!(lines(&harness, "Catalogue was read") + lines(&harness, "Cart was saved"), 0);
    assert_eq!(lines(&harness, "1 of "), 1, "the number of lines that match");
    harness.state_mut().model.log.add(now, None, LogKind::Notice, "Cart is read again");
    harness.run_steps(3);
    assert_eq!(lines(&harness, "note: Cart is read again"), 1, "new lines are filtered, too");
    harness.get_by_label("Copy log").click();
    harness.step();
    let copied = harness.output().platform_output.commands.iter().find_map(|command| match command {
        OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    });
    let copied = copied.expect("copied");
    let ends: Vec<&str> = copied.lines().filter_map(|line| line.split("  note  ").nth(1)).collect();
    assert_eq!(ends, ["Cart was read", "Cart is read again"]);
    harness.get_by_label("Clear log").click();
    harness.run_steps(3);
    assert_eq!(harness.state().model.log.entries().len(), 0);
    assert_eq!(lines(&harness, "note: "), 0);
    execute(&mut harness, UiCommand::ClearLines(LogTab::Output));
}
