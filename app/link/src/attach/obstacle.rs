//! Obstacles to attaching the agent that can be seen without asking the runtime.
#![forbid(unsafe_code)]

use super::agent_path::{self, AgentPathError};
use crate::discover;
use crate::discover::runtime::{Runtime, RuntimeKind};
use crate::library::LibraryError;
use redial_protocol::{AGENT_CLSID, unreachable_note};
use redial_text::words;
use std::path::{Path, PathBuf};

/// The first major version whose runtime lets profilers attach.
const FIRST_MAJOR: u32 = 3;

const DISABLED: &str = "REDIAL_DISABLE is set in its environment";
const STARTED_INERT: &str = "the agent was loaded at startup but is inactive (REDIAL_DISABLE is set, the process is a child \
     of a program started with `redial run`, or its standard error has the reason)";

/// Something that prevents attaching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The runtime loads agents only when the program starts; holds the reason.
    Start(String),
    /// Another profiler is loaded, and only one is allowed; holds its library.
    Profiler(String),
    /// The agent must stay inactive in this process; holds the reason.
    Inert(String),
    /// The process has its own file system, which lacks this library.
    Hidden(PathBuf),
    /// There is no agent for the process's processor and C library; holds the reason.
    NoLibrary(String),
}

impl Obstacle {
    /// Describes the obstacle as a sentence without a final period.
    pub fn sentence(&self) -> String {
        match self {
            Obstacle::Start(why) => why.clone(),
            Obstacle::Profiler(which) => {
                format!("it has another profiler ({which}); a process can have only one")
            }
            Obstacle::Inert(why) => why.clone(),
            Obstacle::Hidden(library) => format!("it has {}", agent_path::describe_hidden(library)),
            Obstacle::NoLibrary(why) => why.clone(),
        }
    }

    /// Says how to get an answering agent into process `pid`.
    pub fn advice(obstacle: Option<&Obstacle>, pid: u32) -> String {
        match obstacle {
            None => format!("load it with `redial attach {pid}`"),
            Some(Obstacle::Start(why)) => format!("start it with `redial run -- COMMAND` ({why})"),
            Some(other) => other.sentence(),
        }
    }
}

/// Returns the obstacle in a process with this runtime, or `None` if there is none.
pub fn obstacle(pid: u32, runtime: &Runtime) -> Option<Obstacle> {
    let note = note(pid);
    if let Some(why) = by_runtime(runtime) {
        return Some(Obstacle::Start(note.map_or(why.clone(), |note| format!("{note}; {why}"))));
    }
    if let Some(note) = note {
        return Some(Obstacle::Inert(note));
    }
    // The runtime would report this itself, but some runtimes first load the agent's library and leave it
    // mapped.
    match profiler(pid) {
        Some(Profiler::Ours) => return Some(Obstacle::Inert(STARTED_INERT.to_owned())),
        Some(Profiler::Other(which)) => return Some(Obstacle::Profiler(which)),
        None if is_disabled(pid) => return Some(Obstacle::Inert(DISABLED.to_owned())),
        None => {}
    }
    let library = agent_path::of(pid);
    match &library {
        Err(AgentPathError::Library(error @ LibraryError::NoneFor { .. })) => {
            return Some(Obstacle::NoLibrary(error.to_string()));
        }
        Err(AgentPathError::Unfit(why)) => return Some(Obstacle::NoLibrary(why.clone())),
        _ => {}
    }
    if discover::diagnostics_port(pid).is_none() {
        let is_switch = |name: &str| is_port_switch(name);
        let off = discover::variable(pid, is_switch).filter(|(_, value)| value.trim() == "0");
        return Some(Obstacle::Start(match off {
            Some((name, value)) => {
                // The version is unknown without the port.
                let all = name.ends_with("EnableDiagnostics");
                let first =
                    if all { "; since .NET 6 this keeps every profiler out, so unset it first" } else { "" };
                format!("its diagnostics are switched off ({name}={value}){first}")
            }
            None => "its runtime has no diagnostics port that can be reached from here".to_owned(),
        }));
    }
    match library {
        Err(AgentPathError::Hidden(library)) => Some(Obstacle::Hidden(library)),
        // If there is no library here at all, attaching reports that.
        _ => None,
    }
}

/// Returns why the agent that was loaded at startup cannot be used, by its own note.
fn note(pid: u32) -> Option<String> {
    unreachable_note::read(pid).map(|note| format!("its agent cannot be used: {}", words::one_line(&note)))
}

fn by_runtime(runtime: &Runtime) -> Option<String> {
    match runtime.kind {
        RuntimeKind::CoreClr => {}
        RuntimeKind::Framework => {
            return Some(".NET Framework loads the agent only when the program starts".to_owned());
        }
        _ => return runtime.obstacle(),
    }
    let version = runtime.version.as_deref()?;
    let major: u32 = version.split('.').next()?.parse().ok()?;
    (major < FIRST_MAJOR).then(|| {
        format!("its runtime ({version}) loads the agent only when the program starts; attaching needs .NET Core 3.0")
    })
}

/// Recognizes the variables that switch the port off (`DOTNET_` since .NET 6, `_IPC` since .NET 8).
fn is_port_switch(name: &str) -> bool {
    let name = name.strip_prefix("DOTNET_").or_else(|| name.strip_prefix("COMPlus_"));
    matches!(name, Some("EnableDiagnostics" | "EnableDiagnostics_IPC"))
}

fn is_disabled(pid: u32) -> bool {
    discover::variable(pid, |name| name == "REDIAL_DISABLE").is_some_and(|(_, value)| !value.is_empty())
}

/// A profiler loaded at startup.
enum Profiler {
    Ours,
    /// Holds the path of its library.
    Other(String),
}

/// Returns the profiler that the process's environment names, if its library is mapped.
fn profiler(pid: u32) -> Option<Profiler> {
    let (_, class) = discover::variable(pid, |name| name == "CORECLR_PROFILER")?;
    let (_, path) = discover::variable(pid, |name| name.starts_with("CORECLR_PROFILER_PATH"))?;
    discover::has_mapped(pid, Path::new(&path))
        .then(|| if class.eq_ignore_ascii_case(AGENT_CLSID) { Profiler::Ours } else { Profiler::Other(path) })
}

/// Returns the other profiler that the process's environment names: its path if given, else its class id.
pub fn named_profiler(pid: u32) -> Option<String> {
    let (_, class) = discover::variable(pid, |name| name == "CORECLR_PROFILER")?;
    if class.eq_ignore_ascii_case(AGENT_CLSID) {
        return None;
    }
    let path = discover::variable(pid, |name| name.starts_with("CORECLR_PROFILER_PATH"));
    Some(path.map_or(class, |(_, path)| path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(kind: RuntimeKind, version: &str) -> Runtime {
        Runtime::new(kind, Some(version))
    }

    #[test]
    fn old_and_foreign_runtimes_cannot_be_attached() {
        for (runtime, part) in [
            (runtime(RuntimeKind::CoreClr, "2.1.30"), "2.1.30"),
            (runtime(RuntimeKind::Framework, "4.8.1"), ".NET Framework"),
            (runtime(RuntimeKind::Mono, "6.12"), "Mono"),
        ] {
            assert!(by_runtime(&runtime).is_some_and(|why| why.contains(part)), "{runtime:?}");
        }
        for version in ["3.1.23", "8.0.31", "10.0.0-rc.1"] {
            assert_eq!(by_runtime(&runtime(RuntimeKind::CoreClr, version)), None);
        }
        assert_eq!(by_runtime(&Runtime::new(RuntimeKind::CoreClr, None)), None);
    }

    #[test]
    fn this_process_has_no_port() {
        let found = obstacle(std::process::id(), &runtime(RuntimeKind::CoreClr, "8.0.31"));
        let Some(Obstacle::Start(why)) = &found else { panic!("there is no port: {found:?}") };
        assert!(why.contains("no diagnostics port"), "{why}");
        assert_eq!(
            Obstacle::advice(found.as_ref(), 7),
            format!("start it with `redial run -- COMMAND` ({why})")
        );
    }

    #[test]
    fn each_obstacle_has_its_advice() {
        assert_eq!(Obstacle::advice(None, 7), "load it with `redial attach 7`");
        for (obstacle, part) in [
            (Obstacle::Profiler("/opt/apm.so".into()), "another profiler (/opt/apm.so)"),
            (Obstacle::Inert(STARTED_INERT.to_owned()), "of a program started with `redial run`"),
            (Obstacle::Hidden("/opt/agent.so".into()), "without /opt/agent.so; copy the agent library there"),
            (Obstacle::NoLibrary("no agent for linux-arm64".into()), "no agent for linux-arm64"),
        ] {
            let advice = Obstacle::advice(Some(&obstacle), 7);
            assert!(advice.contains(part), "{advice}");
        }
    }

    #[test]
    fn recognizes_only_port_switches() {
        for name in ["DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC"]
        {
            assert!(is_port_switch(name), "{name}");
        }
        for name in ["EnableDiagnostics", "DOTNET_EnableDiagnostics_Debugger", "DOTNET_gcServer"] {
            assert!(!is_port_switch(name), "{name}");
        }
    }
}
