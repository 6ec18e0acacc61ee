//! The JSON rows of every listing: stable names, null for absent values, ids as hexadecimal strings. Renaming a field
//! breaks scripts; the tests check the names.

use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::catalogue::MethodPage;
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use redial_protocol::message::Instance;
use redial_protocol::slowest_calls::{RowSlowestCalls, SlowCall};
use redial_protocol::state::CopyState;
use redial_text::callers::name;
use redial_text::diagnostics::{Reader, row_notes};
use serde::{Serialize, Serializer};

mod agent;
mod budget;
mod callers;
mod changes;
mod fields;
mod hot;
mod il;
mod modules;
mod snapshots;

pub use agent::AgentJson;
pub use budget::{BudgetJson, CostBudgetJson};
pub use callers::CallersJson;
pub use changes::{DialledJson, FollowJson, PlanJson, ReleasedJson, UndoneJson};
pub use fields::{ControlJson, hex, module_id, token};
use fields::{OptionsJson, lossy_float};
pub use hot::HotJson;
pub use il::IlJson;
pub use modules::ModulesJson;
pub use snapshots::{DifferenceJson, SnapshotJson};
use std::borrow::Cow;

/// The runtime of a process.
#[derive(Debug, Serialize)]
pub struct RuntimeJson {
    /// `coreclr`, `framework`, `nativeaot`, `mono` or `unknown`.
    pub kind: String,
    /// `8.0.31`.
    pub version: Option<String>,
    /// Whether Redial is tested with this version; null if the version is unknown.
    pub tested: Option<bool>,
}

/// A row of `ps`.
#[derive(Debug, Serialize)]
pub struct ProcessJson {
    /// Process id.
    pub pid: u32,
    /// The file name of the program, or of the assembly that `dotnet` runs.
    pub name: String,
    /// The service, container or pool it belongs to.
    pub group: Option<String>,
    /// The user it runs as.
    pub user: Option<String>,
    /// Its runtime, if it has one.
    pub runtime: Option<RuntimeJson>,
    /// `loaded attachable launch-only none refused stopped`.
    pub agent: &'static str,
    /// The controller that has control.
    pub control: Option<ControlJson>,
    /// Copies dialled by kept orders; null without an agent.
    pub kept: Option<u64>,
    /// Why the agent is not loaded or its state is unknown.
    pub reason: Option<String>,
    /// The command line.
    pub command: Option<String>,
}

/// A row of `status` and `watch`.
#[derive(Debug, Serialize)]
pub struct DialJson<'a> {
    pid: u32,
    method: &'a str,
    signature: &'a str,
    module: &'a str,
    module_id: String,
    token: String,
    domain: &'a str,
    wanted: Level,
    #[serde(flatten)]
    options: OptionsJson,
    /// Calls a second that may be captured, at level trace. `rate` is that of its calls.
    trace_rate: Option<u32>,
    state: CopyState,
    version: Option<u32>,
    instances: Vec<InstanceJson>,
    reason: Option<Cow<'a, str>>,
    times_reason: Option<String>,
    calls: u64,
    #[serde(serialize_with = "lossy_float")]
    rate: Option<f64>,
    in_flight: Option<u64>,
    exceptions: Option<u64>,
    total_ns: Option<u64>,
    self_ns: Option<u64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    async_starts: Option<u64>,
    async_completions: Option<u64>,
    async_in_flight: Option<u64>,
    async_mean_ns: Option<u64>,
    kept_calls: Option<KeptJson<'a>>,
}

/// The slowest calls since the condition was set.
#[derive(Debug, Serialize)]
struct KeptJson<'a> {
    /// The number of calls that met the condition.
    met: u64,
    /// The number of these that could not be recorded.
    missed: u64,
    /// The longest first.
    calls: Vec<CallJson<'a>>,
}

#[derive(Debug, Serialize)]
struct CallJson<'a> {
    /// The end of the call: Unix time, milliseconds.
    t: u64,
    ns: u64,
    /// The operating system's thread id; null if unknown.
    thread: Option<u32>,
    failed: bool,
    /// The exception's type; null for a call that returned, or if unknown.
    exception: Option<&'a str>,
    /// Its callers, the innermost first; null if they were not captured.
    stack: Option<Vec<String>>,
}

impl<'a> From<&'a RowSlowestCalls> for KeptJson<'a> {
    fn from(kept: &'a RowSlowestCalls) -> Self {
        let call = |call: &'a SlowCall| CallJson {
            t: call.ended_unix_ms,
            ns: call.took_ns,
            thread: Some(call.thread).filter(|thread| *thread != 0),
            failed: call.failed,
            exception: call.exception.as_deref(),
            stack: Some(&call.stack)
                .filter(|stack| !stack.is_empty())
                .map(|stack| stack.iter().map(name).collect()),
        };
        KeptJson { met: kept.met, missed: kept.missed, calls: kept.calls.iter().map(call).collect() }
    }
}

#[derive(Debug, Serialize)]
struct InstanceJson {
    function_id: String,
    rejit_id: String,
    state: CopyState,
}

impl From<&Instance> for InstanceJson {
    fn from(instance: &Instance) -> Self {
        InstanceJson {
            function_id: hex(instance.id.function_id),
            rejit_id: hex(instance.id.rejit_id),
            state: instance.state,
        }
    }
}

impl<'a> DialJson<'a> {
    /// Makes the row of a dial in process `pid`.
    pub fn new(pid: u32, dial: &'a DialledCopy) -> Self {
        let row = &dial.row;
        let times = dial.times;
        let percentiles = times.and_then(|times| times.percentiles);
        let completions = times.and_then(|times| times.completions);
        DialJson {
            pid,
            method: &row.method,
            signature: &row.signature,
            module: &row.module,
            module_id: module_id(row.copy.module),
            token: token(row.copy.token.0),
            domain: &row.domain,
            wanted: row.wanted,
            options: OptionsJson::from(&row.options),
            trace_rate: row.options.rate,
            state: row.state,
            version: row.version,
            instances: row.instances.iter().map(InstanceJson::from).collect(),
            reason: row.note.map(|note| row_notes::note(note, Reader::CommandLine)),
            times_reason: row
                .times_note
                .as_ref()
                .map(|note| row_notes::times_note(note, Reader::CommandLine)),
            calls: row.calls,
            rate: dial.rate,
            in_flight: times.map(|times| times.in_flight),
            exceptions: times.map(|times| times.exceptions),
            total_ns: times.map(|times| times.total_ns),
            self_ns: times.map(|times| times.self_ns),
            p50_ns: percentiles.map(|known| known.p50_ns),
            p90_ns: percentiles.map(|known| known.p90_ns),
            p99_ns: percentiles.map(|known| known.p99_ns),
            max_ns: times.filter(|times| times.exits > 0).map(|times| times.max_ns),
            async_starts: completions.map(|of| of.starts),
            async_completions: completions.map(|of| of.completions),
            async_in_flight: completions.map(|of| of.in_flight),
            async_mean_ns: completions.and_then(|of| of.mean_ns()),
            kept_calls: dial.calls.as_ref().map(KeptJson::from),
        }
    }
}

/// The rows of a process, made one by one as they are written.
#[derive(Debug)]
pub struct DialsJson<'a> {
    pid: u32,
    rows: Vec<&'a DialledCopy>,
}

impl<'a> DialsJson<'a> {
    /// Lists all rows of process `pid`.
    pub fn new(pid: u32, dials: &'a DialledCopies) -> Self {
        DialsJson { pid, rows: dials.iter().collect() }
    }

    /// Lists these rows of process `pid`.
    pub fn of(pid: u32, rows: Vec<&'a DialledCopy>) -> Self {
        DialsJson { pid, rows }
    }
}

impl Serialize for DialsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|dial| DialJson::new(self.pid, dial)))
    }
}

/// One line of `watch`.
#[derive(Debug, Serialize)]
pub struct WatchJson<'a> {
    /// Process id.
    pub pid: u32,
    /// Milliseconds since the watch began.
    pub t_ms: u64,
    /// Every row.
    pub dials: DialsJson<'a>,
    /// The number of updates that the agent dropped so far because this reader was slow.
    pub dropped: u64,
    /// The cost of all dials, in percent of one processor; null until rates are known.
    pub cost_percent: Option<f64>,
    /// The overhead budget; null until the agent reported it.
    pub cost_budget: Option<CostBudgetJson>,
}

/// A row of `status --sum` and `watch --sum`: a method with its sums over all processes.
#[derive(Debug, Serialize)]
pub struct SumJson<'a> {
    /// `Namespace.Type.Method`.
    pub method: &'a str,
    /// `(PARAMS)`.
    pub signature: &'a str,
    /// The module's name as in patterns.
    pub module: &'a str,
    /// The number of processes in which it is or was dialled.
    pub processes: u64,
    /// The number of processes in which it should be on.
    pub wanted: u64,
    /// The number of processes in which it is live.
    pub live: u64,
    /// Calls.
    pub calls: u64,
    /// Calls per second; null if unknown.
    #[serde(serialize_with = "lossy_float")]
    pub rate: Option<f64>,
    /// Timed calls in flight; like the other times, null if no process timed the method.
    pub in_flight: Option<u64>,
    /// Timed calls that ended with an exception.
    pub exceptions: Option<u64>,
    /// Nanoseconds in its calls, including callees.
    pub total_ns: Option<u64>,
    /// Nanoseconds in its calls, without timed callees.
    pub self_ns: Option<u64>,
    /// The longest call in any process. Percentiles cannot be added up.
    pub max_ns: Option<u64>,
    /// Observed starts of async calls; like the other async numbers, null for other methods.
    pub async_starts: Option<u64>,
    /// Async calls that completed.
    pub async_completions: Option<u64>,
    /// Async calls in flight.
    pub async_in_flight: Option<u64>,
    /// Mean latency to completion in nanoseconds; null until a call completes.
    pub async_mean_ns: Option<u64>,
}

/// A line of `watch --sum`.
#[derive(Debug, Serialize)]
pub struct WatchSumJson<'a> {
    /// Milliseconds since the watch began.
    pub t_ms: u64,
    /// The number of processes that send numbers.
    pub processes: u64,
    /// The number of processes that have ended; the sums include only their calls and times.
    pub ended: u64,
    /// Every method.
    pub dials: Vec<SumJson<'a>>,
    /// The number of updates that agents dropped so far because this reader was slow.
    pub dropped: u64,
}

/// A row of `methods`.
#[derive(Debug, Serialize)]
pub struct MethodJson<'a> {
    pid: u32,
    /// The assembly's simple name.
    pub module: &'a str,
    module_id: String,
    /// MethodDef token.
    pub token: String,
    /// `Namespace.Type.Method`.
    pub method: String,
    /// `(PARAMS)`.
    pub signature: &'a str,
}

impl<'a> MethodJson<'a> {
    /// Returns the method at `index` of a page, or `None` if the page's columns differ in length.
    pub fn of(
        pid: u32,
        page: &'a MethodPage,
        index: usize,
        name_of: impl FnOnce(ModuleKey) -> &'a str,
    ) -> Option<Self> {
        let key = *page.modules.get(usize::try_from(*page.module.get(index)?).ok()?)?;
        let type_name = page.type_names.get(usize::try_from(*page.type_index.get(index)?).ok()?)?;
        Some(MethodJson {
            pid,
            module: name_of(key),
            module_id: module_id(key),
            token: token(*page.token.get(index)?),
            method: format!("{type_name}.{}", page.name.get(index)?),
            signature: page.signature.get(index)?,
        })
    }
}

/// `off`.
#[derive(Debug, Serialize)]
pub struct OffJson {
    /// Process id.
    pub pid: u32,
    /// The number of copies that reverted to their original code.
    pub reverted: u64,
    /// The number of copies that could not be reverted.
    pub remaining: u64,
}

/// `env`.
#[derive(Debug, Serialize)]
pub struct EnvJson<'a> {
    /// `shell powershell systemd docker kubernetes init-container nuget iis windows-service`.
    #[serde(rename = "for")]
    pub means: &'static str,
    /// Names and values, as an object.
    #[serde(serialize_with = "as_object")]
    pub variables: Vec<(&'static str, String)>,
    /// The commands or file content, line by line.
    pub lines: &'a [String],
    /// The steps to restart the program.
    pub restart: &'a [String],
    /// The steps to undo all of it.
    pub undo: &'a [String],
    /// Further notes.
    pub notes: &'a [String],
    /// Whether Redial's tests run exactly this recipe.
    pub tested: bool,
}

fn as_object<S: Serializer>(pairs: &[(&'static str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// A row of `doctor`.
#[derive(Debug, Serialize)]
pub struct CheckJson {
    /// The name of the check.
    pub check: String,
    /// Whether the check passed.
    pub ok: bool,
    /// Details, or advice if the check failed.
    pub advice: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;
    use redial_protocol::order::TimeOptions;

    #[test]
    fn a_row_has_each_field_once() {
        let options = TimeOptions { rate: Some(7), ..TimeOptions::default() };
        let row = redial_protocol::message::StatusRow { options, ..row(0, "Shop.Cart.Add", 5) };
        let dial = DialledCopy { row, rate: Some(1.5), times: None, calls: None };
        let text = serde_json::to_string(&DialJson::new(1, &dial)).expect("JSON");
        assert_eq!(text.matches("\"rate\":").count(), 1, "{text}");
        assert!(text.contains("\"rate\":1.5") && text.contains("\"trace_rate\":7"), "{text}");
    }
}
