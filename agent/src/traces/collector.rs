//! The collector's thread: takes calls from the threads' areas, and gives methods their rates.

use super::async_calls::Started;
use super::call::{Call, Completion, TracedRow};
use super::call_clock::CallClock;
use super::state::State;
use super::stream;
use crate::probes::trace::{self, EndedCall};
use crate::sync::lock;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Calls a second of all methods together, unless the host sets another limit.
pub(super) const RATE_OF_PROCESS: u64 = 10_000;
/// Pauses of the thread, depending on how full the fullest ring was.
const SHORT_PAUSE: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_millis(20);
/// Share of a ring in use, in percent, above which the pause is short.
const MUCH: usize = 20;

/// Starts a collector; false if the system refuses.
pub(super) fn start(state: Arc<Mutex<State>>) -> bool {
    crate::platform::spawn(c"redial-trace", move || run(&state))
}

fn run(state: &Mutex<State>) {
    let mut refilled = Instant::now();
    loop {
        let fill = trace::areas().map(trace::ThreadArea::fill).max().unwrap_or_default();
        std::thread::sleep(if fill > MUCH { SHORT_PAUSE } else { PAUSE });
        let mut state = lock(state);
        let collected = collect(&mut state);
        if state.is_idle() && collected == 0 {
            state.collects = false;
            return;
        }
        let elapsed = refilled.elapsed();
        if elapsed >= refill_interval(state.active().count()) {
            refill(&state, elapsed);
            refilled = Instant::now();
        }
    }
}

/// Gives a method its rate of a second at once.
pub(super) fn fill(row: &TracedRow) {
    let rate = row.body.method.rate();
    row.body.method.refill(rate, rate);
}

/// Gives the process its rate of a second at once.
pub(super) fn fill_process(rate: u64) {
    trace::refill_process(rate, rate);
}

/// Adds what the methods may capture after this time.
fn refill(state: &State, elapsed: Duration) {
    let more = |rate: u64| (rate as f64 * elapsed.as_secs_f64()).ceil() as u64;
    for row in state.active() {
        let rate = row.body.method.rate();
        row.body.method.refill(more(rate), rate);
    }
    trace::refill_process(more(state.rate), state.rate);
}

/// Returns how often so many methods get what they may capture: each time takes a while.
fn refill_interval(methods: usize) -> Duration {
    PAUSE + Duration::from_micros(2).saturating_mul(u32::try_from(methods).unwrap_or(u32::MAX))
}

/// Takes the calls that ended; returns their number.
pub(super) fn collect(state: &mut State) -> usize {
    let mut ended = Vec::new();
    trace::areas().for_each(|area| area.drain(|call| ended.push(call)));
    // Threads add calls while areas are drained, and no call may begin after the comparison of the clocks.
    let clock = CallClock::after(state.clock);
    state.clock = Some(clock);
    // Calls of one thread are in order already.
    ended.sort_by_key(|call| call.start.wrapping_add(call.took.unwrap_or_default()));
    let count = ended.len();
    for call in ended {
        let Some(row) = state.plan(call.plan).cloned() else { continue };
        if let Some(call) = joined(state, &clock, row, call) {
            add(state, Arc::new(call));
        }
    }
    count
}

/// Returns what a collected call tells: of an async method it may be one half only.
fn joined(state: &mut State, clock: &CallClock, row: Arc<TracedRow>, call: EndedCall) -> Option<Call> {
    if let Some(link) = row.body.completes() {
        let completion = Completion::new(row, call);
        if completion.call.async_call.number == 0 {
            state.number += 1;
            let start = state.starts.get(&std::ptr::from_ref(link).addr());
            let row = start.and_then(|plan| state.plan(*plan)).unwrap_or(&completion.row);
            return Some(Call::unseen(clock, Arc::clone(row), state.number, completion));
        }
        let (row, call, completion) = state.async_calls.complete(completion)?;
        return whole(state, clock, row, (call, completion));
    }
    if call.async_call.number == 0 {
        state.number += 1;
        return Some(Call::new(clock, row, state.number, call));
    }
    match state.async_calls.start(&row, call) {
        Started::Waits => None,
        Started::Alone(call) => {
            state.number += 1;
            Some(Call::new(clock, row, state.number, call))
        }
        Started::Completed(call, completion) => whole(state, clock, row, (call, completion)),
    }
}

/// Returns an async call, unless its condition leaves it out.
fn whole(
    state: &mut State,
    clock: &CallClock,
    row: Arc<TracedRow>,
    (call, completion): (EndedCall, Completion),
) -> Option<Call> {
    let call = Call::new(clock, row, state.number + 1, call).completed(clock, completion);
    if !call.is_wanted() {
        return None;
    }
    state.number += 1;
    Some(call)
}

fn add(state: &mut State, call: Arc<Call>) {
    for stream in &state.streams {
        stream::CallStream::add(stream, &call);
    }
    if state.active.contains(&call.call.plan) {
        state.kept.add(call);
    }
}
