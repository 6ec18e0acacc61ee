//! Tests of methods that cannot be on: their look, their knob, and that they never get in the way.

use super::fixture::{crowd, deliver, execute, not_dialled, row, with_shop};
use super::gestures::{last_logged, value};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::log::LogKind;
use redial_model::update::{ConnectionUpdate, Now};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport};
use redial_protocol::state::CopyState;
use std::time::Duration;

/// Two methods have no body and get no row, one is refused; the others can still be turned off.
#[test]
fn undialable_methods_do_not_block_toggling_off() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::SelectAll);
    let turned = |harness: &mut Harness<'static, App>| {
        harness.key_press(Key::Space);
        harness.run_steps(3);
        last_logged(harness, LogKind::Request)
    };
    assert!(turned(&mut harness).starts_with("count on 8 methods"));
    let answer = |harness: &mut Harness<'static, App>, rows: Vec<StatusRow>| {
        let ticket = harness.state().last_change.as_ref().map(|(ticket, ..)| *ticket).expect("a change");
        deliver(
            harness,
            vec![
                ConnectionUpdate::Dialled(ticket, Ok(Default::default())),
                ConnectionUpdate::Event(Event::Rows { id: None, rows }),
            ],
        );
        // Time after which only the agent's state counts.
        let now = Now { mono: Duration::from_secs(600), unix_ms: 0 };
        harness.state_mut().model.refresh(now);
        harness.run_steps(3);
    };
    let mut rows: Vec<_> = (0..7).map(|index| row(index, CopyState::Live, Level::Count, 1, None)).collect();
    rows.push(row(8, CopyState::Refused, Level::Off, 0, Some(not_dialled(Reason::BadIl))));
    answer(&mut harness, rows);
    assert_eq!(value(&harness, "Dial of the selection"), "count, 7 live, 1 refused");
    assert!(turned(&mut harness).starts_with("off on 8 methods"));
    answer(&mut harness, (0..7).map(|index| row(index, CopyState::Off, Level::Off, 1, None)).collect());
    assert!(turned(&mut harness).starts_with("count on 8 methods"), "and on again");
}

/// The log names methods without a body when the user turns methods on, not when turning them off.
#[test]
fn bodyless_methods_are_named_when_turned_on() {
    let mut harness = with_shop(Theme::Dark);
    execute(&mut harness, UiCommand::SelectAll);
    let mut notices = Vec::new();
    for _ in 0..2 {
        harness.key_press(Key::Space);
        harness.run_steps(3);
        let ticket = harness.state().last_change.as_ref().map(|(ticket, ..)| *ticket).expect("a change");
        let report = DialReport { matched: 10, accepted: 8, bodyless: 2, ..DialReport::default() };
        let rows = (0..8).map(|index| row(index, CopyState::Live, Level::Count, 1, None)).collect();
        let rows = ConnectionUpdate::Event(Event::Rows { id: None, rows });
        deliver(&mut harness, vec![ConnectionUpdate::Dialled(ticket, Ok(report)), rows]);
        let entries = harness.state().model.log.entries();
        let named = entries.iter().filter(|entry| entry.text.starts_with("without a body, so not counted: "));
        notices.push((
            last_logged(&harness, LogKind::Request).split(' ').next().map(str::to_owned),
            named.count(),
        ));
    }
    assert_eq!(notices, [(Some("count".to_owned()), 1), (Some("off".to_owned()), 1)]);
}

/// Its row says so, its knob turns nothing and gives the reason, and the key is refused with a reason.
#[test]
fn bodyless_method_cannot_be_turned_and_says_why() {
    let mut harness = with_shop(Theme::Dark);
    let touch = "Shop!Shop.ICart.Touch(int)";
    assert_eq!(value(&harness, touch), "no body");
    let label = format!("Dial of {touch}");
    let dial = harness.get_by_label(&label);
    assert!(dial.accesskit_node().is_disabled());
    assert_eq!(dial.value().as_deref(), Some("off, no body"));
    dial.click();
    harness.get_by_label(touch).click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("It has no IL body (abstract").is_some(), "in the panel");
    assert_eq!(last_logged(&harness, LogKind::Request), "", "nothing was requested");
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(last_logged(&harness, LogKind::Refusal).ends_with("dial an implementation instead"));
    assert_eq!(last_logged(&harness, LogKind::Request), "");
    // In the tree, its type has no body either.
    execute(&mut harness, UiCommand::Tree);
    harness.key_press(Key::ArrowUp);
    harness.run_steps(3);
    let group = harness.get_by_label("Dial of type ICart");
    assert!(group.accesskit_node().is_disabled());
    assert_eq!(group.value().as_deref(), Some("off, no body"));
}

/// The confirmation shows the number of dials that will actually be turned.
#[test]
fn confirmation_excludes_skipped_methods() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    execute(&mut harness, UiCommand::SelectAll);
    harness.key_press(Key::Num1);
    harness.run_steps(3);
    harness.get_by_label("Turn 1,508 dials to count?");
    assert!(harness.query_by_label_contains("1,510 methods in ").is_some());
    let asked = harness.state().dialogs.confirm.as_ref().and_then(|bulk| bulk.plan.asked.first().copied());
    let (_, ticket) = asked.expect("the agent was asked");
    let plan = PlanReport { matched: 1_510, to_request: 1_506, bodyless: 2, ..PlanReport::default() };
    let plan = PlanReport { refused_by_reason: vec![(Reason::RuntimeHelper, 2)], ..plan };
    deliver(&mut harness, vec![ConnectionUpdate::Plan(ticket, Ok(Box::new(plan)))]);
    harness.get_by_label("Turn 1,506 dials to count?");
}
