//! Which processes there are, time and again: what costs something is looked at only where something may have changed.
#![forbid(unsafe_code)]

use super::system::{self, Looker};
use super::{Process, Sight};
use redial_protocol::ids::ProcessKey;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Threads that look, and how many processes are worth one more: nearly all of it is the kernel's work.
const AT_ONCE: usize = 4;
const SHARE: usize = 64;
/// When a process that changed is looked at again after its first, second … look: a runtime is loaded soon after the
/// start.
const AGAIN: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9), Duration::from_secs(27)];
/// From then on: with a runtime, and without.
const WITH_RUNTIME: Duration = Duration::from_secs(10);
const WITHOUT: Duration = Duration::from_secs(60);

/// What is known of all processes.
#[derive(Debug, Default)]
pub struct Census {
    known: BTreeMap<ProcessKey, Known>,
}

#[derive(Debug)]
struct Known {
    process: Option<Process>,
    /// As it was seen when it was looked at last.
    sight: Sight,
    looks: usize,
    next: Instant,
}

/// What differs from the refresh before.
#[derive(Debug, Default)]
pub struct Changes {
    /// Processes that are new, or not as they were.
    pub changed: Vec<Process>,
    /// Those that are gone; of zombies their parents have heard by now.
    pub gone: Vec<ProcessKey>,
}

impl Census {
    /// Looks at what is new, or may have changed since the last refresh.
    ///
    /// # Errors
    /// When processes cannot be listed; all stays as it was.
    pub fn refresh(&mut self) -> io::Result<Changes> {
        let now = Instant::now();
        let seen: BTreeMap<ProcessKey, Sight> =
            system::sights()?.into_iter().map(|sight| (sight.key, sight)).collect();
        let mut changes = Changes::default();
        self.known.retain(|key, known| {
            let stays = seen.contains_key(key);
            // What was never seen whole was never told of.
            changes.gone.extend((!stays && known.process.is_some()).then_some(*key));
            stays
        });
        let due = seen.into_values().filter(|sight| self.is_due(sight, now)).collect();
        for (sight, process) in self.look_at(due) {
            changes.changed.extend(self.note(sight, process, now));
        }
        Ok(changes)
    }

    /// All processes that were there at the last refresh, by pid.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.known.values().filter_map(|known| known.process.as_ref())
    }

    /// Lets everything be looked at again at the next refresh.
    pub fn forget_looks(&mut self) {
        let now = Instant::now();
        for known in self.known.values_mut() {
            (known.next, known.looks, known.sight.mark) = (now, 0, None);
        }
    }

    fn is_due(&self, sight: &Sight, now: Instant) -> bool {
        let Some(known) = self.known.get(&sight.key) else { return true };
        if (sight.halted, sight.ended) != (known.sight.halted, known.sight.ended) {
            return true;
        }
        let may_differ = sight.mark.is_none() || sight.mark != known.sight.mark;
        may_differ && known.next <= now
    }

    fn look_at(&self, due: Vec<Sight>) -> Vec<(Sight, Option<Process>)> {
        let looker = Looker::new(due.iter().map(|sight| sight.key.pid));
        let look = |sight: Sight| {
            let before = self.known.get(&sight.key).and_then(|known| known.process.as_ref());
            (sight, looker.look(sight, before))
        };
        // More threads than this would rather wait for each other.
        let threads = due.len().div_ceil(SHARE).min(AT_ONCE);
        if threads <= 1 {
            return due.into_iter().map(look).collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut looked = Vec::new();
            while let Some(sight) = due.get(next.fetch_add(1, Ordering::Relaxed)) {
                looked.push(look(*sight));
            }
            looked
        };
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            // A look that panicked is one that was not made: the next refresh makes it.
            running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        })
    }

    /// Notes what was seen; the process if it is new or different.
    fn note(&mut self, sight: Sight, process: Option<Process>, now: Instant) -> Option<Process> {
        let key = sight.key;
        let known = self.known.entry(key).or_insert(Known { process: None, sight, looks: 0, next: now });
        known.sight = sight;
        let later = match &process {
            Some(process) if process.may_be_dotnet() => WITH_RUNTIME,
            _ => WITHOUT,
        };
        known.next = now + AGAIN.get(known.looks).copied().map_or(later, |soon| soon.min(later));
        known.looks += 1;
        // One that ended while it was looked at stays as it was until it is missed.
        let process = process.filter(|process| known.process.as_ref() != Some(process))?;
        known.process = Some(process.clone());
        Some(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::discover::Found;
    use std::process::{Child, Command, Stdio};

    fn sleeper() -> Child {
        let program = if cfg!(windows) { "cmd" } else { "cat" };
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a harmless program")
    }

    #[test]
    fn processes_come_once_and_go() {
        let mut census = Census::default();
        let first = census.refresh().expect("processes");
        let me = std::process::id();
        assert!(first.changed.iter().any(|process| process.key.pid == me), "this process is there");
        let mut child = sleeper();
        let pid = child.id();
        let changes = census.refresh().expect("processes");
        let new = changes.changed.iter().find(|process| process.key.pid == pid).expect("it is new");
        assert!(new.key.start != 0 && new.runtime == Found::None, "{new:?}");
        let key = new.key;
        assert!(census.processes().any(|process| process.key == key));
        let again = census.refresh().expect("processes");
        assert!(!again.changed.iter().any(|process| process.key == key), "nothing new about it");
        child.kill().expect("killed");
        child.wait().expect("ended");
        let gone = |changes: Changes| changes.gone.iter().filter(|gone| **gone == key).count();
        assert_eq!(gone(census.refresh().expect("processes")), 1);
        assert_eq!(gone(census.refresh().expect("processes")), 0);
    }

    fn sight(mark: Option<u64>) -> Sight {
        Sight { key: ProcessKey { pid: 1, start: 1 }, mark, halted: false, ended: false }
    }

    #[test]
    fn looks_become_rarer_and_need_a_reason() {
        let mut census = Census::default();
        let now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..6 {
            assert!(census.is_due(&sight(Some(0)), now) || !waits.is_empty());
            assert!(census.note(sight(Some(7)), None, now).is_none());
            waits.push((census.known[&sight(None).key].next - now).as_secs());
        }
        assert_eq!(waits, [1, 3, 9, 27, 60, 60]);
        let later = now + Duration::from_secs(61);
        assert!(!census.is_due(&sight(Some(7)), later), "nothing changed");
        assert!(census.is_due(&sight(Some(8)), later) && !census.is_due(&sight(Some(8)), now));
        assert!(census.is_due(&sight(None), later), "nothing tells whether it changed");
        assert!(census.is_due(&Sight { halted: true, ..sight(Some(7)) }, now), "it was stopped");
        assert!(census.is_due(&Sight { ended: true, ..sight(Some(7)) }, now), "it ended");
        census.forget_looks();
        assert!(census.is_due(&sight(Some(7)), Instant::now()));
    }
}
