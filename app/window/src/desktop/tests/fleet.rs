//! Tests of several processes: selection, merged and side-by-side views, changes, and their results.

use super::fixture::{SHOP, catalogue, choose_shops, execute, feed, look_at_shops, row, shop, shops, window};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::{Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::fixtures::{facts, transition};
use redial_model::ids::{ConnectionId, MethodIx, Ticket};
use redial_model::list::Filter;
use redial_model::log::LogKind;
use redial_model::method_set::MethodSet;
use redial_model::method_table::{MethodTable, Targets};
use redial_model::process_choice::Arrangement;
use redial_model::processes::AgentState;
use redial_model::update::{ConnectionUpdate, Now, RefusedRequest, Retry, Update};
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Holder};
use redial_protocol::report::DialReport;
use redial_protocol::state::CopyState;

pub(super) const ADD: &str = "Shop!Shop.Cart.Add(int)";
const DIAL: &str = "Dial of Shop!Shop.Cart.Add(int)";

pub(super) fn merged<'a>(harness: &'a Harness<'static, App>) -> &'a MethodTable {
    &harness.state().model.fleet().expect("several").table
}

pub(super) fn copies_of_add(all: &MethodTable) -> MethodSet {
    let mut shown = (0..all.list.len()).filter_map(|place| all.list.at(place));
    let add = shown.find(|method| all.catalogue.full_name(*method).text == ADD).expect("it is shown");
    all.merged(add).expect("copies")
}

pub(super) fn value(harness: &Harness<'static, App>, label: &str) -> String {
    harness.get_by_label(label).accesskit_node().value().unwrap_or_default()
}

pub(super) fn deliver_to(harness: &mut Harness<'static, App>, id: u32, updates: Vec<ConnectionUpdate>) {
    feed(harness, vec![Update::Connection(ConnectionId(id), updates)]);
}

pub(super) fn logged(harness: &Harness<'static, App>, kind: LogKind) -> Vec<String> {
    let entries = harness.state().model.log.entries().iter().filter(|entry| entry.kind == kind);
    entries.map(|entry| entry.text.clone()).collect()
}

/// Returns the parts of the pending change by process.
pub(super) fn parts(harness: &Harness<'static, App>) -> Vec<(ConnectionId, Ticket)> {
    let model = &harness.state().model;
    let ticket = merged(harness).changes.pending().last().expect("a change").ticket;
    model.fleet().expect("several").parts(ticket)
}

pub(super) fn accept(harness: &mut Harness<'static, App>, parts: &[(ConnectionId, Ticket)]) {
    for (id, ticket) in parts {
        let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
        deliver_to(harness, id.0, vec![ConnectionUpdate::Dialled(*ticket, Ok(report))]);
    }
}

pub(super) fn rows(harness: &mut Harness<'static, App>, id: u32, state: CopyState, calls: u64) {
    let rows = vec![row(0, state, Level::Count, calls, None)];
    deliver_to(harness, id, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
}

fn fold(harness: &mut Harness<'static, App>, id: u32, t_ms: u64, calls: u64) {
    let delta = CounterDelta { t_ms, rows: vec![RowId(0)], calls: vec![calls] };
    deliver_to(harness, id, vec![ConnectionUpdate::Event(Event::Counters { delta, dropped: 0 })]);
}

pub(super) fn turn_add(harness: &mut Harness<'static, App>) {
    harness.get_by_label(DIAL).click();
    harness.run_steps(2);
}

#[test]
fn method_of_three_processes_is_one_row_of_sums() {
    let mut harness = look_at_shops(window(Theme::Dark));
    assert_eq!(harness.query_all_by_label(ADD).count(), 1);
    assert_eq!(merged(&harness).list.len(), 10, "30 methods, framework hidden");
    for (id, calls) in [(1, 10), (2, 200), (3, 3_000)] {
        rows(&mut harness, id, CopyState::Live, calls);
    }
    assert_eq!(value(&harness, ADD), "3 of 3 live, 3,210 calls");
    for (id, calls) in [(1, 1), (2, 2), (3, 4)] {
        fold(&mut harness, id, 1_000, 0);
        fold(&mut harness, id, 2_000, calls);
    }
    assert_eq!(value(&harness, ADD), "3 of 3 live, 3,217 calls");
    let all = merged(&harness);
    assert_eq!(all.group_of_set(&copies_of_add(all)).counted_rate(), Some(7.0));
}

#[test]
fn predicts_a_frame_that_draws_new_rows() {
    let mut harness = look_at_shops(window(Theme::Dark));
    // Asked at the start of a frame.
    let shows_new = |harness: &mut Harness<'static, App>| {
        let App { model, methods, .. } = harness.state_mut();
        methods.shows_new(model.list().expect("merged"))
    };
    assert!(!shows_new(&mut harness), "they were drawn");
    let filter = |harness: &mut Harness<'static, App>, text: &str| {
        let app = harness.state_mut();
        let asked = Filter { text: text.to_owned(), ..Filter::default() };
        app.model.change_list(|list| list.set_filter(asked));
        let now = app.now();
        app.model.refresh(now);
    };
    filter(&mut harness, "nothing is called so");
    harness.run_steps(2);
    filter(&mut harness, "");
    assert!(shows_new(&mut harness));
    assert!(!shows_new(&mut harness), "a hidden window draws none");
    harness.run_steps(2);
    assert!(!shows_new(&mut harness));
}

#[test]
fn process_without_the_method_counts_as_not_live() {
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    for id in 1..=3 {
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    }
    for id in 1..=2 {
        deliver_to(&mut harness, id, catalogue());
        rows(&mut harness, id, CopyState::Live, 10);
    }
    assert_eq!(value(&harness, ADD), "2 of 3 live, 20 calls");
}

#[test]
fn change_goes_to_all_and_is_logged_once() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    assert_eq!(value(&harness, ADD), "never dialled");
    assert!(merged(&harness).changes.pending().len() == 1, "it shows at once");
    let sent = parts(&harness);
    assert_eq!(sent.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(logged(&harness, LogKind::Request), [format!("count on {ADD} in 3 processes")]);
    accept(&mut harness, &sent[..2]);
    assert_eq!(logged(&harness, LogKind::Answer), [] as [String; 0], "one has not answered");
    accept(&mut harness, &sent[2..]);
    let text = format!("count on {ADD} in 3 processes: 3 of 3 copies accepted");
    assert_eq!(logged(&harness, LogKind::Answer), [text]);
}

#[test]
fn going_live_is_logged_once_for_all() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        rows(&mut harness, id, CopyState::Asked, 0);
        deliver_to(&mut harness, id, vec![transition(0, CopyState::Live)]);
    }
    assert_eq!(logged(&harness, LogKind::Transition), [] as [String; 0], "others may follow");
    let now = harness.state().now();
    let later = Now { mono: now.mono + std::time::Duration::from_secs(1), ..now };
    harness.state_mut().clock = crate::desktop::Clock::Stands(later);
    harness.run_steps(3);
    let place = "Shop.dll (4242), Shop.dll (4243), Shop.dll (4244)";
    assert_eq!(logged(&harness, LogKind::Transition), [format!("{ADD}: live at count in {place}")]);
}

#[test]
fn partial_refusal_names_process_and_reason() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    let sent = parts(&harness);
    accept(&mut harness, &sent[..2]);
    let holder = Holder { pid: 7, program: "other".into() };
    let refused = RefusedRequest { why: "other (pid 7) has control".into(), holder: Some(holder) };
    deliver_to(&mut harness, 3, vec![ConnectionUpdate::Dialled(sent[2].1, Err(refused))]);
    rows(&mut harness, 1, CopyState::Live, 1);
    rows(&mut harness, 2, CopyState::Live, 1);
    assert_eq!(value(&harness, ADD), "2 of 3 live, refused in 1, 2 calls");
    assert_eq!(logged(&harness, LogKind::Refusal), ["refused in Shop.dll (4244): other (pid 7) has control"]);
    let answer = logged(&harness, LogKind::Answer);
    assert_eq!(answer, [format!("count on {ADD} in 3 processes: done in 2 of 3, 2 of 2 copies accepted")]);
    // Control is taken only where it was missing.
    execute(&mut harness, UiCommand::TakeControl);
    assert_eq!(parts(&harness).iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [3]);
    assert_eq!(value(&harness, ADD), "requesting…, 2 calls");
}

#[test]
fn undo_and_all_off_go_to_all() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    let sent = parts(&harness);
    execute(&mut harness, UiCommand::Undo);
    assert_eq!(parts(&harness).len(), 3, "although it is not answered yet");
    accept(&mut harness, &sent);
    let undo = parts(&harness);
    accept(&mut harness, &undo);
    let undone = logged(&harness, LogKind::Undone);
    assert!(undone[0].starts_with("undo count on "), "{undone:?}");
    assert!(harness.query_by_label("Close").is_some(), "the notification is visible");
    execute(&mut harness, UiCommand::Redo);
    let redo = parts(&harness);
    assert_eq!(redo.len(), 3);
    accept(&mut harness, &redo);
    execute(&mut harness, UiCommand::AllOff);
    assert_eq!(
        logged(&harness, LogKind::Request).last().map(String::as_str),
        Some("all dials off in 3 processes")
    );
    for (id, ticket) in parts(&harness) {
        deliver_to(&mut harness, id.0, vec![ConnectionUpdate::AllOff(ticket, Ok((1, 0)))]);
    }
    let text = "all off in 3 processes: every dial is off, 3 reverted to the original IL";
    assert_eq!(logged(&harness, LogKind::AllOff), [text]);
}

#[test]
fn all_off_without_dials_leaves_nothing_to_undo() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let off = |harness: &mut Harness<'static, App>, reverted: u64| {
        execute(harness, UiCommand::AllOff);
        for ((id, ticket), of_it) in parts(harness).into_iter().zip([reverted, 0, 0]) {
            deliver_to(harness, id.0, vec![ConnectionUpdate::AllOff(ticket, Ok((of_it, 0)))]);
        }
        merged(harness).changes.undoable().map(str::to_owned)
    };
    assert_eq!(off(&mut harness, 0), None);
    assert_eq!(off(&mut harness, 1).as_deref(), Some("all dials off"));
    execute(&mut harness, UiCommand::Undo);
    assert_eq!(
        parts(&harness).iter().map(|(id, _)| id.0).collect::<Vec<_>>(),
        [1],
        "only where something was on"
    );
}

#[test]
fn ended_process_keeps_its_numbers_in_sums() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        rows(&mut harness, id, CopyState::Live, 100);
    }
    deliver_to(
        &mut harness,
        1,
        vec![ConnectionUpdate::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }],
    );
    assert_eq!(value(&harness, ADD), "2 of 2 live, 300 calls", "its last numbers count");
    harness.get_by_label("1 ended");
    turn_add(&mut harness);
    assert_eq!(parts(&harness).iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [2, 3]);
    harness.get_by_label(ADD).click();
    harness.run_steps(2);
    execute(&mut harness, UiCommand::DropEnded);
    assert_eq!(value(&harness, ADD), "requesting…, 200 calls");
    let all = merged(&harness);
    assert_eq!(all.catalogue.domains().len(), 2);
    assert_eq!(all.selection.len(), 1, "the selection stays in the remaining processes");
    // The remaining process is shown alone.
    deliver_to(
        &mut harness,
        2,
        vec![ConnectionUpdate::Lost { why: "process 4243 has ended".into(), retry: Retry::Never }],
    );
    execute(&mut harness, UiCommand::DropEnded);
    assert_eq!(harness.state().model.current, Some(ConnectionId(3).into()));
    assert!(harness.state().model.fleet().is_none());
}

#[test]
fn a_lost_connection_is_shown_and_comes_back() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        rows(&mut harness, id, CopyState::Live, 100);
    }
    let retry = Retry::After(std::time::Duration::from_secs(2));
    deliver_to(
        &mut harness,
        2,
        vec![ConnectionUpdate::Lost { why: "the connection was reset".into(), retry }],
    );
    assert_eq!(value(&harness, ADD), "2 of 2 live, 300 calls");
    harness.get_by_label("1 not connected");
    let lines = harness.query_all_by_label_contains("Shop.dll (4243): the connection was reset");
    assert_eq!(lines.count(), 2, "above the list and in the log");
    deliver_to(
        &mut harness,
        2,
        vec![ConnectionUpdate::Connecting, ConnectionUpdate::Connected(Box::new(facts()))],
    );
    let again = row(0, CopyState::Off, Level::Off, 100, None);
    deliver_to(&mut harness, 2, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows: vec![again] })]);
    assert_eq!(value(&harness, ADD), "2 of 3 live, 300 calls");
    let all = merged(&harness);
    let wanted = all.group_of_set(&copies_of_add(all)).wanted;
    assert_eq!(wanted, None, "its held dials reverted, so the knob is mixed");
}

#[test]
fn per_process_rows_turn_one_process() {
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::MergeCopies);
    assert_eq!(merged(&harness).list.len(), 30);
    let second = format!("{DIAL} in Shop.dll (4243)");
    harness.get_by_label(&second).click();
    harness.run_steps(2);
    assert_eq!(parts(&harness).iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [2]);
    assert_eq!(logged(&harness, LogKind::Request), [format!("count on {ADD} in Shop.dll (4243)")]);
}

#[test]
fn selects_processes_by_box_key_and_name() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    let chosen = |harness: &Harness<'static, App>| {
        harness.state().model.chosen().iter().map(|key| key.pid).collect::<Vec<_>>()
    };
    harness.get_by_label("Select Shop.dll 4243").click();
    harness.run_steps(2);
    assert_eq!(chosen(&harness), [4243]);
    harness.get_by_label("Select Shop.dll 4244").click();
    harness.run_steps(2);
    assert_eq!(chosen(&harness), [4243, 4244]);
    assert!(harness.state().model.is_merged());
    harness.get_by_label("Select Shop.dll 4243").click();
    harness.run_steps(2);
    assert_eq!((chosen(&harness), harness.state().model.is_merged()), (vec![4244], false));
    // A range, from the process selected last.
    let first = "Shop.dll 4242, .NET 8.0.31 · www, agent loaded";
    harness.get_by_label(first).click();
    harness.run_steps(2);
    let last = harness.get_by_label("Shop.dll 4244, .NET 8.0.31 · www, agent loaded");
    last.click_modifiers(Modifiers::SHIFT);
    harness.run_steps(2);
    assert_eq!(chosen(&harness), [4242, 4243, 4244]);
    harness.get_by_label(first).click();
    harness.run_steps(2);
    assert_eq!(chosen(&harness), [4242]);
    harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::A);
    harness.run_steps(2);
    assert_eq!(chosen(&harness), [4242, 4243, 4244, 977], "including the one that can load the agent");
    harness.get_by_label("Load the agent into the others");
}

#[test]
fn side_by_side_tables_share_one_filter() {
    let mut harness = look_at_shops(window(Theme::Dark));
    execute(&mut harness, UiCommand::Arrange(Arrangement::SideBySide));
    let shown = harness.query_all_by_label(ADD).count();
    assert_eq!(shown, 2, "as many as fit beside the details panel");
    let second = harness.get_all_by_label(DIAL).nth(1).expect("two dials");
    second.click();
    harness.run_steps(2);
    let turned = |harness: &Harness<'static, App>, id| {
        harness.state().model.connections[&ConnectionId(id)].table.changes.pending().len()
    };
    assert_eq!((turned(&harness, 1), turned(&harness, 2)), (0, 1));
    assert_eq!(harness.state().model.current, Some(ConnectionId(2).into()), "keys go to it now");
    execute(&mut harness, UiCommand::Filter("clear".into()));
    assert_eq!(harness.query_all_by_label("Shop!Shop.Cart.Clear()").count(), 2);
    assert_eq!(harness.query_all_by_label(ADD).count(), 0);
    harness.get_by_label("Next ▶").click();
    harness.run_steps(2);
    harness.get_by_label("Show Shop.dll (4244)");
}

#[test]
fn later_processes_join_and_get_the_dials() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    let sent = parts(&harness);
    accept(&mut harness, &sent);
    execute(&mut harness, UiCommand::Follow);
    let mut later = shops();
    later.changed.truncate(1);
    later.changed[0].key.pid = 5000;
    later.changed[0].agent = AgentState::Attachable;
    feed(&mut harness, vec![Update::Processes(later.clone())]);
    assert_eq!(harness.state().model.chosen().len(), 3, "without the agent only on request");
    later.changed[0].agent = AgentState::Loaded(Box::new(facts()));
    feed(&mut harness, vec![Update::Processes(later)]);
    let joined = harness.state().model.connection_to(shop(5000)).expect("it joined").id;
    deliver_to(&mut harness, joined.0, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    let pending = harness.state().model.connections[&joined].table.changes.pending();
    assert_eq!(
        pending.iter().map(|change| change.words.as_str()).collect::<Vec<_>>(),
        [format!("count on {ADD}")]
    );
    let text = format!("Shop.dll (5000) has started and joins; set there as in the others: count on {ADD}");
    assert!(
        logged(&harness, LogKind::Connection).contains(&text),
        "{:?}",
        logged(&harness, LogKind::Connection)
    );
    // Undo applies to it, too.
    let ticket = pending[0].ticket;
    accept(&mut harness, &[(joined, ticket)]);
    execute(&mut harness, UiCommand::Undo);
    assert_eq!(parts(&harness).len(), 4);
}

/// One process is not loaded completely and one has not even answered: the change is for them, too.
#[test]
fn change_reaches_processes_still_loading() {
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    for id in 1..=2 {
        deliver_to(&mut harness, id, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    }
    deliver_to(&mut harness, 1, catalogue());
    turn_add(&mut harness);
    let ids = |parts: &[(ConnectionId, Ticket)]| parts.iter().map(|(id, _)| id.0).collect::<Vec<_>>();
    assert_eq!(ids(&parts(&harness)), [1, 2]);
    assert_eq!(logged(&harness, LogKind::Request), [format!("count on {ADD} in 2 processes")]);
    deliver_to(&mut harness, 3, vec![ConnectionUpdate::Connected(Box::new(facts()))]);
    let pending = harness.state().model.connections[&ConnectionId(3)].table.changes.pending();
    assert_eq!(pending.len(), 1, "it was selected before the change");
    execute(&mut harness, UiCommand::Undo);
    assert_eq!(ids(&parts(&harness)), [1, 2, 3]);
    // A connection that was lost and comes back gets nothing automatically.
    let retry = Retry::After(std::time::Duration::from_secs(2));
    deliver_to(
        &mut harness,
        3,
        vec![ConnectionUpdate::Lost { why: "the connection was reset".into(), retry }],
    );
    turn_add(&mut harness);
    deliver_to(
        &mut harness,
        3,
        vec![ConnectionUpdate::Connecting, ConnectionUpdate::Connected(Box::new(facts()))],
    );
    assert!(harness.state().model.connections[&ConnectionId(3)].table.changes.pending().is_empty());
}

#[test]
fn single_process_can_add_later_namesakes() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    execute(&mut harness, UiCommand::Select(SHOP));
    execute(&mut harness, UiCommand::Follow);
    assert!(harness.state().model.is_merged());
    execute(&mut harness, UiCommand::Select(shop(4243)));
    let model = &harness.state().model;
    assert_eq!((model.is_merged(), model.fleet().is_none()), (false, true), "a single one is shown");
}

#[test]
fn equal_module_names_keep_their_order() {
    let harness = look_at_shops(window(Theme::Dark));
    let all = merged(&harness);
    let types: Vec<&str> =
        all.catalogue.types_by_name().map(|owner| all.catalogue.type_name(owner)).collect();
    let mut sorted = types.clone();
    sorted.sort_by_key(|name| name.to_lowercase());
    assert_eq!(types.len(), 3 * 9);
    assert_eq!(types.iter().filter(|name| **name == "Shop.Cart").count(), 3);
    let once: Vec<&&str> = types.chunk_by(|one, other| one == other).map(|same| &same[0]).collect();
    assert_eq!(once.len(), 9, "copies are adjacent: {types:?}");
    let targets = Targets::new(Default::default(), Default::default());
    let fleet = harness.state().model.fleet().expect("several");
    assert!(fleet.check(&targets.methods, Level::Count).is_err());
    assert_eq!(all.catalogue.row_method(MethodIx(13)), MethodIx(0));
}
