//! Tests of a knob's cost estimates.

use super::fixture::{deliver, minute, rows, status, with_shop};
use super::notifications::colours;
use crate::desktop::App;
use crate::ui::theme::DARK;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::update::ConnectionUpdate;
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;

const ADD: &str = "Shop!Shop.Cart.Add(int)";

/// `Add` is counted, with 43,643 calls per second.
fn counting(costs: Vec<Cost>) -> Harness<'static, App> {
    let mut harness = with_shop(Theme::Dark);
    if let Some(facts) =
        harness.state_mut().model.current_process_mut().and_then(|shop| shop.session.facts.as_mut())
    {
        facts.levels.push(Level::Time);
    }
    let mut agent = status();
    agent.costs = costs;
    deliver(&mut harness, vec![ConnectionUpdate::AgentStatus(Box::new(agent)), rows()]);
    deliver(&mut harness, minute());
    harness
}

fn hinted(harness: &mut Harness<'static, App>, knob: &str, part: &str) -> bool {
    harness.remove_cursor();
    harness.run_steps(4);
    harness.get_by_label(knob).hover();
    harness.run_steps(40);
    harness.query_all_by_label_contains(part).next().is_some()
}

#[test]
fn knob_shows_the_cost_of_a_level() {
    let cost = |level, picoseconds| Cost { level, picoseconds };
    let mut harness = counting(vec![cost(Level::Count, 500), cost(Level::Time, 2_000_000)]);
    let dial = format!("Dial of {ADD}");
    let hint = "At time it would cost about 8.7 % of a processor: 43.6 k/s × 2,000 ns a call.";
    assert!(hinted(&mut harness, &dial, "Costs less than 0.1 % of a processor now."));
    assert!(hinted(&mut harness, &dial, hint));
    assert_eq!(colours(&harness, hint), [DARK.asked], "it is a warning");
    let not_counted = "Dial of Shop!Shop.Cart.TryTake(int, out int)";
    assert!(hinted(&mut harness, not_counted, "Not counted now: a call would cost about"));
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(hinted(&mut harness, "Dial of the selection", hint), "the large one, too");
}

#[test]
fn unmeasured_costs_are_not_shown() {
    let mut harness = counting(Vec::new());
    for method in [ADD, "Shop!Shop.Cart.TryTake(int, out int)"] {
        let dial = format!("Dial of {method}");
        assert!(hinted(&mut harness, &dial, "right-click lists all levels"), "the hint is shown");
        assert!(harness.query_all_by_label_contains("cost").next().is_none());
        assert!(harness.query_all_by_label_contains("counted now").next().is_none());
    }
}
