//! The editor of trace conditions, in one process and in several at once.

use super::events::{DISCOUNT, SIZE, panel, shows};
use super::fixture::{catalogue, choose_shops, deliver, execute, nothing_counted, row, window_of};
use super::fleet::{accept, deliver_to, logged, parts};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::facts;
use redial_model::log::LogKind;
use redial_model::update::ConnectionUpdate;
use redial_protocol::condition::{Condition, ConditionError};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::order::{Lifetime, Order, StandingOrder};
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, RefusedMethod};
use redial_protocol::state::CopyState;

#[test]
fn the_condition_that_applies_is_shown() {
    let mut harness = panel(Theme::Dark, SIZE);
    let order =
        Order { when: Some("percent > 50".into()), ..Order::new("Shop!Shop.Pricing.*", Level::Trace) };
    let by = super::fixture::status().control.expect("a holder");
    let standing = vec![StandingOrder { order, lifetime: Lifetime::Held, user: "www".into(), by }];
    deliver(&mut harness, vec![ConnectionUpdate::Orders(standing, 0)]);
    harness.get_by_label(DISCOUNT).click();
    harness.run_steps(4);
    assert_eq!(harness.get_by_label("Condition").value().as_deref(), Some("percent > 50"));
    harness.get_by_label("Shop!Shop.Catalog.Find(string)").click();
    harness.run_steps(4);
    assert_eq!(harness.get_by_label("Condition").value().as_deref(), Some(""));
}

#[test]
fn a_click_completes_a_name() {
    let mut harness = panel(Theme::Dark, SIZE);
    harness.get_by_label(DISCOUNT).click();
    harness.run_steps(4);
    harness.get_by_label("Condition").focus();
    harness.run_steps(2);
    harness.get_by_label("Condition").type_text("price.Cus");
    harness.run_steps(3);
    harness.get_by_label("Insert Customer").click();
    harness.run_steps(4);
    assert_eq!(harness.get_by_label("Condition").value().as_deref(), Some("price.Customer"));
    harness.get_by_label("Condition").type_text(".Name == \"Ada\"");
    harness.run_steps(3);
    assert!(!shows(&harness, "At character"));
    harness.get_by_label("Apply").click();
    harness.run_steps(3);
    let mut log = harness.state().model.log.entries().iter();
    assert!(log.any(|entry| entry.text.contains("trace when price.Customer.Name == \"Ada\" on")));
}

/// Returns a window with three processes merged, whose `Discount` is traced.
fn traced_shops() -> Harness<'static, App> {
    let mut harness = window_of(Theme::Dark, SIZE);
    choose_shops(&mut harness);
    for id in 1..=3 {
        let mut facts = facts();
        facts.levels.extend([Level::Time, Level::Trace]);
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Connected(Box::new(facts))]);
        deliver_to(&mut harness, id, catalogue());
        deliver_to(&mut harness, id, vec![nothing_counted()]);
        let rows = vec![row(6, CopyState::Live, Level::Trace, 12, None)];
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
    }
    harness
}

/// Apply makes the conditions of several processes the same, with nothing typed.
#[test]
fn conditions_that_differ_are_announced() {
    let mut harness = traced_shops();
    let by = super::fixture::status().control.expect("a holder");
    for (id, when) in [(1, None), (2, Some("percent > 50")), (3, None)] {
        let order =
            Order { when: when.map(str::to_owned), ..Order::new("Shop!Shop.Pricing.*", Level::Trace) };
        let standing = StandingOrder { order, lifetime: Lifetime::Held, user: "www".into(), by: by.clone() };
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Orders(vec![standing], 0)]);
    }
    execute(&mut harness, UiCommand::Events);
    harness.get_by_label(DISCOUNT).click();
    harness.run_steps(4);
    assert!(shows(&harness, "Conditions or limits differ."));
    harness.get_by_label("Apply").click();
    harness.run_steps(3);
    let request = format!("trace on {DISCOUNT} in 3 processes");
    assert_eq!(logged(&harness, LogKind::Request), [request]);
}

/// A condition goes to every process that is shown. A refusal names its process, and the change is taken back there.
#[test]
fn a_condition_applies_to_all_merged_processes() {
    const WHEN: &str = "percent > 50";
    let mut harness = traced_shops();
    execute(&mut harness, UiCommand::Events);
    harness.get_by_label(DISCOUNT).click();
    harness.run_steps(4);
    harness.get_by_label("Condition").focus();
    harness.run_steps(2);
    harness.get_by_label("Condition").type_text(WHEN);
    harness.run_steps(3);
    harness.get_by_label("Apply").click();
    harness.run_steps(3);
    let request = format!("trace when {WHEN} on {DISCOUNT} in 3 processes");
    assert_eq!(logged(&harness, LogKind::Request), std::slice::from_ref(&request));
    let sent = parts(&harness);
    assert_eq!(sent.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2, 3]);
    let problem = Condition::parse("percent >").expect_err("it is not whole").problem;
    let error = ConditionError { text: WHEN.into(), problem };
    let refused = RefusedMethod {
        method: DISCOUNT.into(),
        reason: Reason::Condition,
        hresult: 0,
        condition: Some(error),
    };
    let refused_by_reason = vec![(Reason::Condition, 1)];
    let report =
        DialReport { matched: 1, refused: vec![refused], refused_by_reason, ..DialReport::default() };
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::Dialled(sent[1].1, Ok(report))]);
    accept(&mut harness, &[sent[0], sent[2]]);
    harness.run_steps(3);
    assert!(shows(&harness, "Shop.dll (4243): "), "which process");
    assert!(shows(&harness, &format!("Nothing was changed there: it does not fit {DISCOUNT}.")));
    assert!(!shows(&harness, "Shop.dll (4242): ") && !shows(&harness, "Shop.dll (4244): "));
    let later = logged(&harness, LogKind::Request);
    assert!(
        later.len() == 2 && later[1].starts_with("Shop.dll (4243): undo "),
        "one process takes it back: {later:?}"
    );
}
