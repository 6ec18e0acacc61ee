//! The JSON rows of every listing: stable names, null for what is absent, ids as hexadecimal strings.
//! Renaming a field here breaks scripts; the tests hold the names.
#![forbid(unsafe_code)]

use crate::model::dials::Dial;
use redial_protocol::calls::{KeptCall, RowCalls};
use redial_protocol::catalogue::MethodPage;
use redial_protocol::ids::ModuleKey;
use redial_protocol::level::Level;
use redial_protocol::message::{Holder, Instance};
use redial_protocol::order::TimeOptions;
use redial_protocol::state::State;
use serde::{Serialize, Serializer};

mod agent;
mod budget;
mod callers;
mod il;
mod modules;
mod turns;

pub use agent::{AgentJson, AuditJson};
pub use budget::{BudgetJson, CostBudgetJson};
pub use callers::CallersJson;
pub use il::IlJson;
pub use modules::ModulesJson;
pub use turns::{DialledJson, FollowJson, LetGoJson, PlanJson, UndoneJson};

/// An opaque id as `0x…`.
pub fn hex(id: u64) -> String {
    format!("{id:#x}")
}

/// A metadata token as `0x06000012`.
pub fn token(token: u32) -> String {
    format!("{token:#010x}")
}

/// A ModuleID. The CLR may use it again after an unload; where that matters the generation stands beside it.
pub fn module_id(key: ModuleKey) -> String {
    hex(key.module_id)
}

fn lossy_float<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    // Rates need no more than a thousandth.
    value.map(|rate| (rate * 1000.0).round() / 1000.0).serialize(serializer)
}

/// Who holds control.
#[derive(Debug, Serialize)]
pub struct ControlJson {
    pid: u32,
    program: String,
}

impl ControlJson {
    /// The same for people: `redial dial (pid 7)`.
    pub fn words(&self) -> String {
        format!("{} (pid {})", self.program, self.pid)
    }
}

impl From<&Holder> for ControlJson {
    fn from(holder: &Holder) -> Self {
        ControlJson { pid: holder.pid, program: holder.program.clone() }
    }
}

/// The runtime of a process.
#[derive(Debug, Serialize)]
pub struct RuntimeJson {
    /// `coreclr`, `framework`, `nativeaot`, `mono` or `unknown`.
    pub kind: String,
    /// `8.0.31`.
    pub version: Option<String>,
    /// Whether this runtime is one Redial is tested on; null when the version is not known.
    pub tested: Option<bool>,
}

/// A row of `ps`.
#[derive(Debug, Serialize)]
pub struct ProcessJson {
    /// Process id.
    pub pid: u32,
    /// File name of the program; of what `dotnet` runs, that file's.
    pub name: String,
    /// The service, container or pool it belongs to.
    pub group: Option<String>,
    /// The user it runs as.
    pub user: Option<String>,
    /// Its runtime, if it has one.
    pub runtime: Option<RuntimeJson>,
    /// `loaded attachable launch-only none refused stopped`.
    pub agent: &'static str,
    /// Who holds control.
    pub control: Option<ControlJson>,
    /// Copies dialled by kept orders; null without an agent.
    pub kept: Option<u64>,
    /// Why the agent is not loaded, or what may not be seen.
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
    state: State,
    version: Option<u32>,
    instances: Vec<InstanceJson>,
    reason: Option<&'a str>,
    times_reason: Option<&'a str>,
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

/// The worst calls, since their condition stands.
#[derive(Debug, Serialize)]
struct KeptJson<'a> {
    /// Calls for which it held.
    met: u64,
    /// Those of them that were left out.
    missed: u64,
    /// The longest first.
    calls: Vec<CallJson<'a>>,
}

#[derive(Debug, Serialize)]
struct CallJson<'a> {
    /// When it ended: Unix time, milliseconds.
    t: u64,
    ns: u64,
    /// The operating system's number of its thread; null where it is unknown.
    thread: Option<u32>,
    failed: bool,
    /// The exception's type; null for a call that returned, and where it is unknown.
    exception: Option<&'a str>,
}

impl<'a> From<&'a RowCalls> for KeptJson<'a> {
    fn from(kept: &'a RowCalls) -> Self {
        let call = |call: &'a KeptCall| CallJson {
            t: call.ended_unix_ms,
            ns: call.took_ns,
            thread: Some(call.thread).filter(|thread| *thread != 0),
            failed: call.failed,
            exception: call.exception.as_deref(),
        };
        KeptJson { met: kept.met, missed: kept.missed, calls: kept.calls.iter().map(call).collect() }
    }
}

/// What is asked for beyond times.
#[derive(Debug, Serialize)]
struct OptionsJson {
    slower_than_ns: Option<u64>,
    failed_only: bool,
    callers: bool,
}

impl From<&TimeOptions> for OptionsJson {
    fn from(options: &TimeOptions) -> Self {
        let TimeOptions { slower_than_ns, failed_only, callers } = *options;
        OptionsJson { slower_than_ns, failed_only, callers }
    }
}

#[derive(Debug, Serialize)]
struct InstanceJson {
    function_id: String,
    rejit_id: String,
    state: State,
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
    /// The row of a dial of process `pid`.
    pub fn new(pid: u32, dial: &'a Dial) -> Self {
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
            state: row.state,
            version: row.version,
            instances: row.instances.iter().map(InstanceJson::from).collect(),
            reason: row.note.as_deref(),
            times_reason: row.times_note.as_deref(),
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

/// One line of `watch`.
#[derive(Debug, Serialize)]
pub struct WatchJson<'a> {
    /// Process id.
    pub pid: u32,
    /// Milliseconds since the watch began.
    pub t_ms: u64,
    /// Every row.
    pub dials: Vec<DialJson<'a>>,
    /// Updates the agent dropped so far because this reader was slow.
    pub dropped: u64,
    /// What the dials cost, in percent of one processor; null until rates are known.
    pub cost_percent: Option<f64>,
    /// What they may cost; null until the agent said.
    pub cost_budget: Option<CostBudgetJson<'a>>,
}

/// A row of `status --sum` and `watch --sum`: a method, and what all processes say of it.
#[derive(Debug, Serialize)]
pub struct SumJson<'a> {
    /// `Namespace.Type.Method`.
    pub method: &'a str,
    /// `(PARAMS)`.
    pub signature: &'a str,
    /// The module's name as in patterns.
    pub module: &'a str,
    /// Processes in which it is or was dialled; those in which it is meant to be on, and those in which it is live.
    pub processes: u64,
    /// See above.
    pub wanted: u64,
    /// See above.
    pub live: u64,
    /// Calls.
    pub calls: u64,
    /// Calls a second; null where none is known.
    #[serde(serialize_with = "lossy_float")]
    pub rate: Option<f64>,
    /// Timed calls under way, and those that ended by an exception; null where none was timed, as what follows.
    pub in_flight: Option<u64>,
    /// See above.
    pub exceptions: Option<u64>,
    /// Nanoseconds in it, with callees and without.
    pub total_ns: Option<u64>,
    /// See above.
    pub self_ns: Option<u64>,
    /// The longest call in any of the processes. Percentiles cannot be added up.
    pub max_ns: Option<u64>,
    /// Calls of an async method seen to begin, those that completed, and those in flight; null of others.
    pub async_starts: Option<u64>,
    /// See above.
    pub async_completions: Option<u64>,
    /// See above.
    pub async_in_flight: Option<u64>,
    /// Their mean latency to completion, nanoseconds; null while none has completed.
    pub async_mean_ns: Option<u64>,
}

/// A line of `watch --sum`.
#[derive(Debug, Serialize)]
pub struct WatchSumJson<'a> {
    /// Milliseconds since the watch began.
    pub t_ms: u64,
    /// Processes whose numbers come.
    pub processes: u64,
    /// Processes that have ended: of them only the calls and their times are added up.
    pub ended: u64,
    /// Every method.
    pub dials: Vec<SumJson<'a>>,
    /// Updates that agents dropped so far because this reader was slow.
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
    /// The method at `index` of a page; None when the agent's columns do not fit together.
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
    /// Copies whose original code runs again.
    pub reverted: u64,
    /// Copies that could not be reverted.
    pub remaining: u64,
}

/// `env`.
#[derive(Debug, Serialize)]
pub struct EnvJson<'a> {
    /// `shell powershell systemd docker kubernetes iis windows-service`.
    #[serde(rename = "for")]
    pub means: &'static str,
    /// Names and values, as an object.
    #[serde(serialize_with = "as_object")]
    pub variables: Vec<(&'static str, String)>,
    /// What to put in place, line by line.
    pub lines: &'a [String],
    /// What to restart.
    pub restart: &'a [String],
    /// How to take it back.
    pub undo: &'a [String],
    /// What else to know.
    pub notes: &'a [String],
    /// Whether Redial's tests use exactly this.
    pub tested: bool,
}

fn as_object<S: Serializer>(pairs: &[(&'static str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

/// A row of `doctor`.
#[derive(Debug, Serialize)]
pub struct CheckJson {
    /// What was looked at.
    pub check: String,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found, or what to do about it.
    pub advice: Option<String>,
}
