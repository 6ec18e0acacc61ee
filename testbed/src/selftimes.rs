//! The program with known self times (`programs/selftimes.cs`).

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::host::Host;
use crate::programs;
use crate::runtimes::Runtime;
use crate::under_agent::{self, LiveHost};

/// Calls and self time of a method, as the program knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownTimes {
    /// Calls.
    pub calls: u64,
    /// Nanoseconds that the method measured itself: at most its self time.
    pub self_ns: u64,
}

/// Starts the program with the agent.
///
/// # Errors
/// When it does not become ready.
pub fn start(runtime: Runtime) -> Result<LiveHost> {
    under_agent::start(programs::named("selftimes")?.command(runtime)?)
}

/// Sends a command that answers with known times, and returns these by method.
///
/// # Errors
/// When the program answers something else.
pub fn known(host: &mut Host, command: &str) -> Result<BTreeMap<String, KnownTimes>> {
    host.say(command)?;
    let mut all = BTreeMap::new();
    loop {
        let line = host.next_line()?;
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["known", method, calls, self_ns] => {
                let number = |word: &str| word.parse().with_context(|| format!("no number: {line}"));
                let times = KnownTimes { calls: number(calls)?, self_ns: number(self_ns)? };
                all.insert((*method).to_owned(), times);
            }
            ["end"] => return Ok(all),
            ["still"] => {}
            _ => anyhow::bail!("unexpected: {line:?}"),
        }
    }
}
