//! The program `traced`, whose calls have known arguments and results, and what an agent captured of them.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_protocol::order::Order;
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, Value};

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
