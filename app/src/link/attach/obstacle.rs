//! Why the agent cannot be attached to a process, as far as can be told without asking its runtime.
#![forbid(unsafe_code)]

use crate::link::discover;
use crate::link::discover::runtime::{Kind, Runtime};
use crate::link::library;
use redial_protocol::AGENT_CLSID;
use std::path::{Path, PathBuf};

/// The first runtime that lets profilers be attached.
const FIRST_MAJOR: u32 = 3;

const DISABLED: &str = "REDIAL_DISABLE is set in its environment";
const STARTED_INERT: &str = "the agent was loaded at its start and keeps out of the way (REDIAL_DISABLE is set, it is a \
     child of what `redial run` started, or it said why on standard error)";

/// What is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Its runtime takes the agent only at a program's start; why.
    Start(String),
    /// It has another profiler, and takes only one: its library.
    Profiler(String),
    /// The agent is not to do anything in it; why.
    Inert(&'static str),
    /// It has its own file system, in which there is no such library.
    Hidden(PathBuf),
}

impl Obstacle {
    /// The obstacle as a sentence without a final period, for what is otherwise attachable.
    pub fn sentence(&self) -> String {
        match self {
            Obstacle::Start(why) => why.clone(),
            Obstacle::Profiler(which) => {
                format!("it has another profiler ({which}); a process takes only one")
            }
            Obstacle::Inert(why) => (*why).to_owned(),
            Obstacle::Hidden(library) => format!(
                "it has its own file system, in which there is no {}; copy the agent library there, and name it with \
                 {}",
                library.display(),
                library::VARIABLE
            ),
        }
    }

    /// What to do about process `pid`, which runs without an agent that answers.
    pub fn advice(obstacle: Option<&Obstacle>, pid: u32) -> String {
        match obstacle {
            None => format!("load it with `redial attach {pid}`"),
            Some(Obstacle::Start(why)) => format!("start it with `redial run -- COMMAND` ({why})"),
            Some(other) => other.sentence(),
        }
    }
}

/// What is in the way in a process with this runtime; None when nothing is.
pub fn obstacle(pid: u32, runtime: &Runtime) -> Option<Obstacle> {
    if let Some(why) = by_runtime(runtime) {
        return Some(Obstacle::Start(why));
    }
    // The runtime would say so itself, but some load the agent's library first, and leave it mapped.
    match profiler(pid) {
        Some(Profiler::Ours) => return Some(Obstacle::Inert(STARTED_INERT)),
        Some(Profiler::Other(which)) => return Some(Obstacle::Profiler(which)),
        None if is_disabled(pid) => return Some(Obstacle::Inert(DISABLED)),
        None => {}
    }
    if discover::diagnostics_port(pid).is_none() {
        let is_switch = |name: &str| switches(name);
        let off = discover::variable(pid, is_switch).filter(|(_, value)| value.trim() == "0");
        return Some(Obstacle::Start(match off {
            Some((name, value)) => format!("its diagnostics are switched off ({name}={value})"),
            None => "its runtime offers no diagnostics port that can be reached from here".to_owned(),
        }));
    }
    // Without a library here, attaching says so.
    let library = library::find_here().ok()?;
    hidden_from(pid, &library).then_some(Obstacle::Hidden(library))
}

fn by_runtime(runtime: &Runtime) -> Option<String> {
    match runtime.kind {
        Kind::CoreClr => {}
        Kind::Framework => {
            return Some(".NET Framework takes the agent only at a program's start".to_owned());
        }
        _ => return runtime.obstacle(),
    }
    let version = runtime.version.as_deref()?;
    let major: u32 = version.split('.').next()?.parse().ok()?;
    (major < FIRST_MAJOR).then(|| {
        format!("its runtime, {version}, takes the agent only at a program's start (3.0 was the first)")
    })
}

/// Variables that switch the port off (`DOTNET_` since .NET 6, `_IPC` since .NET 8).
fn switches(name: &str) -> bool {
    let name = name.strip_prefix("DOTNET_").or_else(|| name.strip_prefix("COMPlus_"));
    matches!(name, Some("EnableDiagnostics" | "EnableDiagnostics_IPC"))
}

fn is_disabled(pid: u32) -> bool {
    discover::variable(pid, |name| name == "REDIAL_DISABLE").is_some_and(|(_, value)| !value.is_empty())
}

/// A profiler that was loaded at the start.
enum Profiler {
    Ours,
    /// Its library.
    Other(String),
}

/// The profiler that the process's environment names and that is mapped.
fn profiler(pid: u32) -> Option<Profiler> {
    let (_, class) = discover::variable(pid, |name| name == "CORECLR_PROFILER")?;
    let (_, path) = discover::variable(pid, |name| name.starts_with("CORECLR_PROFILER_PATH"))?;
    discover::has_mapped(pid, Path::new(&path))
        .then(|| if class.eq_ignore_ascii_case(AGENT_CLSID) { Profiler::Ours } else { Profiler::Other(path) })
}

/// What the process's environment names as its profiler, if that is another's: its path where there is one.
pub fn named_profiler(pid: u32) -> Option<String> {
    let (_, class) = discover::variable(pid, |name| name == "CORECLR_PROFILER")?;
    if class.eq_ignore_ascii_case(AGENT_CLSID) {
        return None;
    }
    let path = discover::variable(pid, |name| name.starts_with("CORECLR_PROFILER_PATH"));
    Some(path.map_or(class, |(_, path)| path))
}

/// Whether the process, in a container of its own, has no such file. What cannot be looked at is taken to be there.
fn hidden_from(pid: u32, library: &Path) -> bool {
    if !cfg!(unix) {
        return false;
    }
    let below = library.strip_prefix("/").unwrap_or(library);
    let seen = Path::new(&format!("/proc/{pid}/root")).join(below).symlink_metadata();
    seen.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(kind: Kind, version: &str) -> Runtime {
        Runtime::new(kind, Some(version))
    }

    #[test]
    fn runtimes_that_cannot_be_attached_to_say_so() {
        for (runtime, part) in [
            (runtime(Kind::CoreClr, "2.1.30"), "2.1.30"),
            (runtime(Kind::Framework, "4.8.1"), ".NET Framework"),
            (runtime(Kind::Mono, "6.12"), "Mono"),
        ] {
            assert!(by_runtime(&runtime).is_some_and(|why| why.contains(part)), "{runtime:?}");
        }
        for version in ["3.1.23", "8.0.31", "10.0.0-rc.1"] {
            assert_eq!(by_runtime(&runtime(Kind::CoreClr, version)), None);
        }
        assert_eq!(by_runtime(&Runtime::new(Kind::CoreClr, None)), None);
    }

    #[test]
    fn this_process_has_no_port() {
        let found = obstacle(std::process::id(), &runtime(Kind::CoreClr, "8.0.31"));
        let Some(Obstacle::Start(why)) = &found else { panic!("it has none: {found:?}") };
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
            (Obstacle::Inert(STARTED_INERT), "a child of what `redial run` started"),
            (Obstacle::Hidden("/opt/agent.so".into()), "no /opt/agent.so; copy the agent library there"),
        ] {
            let advice = Obstacle::advice(Some(&obstacle), 7);
            assert!(advice.contains(part), "{advice}");
        }
    }

    #[test]
    fn only_switches_of_the_port_count() {
        for name in ["DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics", "DOTNET_EnableDiagnostics_IPC"]
        {
            assert!(switches(name), "{name}");
        }
        for name in ["EnableDiagnostics", "DOTNET_EnableDiagnostics_Debugger", "DOTNET_gcServer"] {
            assert!(!switches(name), "{name}");
        }
    }

    #[test]
    fn files_that_are_here_are_not_hidden_from_this_process() {
        let own = std::env::current_exe().expect("path");
        assert!(!hidden_from(std::process::id(), &own));
        assert_eq!(hidden_from(std::process::id(), Path::new("/no/such/library.so")), cfg!(unix));
    }
}
