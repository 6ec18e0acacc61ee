//! Who calls the selected method: asked for while it is looked at, told below its times.

use super::several::ADD;
use super::stage::{look_at_shops, row, second, tell, with_shop};
use crate::desktop::App;
use crate::model::histograms::tests::histogram;
use crate::model::ids::{MethodIx, Node};
use crate::model::update::Told;
use eframe::egui::Theme;
use eframe::egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_protocol::callers::{Caller, RowCallers, Who};
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::order::TimeOptions;
use redial_protocol::state::State;

fn says(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

/// `Add` is timed, with its callers or without.
fn timed(harness: &mut Harness<'static, App>, callers: bool, calls: u64) {
    let options = TimeOptions { callers, ..TimeOptions::default() };
    let mut add = row(0, State::Live, Level::Time, calls, None);
    add.options = options;
    let times = histogram(0, &[(210, calls)]).times;
    let rows = Event::Rows { id: None, rows: vec![add] };
    tell(harness, vec![Told::Event(rows), Told::Event(Event::Times { id: None, times: vec![times] })]);
    tell(harness, vec![second(1, [0, 0])]);
}

fn look_at(harness: &mut Harness<'static, App>) {
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
}

fn method(number: u32) -> Who {
    let module = ModuleKey { module_id: 1, generation: 1 };
    Who::Method {
        copy: CopyKey { module, token: MethodToken(0x0600_0000 + number) },
        module: "Shop".into(),
        method: format!("Shop.Till.Ring{number}"),
        signature: "()".into(),
    }
}

fn told(callers: Vec<Caller>, others: u64) -> Told {
    Told::Callers(RowId(0), Ok(Box::new(RowCallers { row: RowId(0), callers, others })))
}

#[test]
fn callers_are_listed_most_calls_first() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, true, 1_000);
    look_at(&mut harness);
    assert!(says(&harness, "The agent is asked who calls it."));
    let dynamic = Who::Dynamic { name: "Made".into() };
    let callers = [method(1), dynamic, Who::Native].into_iter().zip([900, 60, 1]);
    let callers = callers.map(|(who, calls)| Caller { who, sites: 1, calls }).collect();
    tell(&mut harness, vec![told(callers, 39)]);
    for part in [
        "called by",
        "1,000 calls",
        "Shop!Shop.Till.Ring1()",
        "900  90 %",
        "Made (made at run time)",
        "60  6.0 %",
        "the runtime or native code",
        "others",
        "39  3.9 %",
    ] {
        assert!(says(&harness, part), "{part}");
    }
}

#[test]
fn of_many_callers_those_that_call_less_are_told_together() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, true, 1_000);
    look_at(&mut harness);
    let callers = (1..=20).map(|number| Caller { who: method(number), sites: 1, calls: 50 }).collect();
    tell(&mut harness, vec![told(callers, 0)]);
    assert!(says(&harness, "Ring8()") && !says(&harness, "Ring9()") && says(&harness, "12 more"));
    assert!(says(&harness, "600  60 %") && !says(&harness, "others"));
}

#[test]
fn a_click_on_a_caller_shows_it_in_the_list() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, true, 1_000);
    look_at(&mut harness);
    let connection = harness.state().model.current().expect("a process");
    let find = |method: u32| connection.catalogue.full_name(MethodIx(method)).text;
    let clear =
        (0..connection.catalogue.len() as u32).map(MethodIx).find(|method| find(method.0).contains("Clear"));
    let clear = clear.expect("a method");
    let (name, copy) = (find(clear.0), connection.catalogue.copy_of(clear).expect("a copy"));
    let (module, method) = name.trim_end_matches("()").split_once('!').expect("a module");
    let who = Who::Method { copy, module: module.into(), method: method.into(), signature: "()".into() };
    tell(&mut harness, vec![told(vec![Caller { who, sites: 1, calls: 1_000 }], 0)]);
    harness.get_by_role_and_label(Role::Link, &name).click();
    harness.run_steps(3);
    let connection = harness.state().model.current().expect("a process");
    assert_eq!((connection.list.filter().text.as_str(), connection.list.matches()), (name.as_str(), 1));
    assert_eq!(connection.selection.focus(), Some(Node::Method(clear)));
}

#[test]
fn where_nobody_is_told_it_is_said_why() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, false, 10);
    look_at(&mut harness);
    harness.get_by_label("count who calls it").click();
    harness.run_steps(3);
    let asked = |harness: &Harness<'static, App>, text: &str| {
        harness.state().model.log.entries().iter().any(|entry| entry.text.starts_with(text))
    };
    assert!(asked(&harness, &format!("time with callers on {ADD}")), "a click has them counted");
    assert!(!says(&harness, "The agent is asked who calls it."));
    timed(&mut harness, true, 10);
    harness.run_steps(3);
    tell(&mut harness, vec![told(Vec::new(), 0)]);
    assert!(says(&harness, "Its next calls tell who calls it."));
}

/// Where it is counted only, one tick does both.
#[test]
fn callers_of_what_is_counted_are_a_tick_away() {
    let mut harness = with_shop(Theme::Dark);
    if let Some(facts) = harness.state_mut().model.current_mut().and_then(|shop| shop.facts.as_mut()) {
        facts.levels.push(Level::Time);
    }
    tell(
        &mut harness,
        vec![Told::Event(Event::Rows { id: None, rows: vec![row(0, State::Live, Level::Count, 9, None)] })],
    );
    look_at(&mut harness);
    harness.get_by_label("count who calls it").click();
    harness.run_steps(3);
    let mut asked = harness.state().model.log.entries().iter().map(|entry| entry.text.as_str());
    assert!(asked.any(|text| text.starts_with(&format!("time with callers on {ADD}"))));
    let off = row(0, State::Off, Level::Off, 9, None);
    tell(&mut harness, vec![Told::Event(Event::Rows { id: None, rows: vec![off] })]);
    harness.run_steps(3);
    assert!(!says(&harness, "count who calls it"), "of what is off nothing is counted");
}

#[test]
fn of_several_processes_none_are_told() {
    let mut harness = look_at_shops(with_shop(Theme::Dark));
    harness.run_steps(3);
    assert!(!says(&harness, "called by") && !says(&harness, "who calls it"));
}

/// In a window as low as many are, what was asked for needs no scrolling.
#[test]
fn callers_that_are_counted_stand_above_the_histogram() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, true, 1_000);
    look_at(&mut harness);
    tell(&mut harness, vec![told(vec![Caller { who: method(1), sites: 1, calls: 900 }], 0)]);
    let now = histogram(0, &[(210, 1_000)]);
    tell(&mut harness, vec![Told::Histogram(RowId(0), Ok(Box::new(now)))]);
    let top = |harness: &Harness<'static, App>, label: &str| harness.get_by_label(label).rect().top();
    let (caller, switch) = (top(&harness, "Shop!Shop.Till.Ring1()"), top(&harness, "count who calls it"));
    let spread = top(&harness, "latency histogram of Shop!Shop.Cart.Add(int)");
    assert!(switch < caller && caller < spread && spread < top(&harness, "token"));
    assert!(caller < top(&harness, "Log"), "it is in sight");
    timed(&mut harness, false, 1_000);
    harness.run_steps(3);
    let spread = top(&harness, "latency histogram of Shop!Shop.Cart.Add(int)");
    assert!(switch == top(&harness, "count who calls it") && switch < spread, "it stays where it was ticked");
}

#[test]
fn thresholds_of_worst_calls_are_round() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, false, 1_000);
    look_at(&mut harness);
    harness.get_by_label("Worst calls: none kept").click_accesskit();
    harness.run_steps(3);
    for threshold in ["100 µs", "1 ms", "10 ms", "100 ms", "1 s"] {
        assert!(says(&harness, &format!("Longer than {threshold}")), "{threshold}");
    }
    assert!(!says(&harness, "1.00"));
}
