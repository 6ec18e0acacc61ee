//! Tests of AppDomains and copies: targets of knobs, confirmations, merged rows.

use super::fixture::{
    copy_row, crowd, deliver, execute, look_at_domains, status, window, window_of, with_shop,
};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::log::LogKind;
use redial_model::update::{ConnectionUpdate, UndoneChange};
use redial_protocol::diagnostics::{AuditAction, AuditedChange};
use redial_protocol::level::Level;
use redial_protocol::message::{AgentStatus, AuditEntry, Event, Holder};
use redial_protocol::order::{Lifetime, Order, StandingOrder};
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport, RefusedMethod, SharedModule};
use redial_protocol::state::CopyState;

const CONCAT: &str = "System.Private.CoreLib!System.String.Concat(string, string)";
const ADD: &str = "Shop!Shop.Cart.Add(int)";
const IIS: &str = "/LM/W3SVC/1/ROOT/Shop-2-133012345678901234";

fn tree() -> Harness<'static, App> {
    let mut harness = look_at_domains(window(Theme::Dark));
    execute(&mut harness, UiCommand::Tree);
    harness
}

fn requests(harness: &Harness<'static, App>) -> Vec<String> {
    let log = &harness.state().model.log;
    log.entries()
        .iter()
        .filter(|entry| entry.kind == LogKind::Request)
        .map(|entry| entry.text.clone())
        .collect()
}

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

fn click(harness: &mut Harness<'static, App>, label: &str) {
    harness.get_by_label(label).click();
    harness.run_steps(3);
}

#[test]
fn domains_are_the_first_level_and_each_has_a_knob() {
    let mut harness = tree();
    for domain in ["First", "Second", IIS] {
        assert!(harness.query_by_label(&format!("Dial of AppDomain {domain}")).is_some(), "{domain}");
    }
    assert!(!shows(&harness, "Dial of AppDomain EE Shared"), "it has no visible methods");
    click(&mut harness, "Dial of AppDomain Second");
    assert_eq!(requests(&harness), ["count on 8 methods in Second"]);
    let pending = |harness: &Harness<'static, App>, label: &str| {
        harness.get_by_label(label).value().is_some_and(|value| value.contains("requesting"))
    };
    assert!(pending(&harness, "Dial of AppDomain Second") && !pending(&harness, "Dial of AppDomain First"));
}

#[test]
fn dial_of_shared_method_asks_first() {
    let mut harness = look_at_domains(window(Theme::Dark));
    execute(&mut harness, UiCommand::HideFramework);
    execute(&mut harness, UiCommand::Filter("Concat".into()));
    let dial = format!("Dial of {CONCAT}");
    click(&mut harness, &dial);
    assert!(shows(&harness, "serves 3 AppDomains, so the change affects all of them"), "no question");
    assert!(shows(&harness, "First, Second and site 1, /Shop"));
    assert!(!shows(&harness, UiCommand::ExcludeShared.name()), "it has no other methods");
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!shows(&harness, "serves 3") && requests(&harness).is_empty());
    click(&mut harness, &dial);
    click(&mut harness, UiCommand::ConfirmSharing.name());
    assert_eq!(requests(&harness), [format!("count on {CONCAT}")]);
    // Turning it off affects nobody, so it needs no confirmation.
    click(&mut harness, &dial);
    assert_eq!(requests(&harness).len(), 2);
}

#[test]
fn domain_dial_offers_to_skip_shared_methods() {
    let mut harness = tree();
    execute(&mut harness, UiCommand::HideFramework);
    click(&mut harness, "Dial of AppDomain First");
    assert!(shows(&harness, "System.Private.CoreLib serves 3"));
    click(&mut harness, UiCommand::ExcludeShared.name());
    assert_eq!(requests(&harness), ["count on 8 methods in First"]);
    click(&mut harness, "Dial of AppDomain Second");
    click(&mut harness, UiCommand::ConfirmSharing.name());
    assert_eq!(requests(&harness)[1..], ["count on 11 methods in Second"]);
}

#[test]
fn merged_copies_are_one_row_and_its_dial_is_for_all() {
    let mut harness = look_at_domains(window(Theme::Dark));
    let dial = |place: &str| format!("Dial of {ADD}{place}");
    assert!(harness.query_by_label(&dial(" in First")).is_some());
    assert!(harness.query_by_label(&dial("")).is_none());
    deliver(
        &mut harness,
        vec![ConnectionUpdate::Event(Event::Rows {
            id: None,
            rows: vec![copy_row(2, CopyState::Live, 30), copy_row(3, CopyState::Live, 4)],
        })],
    );
    execute(&mut harness, UiCommand::MergeCopies);
    assert!(harness.query_by_label(&dial(" in First")).is_none());
    let row = |harness: &Harness<'static, App>| harness.get_by_label(ADD).accesskit_node().value();
    assert_eq!(row(&harness).as_deref(), Some("2 of 2 live, 34 calls"));
    click(&mut harness, &dial(""));
    assert_eq!(requests(&harness), [format!("count on {ADD} (3 copies)")]);
    execute(&mut harness, UiCommand::OnlyDialled);
    assert!(harness.query_by_label(ADD).is_some(), "a copy of it is dialled");
    execute(&mut harness, UiCommand::Tree);
    assert!(shows(&harness, "AppDomain all AppDomains"));
}

#[test]
fn single_domain_hides_copies() {
    let mut harness = with_shop(Theme::Dark);
    assert!(harness.query_by_label("Merge copies").is_none());
    execute(&mut harness, UiCommand::MergeCopies);
    execute(&mut harness, UiCommand::Tree);
    harness.run_steps(6);
    assert!(harness.query_by_label("module Shop").is_some() && !shows(&harness, "copies"));
    assert!(!shows(&harness, "AppDomain"), "the only one has no row");
}

#[test]
fn every_copy_has_its_own_dial() {
    let mut harness = look_at_domains(window_of(Theme::Dark, [1180.0, 1000.0]));
    execute(&mut harness, UiCommand::MergeCopies);
    click(&mut harness, ADD);
    assert!(shows(&harness, "3 copies"));
    click(&mut harness, &format!("Dial of copy #2 in Second of {ADD}"));
    let turned =
        harness.state().model.current().expect("there").table().changes.undoable().map(str::to_owned);
    assert_eq!(turned.as_deref(), Some("count on Shop!Shop.Cart.Add(int) in Second"));
    let asked = |domain: &str| {
        let label = format!("Dial of copy {domain} of {ADD}");
        let dial = harness.get_by_label(&label);
        dial.value().unwrap_or_default()
    };
    assert!(asked("#2 in Second").contains("requesting") && !asked("#1 in First").contains("requesting"));
}

#[test]
fn the_agents_plan_replaces_what_was_known() {
    let mut harness = with_shop(Theme::Dark);
    crowd(&mut harness, 2_000);
    execute(&mut harness, UiCommand::SelectAll);
    harness.key_press(Key::Space);
    harness.run_steps(3);
    assert!(shows(&harness, "Waiting for the agent's plan"));
    let bulk = harness.state().dialogs.confirm.as_ref().expect("a question");
    let (_, ticket) = *bulk.plan.asked.first().expect("it was asked");
    let plan = PlanReport {
        matched: 2_009,
        to_request: 1_990,
        bodyless: 12,
        generic: 5,
        refused_by_reason: vec![(Reason::PInvoke, 7)],
        expected_us: 42_000,
        expected_clr_bytes: 3 << 20,
        expected_agent_bytes: 1 << 20,
        ..PlanReport::default()
    };
    deliver(&mut harness, vec![ConnectionUpdate::Plan(ticket, Ok(Box::new(plan)))]);
    for part in
        ["1,990 will be recompiled", "12 skipped: no body", "7 refused", "5 of them are generic", "3.00 MiB"]
    {
        assert!(shows(&harness, part), "{part}");
    }
    assert!(!shows(&harness, "Waiting for the agent's plan"));
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    let ticket = harness.state().model.current().expect("there").table().changes.pending()[0].ticket;
    deliver(&mut harness, vec![ConnectionUpdate::Progress(ticket, 500, 1_990)]);
    assert_eq!(harness.get_by_label("Progress of the change").value().as_deref(), Some("500 of 1,990"));
    assert!(harness.query_by_label(UiCommand::CancelChange(ticket).name()).is_some());
    deliver(&mut harness, vec![ConnectionUpdate::Dialled(ticket, Ok(DialReport::default()))]);
    assert!(harness.query_by_label("Progress of the change").is_none());
}

#[test]
fn refusal_of_shared_method_names_domains() {
    let mut harness = tree();
    click(&mut harness, "Dial of AppDomain First");
    let ticket = harness.state().model.current().expect("there").table().changes.pending()[0].ticket;
    let shared = SharedModule {
        module: "Common".into(),
        methods: 1,
        domains: vec!["First".into(), "Second".into()],
        more_domains: 3,
        accepted: false,
    };
    let refused =
        RefusedMethod { method: "Common!A.B()".into(), reason: Reason::Shared, hresult: 0, condition: None };
    let report = DialReport {
        matched: 1,
        refused_by_reason: vec![(Reason::Shared, 1)],
        refused: vec![refused],
        shared: vec![shared],
        ..DialReport::default()
    };
    deliver(&mut harness, vec![ConnectionUpdate::Dialled(ticket, Ok(report))]);
    assert!(shows(&harness, "one copy of Common serves First, Second and 3 more"));
}

/// Sends orders and history entries of several users.
pub fn tell_orders(harness: &mut Harness<'static, App>) {
    let order = |pattern: &str, domain: Option<&str>, lifetime, program: &str| StandingOrder {
        order: Order { domain: domain.map(str::to_owned), ..Order::new(pattern, Level::Count) },
        lifetime,
        user: "www".into(),
        by: Holder { pid: 77, program: program.into() },
    };
    let orders = vec![
        order("Shop!Shop.Cart.*", None, Lifetime::Kept, "redial dial"),
        order("Shop!Shop.Pricing.*", Some("Second"), Lifetime::KeptFor { ms: 90_000 }, "redial dial"),
        order("Shop!0x06000001", None, Lifetime::Held, "redial app"),
    ];
    let entry = |t_unix_ms, program: &str, order: &str| AuditEntry {
        t_unix_ms,
        user: "www".into(),
        program: program.into(),
        action: AuditAction::Changed(AuditedChange::order(order)),
    };
    let audit = vec![
        entry(1_763_621_000_000, "redial dial", "Shop!Shop.Cart.* = count"),
        entry(1_763_621_900_000, "redial app", "Shop!0x06000001 = count"),
    ];
    let mut account = status();
    (account.held, account.kept, account.audit) = (1, 6, audit);
    deliver(
        harness,
        vec![ConnectionUpdate::AgentStatus(Box::new(account)), ConnectionUpdate::Orders(orders, 2)],
    );
}

#[test]
fn shows_orders_and_history() {
    let mut harness = with_shop(Theme::Dark);
    tell_orders(&mut harness);
    assert!(shows(&harness, "6 kept"), "in the status bar");
    execute(&mut harness, UiCommand::Agent);
    for part in [
        "This window has control",
        "domain=Second",
        "kept for 1m 30s",
        "redial dial (pid 77, www)",
        "2 changes",
    ] {
        assert!(shows(&harness, part), "{part}");
    }
    // However long an order is, the user's name stays visible beside it.
    let order = format!("Shop!Shop.{}* = time", "Pricing+<>c__DisplayClass5_0.".repeat(5));
    let entry = AuditEntry {
        t_unix_ms: 0,
        user: "www".into(),
        program: "redial dial".into(),
        action: AuditAction::Changed(AuditedChange::order(&order)),
    };
    let standing = StandingOrder {
        order: Order::new(order.trim_end_matches(" = time"), Level::Time),
        lifetime: Lifetime::Held,
        user: "www".into(),
        by: Holder { pid: 77, program: "redial app".into() },
    };
    let account = AgentStatus { audit: vec![entry], ..status() };
    deliver(
        &mut harness,
        vec![ConnectionUpdate::AgentStatus(Box::new(account)), ConnectionUpdate::Orders(vec![standing], 2)],
    );
    harness.run_steps(3);
    let frame = harness.ctx.content_rect().width();
    let (left, dialog) = (frame / 2.0 - 380.0, frame / 2.0 + 380.0);
    let right = |part: &str| -> Vec<f32> {
        // The log repeats some of it.
        let rects = harness.query_all_by_label_contains(part).map(|node| node.rect());
        rects.filter(|rect| rect.left() > left).map(|rect| rect.right()).collect()
    };
    assert!(right("the Redial window (pid 77, www)").into_iter().all(|right| right < dialog));
    let orders = right(" = time");
    assert!(orders.len() == 2 && orders.iter().all(|right| *right < dialog), "{orders:?}");
    click(&mut harness, UiCommand::UndoOfAnyone.name());
    assert_eq!(requests(&harness), ["undo of the last change of anyone"]);
    let what = AuditEntry {
        t_unix_ms: 0,
        user: "www".into(),
        program: "redial dial".into(),
        action: AuditAction::Changed(AuditedChange::order("Shop!* = count")),
    };
    let report = DialReport { matched: 9, accepted: 9, ..DialReport::default() };
    let undone = UndoneChange { what, report };
    deliver(&mut harness, vec![ConnectionUpdate::Undone(redial_model::ids::Ticket(1), Ok(Box::new(undone)))]);
    assert!(shows(&harness, "Undo of Shop!* = count (by www, redial dial): 9 of 9 accepted"));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert!(!shows(&harness, "Newest first."));
}
