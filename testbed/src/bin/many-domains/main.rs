//! A test host with several real AppDomains in one .NET Core 2.1.30 process: **an unsupported configuration of
//! a real runtime**. The public hosting interface creates only one domain. Private functions of one particular
//! build of `libcoreclr.so` create the others (see `private.rs`); the host refuses any other build.
//!
//! ```text
//! many-domains FRAMEWORK LIBRARY     FRAMEWORK: folder of libcoreclr.so; LIBRARY: domains.dll (programs/domains.cs)
//! ```
//! The host then reads commands, one per line (domain names contain no spaces):
//! ```text
//! create NAME        -> created NAME ID          a domain of that name; the first one is the default domain, renamed
//! unload NAME        -> unloaded NAME            and waits until the runtime has unloaded it; not the default domain
//! call NAME KIND N   -> called NAME KIND TOTAL   KIND: add, same, size (methods of the library, called N times
//!                                                there), parse (of the core library); TOTAL: of that domain so far
//! round N            -> round N                  every kind N times in every domain
//! bump NAME N        -> bumped NAME TOTAL        adds to a static of that domain
//! where NAME         -> where NAME ID            the current domain as managed code sees it
//! truth              -> truth NAME/METHOD CALLS, ..., end
//! exit
//! ```
//! It prints `ready PID` once the runtime runs, when only the default domain exists. It answers a wrong command
//! with `error SENTENCE`, and ends with code 0 after `exit` or at the end of its input.

#[cfg(target_os = "linux")]
mod domains;
#[cfg(target_os = "linux")]
mod hosting;
#[cfg(target_os = "linux")]
mod private;
#[cfg(target_os = "linux")]
mod unloading;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match linux::run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("many-domains: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("many-domains: only a Linux build of the runtime carries the symbols this needs");
    std::process::ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{BufRead, Write};
    use std::path::PathBuf;

    use anyhow::{Context, Result, bail};

    use crate::domains::{Domains, Entry};

    pub fn run() -> Result<()> {
        let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
        let (Some(framework), Some(library), None) = (arguments.next(), arguments.next(), arguments.next())
        else {
            bail!("usage: many-domains FRAMEWORK LIBRARY");
        };
        let mut domains = Domains::start(&framework, &library)?;
        say(&format!("ready {}", std::process::id()))?;
        for line in std::io::stdin().lock().lines() {
            let line = line.context("cannot read a command")?;
            if line == "exit" {
                break;
            }
            match execute(&mut domains, &line) {
                Ok(answer) => say(&answer)?,
                Err(error) => say(&format!("error {line:?}: {error:#}"))?,
            }
        }
        domains.stop()
    }

    /// Executes one command and returns the answer, which may have several lines.
    fn execute(domains: &mut Domains, line: &str) -> Result<String> {
        let words: Vec<&str> = line.split(' ').collect();
        Ok(match words.as_slice() {
            ["create", name] => format!("created {name} {}", domains.create(name)?),
            ["unload", name] => {
                domains.unload(name)?;
                format!("unloaded {name}")
            }
            ["call", name, kind, times] => {
                let total = domains.call(name, Entry::named(kind)?, times.parse()?)?;
                format!("called {name} {kind} {total}")
            }
            ["round", times] => {
                let number = times.parse()?;
                for name in domains.names() {
                    for (entry, _) in Entry::COUNTED {
                        domains.call(&name, entry, number)?;
                    }
                }
                format!("round {times}")
            }
            ["bump", name, by] => {
                format!("bumped {name} {}", domains.call(name, Entry::Bump, by.parse()?)?)
            }
            ["where", name] => format!("where {name} {}", domains.call(name, Entry::Where, 0)?),
            ["truth"] => truth(domains)?,
            _ => bail!("no such command, or the wrong number of words"),
        })
    }

    /// Returns the calls that each domain counted itself.
    fn truth(domains: &mut Domains) -> Result<String> {
        let mut lines = String::new();
        for name in domains.names() {
            for (entry, method) in Entry::COUNTED {
                let calls = domains.call(&name, entry, 0)?;
                lines.push_str(&format!("truth {name}/{method} {calls}\n"));
            }
        }
        Ok(lines + "end")
    }

    fn say(line: &str) -> Result<()> {
        let mut output = std::io::stdout().lock();
        writeln!(output, "{line}").and_then(|()| output.flush()).context("nobody reads what this says")
    }
}
