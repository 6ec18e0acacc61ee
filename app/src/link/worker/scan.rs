//! The thread that watches which processes there are. A process is looked at closely when it is new, and again while
//! it may still become a .NET process; the rest of the time only its start time is read.

use super::outlet::Outlet;
use super::{PROGRAM, describe};
use crate::link::connect;
use crate::link::discover::{self, Process};
use crate::model::processes::{AgentState, ProcessChanges, ProcessRow};
use crate::model::update::Update;
use redial_protocol::ids::ProcessKey;
use redial_protocol::process;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the list of processes is read.
const INTERVAL: Duration = Duration::from_millis(1_500);
/// How long it may take until it is told that a process without .NET came or went: there are always some, and who looks
/// at the window idly wants no processor time spent on them.
const ASIDE: Duration = Duration::from_secs(10);
/// Processes looked at at once: one that hangs must not delay the others.
const AT_ONCE: usize = 8;
/// When a process is looked at again after its first, second … look: a runtime is loaded soon after the start.
const AGAIN: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9), Duration::from_secs(27)];
/// From then on: with a runtime, where an agent may come and go, and without.
const WITH_RUNTIME: Duration = Duration::from_secs(10);
const WITHOUT: Duration = Duration::from_secs(60);

/// The scanning thread; dropping it ends the thread.
pub struct Scanner {
    again: Sender<()>,
}

impl Scanner {
    /// Starts scanning.
    pub fn start(outlet: Outlet) -> std::io::Result<Scanner> {
        let (again, asked) = channel();
        std::thread::Builder::new().name("processes".into()).spawn(move || {
            let mut known = Known::default();
            // Since when something is left to be taken that nobody was woken for.
            let mut left: Option<Instant> = None;
            let mut wanted = true;
            loop {
                let changes = known.scan();
                let any = !changes.changed.is_empty() || !changes.gone.is_empty();
                let overdue = left.is_some_and(|since| since.elapsed() >= ASIDE);
                let told = if std::mem::take(&mut wanted) || known.news || overdue {
                    left = None;
                    outlet.send(Update::Processes(changes))
                } else if any {
                    left.get_or_insert_with(Instant::now);
                    outlet.leave(Update::Processes(changes))
                } else {
                    Ok(())
                };
                if told.is_err() {
                    return;
                }
                match asked.recv_timeout(INTERVAL) {
                    Ok(()) => {
                        known.forget_looks();
                        wanted = true;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        })?;
        Ok(Scanner { again })
    }

    /// Looks at everything again now.
    pub fn scan(&self) {
        let _ = self.again.send(());
    }
}

/// What was told already.
#[derive(Default)]
struct Known {
    rows: BTreeMap<ProcessKey, Looked>,
    trouble: Option<String>,
    /// Whether the last scan found anything that matters: of processes with .NET, or of scanning itself.
    news: bool,
}

struct Looked {
    row: Option<ProcessRow>,
    looks: usize,
    next: Instant,
}

impl Known {
    fn scan(&mut self) -> ProcessChanges {
        let (keys, trouble) = match discover::pids() {
            Ok(pids) => (keys(pids), None),
            Err(error) => {
                let gone = BTreeSet::new();
                (gone, Some(format!("processes cannot be listed: {error}")))
            }
        };
        self.news = self.trouble != trouble;
        self.trouble.clone_from(&trouble);
        if trouble.is_some() {
            return ProcessChanges { trouble, ..ProcessChanges::default() };
        }
        let mut changes = ProcessChanges::default();
        self.rows.retain(|key, looked| {
            let stays = keys.contains(key);
            if let Some(row) = looked.row.as_ref().filter(|_| !stays) {
                changes.gone.push(*key);
                self.news |= matters(row);
            }
            stays
        });
        let now = Instant::now();
        let due = keys.into_iter().filter(|key| self.rows.get(key).is_none_or(|looked| looked.next <= now));
        for (key, row) in look_at_all(due.collect()) {
            // It may have become a .NET process, or have been one.
            let before = self.rows.get(&key).and_then(|looked| looked.row.as_ref()).is_some_and(matters);
            if let Some(row) = self.note(key, row) {
                self.news |= before || matters(&row);
                changes.changed.push(row);
            }
        }
        changes
    }

    /// Notes what was seen; the row if it is new or different.
    fn note(&mut self, key: ProcessKey, row: Option<ProcessRow>) -> Option<ProcessRow> {
        let now = Instant::now();
        let looked = self.rows.entry(key).or_insert(Looked { row: None, looks: 0, next: now });
        let later = match &row {
            Some(row) if matters(row) => WITH_RUNTIME,
            _ => WITHOUT,
        };
        looked.next = now + AGAIN.get(looked.looks).copied().map_or(later, |soon| soon.min(later));
        looked.looks += 1;
        // A process that ended while it was looked at stays as it was until it is missed.
        let row = row.filter(|row| looked.row.as_ref() != Some(row))?;
        looked.row = Some(row.clone());
        Some(row)
    }

    fn forget_looks(&mut self) {
        let now = Instant::now();
        self.rows.values_mut().for_each(|looked| (looked.next, looked.looks) = (now, 0));
    }
}

/// Whether a process has a runtime, so that an agent is or could be in it.
fn matters(row: &ProcessRow) -> bool {
    row.runtime.is_some() || !matches!(row.agent, AgentState::None(_))
}

/// Processes by pid as seen from here and start time; this one is left out.
fn keys(pids: Vec<u32>) -> BTreeSet<ProcessKey> {
    let me = std::process::id();
    let key = |pid: u32| match process::key_of(pid) {
        Ok(key) => Some(ProcessKey { pid, start: key.start }),
        Err(process::ProcessError::NoSuchProcess { .. }) => None,
        // It is there and says no more.
        Err(_) => Some(ProcessKey { pid, start: 0 }),
    };
    pids.into_iter().filter(|pid| *pid != me).filter_map(key).collect()
}

fn look_at_all(keys: Vec<ProcessKey>) -> Vec<(ProcessKey, Option<ProcessRow>)> {
    let threads = AT_ONCE.min(keys.len());
    let waiting = Mutex::new(VecDeque::from(keys));
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(key) = next else { return };
                    let row = discover::one(key.pid).map(|process| look_at(key, process));
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((key, row));
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn look_at(key: ProcessKey, process: Process) -> ProcessRow {
    let facts = describe::may_have_agent(&process.runtime)
        .then(|| connect::open(key.pid, PROGRAM).map(|session| session.facts().clone()));
    describe::row(key, process, facts)
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
