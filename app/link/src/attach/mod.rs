//! Loads the agent into a running process through its runtime's diagnostics port.
#![forbid(unsafe_code)]

mod agent_path;
mod error;
pub(super) mod obstacle;
mod port;

pub use error::AttachError;
pub use obstacle::{Obstacle, obstacle};

use super::connect;
use super::discover::{self, RuntimeSearch};
use super::error::LinkError;
use super::ipc::{self, IpcAnswer};
use agent_path::AgentPathError;
use port::PortReply;
use redial_model::processes::program_name;
use redial_protocol::AGENT_CLSID;
use redial_protocol::attach::Attacher;
use redial_protocol::process::{self, Owner};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// The name under which the agent lists this controller.
const PROGRAM: &str = "redial attach";
/// `CORPROF_E_PROFILER_ALREADY_ACTIVE`: the process already has a profiler, ours or another.
const ALREADY_ACTIVE: u32 = 0x8013_136A;
/// How long a process may take to end after it closed its port.
const EXIT_GRACE: Duration = Duration::from_millis(500);

/// Whether the agent was loaded now or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attached {
    /// This call loaded it.
    Now,
    /// It was already loaded.
    Before,
}

/// Loads the agent into process `pid` and returns once the agent answers. Waits at most `wait` for each
/// answer of the runtime.
///
/// # Errors
/// See [`AttachError`]. Up to [`AttachError::NotYet`], nothing has been requested that changes the
/// process.
pub fn attach(pid: u32, wait: Duration) -> Result<Attached, AttachError> {
    load(pid, wait).map_err(|error| match error {
        // The files of a process that is ending cannot be found.
        AttachError::HiddenLibrary { .. }
        | AttachError::NoLibrary { .. }
        | AttachError::Unsuitable { .. }
            if is_ending(pid) =>
        {
            LinkError::Ended(pid).into()
        }
        error => error,
    })
}

fn load(pid: u32, wait: Duration) -> Result<Attached, AttachError> {
    match connect::open(pid, PROGRAM) {
        Ok(_) => return Ok(Attached::Before),
        Err(LinkError::NoAgent { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let process = discover::find(pid).ok_or(LinkError::NoProcess(pid))?;
    let name = program_name(&process.name, process.command.as_deref());
    let RuntimeSearch::Runtime(runtime) = process.runtime else {
        return Err(LinkError::NoProcess(pid).into());
    };
    match obstacle(pid, &runtime) {
        Some(Obstacle::Start(why)) => return Err(AttachError::Unsuitable { pid, name, why }),
        Some(Obstacle::Profiler(which)) => {
            return Err(AttachError::OtherProfiler { pid, name, which: Some(which) });
        }
        Some(Obstacle::Hidden(library)) => return Err(AttachError::HiddenLibrary { pid, name, library }),
        Some(Obstacle::NoLibrary(why)) => return Err(AttachError::NoLibrary { pid, name, why }),
        // The agent itself refuses, with a more precise reason.
        Some(Obstacle::Inert(_)) | None => {}
    }
    let library = match agent_path::of(pid) {
        Ok(library) => library,
        Err(AgentPathError::Library(error)) => return Err(error.into()),
        Err(AgentPathError::Unfit(why)) => return Err(AttachError::NoLibrary { pid, name, why }),
        Err(AgentPathError::Hidden(library)) => {
            return Err(AttachError::HiddenLibrary { pid, name, library });
        }
    };
    let path = library.to_str().ok_or_else(|| {
        AttachError::BadLibrary(format!(
            "the path {} is not valid Unicode, which the runtime requires",
            library.display()
        ))
    })?;
    let milliseconds = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
    let request =
        ipc::attach_profiler(milliseconds, AGENT_CLSID, path, &client_data(pid)).unwrap_or_default();
    // A stopped runtime leaves requests queued in the socket and carries them out when it resumes, even long
    // after we gave up. So a read-only question goes first.
    match port::ask(pid, ipc::PROCESS_INFO, Vec::new(), wait) {
        PortReply::Answered(_) => {}
        PortReply::Silence => {
            let halt = discover::halted(pid);
            let why = halt.map_or_else(|| "it may be hung".to_owned(), |halt| halt.to_string());
            return Err(AttachError::Silent { pid, name, seconds: wait.as_secs(), why });
        }
        PortReply::Failed(error) => return Err(port_failed(pid, name, &error)),
    }
    match port::ask(pid, ipc::ATTACH_PROFILER, request, wait) {
        PortReply::Answered(IpcAnswer::Done(_)) => {}
        PortReply::Answered(IpcAnswer::Error(ALREADY_ACTIVE)) => {
            // Another `redial attach` may have just succeeded.
            return match connect::open(pid, PROGRAM) {
                Ok(_) => Ok(Attached::Before),
                Err(error @ LinkError::NoAgent { obstacle: Some(Obstacle::Inert(_)), .. }) => {
                    Err(error.into())
                }
                Err(LinkError::NoAgent { .. }) => {
                    Err(AttachError::OtherProfiler { pid, name, which: obstacle::named_profiler(pid) })
                }
                Err(error) => Err(error.into()),
            };
        }
        PortReply::Answered(IpcAnswer::Error(code)) => {
            return Err(AttachError::answered(pid, name, path, code));
        }
        PortReply::Silence => return Err(AttachError::NotYet { pid, name, seconds: wait.as_secs() }),
        PortReply::Failed(error) => return Err(port_failed(pid, name, &error)),
    }
    match connect::open(pid, PROGRAM) {
        Ok(_) => Ok(Attached::Now),
        Err(LinkError::NoAgent { .. }) => Err(AttachError::GaveUp { pid, name }),
        Err(error) => Err(error.into()),
    }
}

/// Identifies this user and program for the agent's audit ring; empty where the system does not say who owns
/// this process.
fn client_data(pid: u32) -> Vec<u8> {
    let attacher = |owner: Owner| Attacher { user: owner.word(), program: PROGRAM.to_owned() };
    process::own_owner_seen_by(pid).map(|owner| attacher(owner).to_bytes()).unwrap_or_default()
}

/// Explains a broken connection: the process ended, access is denied, or the port is gone.
fn port_failed(pid: u32, name: String, error: &std::io::Error) -> AttachError {
    if has_ended(pid, error.kind()) {
        return LinkError::Ended(pid).into();
    }
    match error.kind() {
        ErrorKind::PermissionDenied => {
            LinkError::NotAllowed { pid, why: format!("its diagnostics port cannot be opened: {error}") }
                .into()
        }
        _ => AttachError::Port { pid, name, why: error.to_string() },
    }
}

/// Returns whether a process has ended, or no longer has a root folder because it is ending.
fn is_ending(pid: u32) -> bool {
    let root = std::fs::metadata(format!("/proc/{pid}/root"));
    !discover::runs(pid)
        || (cfg!(target_os = "linux") && root.is_err_and(|error| error.kind() == ErrorKind::NotFound))
}

/// Returns whether the process ended when its connection broke with error kind `broke`. A killed process
/// closes its sockets first and still appears to run for a moment.
fn has_ended(pid: u32, broke: ErrorKind) -> bool {
    let closed = matches!(
        broke,
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
    );
    let until = Instant::now() + if closed { EXIT_GRACE } else { Duration::ZERO };
    while discover::runs(pid) {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
