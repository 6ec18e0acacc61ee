//! The collector's thread: takes what threads have thrown, and allows single exceptions at their rate.

use super::names::{Names, Sources};
use super::stream::ExceptionStream;
use crate::probes::thrown::{self, Counter, TakenException, Verdict, tables};
use crate::sync::lock;
use redial_protocol::exceptions::ThrownException;
use redial_protocol::trace::InnerException;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Pause between two collections.
const PAUSE: Duration = Duration::from_millis(20);
/// How long an exception waits for its method.
const METHOD_WAIT: Duration = Duration::from_secs(5);

/// The state that sessions and the collector share.
#[derive(Default)]
pub(super) struct State {
    pub(super) streams: Vec<Arc<ExceptionStream>>,
    names: Names,
    /// Counters that were retired at the last collection, so that nothing refers to them any more.
    retired_classes: HashSet<u32>,
    retired_methods: HashSet<u32>,
    /// Whether the collector runs.
    pub(super) runs: bool,
}

/// Starts the collector; false if the system refuses.
pub(super) fn start(state: Arc<Mutex<State>>, of: Sources) -> bool {
    crate::platform::spawn(c"redial-except", move || run(&state, of))
}

fn run(state: &Mutex<State>, of: Sources) {
    let mut refilled = Instant::now();
    loop {
        std::thread::sleep(PAUSE);
        let mut state = lock(state);
        if state.streams.is_empty() {
            state.runs = false;
            return;
        }
        state.collect(of);
        let rate = state.rate();
        let more = (rate as f64 * refilled.elapsed().as_secs_f64()) as u64;
        if more > 0 {
            tables().refill(more, rate);
            refilled = Instant::now();
        }
    }
}

impl State {
    /// The highest rate that a stream asks for.
    fn rate(&self) -> u64 {
        self.streams.iter().map(|stream| u64::from(stream.rate())).max().unwrap_or_default()
    }

    /// Follows a change of the streams.
    pub(super) fn follow_streams(&mut self) {
        for (index, class) in tables().classes.present() {
            self.judge(index, class);
        }
        let rate = self.rate();
        tables().refill(rate, rate);
        thrown::set_wanted(u32::try_from(self.streams.len()).unwrap_or(u32::MAX));
    }

    /// Decides whether any stream wants a class.
    fn judge(&self, index: u32, class: &Counter) {
        let names = self.names.class(index);
        let is_wanted = self.streams.iter().any(|stream| stream.wants(names.as_deref()));
        class.set_verdict(if is_wanted { Verdict::Wanted } else { Verdict::Unwanted });
    }

    /// Takes what was thrown since the last time, and adds it to the streams that want it.
    pub(super) fn collect(&mut self, of: Sources) {
        let wait = u64::try_from(METHOD_WAIT.as_nanos()).unwrap_or(u64::MAX);
        // Before the counts, so that a stream does not send more exceptions than it has counted.
        let (taken, unfinished) = tables().slots.drain(thrown::unix_ns().saturating_sub(wait));
        for throw in &unfinished {
            tables().count_unfinished(throw, of.modules.generations());
        }
        for (index, _) in tables().classes.present() {
            self.know_class(of, index);
        }
        self.collect_counts(of);
        for one in taken {
            self.collect_exception(of, one);
        }
        self.free_retired();
        self.streams.iter().for_each(|stream| stream.wake());
    }

    /// Reads the names of a class that is new.
    fn know_class(&mut self, of: Sources, index: u32) {
        if let Some(class) = tables().classes.get(index)
            && self.names.read_class(of, index, class)
        {
            self.judge(index, class);
        }
    }

    fn collect_counts(&mut self, of: Sources) {
        for (index, method) in tables().methods.present() {
            let counts = method.take();
            let Some(class) = method.key().class.filter(|_| counts != (0, 0)) else { continue };
            // It may have been thrown for the first time just now.
            self.know_class(of, class);
            let names = self.names.class(class);
            let thrower = self.names.method(of, index, method);
            for stream in self.streams.iter().filter(|stream| stream.wants(names.as_deref())) {
                stream.count(names.as_deref(), thrower.as_deref(), counts);
            }
        }
        let others = tables().others.take();
        self.streams.iter().for_each(|stream| stream.count_others(others));
    }

    fn collect_exception(&mut self, of: Sources, one: TakenException) {
        self.know_class(of, one.throw.class);
        let names = self.names.class(one.throw.class);
        let method = one.throw.method.and_then(|index| Some((index, tables().methods.get(index)?)));
        let thrower = method.and_then(|(index, counter)| self.names.method(of, index, counter));
        let inner = one.inner.into_iter().map(|(class, message)| InnerException {
            type_name: self.names.inner(of, class),
            message: Some(message),
        });
        let exception = ThrownException {
            row: 0,
            unix_ns: one.throw.unix_ns,
            thread: one.throw.thread,
            rethrown: one.throw.rethrown,
            message: one.message,
            inner: inner.collect(),
        };
        for stream in self.streams.iter().filter(|stream| stream.wants(names.as_deref())) {
            stream.add(names.as_deref(), thrower.as_deref(), &exception);
        }
    }

    /// Gives back the counters of unloaded modules, once their throws and exceptions are taken.
    fn free_retired(&mut self) {
        let mut retired = HashSet::new();
        for (index, class) in tables().classes.present().filter(|(_, class)| class.is_retired()) {
            if self.retired_classes.contains(&index) {
                self.names.forget_class(index);
                class.free();
            } else {
                retired.insert(index);
            }
        }
        self.retired_classes = retired;
        let mut retired = HashSet::new();
        for (index, method) in tables().methods.present().filter(|(_, method)| method.is_retired()) {
            if self.retired_methods.contains(&index) {
                self.names.forget_method(index);
                method.free();
            } else {
                retired.insert(index);
            }
        }
        self.retired_methods = retired;
    }
}
