//! The panel of traced calls: what it collects, shows and copies, and the editor of conditions.

use super::fixture::{deliver, execute, look_at_shops, row, window_of, with_shop};
use super::fleet::deliver_to;
use super::snapshots::both;
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::accesskit::Role;
use eframe::egui::{self, Key, OutputCommand, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT, Queryable};
use redial_model::events::{EventColumn, EventsUpdate, TracedEvent};
use redial_model::ids::ConnectionId;
use redial_model::update::ConnectionUpdate;
use redial_protocol::callers::CallOrigin;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;
use redial_protocol::trace::{
    InnerException, OmittedReason, Outcome, TracedCall, TracedMethod, TracedParameter, Value,
};
use std::sync::Arc;

pub(super) const DISCOUNT: &str = "Shop!Shop.Pricing.Discount(Shop.Money, int)";
/// When the first call of the fixture began: 100 ms before the window's clock.
const BEGAN: u64 = 1_763_621_999_900_000_000;

fn text(text: &str) -> Value {
    let units: Vec<u16> = text.encode_utf16().collect();
    Value::String { length: units.len() as u32, units }
}

fn method(row: u32, name: &str, parameters: &[(&str, &str)], result: Option<&str>) -> Arc<TracedMethod> {
    let parameter = |(name, type_name): &(&str, &str)| TracedParameter {
        name: (*name).into(),
        type_name: (*type_name).into(),
    };
    Arc::new(TracedMethod {
        plan: row,
        row: RowId(row),
        method: name.into(),
        signature: "(Shop.Money, int)".into(),
        module: "Shop".into(),
        domain: "clrhost".into(),
        parameters: parameters.iter().map(parameter).collect(),
        result: result.map(str::to_owned),
    })
}

fn money(amount: &str, customer: Option<&str>) -> Value {
    let customer = customer.map_or(Value::Null, |name| Value::Object {
        type_name: "Shop.Customer".into(),
        fields: vec![
            ("Name".into(), text(name)),
            ("Password".into(), Value::Omitted(OmittedReason::RedactedName)),
        ],
    });
    let codes = vec![Value::Int(3), Value::Int(5), Value::Int(8)];
    let codes = Value::Collection { type_name: "System.Int32[]".into(), length: 12, items: codes };
    let amount = Value::Text { type_name: "decimal".into(), text: amount.into() };
    Value::Object {
        type_name: "Shop.Money".into(),
        fields: vec![("Amount".into(), amount), ("Customer".into(), customer), ("Codes".into(), codes)],
    }
}

fn call(number: u64, duration_ns: u64, arguments: Vec<Value>, outcome: Outcome) -> TracedCall {
    TracedCall {
        plan: 6,
        number,
        start_unix_ns: BEGAN + number * 1_250_000,
        duration_ns: Some(duration_ns),
        thread: 4_711 + (number % 3) as u32,
        depth: 0,
        arguments,
        arguments_after: vec![],
        outcome,
        stack: vec![],
        course: None,
    }
}

/// Returns twelve calls, every fourth of which fails.
fn discounts(row: u32) -> Vec<Arc<TracedEvent>> {
    let parameters = [("price", "Shop.Money"), ("percent", "int")];
    let method = method(row, "Shop.Pricing.Discount", &parameters, Some("Shop.Money"));
    let names = ["Ada", "Grace", "Barbara"];
    let calls = (1..=12_u64).map(|number| {
        let customer = names.get(number as usize % 4).copied();
        let price = money(&format!("{}.50", 12 * number), customer);
        let outcome = match number % 4 {
            0 => Outcome::Thrown {
                type_name: Some("Shop.PricingFailed".into()),
                message: Some(text("no rule for this customer")),
                inner: vec![InnerException {
                    type_name: Some("System.Collections.Generic.KeyNotFoundException".into()),
                    message: Some(text("EUR")),
                }],
            },
            _ => Outcome::Returned(Some(money(&format!("{}.00", 11 * number), customer))),
        };
        let duration = 830 * number * number * number;
        call(number, duration, vec![price, Value::Int(5 * number as i64)], outcome)
    });
    calls.map(|call| Arc::new(TracedEvent::new(Arc::clone(&method), call))).collect()
}

fn in_flight(row: u32) -> Vec<Arc<TracedEvent>> {
    let parameters = [("price", "Shop.Money"), ("percent", "int")];
    let method = method(row, "Shop.Pricing.Discount", &parameters, Some("Shop.Money"));
    let call = TracedCall {
        duration_ns: None,
        start_unix_ns: BEGAN - 7_400_000_000,
        ..call(0, 0, vec![money("99.00", Some("Edsger")), Value::Int(50)], Outcome::InFlight)
    };
    vec![Arc::new(TracedEvent::new(method, call))]
}

fn news(update: EventsUpdate) -> ConnectionUpdate {
    ConnectionUpdate::Events(update)
}

/// Makes Shop's agent offer every level and report `Discount` and `Find` at level trace.
fn traced(harness: &mut Harness<'static, App>) {
    if let Some(facts) =
        harness.state_mut().model.current_process_mut().and_then(|shop| shop.session.facts.as_mut())
    {
        facts.levels.extend([Level::Time, Level::Trace]);
    }
    let rows = [6, 4].map(|index| row(index, CopyState::Live, Level::Trace, 12, None)).to_vec();
    deliver(harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
}

pub(super) fn panel(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = super::fixture::look_at_shop(window_of(theme, size));
    traced(&mut harness);
    execute(&mut harness, UiCommand::Events);
    let find = method(4, "Shop.Catalog.Find", &[("name", "string")], Some("Shop.Item"));
    let found = call(13, 2_400, vec![text("tea")], Outcome::Returned(Some(Value::Null)));
    let found = Arc::new(TracedEvent::new(find, found));
    let mut ended = discounts(6);
    ended.push(found);
    deliver(
        &mut harness,
        vec![news(EventsUpdate::InFlight(Ok(in_flight(6)))), news(EventsUpdate::Ended(ended, 0))],
    );
    harness.run_steps(3);
    harness
}

fn rows_of(harness: &Harness<'static, App>) -> Vec<String> {
    let rows = harness.query_all_by_role(Role::Row).filter_map(|node| node.accesskit_node().label());
    rows.filter(|label| label.contains("  thread ")).collect()
}

pub(super) fn shows(harness: &Harness<'static, App>, text: &str) -> bool {
    harness.query_all_by_label_contains(text).next().is_some()
}

pub(super) const SIZE: [f32; 2] = [1280.0, 1000.0];

#[test]
fn calls_in_flight_come_first_then_the_latest() {
    let harness = panel(Theme::Dark, SIZE);
    let rows = rows_of(&harness);
    assert!(rows[0].contains("in flight for 7.50 s"), "{rows:?}");
    assert!(rows[1].contains("Catalog.Find(name: \"tea\") = null"), "{rows:?}");
    assert!(rows[2].contains("threw PricingFailed: no rule"), "{rows:?}");
    assert!(shows(&harness, "13 calls"));
}

#[test]
fn the_selection_of_methods_decides_which_calls_are_shown() {
    let mut harness = panel(Theme::Dark, SIZE);
    harness.get_by_label("Shop!Shop.Catalog.Find(string)").click();
    harness.run_steps(4);
    assert_eq!(rows_of(&harness).len(), 1);
    assert!(shows(&harness, "1 of 13 calls"));
    harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
    harness.run_steps(4);
    assert!(shows(&harness, "No calls of the selected methods."));
    harness.get_by_label("All methods").click();
    harness.run_steps(4);
    assert!(rows_of(&harness).len() > 3, "{:?}", rows_of(&harness));
}

#[test]
fn keys_move_through_calls_and_escape_deselects() {
    let mut harness = panel(Theme::Dark, SIZE);
    let row = rows_of(&harness)[1].clone();
    harness.get_by_label(&row).click();
    harness.run_steps(3);
    let selected = |harness: &Harness<'static, App>| {
        let shop = harness.state().model.current_process().expect("Shop");
        shop.events.selected().map(|event| event.call.number)
    };
    assert_eq!(selected(&harness), Some(13));
    harness.key_press(Key::ArrowDown);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(12));
    harness.key_press(Key::End);
    harness.run_steps(3);
    assert_eq!(selected(&harness), Some(1));
    assert!(shows(&harness, "price: Money") && shows(&harness, "percent: 5"));
    harness.key_press(Key::Escape);
    harness.run_steps(3);
    assert_eq!(selected(&harness), None);
}

/// Returns the text that the last frame copied.
fn copied(harness: &Harness<'static, App>) -> Option<String> {
    harness.output().platform_output.commands.iter().find_map(|command| match command {
        OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    })
}

#[test]
fn copies_the_selected_call() {
    let mut harness = panel(Theme::Dark, SIZE);
    let row = rows_of(&harness)[1].clone();
    harness.get_by_label(&row).click();
    harness.run_steps(3);
    harness.event(egui::Event::Copy);
    harness.step();
    assert_eq!(copied(&harness).as_deref(), Some(row.as_str()));
    harness.get_by_label("Copy").click_accesskit();
    harness.run_steps(3);
    harness.get_by_label("Copy call as JSON").click_accesskit();
    harness.step();
    let json: serde_json::Value = serde_json::from_str(&copied(&harness).expect("a text")).expect("JSON");
    assert_eq!((&json["pid"], &json["args"][0]["value"]), (&4242.into(), &"tea".into()), "{json}");
    harness.get_by_label(&row).click_secondary();
    harness.run_steps(3);
    harness.get_by_label("Copy method").click_accesskit();
    harness.step();
    assert_eq!(copied(&harness).as_deref(), Some("Catalog.Find"));
}

#[test]
fn collects_calls_only_while_the_panel_is_shown() {
    let mut harness = with_shop(Theme::Dark);
    let streams = |harness: &Harness<'static, App>| {
        harness.state().model.current_process().is_some_and(|shop| shop.events.is_streaming())
    };
    assert!(!streams(&harness));
    execute(&mut harness, UiCommand::Events);
    assert!(streams(&harness));
    execute(&mut harness, UiCommand::Events);
    assert!(!streams(&harness));
}

#[test]
fn a_turn_to_trace_shows_the_panel() {
    let mut harness = with_shop(Theme::Dark);
    traced(&mut harness);
    harness.get_by_label("Shop!Shop.Cart.Add(int)").click();
    harness.run_steps(3);
    harness.key_press(Key::Num3);
    harness.run_steps(4);
    assert!(harness.state().settings.events_open && shows(&harness, "The next calls of traced methods"));
    harness.get_by_label("Hide events").click();
    harness.run_steps(3);
    harness.get_by_label(DISCOUNT).click();
    harness.run_steps(3);
    harness.get_by_label("Show its calls").click();
    harness.run_steps(3);
    assert!(harness.state().settings.events_open && !shows(&harness, "Show its calls"));
}

/// Returns calls of a process, as its connection delivers them.
fn calls_of(connection: u32) -> Vec<Arc<TracedEvent>> {
    let parameters = [("price", "Shop.Money")];
    let method = method(6, "Shop.Pricing.Discount", &parameters, None);
    let event = |number: u64| {
        let call =
            call(2 * number + u64::from(connection), 900, vec![Value::Int(1)], Outcome::Returned(None));
        Arc::new(TracedEvent::new(Arc::clone(&method), call).of(ConnectionId(connection)))
    };
    (1..=3).map(event).collect()
}

#[test]
fn calls_of_merged_processes_stand_together() {
    let mut harness = look_at_shops(with_shop(Theme::Dark));
    execute(&mut harness, UiCommand::Events);
    assert!(shows(&harness, "Turn a method's dial to trace (3) to see its calls."));
    for id in [1, 2] {
        deliver_to(&mut harness, id, vec![news(EventsUpdate::Ended(calls_of(id), 0))]);
    }
    harness.run_steps(4);
    let pids = |harness: &Harness<'static, App>| -> Vec<String> {
        let title = |row: &String| row.split("  ").next().unwrap_or_default().to_owned();
        rows_of(harness).iter().map(title).collect()
    };
    let titles = pids(&harness);
    assert_eq!(titles.len(), 6, "{titles:?}");
    assert!(titles.chunks(2).all(|two| two[0] != two[1] && two == &titles[..2]), "by time: {titles:?}");
    assert!(shows(&harness, "Sort events by process"));
    let row = rows_of(&harness)[0].clone();
    harness.get_by_label(&row).click();
    harness.run_steps(3);
    harness.event(egui::Event::Copy);
    harness.step();
    let text = copied(&harness).expect("a copied call");
    assert!(text.starts_with(&titles[0]) && text.contains("Discount"), "{text}");
    harness.get_by_label("Events of All processes").click_accesskit();
    harness.run_steps(3);
    let entry = harness.query_all_by_label(&titles[1]).last().expect("an entry of the menu");
    entry.click_accesskit();
    harness.run_steps(4);
    assert_eq!(pids(&harness), vec![titles[1].clone(); 3]);
    assert!(shows(&harness, "3 of 6 calls"));
    execute(&mut harness, UiCommand::ClearEvents);
    harness.run_steps(3);
    assert!(rows_of(&harness).is_empty());
}

#[test]
fn one_process_has_no_process_column() {
    let harness = panel(Theme::Dark, SIZE);
    assert!(!shows(&harness, "Sort events by process") && !shows(&harness, "Events of "));
}

#[test]
fn events_panel() {
    both("events", |theme| {
        let mut harness = panel(theme, SIZE);
        let row = rows_of(&harness)[2].clone();
        harness.get_by_label(&row).click();
        harness.run_steps(3);
        harness
    });
}

#[test]
fn events_of_one_method_with_a_mistake() {
    both("events_condition", |theme| {
        let mut harness = panel(theme, SIZE);
        harness.get_by_label(DISCOUNT).click();
        harness.run_steps(4);
        execute(&mut harness, UiCommand::SortEvents(EventColumn::Duration));
        let row = rows_of(&harness)[4].clone();
        harness.get_by_label(&row).click();
        harness.run_steps(3);
        harness.get_by_label("Condition").focus();
        harness.run_steps(2);
        harness.get_by_label("Condition").type_text("price.Customer.Name == \"Ada\" && percnt > 20 && p");
        harness.run_steps(3);
        harness
    });
}

#[test]
fn events_in_a_small_window() {
    both("events_small", |theme| panel(theme, [900.0, 600.0]));
}

#[test]
fn a_call_with_its_stack() {
    both("events_stack", |theme| {
        let mut harness = panel(theme, [1600.0, 1000.0]);
        let frame = |name: &str| CallOrigin::Dynamic { name: name.into() };
        let stack = vec![frame("Shop.Till.Pay"), CallOrigin::Native, frame("Shop.Program.Main")];
        let parameters = [("price", "Shop.Money"), ("percent", "int")];
        let method = method(6, "Shop.Pricing.Discount", &parameters, Some("Shop.Money"));
        let arguments = vec![money("1.00", Some("Alan")), Value::Int(7)];
        let changed = vec![(1, Value::Int(8))];
        let call = TracedCall {
            stack,
            arguments_after: changed,
            ..call(14, 990, arguments, Outcome::Returned(Some(Value::Null)))
        };
        let event = Arc::new(TracedEvent::new(method, call));
        deliver(&mut harness, vec![news(EventsUpdate::Ended(vec![Arc::clone(&event)], 0))]);
        execute(&mut harness, UiCommand::SelectEvent(Some(event)));
        harness
    });
}
