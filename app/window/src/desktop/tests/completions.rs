//! Tests of async methods in the details panel: their completions, and the button that times them.

use super::fixture::{deliver, row, with_shop};
use super::fleet::{ADD, value};
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::update::ConnectionUpdate;
use redial_protocol::ids::MethodToken;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;
use redial_protocol::times::{Completions, Times};
use redial_text::fixtures::times;

/// The method that stands in for `Add`'s `MoveNext`, and its dial.
const BODY: MethodToken = MethodToken(0x0600_0007);
const BODY_DIAL: &str = "Dial of Shop!Shop.Pricing.Discount(Shop.Money, int)";
const BUTTON: &str = "Time completions";

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn rows(wanted: &[(u32, Level)]) -> ConnectionUpdate {
    let rows = wanted.iter().map(|(index, level)| row(*index, CopyState::Live, *level, 0, None)).collect();
    ConnectionUpdate::Event(Event::Rows { id: None, rows })
}

fn times_update(times: Times) -> ConnectionUpdate {
    ConnectionUpdate::Event(Event::Times { id: None, times: vec![times] })
}

#[test]
fn async_completions_appear_once_timed() {
    let mut harness = with_shop(Theme::Dark);
    if let Some(facts) =
        harness.state_mut().model.current_process_mut().and_then(|shop| shop.session.facts.as_mut())
    {
        facts.levels.push(Level::Time);
    }
    let add = Times { move_next: Some(BODY), ..times(0) };
    deliver(&mut harness, vec![rows(&[(0, Level::Time)]), times_update(add)]);
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(shows(&harness, BUTTON) && !shows(&harness, "Mean to completion"));
    assert_eq!(value(&harness, BODY_DIAL), "off");
    harness.get_by_label(BUTTON).click();
    harness.run_steps(3);
    assert_eq!(value(&harness, BODY_DIAL), "time, requesting…");

    let completions =
        Completions { starts: 9, completions: 8, in_flight: 1, before: 0, waited_ns: 16_000_000 };
    let add = Times { completions: Some(completions), ..add };
    deliver(&mut harness, vec![rows(&[(0, Level::Time), (6, Level::Time)]), times_update(add)]);
    assert!(
        shows(&harness, "Mean to completion")
            && shows(&harness, "2.00 ms")
            && shows(&harness, "Not completed")
    );
    assert!(!shows(&harness, BUTTON), "MoveNext is timed, too");
    // The method is only counted, so there are no completions to time.
    deliver(&mut harness, vec![rows(&[(0, Level::Count), (6, Level::Off)])]);
    assert!(!shows(&harness, BUTTON) && shows(&harness, "2.00 ms"), "the last numbers stay");
}
