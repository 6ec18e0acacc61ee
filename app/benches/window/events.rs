//! The panel of traced calls, full, while 100,000 calls a second arrive.

use super::feed;
use super::figures::{Figure, Of};
use super::stage::{Stage, key, wheel};
use eframe::egui::{Event, Key, Modifiers, vec2};
use redial_model::catalogue::synthetic::PseudoRandom;
use redial_model::events::{EventsUpdate, MAX_EVENTS, TracedEvent};
use redial_model::update::{ConnectionUpdate, Update};
use redial_protocol::ids::RowId;
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, TracedParameter, Value};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// Calls that arrive per frame: 100,000 a second.
const CALLS: usize = 1_667;
/// Calls per page of an agent, at most.
const PAGE: usize = 1_024;
/// Methods whose calls arrive.
const METHODS: u32 = 20;
/// The limit for a frame, milliseconds.
const FRAME: Option<(Of, f64)> = Some((Of::P999, 8.0));
const KEYSTROKE: Option<(Of, f64)> = Some((Of::Worst, 10.0));

/// Runs the benchmark in a window that shows a process.
pub fn run(stage: &mut Stage, to: &SyncSender<Update>, tabs: bool, frames: usize) {
    let mut flood = Flood::new();
    stage.frame(key(Key::E, Modifiers::COMMAND.plus(Modifiers::SHIFT)));
    for _ in 0..MAX_EVENTS / CALLS + 10 {
        flood.send(to);
        stage.frame(Vec::new());
    }
    let header = stage.find("Sort events by duration");
    let print = |what: &str, times: &[Duration], target| {
        Figure::times(format!("100,000 calls/s: {what}"), times, target).print(tabs);
    };
    for (column, clicks) in [("time", 0), ("duration", 1), ("arguments", 1)] {
        let at = stage.find(&format!("Sort events by {column}"));
        let mut sorting: Vec<Duration> = (0..clicks).map(|_| stage.click(at)).collect();
        sorting.extend((0..30 * clicks).map(|_| stage.frame(Vec::new())));
        if clicks > 0 {
            print(&format!("a frame after sorting by {column}"), &sorting, KEYSTROKE);
        }
        let mut times = Vec::new();
        for _ in 0..frames / 2 {
            flood.send(to);
            times.push(stage.frame(Vec::new()));
        }
        assert!(stage.triangles() > 2_000, "{} triangles are no table", stage.triangles());
        print(&format!("a frame, sorted by {column}"), &times, FRAME);
    }
    let field = stage.find("Event filter");
    stage.click(field);
    let mut typed = Vec::new();
    for word in ["order 7", "failed", "money"] {
        for letter in word.chars() {
            flood.send(to);
            typed.push(stage.frame(vec![Event::Text(letter.to_string())]));
            typed.extend((0..12).map(|_| {
                flood.send(to);
                stage.frame(Vec::new())
            }));
        }
        for _ in word.chars() {
            typed.push(stage.frame(key(Key::Backspace, Modifiers::NONE)));
        }
    }
    print("a frame while typing into the filter", &typed, KEYSTROKE);
    stage.frame(vec![Event::PointerMoved(header + vec2(0.0, 120.0))]);
    let mut times = Vec::new();
    for frame in 0..frames / 2 {
        flood.send(to);
        times.push(stage.frame(vec![wheel(if frame % 400 < 300 { -15.0 } else { 45.0 })]));
    }
    print("a frame while scrolling", &times, FRAME);
}

/// Runs it in a window with a small process.
pub fn run_alone(tabs: bool, frames: usize) {
    let (mut stage, to) = Stage::open(1);
    let size = feed::Size { modules: 40, methods: 37_000, dialled: 1_000 };
    let sender = to.clone();
    let loading = std::thread::spawn(move || feed::connect(feed::CONNECTION, size, &sender));
    while !loading.is_finished() {
        stage.frame(Vec::new());
    }
    for _ in 0..60 {
        stage.frame(Vec::new());
    }
    run(&mut stage, &to, tabs, frames);
    drop(loading.join().expect("no panic"));
}

/// Makes calls.
struct Flood {
    methods: Vec<Arc<TracedMethod>>,
    chance: PseudoRandom,
    number: u64,
}

impl Flood {
    fn new() -> Flood {
        let parameter =
            |name: &str, of: &str| TracedParameter { name: name.to_owned(), type_name: of.to_owned() };
        let method = |plan| TracedMethod {
            plan,
            row: RowId(plan),
            method: format!("Contoso.Sales.OrderService{plan}.Discount"),
            signature: "(int, string, Contoso.Money)".to_owned(),
            module: "Contoso".to_owned(),
            domain: "clrhost".to_owned(),
            parameters: vec![
                parameter("number", "int"),
                parameter("name", "string"),
                parameter("price", "Contoso.Money"),
            ],
            result: Some("decimal".to_owned()),
        };
        let methods = (0..METHODS).map(|plan| Arc::new(method(plan))).collect();
        Flood { methods, chance: PseudoRandom::new(17), number: 0 }
    }

    /// Sends the calls of one frame, as the connection's thread prepares them.
    fn send(&mut self, to: &SyncSender<Update>) {
        let mut left = CALLS;
        while left > 0 {
            let page = (0..left.min(PAGE)).map(|_| self.call()).collect::<Vec<_>>();
            left -= page.len();
            let update = ConnectionUpdate::Events(EventsUpdate::Ended(page, 0));
            to.send(Update::Connection(feed::CONNECTION, vec![update])).expect("a window");
        }
    }

    fn call(&mut self) -> Arc<TracedEvent> {
        self.number += 1;
        let plan = self.chance.below(METHODS as usize);
        let order = self.chance.below(1_000);
        let units: Vec<u16> = format!("order {order}").encode_utf16().collect();
        let name = Value::String { length: units.len() as u32, units };
        let amount = Value::Text { type_name: "decimal".to_owned(), text: format!("{order}.50") };
        let fields = vec![("Amount".to_owned(), amount.clone()), ("Customer".to_owned(), Value::Null)];
        let price = Value::Object { type_name: "Contoso.Money".to_owned(), fields };
        let outcome = match self.chance.below(20) {
            0 => Outcome::Thrown {
                type_name: Some("Contoso.PricingFailed".to_owned()),
                message: Some(name.clone()),
                inner: Vec::new(),
            },
            _ => Outcome::Returned(Some(amount)),
        };
        let call = TracedCall {
            plan: plan as u32,
            number: self.number,
            start_unix_ns: 1_795_153_561_000_000_000 + self.number * 10_000,
            duration_ns: Some(self.chance.below(1_000_000) as u64),
            thread: 4_000 + self.chance.below(16) as u32,
            depth: 0,
            arguments: vec![Value::Int(self.chance.below(50) as i64), name, price],
            arguments_after: Vec::new(),
            outcome,
            stack: Vec::new(),
            course: None,
        };
        Arc::new(TracedEvent::new(Arc::clone(&self.methods[plan]), call))
    }
}
