//! Finds the caller of each call. Calls arrive when they end, callees before their callers, so each thread has calls that wait
//! for a caller: one that began no later, fewer calls deep.

use super::call_tree::{Branch, CallSums, CallTree, Place, ROOT, Sign};
use std::collections::HashMap;

/// Most nodes of calls that wait for their callers.
pub const MAX_WAITING: usize = 16_384;

/// A call that ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall {
    /// Its method, and whether it left its thread.
    pub place: Place,
    /// Its number.
    pub number: u64,
    /// The thread on which it began; 0 if unknown.
    pub thread: u32,
    /// Number of timed calls around it.
    pub depth: u32,
    /// Its beginning, Unix time in nanoseconds.
    pub start: i64,
    /// Its duration in nanoseconds.
    pub duration_ns: u64,
    /// The time in which it ran itself, if it is async.
    pub running_ns: u64,
    /// Whether an exception left it.
    pub threw: bool,
}

impl EndedCall {
    fn sums(&self, below_ns: u64) -> CallSums {
        let self_ns = match self.place.is_async {
            true => self.running_ns,
            false => self.duration_ns.saturating_sub(below_ns),
        };
        CallSums { calls: 1, thrown: self.threw.into(), total_ns: self.duration_ns, self_ns }
    }
}

/// A call that waits for its caller.
#[derive(Debug)]
struct WaitingCall {
    number: u64,
    start: i64,
    depth: u32,
    /// Its part of its caller's duration.
    below_ns: u64,
    branch: Branch,
    /// Whether the tree has it, below the root for now.
    is_shown: bool,
}

/// Builds a tree of calls.
#[derive(Debug)]
pub struct Nesting {
    tree: CallTree,
    threads: HashMap<u32, Vec<WaitingCall>>,
    /// Nodes of all waiting calls.
    waiting: usize,
    max_waiting: usize,
    /// Calls that no longer wait, so they stay below the root.
    released: u64,
    /// Changes with each call.
    edition: u64,
}

impl Default for Nesting {
    fn default() -> Nesting {
        Nesting::with_limit(MAX_WAITING)
    }
}

impl Nesting {
    /// Returns a builder in which at most `max_waiting` nodes wait for callers.
    pub fn with_limit(max_waiting: usize) -> Nesting {
        Nesting {
            tree: CallTree::default(),
            threads: HashMap::new(),
            waiting: 0,
            max_waiting,
            released: 0,
            edition: 0,
        }
    }

    /// Adds a call that ended on its thread.
    pub fn add(&mut self, call: EndedCall) {
        self.edition += 1;
        let waiting = self.threads.entry(call.thread).or_default();
        let is_below = |one: &WaitingCall| one.depth > call.depth && one.start >= call.start;
        let first = waiting.iter().rposition(|one| !is_below(one)).map_or(0, |index| index + 1);
        let below: Vec<WaitingCall> = waiting.drain(first..).collect();
        let below_ns = below.iter().map(|one| one.below_ns).fold(0, u64::saturating_add);
        for one in &below {
            self.waiting -= one.branch.len();
            if one.is_shown {
                self.tree.merge(&one.branch, Sign::Minus);
            }
        }
        let sums = call.sums(below_ns);
        let branch = Branch::new(call.place, sums, below.into_iter().map(|one| one.branch).collect());
        if call.depth == 0 || call.thread == 0 {
            self.tree.merge(&branch, Sign::Plus);
            self.release_thread(call.thread);
            return;
        }
        self.wait(call, branch, call.duration_ns);
    }

    /// Adds a call that left its thread, below the given calls, the outermost first. They ended before it, or still run.
    pub fn add_async(&mut self, call: EndedCall, callers: &[(u64, Place)]) {
        self.edition += 1;
        let sums = call.sums(0);
        let Some((outermost, _)) = callers.first() else {
            let branch = Branch::new(call.place, sums, Vec::new());
            match call.depth == 0 || call.thread == 0 {
                true => self.tree.merge(&branch, Sign::Plus),
                false => self.wait(call, branch, 0),
            }
            return;
        };
        let path: Vec<Place> = callers.iter().map(|(_, place)| *place).chain([call.place]).collect();
        let waiting = self.threads.get_mut(&call.thread);
        let caller = waiting.and_then(|waiting| waiting.iter_mut().find(|one| one.number == *outermost));
        let mut is_shown = true;
        if let Some(caller) = caller {
            let before = caller.branch.len();
            if caller.branch.insert(&path, sums) {
                is_shown = caller.is_shown;
                self.waiting += caller.branch.len() - before;
            }
        }
        if is_shown {
            let node = path.iter().fold(ROOT, |node, place| self.tree.child(node, *place));
            self.tree.change(node, sums, Sign::Plus);
        }
    }

    fn wait(&mut self, call: EndedCall, branch: Branch, below_ns: u64) {
        self.waiting += branch.len();
        let EndedCall { number, start, depth, .. } = call;
        let one = WaitingCall { number, start, depth, below_ns, branch, is_shown: false };
        let waiting = self.threads.entry(call.thread).or_default();
        // An async call began before others that ended earlier.
        let place = waiting.iter().rposition(|other| other.start <= start).map_or(0, |index| index + 1);
        waiting.insert(place, one);
        while self.waiting > self.max_waiting {
            let most =
                self.threads.iter().max_by_key(|(_, waiting)| waiting.len()).map(|(thread, _)| *thread);
            let Some(thread) = most else { break };
            self.release(thread);
        }
    }

    /// Makes the older half of a thread's calls stay where they are.
    fn release(&mut self, thread: u32) {
        let Some(waiting) = self.threads.get_mut(&thread) else { return };
        for one in waiting.drain(..waiting.len().div_ceil(2)) {
            self.waiting -= one.branch.len();
            self.released += 1;
            if !one.is_shown {
                self.tree.merge(&one.branch, Sign::Plus);
            }
        }
        if waiting.is_empty() {
            self.threads.remove(&thread);
        }
    }

    /// Makes calls stay that ended before an outermost call began: their callers were not traced.
    fn release_thread(&mut self, thread: u32) {
        for one in self.threads.remove(&thread).into_iter().flatten() {
            self.waiting -= one.branch.len();
            if !one.is_shown {
                self.tree.merge(&one.branch, Sign::Plus);
            }
        }
    }

    /// Shows calls that wait for their callers below the root for now.
    pub fn refresh(&mut self) {
        for one in self.threads.values_mut().flatten().filter(|one| !one.is_shown) {
            one.is_shown = true;
            self.tree.merge(&one.branch, Sign::Plus);
        }
    }

    /// Returns the tree. Calls that wait for their callers are in it since the last refresh.
    pub fn tree(&self) -> &CallTree {
        &self.tree
    }

    /// Returns a number that changes with each call.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Returns the number of calls that stay without the caller that they may have had.
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Returns the nodes of calls that wait for their callers.
    pub fn waiting(&self) -> usize {
        self.waiting
    }
}

#[cfg(test)]
#[path = "nesting_tests.rs"]
mod tests;
