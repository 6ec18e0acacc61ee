//! Keeps a list of all processes and re-inspects a process only when something may have changed.
#![forbid(unsafe_code)]

use super::process::{Process, ProcessSummary};
use super::system::{self, ProcessInspector};
use crate::parallel;
use redial_protocol::ids::ProcessKey;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The maximum number of inspecting threads, and how many processes justify one more. Most of the work is in
/// the kernel.
const MAX_THREADS: usize = 4;
const PROCESSES_PER_THREAD: usize = 64;
/// Delays before a changed process is inspected again the first, second … time: runtimes load soon after the
/// start.
const FIRST_DELAYS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9), Duration::from_secs(27)];
/// Delays after that, with and without a runtime.
const WITH_RUNTIME: Duration = Duration::from_secs(10);
const WITHOUT_RUNTIME: Duration = Duration::from_secs(60);

/// The known processes.
#[derive(Debug, Default)]
pub struct Census {
    known: BTreeMap<ProcessKey, CensusEntry>,
}

#[derive(Debug)]
struct CensusEntry {
    process: Option<Process>,
    /// The state at the last inspection.
    summary: ProcessSummary,
    inspections: usize,
    next: Instant,
}

/// The differences from the previous refresh.
#[derive(Debug, Default)]
pub struct CensusChanges {
    /// New or changed processes.
    pub changed: Vec<Process>,
    /// Processes that are gone, including zombies that their parents have reaped.
    pub gone: Vec<ProcessKey>,
}

impl Census {
    /// Inspects processes that are new or may have changed since the last refresh.
    ///
    /// # Errors
    /// If processes cannot be listed; the census stays unchanged.
    pub fn refresh(&mut self) -> io::Result<CensusChanges> {
        let now = Instant::now();
        let seen: BTreeMap<ProcessKey, ProcessSummary> =
            system::summaries()?.into_iter().map(|summary| (summary.key, summary)).collect();
        let mut changes = CensusChanges::default();
        self.known.retain(|key, known| {
            let stays = seen.contains_key(key);
            // Never fully inspected, so never reported.
            changes.gone.extend((!stays && known.process.is_some()).then_some(*key));
            stays
        });
        let due = seen.into_values().filter(|summary| self.is_due(summary, now)).collect();
        for (summary, process) in self.inspect_all(due) {
            changes.changed.extend(self.record(summary, process, now));
        }
        Ok(changes)
    }

    /// All processes of the last refresh, by pid.
    pub fn processes(&self) -> impl Iterator<Item = &Process> {
        self.known.values().filter_map(|known| known.process.as_ref())
    }

    /// Makes the next refresh inspect every process again.
    pub fn reset_inspections(&mut self) {
        let now = Instant::now();
        for known in self.known.values_mut() {
            (known.next, known.inspections, known.summary.mark) = (now, 0, None);
        }
    }

    fn is_due(&self, summary: &ProcessSummary, now: Instant) -> bool {
        let Some(known) = self.known.get(&summary.key) else { return true };
        if (summary.halted, summary.ended) != (known.summary.halted, known.summary.ended) {
            return true;
        }
        let may_differ = summary.mark.is_none() || summary.mark != known.summary.mark;
        may_differ && known.next <= now
    }

    fn inspect_all(&self, due: Vec<ProcessSummary>) -> Vec<(ProcessSummary, Option<Process>)> {
        let inspector = ProcessInspector::new(due.iter().map(|summary| summary.key.pid));
        let inspect = |summary: &ProcessSummary| {
            let before = self.known.get(&summary.key).and_then(|known| known.process.as_ref());
            (*summary, inspector.inspect(*summary, before))
        };
        // More threads would mostly wait for each other.
        let threads = due.len().div_ceil(PROCESSES_PER_THREAD).min(MAX_THREADS);
        // If an inspection panics, the next refresh repeats it.
        let inspect = |summary: &ProcessSummary| catch_unwind(AssertUnwindSafe(|| inspect(summary))).ok();
        parallel::map(&due, threads, inspect).into_iter().flatten().collect()
    }

    /// Records an inspection and returns the process if it is new or changed.
    fn record(&mut self, summary: ProcessSummary, process: Option<Process>, now: Instant) -> Option<Process> {
        let key = summary.key;
        let known = self.known.entry(key).or_insert(CensusEntry {
            process: None,
            summary,
            inspections: 0,
            next: now,
        });
        known.summary = summary;
        let later = match &process {
            Some(process) if process.may_be_dotnet() => WITH_RUNTIME,
            _ => WITHOUT_RUNTIME,
        };
        known.next = now + FIRST_DELAYS.get(known.inspections).copied().map_or(later, |soon| soon.min(later));
        known.inspections += 1;
        // A process that ended during inspection keeps its last state until it is missing from the list.
        let process = process.filter(|process| known.process.as_ref() != Some(process))?;
        known.process = Some(process.clone());
        Some(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::RuntimeSearch;
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
        assert!(new.key.start != 0 && new.runtime == RuntimeSearch::None, "{new:?}");
        let key = new.key;
        assert!(census.processes().any(|process| process.key == key));
        let again = census.refresh().expect("processes");
        assert!(!again.changed.iter().any(|process| process.key == key), "nothing new about it");
        child.kill().expect("killed");
        child.wait().expect("ended");
        let gone = |changes: CensusChanges| changes.gone.iter().filter(|gone| **gone == key).count();
        assert_eq!(gone(census.refresh().expect("processes")), 1);
        assert_eq!(gone(census.refresh().expect("processes")), 0);
    }

    fn summary(mark: Option<u64>) -> ProcessSummary {
        ProcessSummary { key: ProcessKey { pid: 1, start: 1 }, mark, halted: false, ended: false }
    }

    #[test]
    fn looks_become_rarer_and_need_a_reason() {
        let mut census = Census::default();
        let now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..6 {
            assert!(census.is_due(&summary(Some(0)), now) || !waits.is_empty());
            assert!(census.record(summary(Some(7)), None, now).is_none());
            waits.push((census.known[&summary(None).key].next - now).as_secs());
        }
        assert_eq!(waits, [1, 3, 9, 27, 60, 60]);
        let later = now + Duration::from_secs(61);
        assert!(!census.is_due(&summary(Some(7)), later), "nothing changed");
        assert!(census.is_due(&summary(Some(8)), later) && !census.is_due(&summary(Some(8)), now));
        assert!(census.is_due(&summary(None), later), "nothing tells whether it changed");
        assert!(census.is_due(&ProcessSummary { halted: true, ..summary(Some(7)) }, now), "it was stopped");
        assert!(census.is_due(&ProcessSummary { ended: true, ..summary(Some(7)) }, now), "it ended");
        census.reset_inspections();
        assert!(census.is_due(&summary(Some(7)), Instant::now()));
    }
}
