//! Async methods in the panel: how their calls complete, and the button that has it told.

use super::several::{ADD, value};
use super::stage::{row, tell, with_shop};
use crate::desktop::App;
use crate::model::dials::tests::times;
use crate::model::update::Told;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::ids::MethodToken;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::State;
use redial_protocol::times::{Completions, Times};

/// The method that passes for `Add`'s `MoveNext`, and its dial.
const BODY: MethodToken = MethodToken(0x0600_0007);
const BODY_DIAL: &str = "dial of Shop!Shop.Pricing.Discount(Shop.Money, int)";
const BUTTON: &str = "Time its completions";

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn rows(wanted: &[(u32, Level)]) -> Told {
    let rows = wanted.iter().map(|(index, level)| row(*index, State::Live, *level, 0, None)).collect();
    Told::Event(Event::Rows { id: None, rows })
}

fn told(times: Times) -> Told {
    Told::Event(Event::Times { id: None, times: vec![times] })
}

#[test]
fn an_async_method_s_completions_are_shown_once_they_were_asked_for() {
    let mut harness = with_shop(Theme::Dark);
    if let Some(facts) = harness.state_mut().model.current_mut().and_then(|shop| shop.facts.as_mut()) {
        facts.levels.push(Level::Time);
    }
    let add = Times { move_next: Some(BODY), ..times(0) };
    tell(&mut harness, vec![rows(&[(0, Level::Time)]), told(add)]);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(says(&harness, BUTTON) && !says(&harness, "mean to completion"));
    assert_eq!(value(&harness, BODY_DIAL), "off");
    harness.get_by_label(BUTTON).click();
    harness.run_steps(3);
    assert_eq!(value(&harness, BODY_DIAL), "time, asking…");

    let completions =
        Completions { starts: 9, completions: 8, in_flight: 1, before: 0, waited_ns: 16_000_000 };
    let add = Times { completions: Some(completions), ..add };
    tell(&mut harness, vec![rows(&[(0, Level::Time), (6, Level::Time)]), told(add)]);
    assert!(
        says(&harness, "mean to completion") && says(&harness, "2.00 ms") && says(&harness, "not completed")
    );
    assert!(!says(&harness, BUTTON), "it is dialled along");
    // Counted only: there is nothing to bring along.
    tell(&mut harness, vec![rows(&[(0, Level::Count), (6, Level::Off)])]);
    assert!(!says(&harness, BUTTON) && says(&harness, "2.00 ms"), "the last numbers stay");
}
