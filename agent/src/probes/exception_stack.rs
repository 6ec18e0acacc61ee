//! The exceptions that a thread is throwing, innermost last, for the helper that ends a call with an exception.
//! The runtime reports them while any condition exists; nothing is allocated or locked.
//!
//! An exception ends when it is caught, or when another one replaces it by leaving a handler (a finally or
//! fault block) that runs for it. The runtime does not report a replacement. But it continues with the new
//! exception higher in the stack than where it began the handler. So every exception that was last seen deeper
//! than the current position is over.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Maximum number of nested exceptions; beyond it the outermost are forgotten.
const DEPTH: usize = 16;
/// Maximum number of nested filters.
const FILTERS: usize = 8;

/// Number of times that reporting was enabled; exceptions in progress before that are unknown.
static EPOCH: AtomicU32 = AtomicU32::new(0);
/// Whether the runtime removes the stack of a handler that another exception leaves before it continues with
/// that exception.
static COLLAPSES: AtomicBool = AtomicBool::new(false);

/// The class of an exception.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExceptionClass {
    /// ModuleID; 0: unknown.
    pub module: usize,
    /// TypeDef token; for a generic class, of its definition.
    pub token: u32,
    /// `Modules::generations` when it was thrown: a module with a later generation is another one.
    pub generation: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ThrownException {
    /// Last stack position of the runtime for this exception.
    address: usize,
    class: ExceptionClass,
    /// Whether a handler runs for it.
    is_handled: bool,
    /// Its number among those of the thread.
    number: u32,
}

/// State of one thread. Zeroed memory is one.
#[repr(C)]
#[derive(Default)]
pub(super) struct ExceptionStack {
    epoch: Cell<u32>,
    /// Number of exceptions thrown so far.
    numbers: Cell<u32>,
    depth: Cell<usize>,
    entries: [Cell<ThrownException>; DEPTH],
    /// Number of running filters, and the number of exceptions when each began.
    running: Cell<usize>,
    filters: [Cell<usize>; FILTERS],
    /// The exception that was caught last.
    caught: Cell<ThrownException>,
}

/// Report of the runtime about exceptions. Its `address` is in the stack frame that received the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionEvent {
    /// An exception is thrown.
    Thrown(ExceptionClass),
    /// The runtime processes the innermost exception: it searches or unwinds frames.
    GoesOn,
    /// A filter begins during the search.
    FilterBegins,
    /// The filter ends, and with it everything thrown in it.
    FilterEnds,
    /// A handler begins while frames are unwound for the innermost exception.
    HandlerBegins,
    /// The handler ends by itself.
    HandlerEnds,
    /// The innermost exception of this class is caught.
    Caught(ExceptionClass),
}

impl ExceptionStack {
    /// Processes a report of the runtime.
    pub(super) fn record(&self, event: ExceptionEvent, address: usize) {
        self.begin();
        match event {
            ExceptionEvent::Thrown(class) => {
                self.forget_over(address);
                self.numbers.set(self.numbers.get().wrapping_add(1));
                let number = self.numbers.get();
                self.push(ThrownException { address, class, is_handled: false, number });
            }
            ExceptionEvent::GoesOn => self.goes_on(address, false),
            ExceptionEvent::HandlerBegins => self.goes_on(address, true),
            ExceptionEvent::HandlerEnds => match self.innermost(|one| one.is_handled) {
                Some((at, entry)) => {
                    self.depth.set(at + 1);
                    self.set(at, ThrownException { is_handled: false, ..entry });
                }
                // It began unseen; its exception is unknown.
                None => self.clear(),
            },
            ExceptionEvent::FilterBegins => {
                let at = self.running.get();
                if let Some(filter) = self.filters.get(at) {
                    filter.set(self.depth.get());
                }
                self.running.set(at + 1);
            }
            ExceptionEvent::FilterEnds => {
                let known = self.running.get().checked_sub(1);
                match known.and_then(|at| self.filters.get(at)).map(Cell::get) {
                    Some(depth) => {
                        self.depth.set(self.depth.get().min(depth));
                        self.running.set(known.unwrap_or(0));
                    }
                    None => self.clear(),
                }
            }
            ExceptionEvent::Caught(class) => self.caught(address, class),
        }
    }

    /// Returns the class of the exception that the current handler runs for.
    pub(super) fn class(&self) -> Option<ExceptionClass> {
        self.handled().map(|(class, _)| class)
    }

    /// Returns the class and number of the exception that the current handler runs for.
    pub(super) fn handled(&self) -> Option<(ExceptionClass, u32)> {
        self.begin();
        let known = self.top().filter(|top| top.is_handled && top.class.module != 0);
        known.map(|top| (top.class, top.number))
    }

    /// Returns the number of the exception that was thrown last.
    pub(super) fn latest(&self) -> u32 {
        self.numbers.get()
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.depth.set(0);
        self.running.set(0);
        self.caught.set(ThrownException::default());
    }

    /// Forgets everything if reporting was enabled again.
    fn begin(&self) {
        let epoch = EPOCH.load(Ordering::Relaxed);
        if self.epoch.replace(epoch) != epoch {
            self.clear();
        }
    }

    fn goes_on(&self, address: usize, is_handled: bool) {
        let Some(top) = self.top() else { return };
        self.depth.set(self.depth.get() - 1);
        self.forget_over(address);
        self.push(ThrownException { address, is_handled, ..top });
    }

    /// Returns the class and number of the exception that was caught last.
    pub(super) fn caught_last(&self) -> Option<(ExceptionClass, u32)> {
        self.begin();
        let caught = self.caught.get();
        (caught.class.module != 0).then_some((caught.class, caught.number))
    }

    fn caught(&self, address: usize, class: ExceptionClass) {
        let is_it = |one: ThrownException| (one.class.module, one.class.token) == (class.module, class.token);
        let Some((at, caught)) = self.innermost(is_it) else {
            // It was thrown unseen, before all known ones.
            self.clear();
            return self.caught.set(ThrownException { class, ..ThrownException::default() });
        };
        self.caught.set(caught);
        self.depth.set(at);
        self.forget_over(address);
        if !COLLAPSES.load(Ordering::Relaxed) {
            // It may or may not have left the handlers of the remaining ones.
            for entry in self.entries.iter().take(self.depth.get()) {
                entry.set(ThrownException { class: ExceptionClass::default(), ..entry.get() });
            }
        }
    }

    fn push(&self, entry: ThrownException) {
        let depth = self.depth.get();
        if depth == DEPTH {
            for pair in self.entries.windows(2) {
                if let [earlier, later] = pair {
                    earlier.set(later.get());
                }
            }
            self.filters.iter().for_each(|filter| filter.set(filter.get().saturating_sub(1)));
        }
        let at = depth.min(DEPTH - 1);
        self.set(at, entry);
        self.depth.set(at + 1);
    }

    fn set(&self, at: usize, entry: ThrownException) {
        if let Some(place) = self.entries.get(at) {
            place.set(entry);
        }
    }

    fn top(&self) -> Option<ThrownException> {
        let at = self.depth.get().checked_sub(1)?;
        self.entries.get(at).map(Cell::get)
    }

    fn innermost(&self, is_it: impl Fn(ThrownException) -> bool) -> Option<(usize, ThrownException)> {
        let known = self.entries.iter().map(Cell::get).enumerate().take(self.depth.get());
        known.rev().find(|(_, entry)| is_it(*entry))
    }

    /// Forgets the exceptions that are over.
    fn forget_over(&self, address: usize) {
        while self.top().is_some_and(|top| top.address <= address) {
            self.depth.set(self.depth.get() - 1);
        }
    }
}

/// Starts a new period of reporting; exceptions already in progress are unknown. For `collapses` see above: if
/// it is false, an exception is unknown once another was caught in its handlers.
pub fn begin(collapses: bool) {
    COLLAPSES.store(collapses, Ordering::Relaxed);
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::ExceptionEvent::{
        Caught, FilterBegins, FilterEnds, GoesOn, HandlerBegins, HandlerEnds, Thrown as Throw,
    };
    use super::*;

    fn class(token: u32) -> ExceptionClass {
        ExceptionClass { module: 1, token, generation: 1 }
    }

    /// Returns the exception known at the end.
    fn after(events: &[(ExceptionEvent, usize)]) -> Option<u32> {
        let thrown = ExceptionStack::default();
        events.iter().for_each(|(event, address)| thrown.record(*event, *address));
        thrown.class().map(|class| class.token)
    }

    /// One test, because reporting is enabled for all threads.
    #[test]
    fn knows_the_exception_of_the_running_handler() {
        begin(true);
        let thrown = [(Throw(class(1)), 1000), (GoesOn, 990), (GoesOn, 900)];
        assert_eq!(after(&thrown), None, "no handler runs");
        let handled = [&thrown[..], &[(HandlerBegins, 890)]].concat();
        assert_eq!(after(&handled), Some(1));
        let then = |more: &[(ExceptionEvent, usize)]| after(&[&handled[..], more].concat());
        let within = [(Throw(class(2)), 500), (HandlerBegins, 400)];
        let and = |more: &[(ExceptionEvent, usize)]| then(&[&within[..], more].concat());
        assert_eq!(and(&[]), Some(2));
        assert_eq!(and(&[(HandlerEnds, 410), (Caught(class(2)), 450)]), Some(1), "the outer one goes on");
        assert_eq!(then(&[(Throw(class(1)), 500), (Caught(class(1)), 520)]), Some(1), "of the same type");
        // It leaves the handler and replaces the outer exception.
        assert_eq!(and(&[(HandlerEnds, 410), (GoesOn, 950), (HandlerBegins, 940)]), Some(2));
        assert_eq!(and(&[(HandlerEnds, 410), (Caught(class(2)), 960)]), None);
        let third = [(Throw(class(3)), 300), (HandlerBegins, 290), (HandlerEnds, 295)];
        assert_eq!(
            and(&[&third[..], &[(Caught(class(3)), 450)]].concat()),
            Some(1),
            "of two the inner is replaced"
        );
        assert_eq!(and(&[&third[..], &[(Caught(class(3)), 310)]].concat()), Some(2), "and here is not");
        // A filter swallows the exceptions thrown in it.
        let filter = [(FilterBegins, 0), (Throw(class(4)), 100), (HandlerBegins, 90), (FilterEnds, 0)];
        assert_eq!(and(&filter), Some(2));
        // Swallowed by the runtime itself.
        let swallowed = [(Throw(class(5)), 100), (HandlerEnds, 895), (HandlerBegins, 890)];
        assert_eq!(then(&swallowed), Some(1));
        // Events that began unseen.
        for unseen in [HandlerEnds, FilterEnds, Caught(class(9))] {
            assert_eq!(
                after(&[(Throw(class(1)), 1000), (unseen, 900), (HandlerBegins, 890)]),
                None,
                "{unseen:?}"
            );
        }
        let deep = |number: usize| -> Vec<_> {
            (0..number)
                .flat_map(|at| [(Throw(class(at as u32)), 9000 - at * 10), (HandlerBegins, 8995 - at * 10)])
                .collect()
        };
        let caught = |number: usize| (1..number).rev().map(|at| (Caught(class(at as u32)), 8991 - at * 10));
        assert_eq!(after(&deep(16).into_iter().chain(caught(16)).collect::<Vec<_>>()), Some(0));
        assert_eq!(
            after(&deep(17).into_iter().chain(caught(17)).collect::<Vec<_>>()),
            None,
            "it is forgotten"
        );

        let known = ExceptionStack::default();
        handled.iter().for_each(|(event, address)| known.record(*event, *address));
        begin(false);
        assert_eq!(known.class(), None, "exceptions in progress are unknown after a new start");
        assert_eq!(and(&[]), Some(2));
        assert_eq!(and(&[(HandlerEnds, 410), (Caught(class(2)), 450)]), None, "unknown rather than wrong");
        begin(true);
    }
}
