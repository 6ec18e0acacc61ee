//! The program `traced`, whose calls have known arguments and results, and what an agent captured of them.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_protocol::order::Order;
use redial_protocol::trace::{OmittedReason, Outcome, TracedCall, TracedMethod, Value};

use crate::controller::{Controller, Lifetime};
use crate::host::Host;
use crate::programs;
use crate::runtimes::Runtime;
use crate::under_agent::{self, LiveHost};

/// Starts the program `traced` with a controller that has control.
///
/// # Errors
/// If it does not start.
pub fn start(runtime: Runtime) -> Result<(LiveHost, Controller)> {
    under_agent::start_controlled(programs::named("traced")?.command(runtime)?)
}

/// Like [`start`], with an agent whose plans of captures are wrong.
///
/// # Errors
/// If it does not start.
pub fn start_with_wrong_plans(runtime: Runtime) -> Result<(LiveHost, Controller)> {
    let mut command = programs::named("traced")?.command(runtime)?;
    command.env("REDIAL_TEST_FAULT", "wrong-plan");
    under_agent::start_controlled(command)
}

/// Keeps methods at level *trace*.
///
/// # Errors
/// If none matches or the agent warns.
pub fn trace(controller: &mut Controller, pattern: &str) -> Result<()> {
    let report = controller.order(vec![Order::new(pattern, Level::Trace)], Lifetime::Kept)?;
    ensure!(report.accepted > 0 && report.warnings.is_empty(), "{report:?}");
    Ok(())
}

/// Executes a command of the program.
///
/// # Errors
/// If the program ends.
pub fn say(host: &mut Host, command: &str) -> Result<()> {
    host.ask(command, "done").map(drop)
}

/// Traced calls with the methods that they refer to.
#[derive(Debug, Default)]
pub struct Calls {
    /// By plan.
    pub methods: HashMap<u32, TracedMethod>,
    /// In the order of arrival.
    pub calls: Vec<TracedCall>,
}

impl Calls {
    /// Adds a page; ignores other events.
    ///
    /// # Errors
    /// None.
    pub fn take(&mut self, event: &Event) -> Result<()> {
        if let Event::Calls { methods, calls, .. } = event {
            self.methods.extend(methods.iter().map(|method| (method.plan, method.clone())));
            self.calls.extend(calls.iter().cloned());
        }
        Ok(())
    }

    /// Returns the calls of methods that end with this name.
    pub fn of(&self, name: &str) -> Vec<&TracedCall> {
        let is_it = |call: &&TracedCall| self.methods[&call.plan].method.ends_with(name);
        self.calls.iter().filter(is_it).collect()
    }
}

/// Returns the latest calls, or those in flight.
///
/// # Errors
/// If the answer does not agree with itself.
pub fn list(controller: &mut Controller, in_flight: bool) -> Result<Calls> {
    let answer = controller.ask(WireCommand::Calls { pattern: None, in_flight })?;
    let Reply::Calls { calls: sent } = answer.reply else { anyhow::bail!("{:?}", answer.reply) };
    let mut calls = Calls::default();
    answer.calls.iter().try_for_each(|page| calls.take(page))?;
    ensure!(calls.calls.len() as u64 == sent, "{sent}: {calls:?}");
    ensure!(calls.calls.iter().all(|call| calls.methods.contains_key(&call.plan)), "{calls:?}");
    Ok(calls)
}

/// Returns the numbers of calls that were not captured, by row.
///
/// # Errors
/// If the agent does not answer.
pub fn dropped(controller: &mut Controller, pattern: Option<&str>) -> Result<BTreeMap<RowId, u64>> {
    let pattern = pattern.map(str::to_owned);
    let answer = controller.ask(WireCommand::Calls { pattern, in_flight: false })?;
    let of_page = |page: &Event| match page {
        Event::Calls { dropped, .. } => dropped.clone(),
        _ => Vec::new(),
    };
    let all = answer.calls.iter().flat_map(of_page);
    Ok(all.map(|one| (one.row, one.over_rate + one.no_room)).collect())
}

/// Checks the agent's memory while every method is traced, and that calls beyond the rates are reported.
///
/// # Errors
/// If it takes more than it may, or hardly any call is kept or reported as dropped.
pub fn ensure_bounded(controller: &mut Controller) -> Result<()> {
    /// Areas of all threads, kept calls (`docs/design/trace.md`), and the rest of the agent.
    const MAX_BYTES: u64 = (48 + 16 + 16) << 20;
    /// A row with its plan.
    const MAX_BYTES_OF_METHOD: u64 = 1536;
    let kept = list(controller, false)?;
    let dropped = dropped(controller, None)?;
    let sum: u64 = dropped.values().sum();
    let status = controller.agent_status()?;
    println!(
        "{} methods traced: {} calls of {} methods are kept; {sum} calls of {} methods were dropped; the agent takes {} bytes",
        status.kept,
        kept.calls.len(),
        kept.methods.len(),
        dropped.len(),
        status.memory_bytes
    );
    ensure!(kept.methods.len() > 100 && sum > 1_000, "hardly anything was called");
    ensure!(status.memory_bytes <= MAX_BYTES + MAX_BYTES_OF_METHOD * status.kept, "{status:?}");
    Ok(())
}

/// Returns a whole string.
pub fn text(text: &str) -> Value {
    let units: Vec<u16> = text.encode_utf16().collect();
    Value::String { length: units.len() as u32, units }
}

/// Returns the outcome of a call with this result.
pub fn returned(value: Value) -> Outcome {
    Outcome::Returned(Some(value))
}

/// Ends the program.
///
/// # Errors
/// If a guard of the agent tripped, or the program fails.
pub fn end(mut live: LiveHost, mut controller: Controller) -> Result<()> {
    ensure!(controller.agent_status()?.guard_trips == 0);
    live.host.say("exit")?;
    let outcome = live.host.finish()?;
    ensure!(outcome.code()? == 0, "{}", outcome.output());
    Ok(())
}

/// Returns whether a class of any of the values was not known yet.
fn is_pending(value: &Value) -> bool {
    match value {
        Value::Omitted(OmittedReason::Pending) => true,
        Value::Object { fields, .. } => fields.iter().any(|(_, value)| is_pending(value)),
        Value::Collection { items, .. } => items.iter().any(is_pending),
        Value::Dictionary { entries, .. } => {
            entries.iter().any(|(key, value)| is_pending(key) || is_pending(value))
        }
        _ => false,
    }
}

/// Executes a command of the program until all classes of its traced calls are known.
///
/// # Errors
/// If some stay unknown.
pub fn warm_up(host: &mut Host, controller: &mut Controller, command: &str) -> Result<()> {
    for _ in 0..200 {
        say(host, command)?;
        let calls = list(controller, false)?;
        let latest = calls.calls.iter().map(|call| call.number).max().context("a call")?;
        let is_latest = |call: &&TracedCall| latest - call.number < 24;
        let mut of_round = calls.calls.iter().filter(is_latest);
        // An `out` parameter has no value at first.
        let pending = |call: &TracedCall| {
            let is_out =
                |index: usize| call.arguments_after.iter().any(|(after, _)| usize::from(*after) == index);
            let arguments = call.arguments.iter().enumerate();
            let after = call.arguments_after.iter().any(|(_, value)| is_pending(value));
            arguments.filter(|(index, _)| !is_out(*index)).any(|(_, value)| is_pending(value))
                || after
                || matches!(&call.outcome, Outcome::Returned(Some(value)) if is_pending(value))
        };
        if !of_round.any(pending) {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    bail!("classes stay unknown")
}
