//! Tests of the selected method's callers: requested while visible, and shown below its times.

use super::fixture::{deliver, look_at_shops, row, second, with_shop};
use super::fleet::ADD;
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use redial_model::fixtures::histogram;
use redial_model::ids::MethodIx;
use redial_model::update::ConnectionUpdate;
use redial_protocol::callers::{CallOrigin, Caller, RowCallers};
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::order::TimeOptions;
use redial_protocol::state::CopyState;

fn shows(harness: &Harness<'static, App>, part: &str) -> bool {
    harness.query_all_by_label_contains(part).next().is_some()
}

/// Times `Add`, with or without callers.
fn timed(harness: &mut Harness<'static, App>, callers: bool, calls: u64) {
    let options = TimeOptions { callers, ..TimeOptions::default() };
    let mut add = row(0, CopyState::Live, Level::Time, calls, None);
    add.options = options;
    let times = histogram(0, &[(210, calls)]).times;
    let rows = Event::Rows { id: None, rows: vec![add] };
    deliver(
        harness,
        vec![
            ConnectionUpdate::Event(rows),
            ConnectionUpdate::Event(Event::Times { id: None, times: vec![times] }),
        ],
    );
    deliver(harness, vec![second(1, [0, 0])]);
}

fn look_at(harness: &mut Harness<'static, App>) {
    harness.get_by_label(ADD).click();
    harness.run_steps(3);
}

fn method(number: u32) -> CallOrigin {
    let module = ModuleKey { module_id: 1, generation: 1 };
    CallOrigin::Method {
        copy: CopyKey { module, token: MethodToken(0x0600_0000 + number) },
        module: "Shop".into(),
        method: format!("Shop.Till.Ring{number}"),
        signature: "()".into(),
    }
}

fn callers_update(callers: Vec<Caller>, others: u64) -> ConnectionUpdate {
    ConnectionUpdate::Callers(RowId(0), Ok(Box::new(RowCallers { row: RowId(0), callers, others })))
}

#[test]
fn callers_are_listed_most_calls_first() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, true, 1_000);
    look_at(&mut harness);
    assert!(shows(&harness, "Loading callers…"));
    let dynamic = CallOrigin::Dynamic { name: "Made".into() };
    let callers = [method(1), dynamic, CallOrigin::Native].into_iter().zip([900, 60, 1]);
    let callers = callers.map(|(who, calls)| Caller { origin: who, sites: 1, calls }).collect();
    deliver(&mut harness, vec![callers_update(callers, 39)]);
    for part in [
        "Called by",
        "1,000 calls",
        "Shop!Shop.Till.Ring1()",
        "900  90 %",
        "Made (generated at run time)",
        "60  6.0 %",
        "the runtime or native code",
        "others",
        "39  3.9 %",
    ] {
        assert!(shows(&harness, part), "{part}");
    }
}

#[test]
fn rare_callers_share_one_line() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, true, 1_000);
    look_at(&mut harness);
    let callers = (1..=20).map(|number| Caller { origin: method(number), sites: 1, calls: 50 }).collect();
    deliver(&mut harness, vec![callers_update(callers, 0)]);
    assert!(shows(&harness, "Ring8()") && !shows(&harness, "Ring9()") && shows(&harness, "12 more"));
    assert!(shows(&harness, "600  60 %") && !shows(&harness, "others"));
}

/// Returns a window in which `Add` is selected and called by `Clear`.
pub fn clear_calls_add() -> Harness<'static, App> {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, true, 1_000);
    look_at(&mut harness);
    let name = method_named(&harness, "Clear");
    let table = harness.state().model.current_table().expect("a process");
    let methods = (0..table.catalogue.len() as u32).map(MethodIx);
    let clear = methods.into_iter().find(|method| table.catalogue.full_name(*method).text == name);
    let copy = table.catalogue.copy_of(clear.expect("a method")).expect("a copy");
    let (module, method) = name.trim_end_matches("()").split_once('!').expect("a module");
    let who =
        CallOrigin::Method { copy, module: module.into(), method: method.into(), signature: "()".into() };
    deliver(&mut harness, vec![callers_update(vec![Caller { origin: who, sites: 1, calls: 1_000 }], 0)]);
    harness
}

/// Returns the full name of the first method with `part` in its name.
pub fn method_named(harness: &Harness<'static, App>, part: &str) -> String {
    let table = harness.state().model.current_table().expect("a process");
    let names =
        (0..table.catalogue.len() as u32).map(|method| table.catalogue.full_name(MethodIx(method)).text);
    names.into_iter().find(|name| name.contains(part)).expect("a method")
}

#[test]
fn missing_callers_are_explained() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, false, 10);
    look_at(&mut harness);
    harness.get_by_label("Count callers").click();
    harness.run_steps(3);
    let asked = |harness: &Harness<'static, App>, text: &str| {
        harness.state().model.log.entries().iter().any(|entry| entry.text.starts_with(text))
    };
    assert!(asked(&harness, &format!("time with callers on {ADD}")), "a click counts them");
    assert!(!shows(&harness, "Loading callers…"));
    timed(&mut harness, true, 10);
    harness.run_steps(3);
    deliver(&mut harness, vec![callers_update(Vec::new(), 0)]);
    assert!(shows(&harness, "Callers appear with the next calls."));
}

/// One tick times a counted method and counts its callers.
#[test]
fn one_tick_counts_callers_of_a_counted_method() {
    let mut harness = with_shop(Theme::Dark);
    if let Some(facts) =
        harness.state_mut().model.current_process_mut().and_then(|shop| shop.session.facts.as_mut())
    {
        facts.levels.push(Level::Time);
    }
    deliver(
        &mut harness,
        vec![ConnectionUpdate::Event(Event::Rows {
            id: None,
            rows: vec![row(0, CopyState::Live, Level::Count, 9, None)],
        })],
    );
    look_at(&mut harness);
    harness.get_by_label("Count callers").click();
    harness.run_steps(3);
    let mut asked = harness.state().model.log.entries().iter().map(|entry| entry.text.as_str());
    assert!(asked.any(|text| text.starts_with(&format!("time with callers on {ADD}"))));
    let off = row(0, CopyState::Off, Level::Off, 9, None);
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows: vec![off] })]);
    harness.run_steps(3);
    assert!(!shows(&harness, "Count callers"), "nothing is counted while it is off");
}

#[test]
fn merged_processes_show_no_callers() {
    let mut harness = look_at_shops(with_shop(Theme::Dark));
    harness.run_steps(3);
    assert!(!shows(&harness, "Called by") && !shows(&harness, "Count callers"));
}

/// In a window of common height they need no scrolling.
#[test]
fn callers_are_above_the_histogram() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, true, 1_000);
    look_at(&mut harness);
    deliver(&mut harness, vec![callers_update(vec![Caller { origin: method(1), sites: 1, calls: 900 }], 0)]);
    let now = histogram(0, &[(210, 1_000)]);
    deliver(&mut harness, vec![ConnectionUpdate::Histogram(RowId(0), Ok(Box::new(now)))]);
    let top = |harness: &Harness<'static, App>, label: &str| harness.get_by_label(label).rect().top();
    let (caller, switch) = (top(&harness, "Shop!Shop.Till.Ring1()"), top(&harness, "Count callers"));
    let spread = top(&harness, "Latency histogram of Shop!Shop.Cart.Add(int)");
    assert!(switch < caller && caller < spread && spread < top(&harness, "Token"));
    assert!(caller < top(&harness, "Log"), "it is visible");
    timed(&mut harness, false, 1_000);
    harness.run_steps(3);
    let spread = top(&harness, "Latency histogram of Shop!Shop.Cart.Add(int)");
    assert!(switch == top(&harness, "Count callers") && switch < spread, "the checkbox did not move");
}

#[test]
fn slowest_call_thresholds_are_round() {
    let mut harness = with_shop(Theme::Dark);
    timed(&mut harness, false, 1_000);
    look_at(&mut harness);
    harness.get_by_label("Keep slowest calls…").click_accesskit();
    harness.run_steps(3);
    for threshold in ["100 µs", "1 ms", "10 ms", "100 ms", "1 s"] {
        assert!(shows(&harness, &format!("Longer than {threshold}")), "{threshold}");
    }
    assert!(!shows(&harness, "1.00"));
}
