//! What a knob says of the cost of a level before it is turned to.

use super::stage::{minute, rows, status, tell, with_shop};
use super::told::colours;
use crate::desktop::App;
use crate::model::update::Told;
use crate::ui::theme::DARK;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;

const ADD: &str = "Shop!Shop.Cart.Add(int)";

/// `Add` is counted, and called 43,643 times a second.
fn counting(costs: Vec<Cost>) -> Harness<'static, App> {
    let mut harness = with_shop(Theme::Dark);
    if let Some(facts) = harness.state_mut().model.current_mut().and_then(|shop| shop.facts.as_mut()) {
        facts.levels.push(Level::Time);
    }
    let mut agent = status();
    agent.costs = costs;
    tell(&mut harness, vec![Told::AgentStatus(Box::new(agent)), rows()]);
    tell(&mut harness, minute());
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
fn a_knob_says_what_a_level_would_cost_here() {
    let cost = |level, picoseconds| Cost { level, picoseconds };
    let mut harness = counting(vec![cost(Level::Count, 500), cost(Level::Time, 2_000_000)]);
    let dial = format!("dial of {ADD}");
    let told = "At time it would cost about 8.7 % of a processor: 43.6 k/s × 2,000 ns a call.";
    assert!(hinted(&mut harness, &dial, "It costs less than 0.1 % of a processor now."));
    assert!(hinted(&mut harness, &dial, told));
    assert_eq!(colours(&harness, told), [DARK.asked], "it is much");
    let not_counted = "dial of Shop!Shop.Cart.TryTake(int, out int)";
    assert!(hinted(&mut harness, not_counted, "Not counted now: a call would cost about"));
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert!(hinted(&mut harness, "dial of the selection", told), "the large one, too");
}

#[test]
fn what_nobody_measured_is_not_told() {
    let mut harness = counting(Vec::new());
    for method in [ADD, "Shop!Shop.Cart.TryTake(int, out int)"] {
        let dial = format!("dial of {method}");
        assert!(hinted(&mut harness, &dial, "right-click lists them"), "the hint is shown");
        assert!(harness.query_all_by_label_contains("cost").next().is_none());
        assert!(harness.query_all_by_label_contains("counted now").next().is_none());
    }
}
