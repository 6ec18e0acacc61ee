//! The JSON of `snapshot` and `diff`.

use super::DialJson;
use redial_model::dials::DialledCopy;
use redial_model::process_snapshot::{
    MethodDifference, MethodSum, ProcessSnapshot, SavedChange, SnapshotDifference, SnapshotHeader,
};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// The process and time of a snapshot.
#[derive(Debug, Serialize)]
pub struct SnapshotHeaderJson<'a> {
    /// When it was taken: Unix time, milliseconds.
    t: u64,
    host: Option<&'a str>,
    pid: u32,
    name: Option<&'a str>,
    runtime: &'a str,
    agent: &'a str,
}

impl<'a> From<&'a SnapshotHeader> for SnapshotHeaderJson<'a> {
    fn from(header: &'a SnapshotHeader) -> Self {
        SnapshotHeaderJson {
            t: header.taken_unix_ms,
            host: header.host.as_deref(),
            pid: header.pid,
            name: header.name.as_deref(),
            runtime: &header.runtime,
            agent: &header.agent,
        }
    }
}

/// A snapshot.
#[derive(Debug, Serialize)]
pub struct SnapshotJson<'a> {
    #[serde(flatten)]
    header: SnapshotHeaderJson<'a>,
    /// The methods, as in `status --json`.
    dials: Vec<DialJson<'a>>,
    /// The latest traced calls, as in `events --json`.
    calls: &'a [Value],
    /// The standing orders as lines of a dial set.
    orders: &'a [String],
    /// The latest changes.
    changes: Vec<ChangeJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ChangeJson<'a> {
    t: u64,
    user: &'a str,
    program: &'a str,
    order: &'a str,
}

impl<'a> SnapshotJson<'a> {
    /// Makes the object of a snapshot with these of its rows.
    pub fn new(snapshot: &'a ProcessSnapshot, rows: Vec<&'a DialledCopy>) -> Self {
        let change = |change: &'a SavedChange| ChangeJson {
            t: change.t_unix_ms,
            user: &change.user,
            program: &change.program,
            order: &change.action,
        };
        let dial = |dial: &&'a DialledCopy| {
            let saved = snapshot.methods.get(dial.row.row.0 as usize);
            let note = saved.and_then(|method| method.note.as_deref());
            DialJson { reason: note.map(Cow::Borrowed), ..DialJson::new(snapshot.header.pid, dial) }
        };
        SnapshotJson {
            header: SnapshotHeaderJson::from(&snapshot.header),
            dials: rows.iter().map(dial).collect(),
            calls: &snapshot.calls,
            orders: &snapshot.orders,
            changes: snapshot.changes.iter().map(change).collect(),
        }
    }
}

/// A difference.
#[derive(Debug, Serialize)]
pub struct DifferenceJson<'a> {
    before: SnapshotHeaderJson<'a>,
    after: SnapshotHeaderJson<'a>,
    /// The methods, the largest change of self time first, with those that did not change.
    methods: Vec<MethodDifferenceJson<'a>>,
}

/// A method in two snapshots.
#[derive(Debug, Serialize)]
struct MethodDifferenceJson<'a> {
    method: &'a str,
    signature: &'a str,
    module: &'a str,
    /// `appeared vanished slower faster called_more called_less`; empty if it did not change.
    changes: Vec<String>,
    /// How much more self time it has, nanoseconds; null if it was not timed.
    self_ns_change: Option<i64>,
    /// How many more calls it has.
    calls_change: i64,
    /// Its numbers before; null if it was not dialled.
    before: Option<SumJson>,
    /// Its numbers after; null if it was not dialled.
    after: Option<SumJson>,
}

/// The numbers of a method; times are null if it was not timed.
#[derive(Debug, Serialize)]
struct SumJson {
    calls: u64,
    exceptions: Option<u64>,
    total_ns: Option<u64>,
    self_ns: Option<u64>,
    mean_ns: Option<u64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl From<MethodSum> for SumJson {
    fn from(sum: MethodSum) -> Self {
        let timed = |number: u64| sum.timed.then_some(number);
        let percentile = |index: usize| sum.percentiles_ns.and_then(|all| all.get(index).copied());
        SumJson {
            calls: sum.calls,
            exceptions: timed(sum.exceptions),
            total_ns: timed(sum.total_ns),
            self_ns: timed(sum.self_ns),
            mean_ns: sum.mean_ns(),
            p50_ns: percentile(0),
            p90_ns: percentile(1),
            p99_ns: percentile(2),
            max_ns: timed(sum.max_ns).filter(|_| sum.exits > 0),
        }
    }
}

impl<'a> DifferenceJson<'a> {
    /// Makes the object of a difference with at most `most` methods.
    pub fn new(
        before: &'a ProcessSnapshot,
        after: &'a ProcessSnapshot,
        difference: &'a SnapshotDifference,
        most: usize,
    ) -> Self {
        let method = |one: &'a MethodDifference| MethodDifferenceJson {
            method: &one.method.method,
            signature: &one.method.signature,
            module: &one.method.module,
            changes: one.changes.iter().map(|change| change.word().replace(' ', "_")).collect(),
            self_ns_change: one.cost_ns(),
            calls_change: one.more_calls(),
            before: one.before.map(SumJson::from),
            after: one.after.map(SumJson::from),
        };
        DifferenceJson {
            before: SnapshotHeaderJson::from(&before.header),
            after: SnapshotHeaderJson::from(&after.header),
            methods: difference.methods.iter().take(most).map(method).collect(),
        }
    }
}
