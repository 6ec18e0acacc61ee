//! The exceptions that a thread is throwing, innermost last: what the leaf that ends a call by an exception reads. Told by
//! the runtime while any condition stands; nothing is allocated or locked.
//!
//! An exception goes when it is caught, and when another one takes its place: one that leaves a handler (a finally, a fault
//! block) that runs for it. Nobody tells of that, but the runtime goes on with the other one higher up in the stack than where
//! it had begun the handler, so whatever began deeper than where the runtime is at work now is over.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Exceptions within exceptions that are known; of more the outermost are forgotten.
const DEPTH: usize = 16;
/// Filters within filters, likewise.
const FILTERS: usize = 8;

/// Counts how often the runtime was asked to tell: what was under way before is not known.
static EPOCH: AtomicU32 = AtomicU32::new(0);
/// Whether the runtime gives up the stack of a handler that another exception leaves before it goes on with that one.
static COLLAPSES: AtomicBool = AtomicBool::new(false);

/// The class of an exception.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Its ModuleID; 0: unknown.
    pub module: usize,
    /// TypeDef token; of a generic class, of its definition.
    pub token: u32,
    /// `Modules::generations` when it was thrown: a module of a later one is another.
    pub generation: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Where the runtime was last at work on it.
    address: usize,
    class: Class,
    /// A handler runs for it.
    is_handled: bool,
}

/// One thread's.
#[repr(C)]
#[derive(Default)]
pub(super) struct Thrown {
    epoch: Cell<u32>,
    depth: Cell<usize>,
    entries: [Cell<Entry>; DEPTH],
    /// Filters that run, and how many exceptions there were when each began.
    running: Cell<usize>,
    filters: [Cell<usize>; FILTERS],
}

/// What the runtime tells of exceptions; `address`: in the stack frame in which it was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// One is thrown.
    Thrown(Class),
    /// It is at work on the innermost one: frames are searched for what catches it, or unwound.
    GoesOn,
    /// A filter begins in that search.
    FilterBegins,
    /// It ends, and with it whatever was thrown in it.
    FilterEnds,
    /// A handler begins, while frames are unwound for the innermost one.
    HandlerBegins,
    /// It ends by itself.
    HandlerEnds,
    /// The innermost one of this class is caught.
    Caught(Class),
}

impl Thrown {
    /// Takes in what the runtime tells.
    pub(super) fn hear(&self, event: Event, address: usize) {
        self.begin();
        match event {
            Event::Thrown(class) => {
                self.forget_over(address);
                self.push(Entry { address, class, is_handled: false });
            }
            Event::GoesOn => self.goes_on(address, false),
            Event::HandlerBegins => self.goes_on(address, true),
            Event::HandlerEnds => match self.innermost(|one| one.is_handled) {
                Some((at, entry)) => {
                    self.depth.set(at + 1);
                    self.set(at, Entry { is_handled: false, ..entry });
                }
                // It began unseen: nobody knows for which.
                None => self.clear(),
            },
            Event::FilterBegins => {
                let at = self.running.get();
                if let Some(filter) = self.filters.get(at) {
                    filter.set(self.depth.get());
                }
                self.running.set(at + 1);
            }
            Event::FilterEnds => {
                let known = self.running.get().checked_sub(1);
                match known.and_then(|at| self.filters.get(at)).map(Cell::get) {
                    Some(depth) => {
                        self.depth.set(self.depth.get().min(depth));
                        self.running.set(known.unwrap_or(0));
                    }
                    None => self.clear(),
                }
            }
            Event::Caught(class) => self.caught(address, class),
        }
    }

    /// The class of the exception for which a handler runs now.
    pub(super) fn class(&self) -> Option<Class> {
        self.begin();
        self.top().filter(|top| top.is_handled && top.class.module != 0).map(|top| top.class)
    }

    /// Nothing is known any more.
    pub(super) fn clear(&self) {
        self.depth.set(0);
        self.running.set(0);
    }

    /// Forgets everything where the runtime was asked anew.
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
        self.push(Entry { address, is_handled, ..top });
    }

    fn caught(&self, address: usize, class: Class) {
        let is_it = |one: Entry| (one.class.module, one.class.token) == (class.module, class.token);
        let Some((at, _)) = self.innermost(is_it) else {
            // It was thrown unseen, before all that are known.
            return self.clear();
        };
        self.depth.set(at);
        self.forget_over(address);
        if !COLLAPSES.load(Ordering::Relaxed) {
            // It may have left the handlers of those that are left, or not.
            for entry in self.entries.iter().take(self.depth.get()) {
                entry.set(Entry { class: Class::default(), ..entry.get() });
            }
        }
    }

    fn push(&self, entry: Entry) {
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

    fn set(&self, at: usize, entry: Entry) {
        if let Some(place) = self.entries.get(at) {
            place.set(entry);
        }
    }

    fn top(&self) -> Option<Entry> {
        let at = self.depth.get().checked_sub(1)?;
        self.entries.get(at).map(Cell::get)
    }

    fn innermost(&self, is_it: impl Fn(Entry) -> bool) -> Option<(usize, Entry)> {
        let known = self.entries.iter().map(Cell::get).enumerate().take(self.depth.get());
        known.rev().find(|(_, entry)| is_it(*entry))
    }

    /// Forgets those that are over.
    fn forget_over(&self, address: usize) {
        while self.top().is_some_and(|top| top.address <= address) {
            self.depth.set(self.depth.get() - 1);
        }
    }
}

/// The runtime begins to tell of exceptions: nothing is known of those under way. `collapses`: see above; of a runtime that
/// does not, nothing is said of an exception in whose handlers another one was caught.
pub fn begin(collapses: bool) {
    COLLAPSES.store(collapses, Ordering::Relaxed);
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::Event::{
        Caught, FilterBegins, FilterEnds, GoesOn, HandlerBegins, HandlerEnds, Thrown as Throw,
    };
    use super::*;

    fn class(token: u32) -> Class {
        Class { module: 1, token, generation: 1 }
    }

    /// Which is known in the end.
    fn after(events: &[(Event, usize)]) -> Option<u32> {
        let thrown = Thrown::default();
        events.iter().for_each(|(event, address)| thrown.hear(*event, *address));
        thrown.class().map(|class| class.token)
    }

    /// One test: what it asks for is for all threads.
    #[test]
    fn the_exception_for_which_a_handler_runs_is_known() {
        begin(true);
        let thrown = [(Throw(class(1)), 1000), (GoesOn, 990), (GoesOn, 900)];
        assert_eq!(after(&thrown), None, "no handler runs");
        let handled = [&thrown[..], &[(HandlerBegins, 890)]].concat();
        assert_eq!(after(&handled), Some(1));
        let then = |more: &[(Event, usize)]| after(&[&handled[..], more].concat());
        let within = [(Throw(class(2)), 500), (HandlerBegins, 400)];
        let and = |more: &[(Event, usize)]| then(&[&within[..], more].concat());
        assert_eq!(and(&[]), Some(2));
        assert_eq!(and(&[(HandlerEnds, 410), (Caught(class(2)), 450)]), Some(1), "the outer one goes on");
        assert_eq!(then(&[(Throw(class(1)), 500), (Caught(class(1)), 520)]), Some(1), "of the same type");
        // It leaves the handler: it takes the outer one's place.
        assert_eq!(and(&[(HandlerEnds, 410), (GoesOn, 950), (HandlerBegins, 940)]), Some(2));
        assert_eq!(and(&[(HandlerEnds, 410), (Caught(class(2)), 960)]), None);
        let third = [(Throw(class(3)), 300), (HandlerBegins, 290), (HandlerEnds, 295)];
        assert_eq!(
            and(&[&third[..], &[(Caught(class(3)), 450)]].concat()),
            Some(1),
            "of two the inner is replaced"
        );
        assert_eq!(and(&[&third[..], &[(Caught(class(3)), 310)]].concat()), Some(2), "and here is not");
        // A filter swallows what it throws.
        let filter = [(FilterBegins, 0), (Throw(class(4)), 100), (HandlerBegins, 90), (FilterEnds, 0)];
        assert_eq!(and(&filter), Some(2));
        // Swallowed by the runtime itself.
        let swallowed = [(Throw(class(5)), 100), (HandlerEnds, 895), (HandlerBegins, 890)];
        assert_eq!(then(&swallowed), Some(1));
        // What began unseen.
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

        let known = Thrown::default();
        handled.iter().for_each(|(event, address)| known.hear(*event, *address));
        begin(false);
        assert_eq!(known.class(), None, "nothing is known of what is under way at a new beginning");
        assert_eq!(and(&[]), Some(2));
        assert_eq!(
            and(&[(HandlerEnds, 410), (Caught(class(2)), 450)]),
            None,
            "nothing rather than a wrong one"
        );
        begin(true);
    }
}
