//! What the window tells of the budget, and how it is set.

use super::several::{ADD, logged};
use super::stage::{act, row, rows, status, tell, with_shop};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::log::Kind;
use crate::model::update::{Refused, Told};
use eframe::egui::{Event as Typed, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::cost::{CostBudget, Share, SteppedDown};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::State;

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn stands() -> CostBudget {
    CostBudget { limit: Some(Share(500)), cost: Some(Share(130)), ..CostBudget::default() }
}

fn stepped(change: u64) -> CostBudget {
    let costliest = (RowId(0), Level::Count, Share(700));
    let last = SteppedDown { change, copies: 1, cost: Share(720), limit: Share(500), costliest };
    CostBudget { last: Some(last), stepped: 1, ..stands() }
}

fn with_budget(before: CostBudget) -> Harness<'static, App> {
    let mut harness = with_shop(Theme::Dark);
    tell(&mut harness, vec![Told::AgentStatus(Box::new(status())), rows()]);
    tell(&mut harness, vec![Told::Event(Event::Budget(before))]);
    harness
}

#[test]
fn a_step_is_told_with_its_reason_and_an_undo() {
    let mut harness = with_budget(stands());
    assert!(says(&harness, "dials cost 1.3 %, budget 5 %"));
    assert!(logged(&harness, Kind::Budget).is_empty());
    tell(&mut harness, vec![Told::Event(Event::Budget(stepped(7)))]);
    let text = "the budget turned Shop!Shop.Cart.Add(int) down to count: it cost 7 % of a processor; all dials cost 7.2 %, \
                and may cost 5 %";
    assert_eq!(logged(&harness, Kind::Budget), [text]);
    tell(&mut harness, vec![Told::Event(Event::Budget(stepped(7)))]);
    assert_eq!(logged(&harness, Kind::Budget).len(), 1, "the same is told once");
    harness.get_by_label("Undo").click();
    harness.run_steps(3);
    assert_eq!(logged(&harness, Kind::Request).pop().as_deref(), Some("undo of the budget's last step"));
    assert!(harness.query_by_label("Undo").is_none(), "who undid it has read it");
}

/// From the command line, say: nobody asked this window for anything.
#[test]
fn what_was_undone_since_is_not_told_any_more() {
    let add = |wanted| {
        let rows = vec![row(0, State::Live, wanted, 0, None)];
        Told::Event(Event::Rows { id: None, rows })
    };
    let mut harness = with_budget(stands());
    tell(&mut harness, vec![Told::Event(Event::Budget(stepped(7)))]);
    assert!(harness.query_by_label("Undo").is_some());
    tell(&mut harness, vec![add(Level::Time)]);
    assert!(harness.query_by_label("Undo").is_none(), "the dial is where it was");
    assert_eq!(logged(&harness, Kind::Budget).len(), 1, "the log keeps that it was so");
    let can_undo = |harness: &Harness<'static, App>| harness.state().situation().undo_of_budget;
    assert!(can_undo(&harness), "the agent has not said yet that no step of the budget stands");
    tell(&mut harness, vec![Told::Event(Event::Budget(CostBudget { stepped: 0, ..stepped(7) }))]);
    assert!(!can_undo(&harness));
    assert_eq!(logged(&harness, Kind::Budget).len(), 1);
}

#[test]
fn what_it_did_before_anybody_looked_is_no_news_and_can_be_undone() {
    let mut harness = with_budget(stepped(7));
    assert!(logged(&harness, Kind::Budget).is_empty());
    act(&mut harness, Command::UndoOfBudget(None));
    assert_eq!(logged(&harness, Kind::Request).len(), 1);
    let mut harness = with_budget(stands());
    let enabled = Command::UndoOfBudget(None).enabled(&harness.state().situation());
    assert_eq!(enabled, Err("the budget has turned nothing down"));
    act(&mut harness, Command::UndoOfBudget(None));
    let refused = logged(&harness, Kind::Refusal).pop().expect("it is refused");
    assert!(refused.contains("has turned nothing down"), "{refused}");
}

#[test]
fn it_is_set_in_a_dialog_and_a_refusal_is_told() {
    let mut harness = with_budget(CostBudget::default());
    act(&mut harness, Command::Budget);
    assert!(says(&harness, "no budget: nothing limits what dials cost"));
    harness.event(Typed::Text("much".into()));
    harness.run_steps(3);
    assert!(says(&harness, "a budget is off, or so many percent of one processor"));
    act(&mut harness, Command::Escape);
    assert!(!says(&harness, "nothing limits"));
    act(&mut harness, Command::Budget);
    harness.event(Typed::Text("2.5".into()));
    harness.run_steps(3);
    harness.get_by_label("Set").click();
    harness.run_steps(3);
    assert!(!says(&harness, "nothing limits"), "it is closed");
    tell(
        &mut harness,
        vec![Told::BudgetRefused(Refused { why: "redial dial has control".into(), holder: None })],
    );
    assert_eq!(
        logged(&harness, Kind::Refusal).pop().as_deref(),
        Some("the budget was not set: redial dial has control")
    );
    let set = CostBudget { limit: Some(Share(250)), ..CostBudget::default() };
    tell(&mut harness, vec![Told::Event(Event::Budget(set))]);
    let told = logged(&harness, Kind::Notice).pop().expect("it is told");
    assert!(told.starts_with("budget: dials may cost 2.5 % of a processor together"), "{told}");
}

/// Whoever looks a minute later has not read it yet.
#[test]
fn what_can_be_undone_stays_until_it_is_closed() {
    let mut harness = with_budget(stands());
    act(&mut harness, Command::Filter("cart".into()));
    tell(&mut harness, vec![Told::Event(Event::Budget(stepped(7)))]);
    harness.state_mut().toast.expire();
    harness.run_steps(3);
    assert!(harness.query_by_label("Undo").is_some());
    act(&mut harness, Command::Escape);
    assert!(harness.query_by_label("Undo").is_none(), "Esc closes it");
    let filter = |harness: &Harness<'static, App>| {
        harness.state().model.current().map(|shop| shop.list.filter().text.clone())
    };
    assert_eq!(filter(&harness).as_deref(), Some("cart"), "and nothing else");
    act(&mut harness, Command::Escape);
    assert_eq!(filter(&harness).as_deref(), Some(""));
}

#[test]
fn what_it_stepped_down_says_so_as_long_as_that_stands() {
    let mut harness = with_budget(stepped(7));
    let why = "stepped down to count by the budget: it cost 7 % of a processor, and all dials may cost 5 %";
    let step = |state, wanted| {
        let mut row = row(0, state, wanted, 3, None);
        row.times_note = Some(why.into());
        Told::Event(Event::Rows { id: None, rows: vec![row] })
    };
    let value = |harness: &Harness<'static, App>| harness.get_by_label(ADD).value().unwrap_or_default();
    tell(&mut harness, vec![step(State::Live, Level::Count)]);
    assert!(says(&harness, "1 stepped down by the budget"), "in the strip");
    assert_eq!(value(&harness), "live, by the budget, 3 calls");
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert_eq!(harness.query_all_by_label(why).count(), 1);
    let (reason, calls) = (harness.get_by_label(why).rect(), harness.get_by_label("now").rect());
    assert!(reason.bottom() < calls.top(), "below the state, above the numbers");
    tell(&mut harness, vec![step(State::Off, Level::Off)]);
    assert_eq!(value(&harness), "off, by the budget, 3 calls");
    let back = Told::Event(Event::Rows { id: None, rows: vec![row(0, State::Live, Level::Count, 3, None)] });
    tell(&mut harness, vec![back, Told::Event(Event::Budget(CostBudget { stepped: 0, ..stepped(7) }))]);
    assert_eq!(value(&harness), "live, 3 calls");
    assert!(!says(&harness, "stepped down by the budget"));
}
