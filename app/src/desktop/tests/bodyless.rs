//! What cannot be on: how it looks, what its knob says, and that it stands in nobody's way.

use super::gestures::{said, value};
use super::stage::{act, crowd, row, tell, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::log::Kind;
use crate::model::update::{Now, Told};
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, StatusRow};
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport};
use redial_protocol::state::State;
use std::time::Duration;

/// Two have no body and get no row, one is refused: none keeps the others from being turned off.
#[test]
fn what_cannot_be_on_does_not_keep_the_toggle_from_turning_off() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::SelectAll);
    let turned = |harness: &mut Harness<'static, App>| {
        harness.key_press(Key::Space);
        harness.run_steps(3);
        said(harness, Kind::Request)
    };
    assert!(turned(&mut harness).starts_with("count on 10 methods"));
    let answer = |harness: &mut Harness<'static, App>, rows: Vec<StatusRow>| {
        let ticket = harness.state().last_turn.as_ref().map(|(ticket, ..)| *ticket).expect("a turn");
        tell(
            harness,
            vec![Told::Dialled(ticket, Ok(Default::default())), Told::Event(Event::Rows { id: None, rows })],
        );
        // The time after which the agent's word counts, and nothing else.
        let now = Now { mono: Duration::from_secs(600), unix_ms: 0 };
        harness.state_mut().model.settle(now);
        harness.run_steps(3);
    };
    let mut rows: Vec<_> = (0..7).map(|index| row(index, State::Live, Level::Count, 1, None)).collect();
    rows.push(row(8, State::Refused, Level::Off, 0, Some("its body is bad")));
    answer(&mut harness, rows);
    assert_eq!(value(&harness, "dial of the selection"), "count, 7 of 7 live");
    assert!(turned(&mut harness).starts_with("off on 10 methods"));
    answer(&mut harness, (0..7).map(|index| row(index, State::Off, Level::Off, 1, None)).collect());
    assert!(turned(&mut harness).starts_with("count on 10 methods"), "and on again");
}

/// Which of them have none is told of what was to be counted, not of what is turned off.
#[test]
fn what_has_no_body_is_named_when_it_is_turned_on() {
    let mut harness = with_shop(Theme::Dark);
    act(&mut harness, Command::SelectAll);
    let mut notices = Vec::new();
    for _ in 0..2 {
        harness.key_press(Key::Space);
        harness.run_steps(3);
        let ticket = harness.state().last_turn.as_ref().map(|(ticket, ..)| *ticket).expect("a turn");
        let report = DialReport { matched: 10, accepted: 8, bodyless: 2, ..DialReport::default() };
        let rows = (0..8).map(|index| row(index, State::Live, Level::Count, 1, None)).collect();
        let rows = Told::Event(Event::Rows { id: None, rows });
        tell(&mut harness, vec![Told::Dialled(ticket, Ok(report)), rows]);
        let entries = harness.state().model.log.entries();
        let named = entries.iter().filter(|entry| entry.text.starts_with("without a body, so not counted: "));
        notices.push((said(&harness, Kind::Request).split(' ').next().map(str::to_owned), named.count()));
    }
    assert_eq!(notices, [(Some("count".to_owned()), 1), (Some("off".to_owned()), 1)]);
}

/// Its row says so, its knob turns nothing and says why; the key is refused in words.
#[test]
fn what_has_no_body_cannot_be_turned_and_says_why() {
    let mut harness = with_shop(Theme::Dark);
    let touch = "Shop!Shop.ICart.Touch(int)";
    assert_eq!(value(&harness, touch), "no body");
    let label = format!("dial of {touch}");
    let dial = harness.get_by_label(&label);
    assert!(dial.accesskit_node().is_disabled());
    assert_eq!(dial.value().as_deref(), Some("off, no body"));
    dial.click();
    harness.get_by_label(touch).click();
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("it has no IL body (abstract").is_some(), "in the panel");
    assert_eq!(said(&harness, Kind::Request), "", "nothing was asked");
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(said(&harness, Kind::Refusal).ends_with("dial an implementation instead"));
    assert_eq!(said(&harness, Kind::Request), "");
    // In the tree its type has none either.
    act(&mut harness, Command::Tree);
    harness.key_press(Key::ArrowUp);
    harness.run_steps(3);
    let group = harness.get_by_label("dial of type ICart");
    assert!(group.accesskit_node().is_disabled());
    assert_eq!(group.value().as_deref(), Some("off, no body"));
}

/// A large turn is asked about with the number of dials that it turns.
#[test]
fn what_is_left_out_is_not_among_the_dials_that_are_asked_about() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 1_500);
    act(&mut harness, Command::SelectAll);
    harness.key_press(Key::Num1);
    harness.run_steps(3);
    harness.get_by_label("Turn 1,508 dials to count?");
    assert!(harness.query_by_label_contains("1,510 methods in ").is_some());
    let asked = harness.state().confirm.as_ref().and_then(|bulk| bulk.plan.asked.first().copied());
    let (_, ticket) = asked.expect("the agent is asked");
    let plan = PlanReport { matched: 1_510, to_request: 1_506, bodyless: 2, ..PlanReport::default() };
    let plan = PlanReport { refused_by_reason: vec![(Reason::RuntimeHelper, 2)], ..plan };
    tell(&mut harness, vec![Told::Plan(ticket, Ok(Box::new(plan)))]);
    harness.get_by_label("Turn 1,506 dials to count?");
}
