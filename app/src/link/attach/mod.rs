//! Loading the agent into a process that runs: through the diagnostics port of its runtime, which does the loading.
#![forbid(unsafe_code)]

mod error;
mod port;

pub use error::AttachError;

use super::connect;
use super::discover::runtime::{Kind, Runtime};
use super::discover::{self, Found};
use super::error::LinkError;
use super::ipc::{self, Answer};
use super::library;
use port::Asked;
use redial_protocol::AGENT_CLSID;
use redial_protocol::attach::Attacher;
use redial_protocol::process::{self, Owner};
use std::path::Path;
use std::time::Duration;

/// What this is called among an agent's controllers.
const PROGRAM: &str = "redial attach";
/// The first runtime that lets profilers be attached.
const FIRST_MAJOR: u32 = 3;
/// `CORPROF_E_PROFILER_ALREADY_ACTIVE`: there is one, ours or another.
const ALREADY_ACTIVE: u32 = 0x8013_136A;

/// How the agent came to be in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// It was loaded now.
    Now,
    /// It was there already.
    Before,
}

/// Loads the agent into process `pid`, waiting at most `wait` for each answer of its runtime; done when it answers.
///
/// # Errors
/// See [`AttachError`]. Up to [`AttachError::NotYet`] nothing was asked that changes the process.
pub fn attach(pid: u32, wait: Duration) -> Result<Attached, AttachError> {
    match connect::open(pid, PROGRAM) {
        Ok(_) => return Ok(Attached::Before),
        Err(LinkError::NoAgent { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let process = discover::one(pid).ok_or(LinkError::NoProcess(pid))?;
    let name = process.name;
    let Found::Runtime(runtime) = process.runtime else { return Err(LinkError::NoProcess(pid).into()) };
    if let Some(why) = obstacle(pid, &runtime) {
        return Err(AttachError::Unsuitable { pid, name, why });
    }
    // The runtime would say so itself, but some load the agent's library first, and leave it mapped.
    if let Some(other) = other_profiler(pid).filter(|other| discover::has_mapped(pid, Path::new(other))) {
        return Err(AttachError::OtherProfiler { pid, name, which: Some(other) });
    }
    let library = library::find_here()?;
    library::check(&library).map_err(AttachError::BadLibrary)?;
    let path = library.to_str().ok_or_else(|| {
        AttachError::BadLibrary(format!("{} is no Unicode, as the runtime needs it", library.display()))
    })?;
    if hidden_from(pid, &library) {
        return Err(AttachError::HiddenLibrary { pid, name, library });
    }
    let milliseconds = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
    let request =
        ipc::attach_profiler(milliseconds, AGENT_CLSID, path, &client_data(pid)).unwrap_or_default();
    // A request waits in the socket for a runtime that is stopped, and is carried out whenever that goes on, however
    // long we have been gone. So a question that changes nothing goes first.
    match port::ask(pid, ipc::PROCESS_INFO, Vec::new(), wait) {
        Asked::Answered(_) => {}
        Asked::Silence => return Err(AttachError::Silent { pid, name, seconds: wait.as_secs() }),
        Asked::Failed(error) => return Err(port_failed(pid, name, &error)),
    }
    match port::ask(pid, ipc::ATTACH_PROFILER, request, wait) {
        Asked::Answered(Answer::Done(_)) => {}
        Asked::Answered(Answer::Error(ALREADY_ACTIVE)) => {
            // Another `redial attach` may just have been served.
            return match connect::open(pid, PROGRAM) {
                Ok(_) => Ok(Attached::Before),
                Err(LinkError::NoAgent { .. }) => {
                    Err(AttachError::OtherProfiler { pid, name, which: other_profiler(pid) })
                }
                Err(error) => Err(error.into()),
            };
        }
        Asked::Answered(Answer::Error(code)) => return Err(AttachError::answered(pid, name, code)),
        Asked::Silence => return Err(AttachError::NotYet { pid, name, seconds: wait.as_secs() }),
        Asked::Failed(error) => return Err(port_failed(pid, name, &error)),
    }
    match connect::open(pid, PROGRAM) {
        Ok(_) => Ok(Attached::Now),
        Err(LinkError::NoAgent { .. }) => Err(AttachError::GaveUp { pid, name }),
        Err(error) => Err(error.into()),
    }
}

/// Who attaches, for the agent's audit ring; nothing where the system does not tell.
fn client_data(pid: u32) -> Vec<u8> {
    let attacher = |owner: Owner| Attacher { user: owner.word(), program: PROGRAM.to_owned() };
    process::own_owner_seen_by(pid).map(|owner| attacher(owner).to_bytes()).unwrap_or_default()
}

/// Why the agent cannot be attached to a process with this runtime; None when it can, as far as can be told without
/// asking.
pub fn obstacle(pid: u32, runtime: &Runtime) -> Option<String> {
    if let Some(why) = by_runtime(runtime) {
        return Some(why);
    }
    if discover::diagnostics_port(pid).is_some() {
        return None;
    }
    let is_switch = |name: &str| switches(name);
    Some(match discover::variable(pid, is_switch).filter(|(_, value)| value.trim() == "0") {
        Some((name, value)) => format!("its diagnostics are switched off ({name}={value})"),
        None => "its runtime offers no diagnostics port that can be reached from here".to_owned(),
    })
}

fn by_runtime(runtime: &Runtime) -> Option<String> {
    match runtime.kind {
        Kind::CoreClr => {}
        Kind::Framework => {
            return Some(".NET Framework takes the agent only at a program's start".to_owned());
        }
        kind => return kind.obstacle().map(str::to_owned),
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

/// The profiler that the process's environment names, if that is another's: its path where there is one.
fn other_profiler(pid: u32) -> Option<String> {
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

/// A conversation that broke off: the process ended, may not be spoken to, or has no port any more.
fn port_failed(pid: u32, name: String, error: &std::io::Error) -> AttachError {
    if !discover::runs(pid) {
        return LinkError::Ended(pid).into();
    }
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            LinkError::NotAllowed { pid, why: format!("its diagnostics port cannot be opened: {error}") }
                .into()
        }
        _ => AttachError::Port { pid, name, why: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime(kind: Kind, version: &str) -> Runtime {
        Runtime { kind, version: Some(version.to_owned()) }
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
        assert_eq!(by_runtime(&Runtime { kind: Kind::CoreClr, version: None }), None);
    }

    #[test]
    fn this_process_has_no_port() {
        let why = obstacle(std::process::id(), &runtime(Kind::CoreClr, "8.0.31"));
        assert!(why.is_some_and(|why| why.contains("no diagnostics port")));
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
