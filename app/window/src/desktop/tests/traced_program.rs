//! A made-up program with traced calls on several threads, nested and async.

use super::fixture::{deliver, execute, look_at_shop, row, window_of};
use crate::commands::UiCommand;
use crate::desktop::App;
use eframe::egui::Theme;
use egui_kittest::Harness;
use redial_model::events::{EventsUpdate, TracedEvent};
use redial_model::ids::ConnectionId;
use redial_model::update::ConnectionUpdate;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::Event;
use redial_protocol::state::CopyState;
use redial_protocol::trace::{AsyncCall, Outcome, TracedCall, TracedMethod, TracedParameter, Value};
use std::sync::Arc;

/// When the program's first call began: 100 ms before the window's clock.
pub const BEGAN: u64 = 1_763_621_999_900_000_000;
const US: u64 = 1_000;

fn method(row: u32, name: &str) -> Arc<TracedMethod> {
    Arc::new(TracedMethod {
        plan: row,
        row: RowId(row),
        method: name.into(),
        signature: "(int)".into(),
        module: "Shop".into(),
        domain: "clrhost".into(),
        parameters: vec![TracedParameter { name: "number".into(), type_name: "int".into() }],
        result: None,
    })
}

/// Makes calls of a program.
struct Program {
    methods: [Arc<TracedMethod>; 5],
    events: Vec<Arc<TracedEvent>>,
}

impl Program {
    fn call(
        &mut self,
        method: usize,
        thread: u32,
        depth: u32,
        start_us: u64,
        took_us: u64,
    ) -> &mut TracedCall {
        let number = self.events.len() as u64 + 1;
        let call = TracedCall {
            plan: method as u32,
            number,
            start_unix_ns: BEGAN + start_us * US,
            duration_ns: Some(took_us * US),
            thread,
            depth,
            arguments: vec![Value::Int(number as i64)],
            arguments_after: vec![],
            outcome: Outcome::Returned(None),
            stack: vec![],
            course: None,
        };
        self.events.push(Arc::new(TracedEvent::new(Arc::clone(&self.methods[method]), call)));
        let last = self.events.last_mut().and_then(Arc::get_mut).expect("a new call");
        &mut last.call
    }
}

/// Returns calls of two threads: `Pay` calls `Find` twice and `Discount` once, which calls `Find`; on the first thread
/// `Discount` fails. `Add` is async and waits.
fn calls() -> Vec<Arc<TracedEvent>> {
    let names = [
        "Shop.Cart.TryTake",
        "Shop.Catalog.Find",
        "Shop.Pricing.Discount",
        "Shop.Cart.Add",
        "Shop.Cart.Clear",
    ];
    let methods = [3, 4, 6, 0, 1].into_iter().zip(names).map(|(row, name)| method(row, name));
    let methods = <[_; 5]>::try_from(methods.collect::<Vec<_>>()).expect("five methods");
    let mut program = Program { methods, events: Vec::new() };
    for (thread, from) in [(4_711, 0), (4_712, 9_000)] {
        program.call(1, thread, 1, from + 1_000, 3_000);
        program.call(1, thread, 2, from + 6_000, 1_500);
        let discount = program.call(2, thread, 1, from + 5_000, 9_000);
        if thread == 4_711 {
            discount.outcome = Outcome::Thrown {
                type_name: Some("Shop.PricingFailed".into()),
                message: None,
                inner: vec![],
            };
        }
        program.call(1, thread, 1, from + 15_000, 2_500);
        program.call(0, thread, 0, from, 20_000);
    }
    // Far too short to be told apart.
    for number in 0..2_000 {
        program.call(4, 4_713, 0, 3_000 + number * 10, 6);
    }
    for (start, took) in [(2_000, 22_000), (9_500, 20_000)] {
        let waits = program.call(3, 4_711, 1, start, took);
        waits.course = Some(AsyncCall { began: true, completed_on: 4_712, steps: 3, running_ns: 900 * US });
    }
    program.events
}

/// Returns a call of a process that begins with the program's, as its connection delivers it.
pub fn calls_of(connection: u32) -> Vec<ConnectionUpdate> {
    let mut program = Program { methods: [(); 5].map(|()| method(0, "Shop.Cart.Add")), events: Vec::new() };
    program.call(0, 4_711, 0, 0, 20_000);
    let of = |event: Arc<TracedEvent>| {
        let event = Arc::into_inner(event).expect("nobody else has it");
        Arc::new(event.of(ConnectionId(connection)))
    };
    let events = program.events.into_iter().map(of).collect();
    vec![ConnectionUpdate::Events(EventsUpdate::Ended(events, 0))]
}

/// Returns a window of this size that shows the program with its events panel.
pub fn window_with_calls(theme: Theme, size: [f32; 2]) -> Harness<'static, App> {
    let mut harness = look_at_shop(window_of(theme, size));
    let rows = [0, 1, 3, 4, 6].map(|index| row(index, CopyState::Live, Level::Trace, 12, None)).to_vec();
    deliver(&mut harness, vec![ConnectionUpdate::Event(Event::Rows { id: None, rows })]);
    execute(&mut harness, UiCommand::Events);
    deliver(&mut harness, vec![ConnectionUpdate::Events(EventsUpdate::Ended(calls(), 0))]);
    harness.run_steps(3);
    harness
}
