//! The thread that watches which processes there are, and what can be done with each: it looks where something
//! changed, and asks the agents of .NET processes, or for them, time and again.

use super::outlet::Outlet;
use crate::link::discover::{Census, Process};
use crate::link::look;
use crate::model::connection::PROGRAM;
use crate::model::processes::{AgentState, ProcessChanges, ProcessRow};
use crate::model::update::Update;
use redial_protocol::ids::ProcessKey;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often the list of processes is read.
const INTERVAL: Duration = Duration::from_millis(1_500);
/// How long it may take until it is told that a process without .NET came or went: there are always some, and who looks
/// at the window idly wants no processor time spent on them.
const ASIDE: Duration = Duration::from_secs(10);
/// When the agent of a process is asked again after the first, second … time: it comes soon after the start.
const AGAIN: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];
/// From then on.
const LATER: Duration = Duration::from_secs(10);

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
    census: Census,
    rows: BTreeMap<ProcessKey, Asked>,
    trouble: Option<String>,
    /// Whether the last scan found anything that matters: of processes with .NET, or of scanning itself.
    news: bool,
}

/// A row that was told, and when its agent is asked again.
struct Asked {
    row: ProcessRow,
    asked: usize,
    next: Instant,
}

impl Known {
    fn scan(&mut self) -> ProcessChanges {
        let mut changes = ProcessChanges::default();
        let seen = match self.census.refresh() {
            Ok(seen) => seen,
            Err(error) => {
                changes.trouble = Some(format!("processes cannot be listed: {error}"));
                self.news = self.trouble != changes.trouble;
                self.trouble.clone_from(&changes.trouble);
                return changes;
            }
        };
        self.news = self.trouble.take().is_some();
        for key in seen.gone {
            if let Some(known) = self.rows.remove(&key) {
                changes.gone.push(key);
                self.news |= matters(&known.row);
            }
        }
        let now = Instant::now();
        let due = self.due(seen.changed, now);
        for row in look::rows(due, PROGRAM) {
            // It may have become a .NET process, or have been one.
            let before = self.rows.get(&row.key).is_some_and(|known| matters(&known.row));
            if self.note(&row, now) {
                self.news |= before || matters(&row);
                changes.changed.push(row);
            }
        }
        changes
    }

    /// Processes that changed, and those whose agents are to be asked again; this one is left out.
    fn due(&self, changed: Vec<Process>, now: Instant) -> Vec<Process> {
        let me = std::process::id();
        let changed_keys: BTreeSet<ProcessKey> = changed.iter().map(|process| process.key).collect();
        let is_due = |process: &&Process| self.rows.get(&process.key).is_some_and(|known| known.next <= now);
        let others = self.census.processes().filter(|process| {
            process.may_be_dotnet() && is_due(process) && !changed_keys.contains(&process.key)
        });
        let mut due: Vec<Process> = others.cloned().collect();
        due.extend(changed);
        due.retain(|process| process.key.pid != me);
        due
    }

    /// Notes what was seen; whether it is new or different.
    fn note(&mut self, row: &ProcessRow, now: Instant) -> bool {
        let known = self.rows.get(&row.key);
        let is_news = known.is_none_or(|known| known.row != *row);
        let asked = known.map_or(0, |known| known.asked);
        let next = now + AGAIN.get(asked).copied().unwrap_or(LATER);
        self.rows.insert(row.key, Asked { row: row.clone(), asked: asked + 1, next });
        is_news
    }

    fn forget_looks(&mut self) {
        self.census.forget_looks();
        let now = Instant::now();
        self.rows.values_mut().for_each(|known| (known.next, known.asked) = (now, 0));
    }
}

/// Whether a process has a runtime, so that an agent is or could be in it.
fn matters(row: &ProcessRow) -> bool {
    row.runtime.is_some() || !matches!(row.agent, AgentState::None(_))
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
