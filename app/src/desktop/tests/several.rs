//! Several processes: chosen, merged and side by side, turned together, and what becomes of each.

use super::stage::{SHOP, act, catalogue, choose_shops, feed, look_at_shops, row, shop, shops, window};
use crate::commands::Command;
use crate::desktop::App;
use crate::model::connection::tests::{facts, transition};
use crate::model::connection::{Connection, Targets};
use crate::model::ids::{ConnectionId, FLEET, MethodIx, Ticket};
use crate::model::list::Filter;
use crate::model::log::Kind;
use crate::model::methodset::MethodSet;
use crate::model::processes::AgentState;
use crate::model::several::Arrangement;
use crate::model::update::{Now, Refused, Retry, Told, Update};
use eframe::egui::{Key, Modifiers, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Holder};
use redial_protocol::report::DialReport;
use redial_protocol::state::State;

pub(super) const ADD: &str = "Shop!Shop.Cart.Add(int)";
const DIAL: &str = "dial of Shop!Shop.Cart.Add(int)";

pub(super) fn merged<'a>(harness: &'a Harness<'static, App>) -> &'a Connection {
    &harness.state().model.connections[&FLEET]
}

pub(super) fn copies_of_add(all: &Connection) -> MethodSet {
    let mut shown = (0..all.list.len()).filter_map(|place| all.list.at(place));
    let add = shown.find(|method| all.catalogue.full_name(*method).text == ADD).expect("it is shown");
    all.merged(add).expect("copies")
}

pub(super) fn value(harness: &Harness<'static, App>, label: &str) -> String {
    harness.get_by_label(label).accesskit_node().value().unwrap_or_default()
}

pub(super) fn told(harness: &mut Harness<'static, App>, id: u32, told: Vec<Told>) {
    feed(harness, vec![Update::Connection(ConnectionId(id), told)]);
}

pub(super) fn logged(harness: &Harness<'static, App>, kind: Kind) -> Vec<String> {
    let entries = harness.state().model.log.entries().iter().filter(|entry| entry.kind == kind);
    entries.map(|entry| entry.text.clone()).collect()
}

/// What the turn under way is in each process.
pub(super) fn parts(harness: &Harness<'static, App>) -> Vec<(ConnectionId, Ticket)> {
    let model = &harness.state().model;
    let ticket = merged(harness).turns.pending().last().expect("a turn").ticket;
    model.fleet().expect("several").parts(ticket)
}

pub(super) fn accept(harness: &mut Harness<'static, App>, parts: &[(ConnectionId, Ticket)]) {
    for (id, ticket) in parts {
        let report = DialReport { matched: 1, accepted: 1, ..DialReport::default() };
        told(harness, id.0, vec![Told::Dialled(*ticket, Ok(report))]);
    }
}

pub(super) fn rows(harness: &mut Harness<'static, App>, id: u32, state: State, calls: u64) {
    let rows = vec![row(0, state, Level::Count, calls, None)];
    told(harness, id, vec![Told::Event(Event::Rows { id: None, rows })]);
}

fn fold(harness: &mut Harness<'static, App>, id: u32, t_ms: u64, calls: u64) {
    let delta = CounterDelta { t_ms, rows: vec![RowId(0)], calls: vec![calls] };
    told(harness, id, vec![Told::Event(Event::Counters { delta, dropped: 0 })]);
}

pub(super) fn turn_add(harness: &mut Harness<'static, App>) {
    harness.get_by_label(DIAL).click();
    harness.run_steps(2);
}

#[test]
fn a_method_of_three_processes_is_one_row_and_its_numbers_are_sums() {
    let mut harness = look_at_shops(window(Theme::Dark));
    assert_eq!(harness.query_all_by_label(ADD).count(), 1);
    assert_eq!(merged(&harness).list.len(), 10, "of 30 methods, framework hidden");
    for (id, calls) in [(1, 10), (2, 200), (3, 3_000)] {
        rows(&mut harness, id, State::Live, calls);
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
fn a_frame_that_draws_other_rows_is_known_before_it_is_drawn() {
    let mut harness = look_at_shops(window(Theme::Dark));
    // As a frame asks that begins.
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
        app.model.settle(now);
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
fn a_process_without_the_method_is_one_in_which_it_is_not_live() {
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    for id in 1..=3 {
        told(&mut harness, id, vec![Told::Connected(Box::new(facts()))]);
    }
    for id in 1..=2 {
        told(&mut harness, id, catalogue());
        rows(&mut harness, id, State::Live, 10);
    }
    assert_eq!(value(&harness, ADD), "2 of 3 live, 20 calls");
}

#[test]
fn a_turn_goes_to_all_and_is_told_once() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    assert_eq!(value(&harness, ADD), "never dialled");
    assert!(merged(&harness).turns.pending().len() == 1, "it shows at once");
    let sent = parts(&harness);
    assert_eq!(sent.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(logged(&harness, Kind::Request), [format!("count on {ADD} in 3 processes")]);
    accept(&mut harness, &sent[..2]);
    assert_eq!(logged(&harness, Kind::Answer), [] as [String; 0], "one has not answered");
    accept(&mut harness, &sent[2..]);
    let text = format!("count on {ADD} in 3 processes: 3 of 3 copies accepted");
    assert_eq!(logged(&harness, Kind::Answer), [text]);
}

#[test]
fn that_it_went_on_is_told_once_for_all() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        rows(&mut harness, id, State::Asked, 0);
        told(&mut harness, id, vec![transition(0, State::Live)]);
    }
    assert_eq!(logged(&harness, Kind::Transition), [] as [String; 0], "others may follow");
    let now = harness.state().now();
    let later = Now { mono: now.mono + std::time::Duration::from_secs(1), ..now };
    harness.state_mut().clock = crate::desktop::Clock::Stands(later);
    harness.run_steps(3);
    let place = "Shop.dll (4242), Shop.dll (4243), Shop.dll (4244)";
    assert_eq!(logged(&harness, Kind::Transition), [format!("{ADD}: live at count in {place}")]);
}

#[test]
fn where_one_refuses_row_and_log_say_which_and_why() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    let sent = parts(&harness);
    accept(&mut harness, &sent[..2]);
    let holder = Holder { pid: 7, program: "other".into() };
    let refused = Refused { why: "other (pid 7) has control".into(), holder: Some(holder) };
    told(&mut harness, 3, vec![Told::Dialled(sent[2].1, Err(refused))]);
    rows(&mut harness, 1, State::Live, 1);
    rows(&mut harness, 2, State::Live, 1);
    assert_eq!(value(&harness, ADD), "2 of 3 live, refused in 1, 2 calls");
    assert_eq!(logged(&harness, Kind::Refusal), ["refused in Shop.dll (4244): other (pid 7) has control"]);
    let answer = logged(&harness, Kind::Answer);
    assert_eq!(answer, [format!("count on {ADD} in 3 processes: done in 2 of 3, 2 of 2 copies accepted")]);
    // Control is taken where it was refused, and nowhere else.
    act(&mut harness, Command::TakeControl);
    assert_eq!(parts(&harness).iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [3]);
    assert_eq!(value(&harness, ADD), "asking…, 2 calls");
}

#[test]
fn undo_and_all_off_go_to_all() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    let sent = parts(&harness);
    act(&mut harness, Command::Undo);
    assert_eq!(parts(&harness).len(), 3, "though it is not answered yet");
    accept(&mut harness, &sent);
    let undo = parts(&harness);
    accept(&mut harness, &undo);
    let undone = logged(&harness, Kind::Undone);
    assert!(undone[0].starts_with("undo count on "), "{undone:?}");
    assert!(harness.query_by_label("Close").is_some(), "it is told where one looks");
    act(&mut harness, Command::Redo);
    let redo = parts(&harness);
    assert_eq!(redo.len(), 3);
    accept(&mut harness, &redo);
    act(&mut harness, Command::AllOff);
    assert_eq!(
        logged(&harness, Kind::Request).last().map(String::as_str),
        Some("all dials off in 3 processes")
    );
    for (id, ticket) in parts(&harness) {
        told(&mut harness, id.0, vec![Told::AllOff(ticket, Ok((1, 0)))]);
    }
    let text = "all off in 3 processes: every dial is off, 3 reverted to the original IL";
    assert_eq!(logged(&harness, Kind::AllOff), [text]);
}

#[test]
fn all_off_where_nothing_is_on_leaves_nothing_to_undo() {
    let mut harness = look_at_shops(window(Theme::Dark));
    let off = |harness: &mut Harness<'static, App>, reverted: u64| {
        act(harness, Command::AllOff);
        for ((id, ticket), of_it) in parts(harness).into_iter().zip([reverted, 0, 0]) {
            told(harness, id.0, vec![Told::AllOff(ticket, Ok((of_it, 0)))]);
        }
        merged(harness).turns.undoable().map(str::to_owned)
    };
    assert_eq!(off(&mut harness, 0), None);
    assert_eq!(off(&mut harness, 1).as_deref(), Some("all dials off"));
    act(&mut harness, Command::Undo);
    assert_eq!(parts(&harness).iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [1], "where something was on");
}

#[test]
fn a_process_that_ends_loses_nothing_for_the_others() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        rows(&mut harness, id, State::Live, 100);
    }
    told(&mut harness, 1, vec![Told::Lost { why: "process 4242 has ended".into(), retry: Retry::Never }]);
    assert_eq!(value(&harness, ADD), "2 of 2 live, 300 calls", "its last numbers count");
    harness.get_by_label("1 ended");
    turn_add(&mut harness);
    assert_eq!(parts(&harness).iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [2, 3]);
    harness.get_by_label(ADD).click();
    harness.run_steps(2);
    act(&mut harness, Command::DropEnded);
    assert_eq!(value(&harness, ADD), "asking…, 200 calls");
    let all = merged(&harness);
    assert_eq!(all.catalogue.domains().len(), 2);
    assert_eq!(all.selection.len(), 1, "what was selected is selected in those that are left");
    // One that is left is looked at alone.
    told(&mut harness, 2, vec![Told::Lost { why: "process 4243 has ended".into(), retry: Retry::Never }]);
    act(&mut harness, Command::DropEnded);
    assert_eq!(harness.state().model.current, Some(ConnectionId(3)));
    assert!(harness.state().model.fleet().is_none());
}

#[test]
fn a_lost_connection_is_shown_and_comes_back() {
    let mut harness = look_at_shops(window(Theme::Dark));
    for id in 1..=3 {
        rows(&mut harness, id, State::Live, 100);
    }
    let retry = Retry::After(std::time::Duration::from_secs(2));
    told(&mut harness, 2, vec![Told::Lost { why: "the connection was reset".into(), retry }]);
    assert_eq!(value(&harness, ADD), "2 of 2 live, 300 calls");
    harness.get_by_label("1 not connected");
    let lines = harness.query_all_by_label_contains("Shop.dll (4243): the connection was reset");
    assert_eq!(lines.count(), 2, "above the list and in the log");
    told(&mut harness, 2, vec![Told::Connecting, Told::Connected(Box::new(facts()))]);
    let again = row(0, State::Off, Level::Off, 100, None);
    told(&mut harness, 2, vec![Told::Event(Event::Rows { id: None, rows: vec![again] })]);
    assert_eq!(value(&harness, ADD), "2 of 3 live, 300 calls");
    let all = merged(&harness);
    let wanted = all.group_of_set(&copies_of_add(all)).wanted;
    assert_eq!(wanted, None, "its held dials went: the knob is mixed");
}

#[test]
fn rows_of_single_processes_are_turned_alone() {
    let mut harness = look_at_shops(window(Theme::Dark));
    act(&mut harness, Command::MergeCopies);
    assert_eq!(merged(&harness).list.len(), 30);
    let second = format!("{DIAL} in Shop.dll (4243)");
    harness.get_by_label(&second).click();
    harness.run_steps(2);
    assert_eq!(parts(&harness).iter().map(|(id, _)| id.0).collect::<Vec<_>>(), [2]);
    assert_eq!(logged(&harness, Kind::Request), [format!("count on {ADD} in Shop.dll (4243)")]);
}

#[test]
fn processes_are_chosen_by_box_key_and_name() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    let chosen = |harness: &Harness<'static, App>| {
        harness.state().model.chosen().iter().map(|key| key.pid).collect::<Vec<_>>()
    };
    harness.get_by_label("choose Shop.dll 4243").click();
    harness.run_steps(2);
    assert_eq!(chosen(&harness), [4243]);
    harness.get_by_label("choose Shop.dll 4244").click();
    harness.run_steps(2);
    assert_eq!(chosen(&harness), [4243, 4244]);
    assert!(harness.state().model.is_merged());
    harness.get_by_label("choose Shop.dll 4243").click();
    harness.run_steps(2);
    assert_eq!((chosen(&harness), harness.state().model.is_merged()), (vec![4244], false));
    // A range, from the row chosen last.
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
    assert_eq!(chosen(&harness), [4242, 4243, 4244, 977], "the one that the agent can be loaded into too");
    harness.get_by_label("Load the agent into the others");
}

#[test]
fn side_by_side_each_has_its_own_table_and_one_filter_is_for_all() {
    let mut harness = look_at_shops(window(Theme::Dark));
    act(&mut harness, Command::Arrange(Arrangement::Beside));
    let shown = harness.query_all_by_label(ADD).count();
    assert_eq!(shown, 2, "as many as fit beside the selection");
    let second = harness.get_all_by_label(DIAL).nth(1).expect("two dials");
    second.click();
    harness.run_steps(2);
    let turned = |harness: &Harness<'static, App>, id| {
        harness.state().model.connections[&ConnectionId(id)].turns.pending().len()
    };
    assert_eq!((turned(&harness, 1), turned(&harness, 2)), (0, 1));
    assert_eq!(harness.state().model.current, Some(ConnectionId(2)), "keys go there now");
    act(&mut harness, Command::Filter("clear".into()));
    assert_eq!(harness.query_all_by_label("Shop!Shop.Cart.Clear()").count(), 2);
    assert_eq!(harness.query_all_by_label(ADD).count(), 0);
    harness.get_by_label("after ▶").click();
    harness.run_steps(2);
    harness.get_by_label("look at Shop.dll (4244)");
}

#[test]
fn those_that_start_later_join_and_get_what_was_turned() {
    let mut harness = look_at_shops(window(Theme::Dark));
    turn_add(&mut harness);
    let sent = parts(&harness);
    accept(&mut harness, &sent);
    act(&mut harness, Command::Follow);
    let mut later = shops();
    later.changed.truncate(1);
    later.changed[0].key.pid = 5000;
    later.changed[0].agent = AgentState::Attachable;
    feed(&mut harness, vec![Update::Processes(later.clone())]);
    assert_eq!(harness.state().model.chosen().len(), 3, "only with the agent, unless asked for");
    later.changed[0].agent = AgentState::Loaded(Box::new(facts()));
    feed(&mut harness, vec![Update::Processes(later)]);
    let joined = harness.state().model.connection_to(shop(5000)).expect("it joined").id;
    told(&mut harness, joined.0, vec![Told::Connected(Box::new(facts()))]);
    let pending = harness.state().model.connections[&joined].turns.pending();
    assert_eq!(
        pending.iter().map(|turn| turn.words.as_str()).collect::<Vec<_>>(),
        [format!("count on {ADD}")]
    );
    let text = format!("Shop.dll (5000) has started and joins; set there as in the others: count on {ADD}");
    assert!(logged(&harness, Kind::Connection).contains(&text), "{:?}", logged(&harness, Kind::Connection));
    // Undo is for it, too.
    let ticket = pending[0].ticket;
    accept(&mut harness, &[(joined, ticket)]);
    act(&mut harness, Command::Undo);
    assert_eq!(parts(&harness).len(), 4);
}

/// One has not been read to its end, one has not even answered: the turn is for them, too.
#[test]
fn a_turn_reaches_those_that_are_still_being_read() {
    let mut harness = window(Theme::Dark);
    choose_shops(&mut harness);
    for id in 1..=2 {
        told(&mut harness, id, vec![Told::Connected(Box::new(facts()))]);
    }
    told(&mut harness, 1, catalogue());
    turn_add(&mut harness);
    let ids = |parts: &[(ConnectionId, Ticket)]| parts.iter().map(|(id, _)| id.0).collect::<Vec<_>>();
    assert_eq!(ids(&parts(&harness)), [1, 2]);
    assert_eq!(logged(&harness, Kind::Request), [format!("count on {ADD} in 2 processes")]);
    told(&mut harness, 3, vec![Told::Connected(Box::new(facts()))]);
    let pending = harness.state().model.connections[&ConnectionId(3)].turns.pending();
    assert_eq!(pending.len(), 1, "it was chosen before the turn was made");
    act(&mut harness, Command::Undo);
    assert_eq!(ids(&parts(&harness)), [1, 2, 3]);
    // A connection that is lost and comes back gets nothing by itself.
    let retry = Retry::After(std::time::Duration::from_secs(2));
    told(&mut harness, 3, vec![Told::Lost { why: "the connection was reset".into(), retry }]);
    turn_add(&mut harness);
    told(&mut harness, 3, vec![Told::Connecting, Told::Connected(Box::new(facts()))]);
    assert!(harness.state().model.connections[&ConnectionId(3)].turns.pending().is_empty());
}

#[test]
fn a_single_process_can_be_followed_by_others_of_its_name() {
    let mut harness = window(Theme::Dark);
    feed(&mut harness, vec![Update::Processes(shops())]);
    act(&mut harness, Command::Select(SHOP));
    act(&mut harness, Command::Follow);
    assert!(harness.state().model.is_merged());
    act(&mut harness, Command::Select(shop(4243)));
    let model = &harness.state().model;
    assert_eq!((model.is_merged(), model.fleet().is_none()), (false, true), "one alone is looked at");
}

#[test]
fn names_of_modules_that_differ_keep_their_order() {
    let harness = look_at_shops(window(Theme::Dark));
    let all = merged(&harness);
    let types: Vec<&str> =
        all.catalogue.types_by_name().map(|owner| all.catalogue.type_name(owner)).collect();
    let mut sorted = types.clone();
    sorted.sort_by_key(|name| name.to_lowercase());
    assert_eq!(types.len(), 3 * 9);
    assert_eq!(types.iter().filter(|name| **name == "Shop.Cart").count(), 3);
    let once: Vec<&&str> = types.chunk_by(|one, other| one == other).map(|same| &same[0]).collect();
    assert_eq!(once.len(), 9, "copies stand beside each other: {types:?}");
    let targets = Targets::new(Default::default(), Default::default());
    assert!(all.turnable(&targets, Level::Count).is_err());
    assert_eq!(all.catalogue.shown_for(MethodIx(13)), MethodIx(0));
}
