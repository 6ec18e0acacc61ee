//! Several real AppDomains in one .NET Core 2.1.30 process: **an unsupported configuration of a real runtime**.
//! The host program in `src/bin/many-domains` creates them and lists its commands.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_protocol::message::StatusRow;

use crate::host::Host;
use crate::programs;
use crate::runtimes::Runtime;
use crate::truth::Truth;

/// Returns the host's command, without the agent. `program` is `env!("CARGO_BIN_EXE_many-domains")` in a test.
///
/// # Errors
/// When the runtime cannot be set up, or the compiler's messages.
pub fn command(program: &str) -> Result<Command> {
    let runtime = Runtime::V2_1.ensure()?;
    let mut command = Command::new(program);
    runtime.settle_environment(&mut command);
    command.arg(runtime.framework_dir()).arg(programs::named("domains")?.dll());
    Ok(command)
}

/// Sends a command, reads one line that starts with `beginning`, and returns the rest of that line.
///
/// # Errors
/// When the line starts differently; also fails like [`Host::say`] and [`Host::next_line`].
pub fn ask(host: &mut Host, command: &str, beginning: &str) -> Result<String> {
    host.say(command)?;
    let line = host.next_line()?;
    let rest = line.strip_prefix(beginning).with_context(|| format!("{command}: answered {line:?}"))?;
    Ok(rest.trim().to_owned())
}

/// Creates the domains, in order.
///
/// # Errors
/// Fails like [`ask`].
pub fn create(host: &mut Host, names: &[&str]) -> Result<()> {
    names
        .iter()
        .try_for_each(|name| ask(host, &format!("create {name}"), &format!("created {name}")).map(drop))
}

/// Unloads a domain and waits until the runtime has unloaded it.
///
/// # Errors
/// Fails like [`ask`].
pub fn unload(host: &mut Host, name: &str) -> Result<()> {
    ask(host, &format!("unload {name}"), &format!("unloaded {name}")).map(drop)
}

/// Calls the method of `kind` `times` times in the domain.
///
/// # Errors
/// Fails like [`ask`].
pub fn call(host: &mut Host, domain: &str, kind: &str, times: u32) -> Result<()> {
    ask(host, &format!("call {domain} {kind} {times}"), &format!("called {domain} {kind}")).map(drop)
}

/// Returns the calls by copy, including copies without calls. Names have the form of the host's truth:
/// `DOMAIN/MODULE!METHOD`.
///
/// # Errors
/// When two rows belong to one copy.
pub fn counted(rows: &[StatusRow]) -> Result<Truth> {
    let mut counted = Truth::new();
    for row in rows {
        let name = format!("{}/{}!{}", row.domain, row.module, row.method);
        ensure!(counted.insert(name, row.calls).is_none(), "two rows of one copy: {rows:?}");
    }
    Ok(counted)
}

/// Returns the growth from `before` to `after`, without entries that did not grow.
pub fn grown(before: &Truth, after: &Truth) -> Truth {
    let more = |(name, calls): (&String, &u64)| {
        let grown = calls.saturating_sub(before.get(name).copied().unwrap_or(0));
        (grown > 0).then(|| (name.clone(), grown))
    };
    after.iter().filter_map(more).collect()
}

/// Returns the part of a truth about the domains accepted by `meant` and methods whose names start with
/// `method`.
pub fn part(truth: &Truth, is_included: impl Fn(&str) -> bool, method: &str) -> Truth {
    let is_part = |name: &str| {
        name.rsplit_once('/').is_some_and(|(domain, of)| is_included(domain) && of.starts_with(method))
    };
    truth.iter().filter(|(name, _)| is_part(name)).map(|(name, calls)| (name.clone(), *calls)).collect()
}
