//! The thread that watches all processes and their states. It inspects changed processes, and repeatedly
//! queries the agents of .NET processes or checks whether one has appeared.

use super::update_sender::UpdateSender;
use crate::discover::{Census, Process};
use crate::process_status;
use redial_model::processes::{AgentState, ProcessChanges, ProcessRow};
use redial_model::update::Update;
use redial_protocol::ids::ProcessKey;
use redial_text::programs;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often to list processes.
const INTERVAL: Duration = Duration::from_millis(1_500);
/// The longest delay for reporting that a process without .NET came or went. Such changes happen constantly,
/// and an idle window should use no processor time for them.
const MINOR_CHANGE_DELAY: Duration = Duration::from_secs(10);
/// Delays before a process's agent is queried again the first, second … time: agents appear soon after the
/// start.
const FIRST_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];
/// The delay after that.
const LATER_DELAY: Duration = Duration::from_secs(10);

/// Handle of the scanning thread; dropping it ends the thread.
pub struct Scanner {
    again: Sender<()>,
}

impl Scanner {
    /// Starts scanning.
    pub fn start(sender: UpdateSender) -> std::io::Result<Scanner> {
        let (again, asked) = channel();
        std::thread::Builder::new().name("processes".into()).spawn(move || {
            let mut known = ScanState::default();
            // Since when an update is queued without a wake-up.
            let mut queued_since: Option<Instant> = None;
            let mut wanted = true;
            loop {
                let changes = known.scan();
                let any = !changes.changed.is_empty() || !changes.gone.is_empty();
                let overdue = queued_since.is_some_and(|since| since.elapsed() >= MINOR_CHANGE_DELAY);
                let sent = if std::mem::take(&mut wanted) || known.has_news || overdue {
                    queued_since = None;
                    sender.send(Update::Processes(changes))
                } else if any {
                    queued_since.get_or_insert_with(Instant::now);
                    sender.queue(Update::Processes(changes))
                } else {
                    Ok(())
                };
                if sent.is_err() {
                    return;
                }
                match asked.recv_timeout(INTERVAL) {
                    Ok(()) => {
                        known.reset_inspections();
                        wanted = true;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        })?;
        Ok(Scanner { again })
    }

    /// Inspects everything again now.
    pub fn scan(&self) {
        let _ = self.again.send(());
    }
}

/// The reported state.
#[derive(Default)]
struct ScanState {
    census: Census,
    rows: BTreeMap<ProcessKey, ScannedProcess>,
    trouble: Option<String>,
    /// Whether the last scan changed anything that matters: about .NET processes or about scanning itself.
    has_news: bool,
}

/// A reported row, and when to query its agent again.
struct ScannedProcess {
    row: ProcessRow,
    asked: usize,
    next: Instant,
}

impl ScanState {
    fn scan(&mut self) -> ProcessChanges {
        let mut changes = ProcessChanges::default();
        let seen = match self.census.refresh() {
            Ok(seen) => seen,
            Err(error) => {
                changes.trouble = Some(format!("processes cannot be listed: {error}"));
                self.has_news = self.trouble != changes.trouble;
                self.trouble.clone_from(&changes.trouble);
                return changes;
            }
        };
        self.has_news = self.trouble.take().is_some();
        for key in seen.gone {
            if let Some(known) = self.rows.remove(&key) {
                changes.gone.push(key);
                self.has_news |= matters(&known.row);
            }
        }
        let now = Instant::now();
        let due = self.due(seen.changed, now);
        for row in process_status::rows(due, programs::WINDOW) {
            // A process can become a .NET process or stop being one.
            let before = self.rows.get(&row.key).is_some_and(|known| matters(&known.row));
            if self.record(&row, now) {
                self.has_news |= before || matters(&row);
                changes.changed.push(row);
            }
        }
        changes
    }

    /// Returns changed processes and those due for a query, except this process.
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

    /// Records a row; returns whether it is new or changed.
    fn record(&mut self, row: &ProcessRow, now: Instant) -> bool {
        let known = self.rows.get(&row.key);
        let is_new = known.is_none_or(|known| known.row != *row);
        let asked = known.map_or(0, |known| known.asked);
        let next = now + FIRST_DELAYS.get(asked).copied().unwrap_or(LATER_DELAY);
        self.rows.insert(row.key, ScannedProcess { row: row.clone(), asked: asked + 1, next });
        is_new
    }

    fn reset_inspections(&mut self) {
        self.census.reset_inspections();
        let now = Instant::now();
        self.rows.values_mut().for_each(|known| (known.next, known.asked) = (now, 0));
    }
}

/// Returns whether a process has a runtime, so that it has or could have an agent.
fn matters(row: &ProcessRow) -> bool {
    row.runtime.is_some() || !matches!(row.agent, AgentState::None(_))
}

#[cfg(test)]
#[path = "process_scanner_tests.rs"]
mod tests;
