//! Timeline and call tree with a million traced calls, at rest and while 100,000 more arrive each second.

use super::feed;
use super::figures::{Figure, Of};
use super::stage::{Stage, key, wheel};
use eframe::egui::{Event, Key, Modifiers, vec2};
use redial_model::call_history::MAX_SPANS;
use redial_model::catalogue::synthetic::PseudoRandom;
use redial_model::events::{EventsUpdate, TracedEvent};
use redial_model::update::{ConnectionUpdate, Update};
use redial_protocol::ids::RowId;
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, Value};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// Calls that arrive per frame: 100,000 a second.
const CALLS: usize = 1_667;
/// Calls per page of an agent, at most.
const PAGE: usize = 1_024;
const METHODS: u32 = 200;
const THREADS: u32 = 24;
/// Most calls below a call.
const BELOW: usize = 5;
const DEPTH: u32 = 6;
/// The limit for a frame, milliseconds.
const FRAME: Option<(Of, f64)> = Some((Of::P999, 8.0));

/// Runs the benchmark in a window that shows a process and its events.
pub fn run(stage: &mut Stage, to: &SyncSender<Update>, tabs: bool, frames: usize) {
    let mut program = Program::new();
    let print = |what: &str, times: &[Duration]| {
        Figure::times(format!("a million traced calls: {what}"), times, FRAME).print(tabs);
    };
    let shift = Modifiers::COMMAND.plus(Modifiers::SHIFT);
    stage.frame(key(Key::T, shift));
    let mut arriving = Vec::new();
    while program.number < MAX_SPANS as u64 + 10_000 {
        program.send(to, CALLS);
        arriving.push(stage.frame(Vec::new()));
    }
    print("a frame of the timeline that follows while they arrive", &arriving);
    let all = stage.find("Show all");
    let canvas = all + vec2(700.0, 160.0);
    stage.click(all);
    stage.frame(vec![Event::PointerMoved(canvas)]);
    let mut times: Vec<Duration> = Vec::new();
    for frame in 0..frames {
        // From everything to nanoseconds and back.
        let closer = frame % 400 < 200;
        times.push(stage.frame(vec![wheel(if closer { 30.0 } else { -30.0 })]));
    }
    print("a frame of the timeline while zooming", &times);
    assert!(stage.triangles() > 1_000, "{} triangles are no timeline", stage.triangles());
    for (what, wheels) in [("whole", 0), ("a tenth", 8), ("a thousandth", 24)] {
        stage.click(all);
        stage.frame(vec![Event::PointerMoved(canvas)]);
        for _ in 0..wheels {
            stage.frame(vec![wheel(80.0)]);
            for _ in 0..3 {
                stage.frame(Vec::new());
            }
        }
        stage.click(canvas + vec2(0.0, 300.0));
        let mut times = Vec::new();
        for frame in 0..frames / 4 {
            program.send(to, CALLS);
            let key_name = if frame % 60 < 30 { Key::D } else { Key::A };
            times.push(stage.frame(key(key_name, Modifiers::NONE)));
        }
        print(&format!("a frame while panning, {what}, and 100,000 calls/s arrive"), &times);
    }
    stage.frame(key(Key::G, shift));
    for (what, name) in [("call tree", "Tree"), ("flame graph", "Flame graph")] {
        if name == "Flame graph" {
            let at = stage.find(name);
            stage.click(at);
        }
        let mut times = Vec::new();
        for _ in 0..frames / 4 {
            program.send(to, CALLS);
            times.push(stage.frame(Vec::new()));
        }
        print(&format!("a frame of the {what} while 100,000 calls/s arrive"), &times);
    }
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

/// Makes nested calls of several threads.
struct Program {
    methods: Vec<Arc<TracedMethod>>,
    chance: PseudoRandom,
    number: u64,
    /// The time of each thread, Unix time in nanoseconds.
    clocks: Vec<u64>,
    next: u32,
    /// Calls that ended and were not sent.
    ended: Vec<Arc<TracedEvent>>,
}

impl Program {
    fn new() -> Program {
        let method = |plan| TracedMethod {
            plan,
            row: RowId(plan),
            method: format!("Contoso.Sales.OrderService{plan}.Discount"),
            signature: "(int)".to_owned(),
            module: "Contoso".to_owned(),
            domain: "clrhost".to_owned(),
            parameters: vec![],
            result: Some("int".to_owned()),
        };
        Program {
            methods: (0..METHODS).map(|plan| Arc::new(method(plan))).collect(),
            chance: PseudoRandom::new(23),
            number: 0,
            clocks: vec![1_795_153_561_000_000_000; THREADS as usize],
            next: 0,
            ended: Vec::new(),
        }
    }

    /// Sends calls as the connection's thread prepares them.
    fn send(&mut self, to: &SyncSender<Update>, calls: usize) {
        while self.ended.len() < calls {
            let thread = self.next % THREADS;
            self.next += 1;
            let method = self.chance.below(METHODS as usize);
            self.call(thread, 0, method);
            let pause = self.chance.below(40_000) as u64;
            self.clocks[thread as usize] += pause;
        }
        let mut left: Vec<Arc<TracedEvent>> = self.ended.drain(..calls).collect();
        while !left.is_empty() {
            let page: Vec<_> = left.drain(..left.len().min(PAGE)).collect();
            let update = ConnectionUpdate::Events(EventsUpdate::Ended(page, 0));
            to.send(Update::Connection(feed::CONNECTION, vec![update])).expect("a window");
        }
    }

    /// Makes a call and those below it, in the order in which they end.
    fn call(&mut self, thread: u32, depth: u32, method: usize) {
        let start = self.clocks[thread as usize];
        self.clocks[thread as usize] += 200 + self.chance.below(3_000) as u64;
        if depth < DEPTH {
            for _ in 0..self.chance.below(BELOW) {
                let below = (method * 7 + 1 + self.chance.below(4)) % METHODS as usize;
                self.call(thread, depth + 1, below);
            }
        }
        self.clocks[thread as usize] += 100 + self.chance.below(1_000) as u64;
        self.number += 1;
        let call = TracedCall {
            plan: method as u32,
            number: self.number,
            start_unix_ns: start,
            duration_ns: Some(self.clocks[thread as usize] - start),
            thread: 4_000 + thread,
            depth,
            arguments: vec![],
            arguments_after: Vec::new(),
            outcome: Outcome::Returned(Some(Value::Int(self.number as i64))),
            stack: Vec::new(),
            course: None,
        };
        self.ended.push(Arc::new(TracedEvent::new(Arc::clone(&self.methods[method]), call)));
    }
}
