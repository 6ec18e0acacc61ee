//! Tests that the window shows the budget and can set it.

use super::fixture::{deliver, execute, row, rows, status, with_shop};
use super::fleet::{ADD, logged};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Event as Typed, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::log::LogKind;
use redial_model::update::{ConnectionUpdate, RefusedRequest};
use redial_protocol::cost::{BudgetStep, CostBudget, Share};
use redial_protocol::diagnostics::{SteppedDown, TimesNote};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn stands() -> CostBudget {
    CostBudget { limit: Some(Share(500)), cost: Some(Share(130)), ..CostBudget::default() }
}

fn stepped(change: u64) -> CostBudget {
    let costliest = (RowId(0), Level::Count, Share(700));
    let last = BudgetStep { change, copies: 1, cost: Share(720), limit: Share(500), costliest };
    CostBudget { last: Some(last), stepped: 1, ..stands() }
}

fn with_budget(before: CostBudget) -> Harness<'static, App> {
    let mut harness = with_shop(Theme::Dark);
    deliver(&mut harness, vec![ConnectionUpdate::AgentStatus(Box::new(status())), rows()]);
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Budget(before))]);
    harness
}

#[test]
fn budget_step_shows_reason_and_undo() {
    let mut harness = with_budget(stands());
    assert!(shows(&harness, "Dials cost 1.3 %, budget 5 %"));
    assert!(logged(&harness, LogKind::Budget).is_empty());
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Budget(stepped(7)))]);
    let text = "the budget turned Shop!Shop.Cart.Add(int) down to count: it cost 7 % of a processor; \
                all dials cost 7.2 %, the limit is 5 %";
    assert_eq!(logged(&harness, LogKind::Budget), [text]);
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Budget(stepped(7)))]);
    assert_eq!(logged(&harness, LogKind::Budget).len(), 1, "repeated once");
    harness.get_by_label("Undo").click();
    harness.run_steps(3);
    assert_eq!(logged(&harness, LogKind::Request).pop().as_deref(), Some("undo of the budget's last step"));
    assert!(harness.query_by_label("Undo").is_none(), "undoing it counts as having read it");
}

/// Another client undid the step; this window sent no request.
#[test]
fn undone_step_is_no_longer_notified() {
    let add = |wanted| {
        let rows = vec![row(0, CopyState::Live, wanted, 0, None)];
        ConnectionUpdate::Event(Event::Rows { id: None, rows })
    };
    let mut harness = with_budget(stands());
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Budget(stepped(7)))]);
    assert!(harness.query_by_label("Undo").is_some());
    deliver(&mut harness, vec![add(Level::Time)]);
    assert!(harness.query_by_label("Undo").is_none(), "the dial is back at its level");
    assert_eq!(logged(&harness, LogKind::Budget).len(), 1, "the log keeps the entry");
    let can_undo = |harness: &Harness<'static, App>| {
        harness.state().command_context().single_process().is_ok_and(|facts| facts.undo_of_budget)
    };
    assert!(can_undo(&harness), "the agent has not yet reported that no step stands");
    deliver(
        &mut harness,
        vec![ConnectionUpdate::Event(Event::Budget(CostBudget { stepped: 0, ..stepped(7) }))],
    );
    assert!(!can_undo(&harness));
    assert_eq!(logged(&harness, LogKind::Budget).len(), 1);
}

#[test]
fn earlier_budget_step_can_be_undone() {
    let mut harness = with_budget(stepped(7));
    assert!(logged(&harness, LogKind::Budget).is_empty());
    execute(&mut harness, UiCommand::UndoOfBudget(None));
    assert_eq!(logged(&harness, LogKind::Request).len(), 1);
    let mut harness = with_budget(stands());
    let enabled = UiCommand::UndoOfBudget(None).enabled(&harness.state().command_context());
    assert_eq!(enabled, Err("the budget has not turned anything down"));
    execute(&mut harness, UiCommand::UndoOfBudget(None));
    let refused = logged(&harness, LogKind::Refusal).pop().expect("it is refused");
    assert!(refused.contains("has turned nothing down"), "{refused}");
}

#[test]
fn budget_dialog_sets_it_and_reports_refusal() {
    let mut harness = with_budget(CostBudget::default());
    execute(&mut harness, UiCommand::Budget);
    assert!(shows(&harness, "No budget is set"));
    harness.event(Typed::Text("much".into()));
    harness.run_steps(3);
    assert!(shows(&harness, "A budget is off or a percentage of one processor"));
    execute(&mut harness, UiCommand::Escape);
    assert!(!shows(&harness, "No budget is set"));
    execute(&mut harness, UiCommand::Budget);
    harness.event(Typed::Text("2.5".into()));
    harness.run_steps(3);
    harness.get_by_label("Set").click();
    harness.run_steps(3);
    assert!(!shows(&harness, "No budget is set"), "the dialog is closed");
    deliver(
        &mut harness,
        vec![ConnectionUpdate::BudgetRefused(RefusedRequest {
            why: "redial dial has control".into(),
            holder: None,
        })],
    );
    assert_eq!(
        logged(&harness, LogKind::Refusal).pop().as_deref(),
        Some("the budget was not set: redial dial has control")
    );
    let set = CostBudget { limit: Some(Share(250)), ..CostBudget::default() };
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Budget(set))]);
    let shown_text = logged(&harness, LogKind::Notice).pop().expect("it is logged");
    assert!(
        shown_text.starts_with("budget: all dials together may cost 2.5 % of a processor"),
        "{shown_text}"
    );
}

/// A user who looks a minute later has not read it yet.
#[test]
fn undoable_notification_stays_until_closed() {
    let mut harness = with_budget(stands());
    execute(&mut harness, UiCommand::Filter("cart".into()));
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Budget(stepped(7)))]);
    harness.state_mut().toast.expire();
    harness.run_steps(3);
    assert!(harness.query_by_label("Undo").is_some());
    execute(&mut harness, UiCommand::Escape);
    assert!(harness.query_by_label("Undo").is_none(), "Esc closes it");
    let filter = |harness: &Harness<'static, App>| {
        harness.state().model.current().map(|shop| shop.table().list.filter().text.clone())
    };
    assert_eq!(filter(&harness).as_deref(), Some("cart"), "Esc does nothing else");
    execute(&mut harness, UiCommand::Escape);
    assert_eq!(filter(&harness).as_deref(), Some(""));
}

#[test]
fn stepped_down_method_mentions_the_budget() {
    let mut harness = with_budget(stepped(7));
    let why = "Stepped down to count by the budget: it cost 7 % of a processor, and all dials may cost 5 %";
    let step = |state, wanted| {
        let mut row = row(0, state, wanted, 3, None);
        let stepped_down = SteppedDown { to: Level::Count, cost: Share(700), limit: Share(500) };
        row.times_note = Some(TimesNote { stepped_down: Some(stepped_down), ..TimesNote::default() });
        ConnectionUpdate::Event(Event::Rows { id: None, rows: vec![row] })
    };
    let value = |harness: &Harness<'static, App>| harness.get_by_label(ADD).value().unwrap_or_default();
    deliver(&mut harness, vec![step(CopyState::Live, Level::Count)]);
    assert!(shows(&harness, "1 turned down by the budget"), "in the status bar");
    assert_eq!(value(&harness), "live (budget), 3 calls");
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
    assert_eq!(harness.query_all_by_label(why).count(), 1);
    let (reason, calls) = (harness.get_by_label(why).rect(), harness.get_by_label("Now").rect());
    assert!(reason.bottom() < calls.top(), "below the state, above the numbers");
    deliver(&mut harness, vec![step(CopyState::Off, Level::Off)]);
    assert_eq!(value(&harness), "off (budget), 3 calls");
    let back = ConnectionUpdate::Event(Event::Rows {
        id: None,
        rows: vec![row(0, CopyState::Live, Level::Count, 3, None)],
    });
    deliver(
        &mut harness,
        vec![back, ConnectionUpdate::Event(Event::Budget(CostBudget { stepped: 0, ..stepped(7) }))],
    );
    assert_eq!(value(&harness), "live, 3 calls");
    assert!(!shows(&harness, "turned down by the budget"));
}
