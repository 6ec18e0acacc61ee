//! The content of a snapshot. Names of fields are those of the file; a field that later versions add has a default, so
//! that older files stay readable.

use crate::dials::{DialledCopies, DialledCopy};
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{AuditEntry, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::state::CopyState;
use redial_protocol::times::{Completions, Percentiles, Times};
use redial_text::diagnostics::{Reader, audit, row_notes};
use serde::{Deserialize, Serialize};

/// A process's numbers at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessSnapshot {
    /// The process and the time.
    pub header: SnapshotHeader,
    /// Its dialled methods, in the order of the agent's ledger.
    pub methods: Vec<SavedMethod>,
    /// The latest traced calls, oldest first, as `redial events --json` prints them.
    pub calls: Vec<serde_json::Value>,
    /// The standing orders, oldest first, as lines of a dial set.
    pub orders: Vec<String>,
    /// The latest changes, oldest first.
    pub changes: Vec<SavedChange>,
}

/// The process and the time of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotHeader {
    /// When it was taken: Unix time, milliseconds.
    pub taken_unix_ms: u64,
    /// The machine.
    #[serde(default)]
    pub host: Option<String>,
    /// Process id.
    pub pid: u32,
    /// The program's name, if known.
    #[serde(default)]
    pub name: Option<String>,
    /// The version of its runtime.
    #[serde(default)]
    pub runtime: String,
    /// The version of its agent.
    #[serde(default)]
    pub agent: String,
}

/// A dialled method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedMethod {
    /// The assembly's simple name.
    pub module: String,
    /// `Namespace.Type.Method`.
    pub method: String,
    /// `(PARAMS)`.
    pub signature: String,
    /// The AppDomain.
    #[serde(default)]
    pub domain: String,
    /// Its metadata token.
    #[serde(default)]
    pub token: u32,
    /// The id of its module, which tells copies in one AppDomain apart.
    #[serde(default)]
    pub module_id: u64,
    /// The wanted level.
    pub wanted: Level,
    /// The state.
    pub state: CopyState,
    /// The number of the live instrumented body.
    #[serde(default)]
    pub version: Option<u32>,
    /// Why it was refused or failed, or which calls its numbers miss.
    #[serde(default)]
    pub note: Option<String>,
    /// Calls.
    pub calls: u64,
    /// Its times, if it was timed.
    #[serde(default)]
    pub times: Option<SavedTimes>,
}

/// Times of a method, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedTimes {
    /// Timed calls in flight.
    pub in_flight: u64,
    /// Timed calls that ended.
    pub exits: u64,
    /// Those that ended with an exception.
    pub exceptions: u64,
    /// Time in the method, with callees.
    pub total_ns: u64,
    /// Time in the method, without callees that are timed, too.
    pub self_ns: u64,
    /// The longest call.
    pub max_ns: u64,
    /// The 50th, 90th and 99th percentile.
    #[serde(default)]
    pub percentiles_ns: Option<[u64; 3]>,
    /// Completions of an async method.
    #[serde(default)]
    pub completions: Option<SavedCompletions>,
    /// The distribution of durations.
    #[serde(default)]
    pub histogram: Option<SavedHistogram>,
}

/// Completions of an async method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedCompletions {
    /// Calls whose beginning was seen.
    pub starts: u64,
    /// Calls that completed.
    pub completions: u64,
    /// Calls that have not completed.
    pub in_flight: u64,
    /// Nanoseconds that these calls have been in flight together.
    pub waited_ns: u64,
}

/// A distribution of durations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedHistogram {
    /// Femtoseconds per tick of the agent's clock.
    pub tick_fs: u64,
    /// Buckets that have calls, with their numbers of calls. `redial_protocol::histogram` has their bounds.
    pub buckets: Vec<(u16, u64)>,
}

/// A change in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedChange {
    /// Unix time, milliseconds.
    pub t_unix_ms: u64,
    /// The user.
    pub user: String,
    /// The program.
    pub program: String,
    /// What it did.
    pub action: String,
}

impl From<&AuditEntry> for SavedChange {
    fn from(entry: &AuditEntry) -> SavedChange {
        SavedChange {
            t_unix_ms: entry.t_unix_ms,
            user: entry.user.clone(),
            program: entry.program.clone(),
            action: audit::action(&entry.action),
        }
    }
}

impl SavedMethod {
    /// Returns a row as it is saved, with its histogram, if there is one.
    pub fn of(dial: &DialledCopy, histogram: Option<&RowHistogram>) -> SavedMethod {
        let row = &dial.row;
        SavedMethod {
            module: row.module.clone(),
            method: row.method.clone(),
            signature: row.signature.clone(),
            domain: row.domain.clone(),
            token: row.copy.token.0,
            module_id: row.copy.module.module_id,
            wanted: row.wanted,
            state: row.state,
            version: row.version,
            note: row_notes::notes(row.note, row.times_note.as_ref(), Reader::CommandLine),
            calls: row.calls,
            times: dial.times.map(|times| SavedTimes {
                histogram: histogram.map(SavedHistogram::of),
                ..SavedTimes::of(&times)
            }),
        }
    }

    /// Returns the row as an agent would send it, without ids and notes that the snapshot does not have.
    fn row(&self, row: RowId) -> StatusRow {
        StatusRow {
            row,
            copy: CopyKey {
                module: ModuleKey { module_id: self.module_id, generation: 0 },
                token: MethodToken(self.token),
            },
            method: self.method.clone(),
            signature: self.signature.clone(),
            module: self.module.clone(),
            domain: self.domain.clone(),
            wanted: self.wanted,
            options: TimeOptions::default(),
            state: self.state,
            version: self.version,
            instances: Vec::new(),
            note: None,
            times_note: None,
            calls: self.calls,
        }
    }
}

impl ProcessSnapshot {
    /// Returns the methods as a table of dials. The id of a row is its index in `methods`.
    pub fn dials(&self) -> DialledCopies {
        let mut dials = DialledCopies::default();
        for (row, method) in (0..).map(RowId).zip(&self.methods) {
            dials.rows(vec![method.row(row)]);
            dials.times(method.times.iter().map(|times| times.of_row(row)).collect());
        }
        dials
    }
}

impl SavedTimes {
    fn of(times: &Times) -> SavedTimes {
        SavedTimes {
            in_flight: times.in_flight,
            exits: times.exits,
            exceptions: times.exceptions,
            total_ns: times.total_ns,
            self_ns: times.self_ns,
            max_ns: times.max_ns,
            percentiles_ns: times.percentiles.map(|of| [of.p50_ns, of.p90_ns, of.p99_ns]),
            completions: times.completions.map(SavedCompletions::of),
            histogram: None,
        }
    }

    fn of_row(&self, row: RowId) -> Times {
        Times {
            row,
            in_flight: self.in_flight,
            exits: self.exits,
            exceptions: self.exceptions,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            max_ns: self.max_ns,
            percentiles: self.percentiles_ns.map(|[p50_ns, p90_ns, p99_ns]| Percentiles {
                p50_ns,
                p90_ns,
                p99_ns,
            }),
            completions: self.completions.map(|of| Completions {
                starts: of.starts,
                completions: of.completions,
                in_flight: of.in_flight,
                before: 0,
                waited_ns: of.waited_ns,
            }),
            move_next: None,
        }
    }
}

impl SavedCompletions {
    fn of(completions: Completions) -> SavedCompletions {
        let Completions { starts, completions, in_flight, waited_ns, .. } = completions;
        SavedCompletions { starts, completions, in_flight, waited_ns }
    }
}

impl SavedHistogram {
    fn of(histogram: &RowHistogram) -> SavedHistogram {
        SavedHistogram { tick_fs: histogram.tick_fs, buckets: histogram.counts().collect() }
    }
}
