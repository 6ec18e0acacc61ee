//! Loading the agent into a process that runs: through the diagnostics port of its runtime, which does the loading.
#![forbid(unsafe_code)]

mod error;
mod obstacle;
mod port;

pub use error::AttachError;
pub use obstacle::{Obstacle, obstacle};

use super::connect;
use super::discover::{self, Found};
use super::error::LinkError;
use super::ipc::{self, Answer};
use super::library;
use crate::model::processes::program_name;
use port::Asked;
use redial_protocol::AGENT_CLSID;
use redial_protocol::attach::Attacher;
use redial_protocol::process::{self, Owner};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// What this is called among an agent's controllers.
const PROGRAM: &str = "redial attach";
/// `CORPROF_E_PROFILER_ALREADY_ACTIVE`: there is one, ours or another.
const ALREADY_ACTIVE: u32 = 0x8013_136A;
/// How long a process that closed its port may take to end.
const DYING: Duration = Duration::from_millis(500);

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
    let name = program_name(&process.name, process.command.as_deref());
    let Found::Runtime(runtime) = process.runtime else { return Err(LinkError::NoProcess(pid).into()) };
    match obstacle(pid, &runtime) {
        Some(Obstacle::Start(why)) => return Err(AttachError::Unsuitable { pid, name, why }),
        Some(Obstacle::Profiler(which)) => {
            return Err(AttachError::OtherProfiler { pid, name, which: Some(which) });
        }
        Some(Obstacle::Hidden(library)) => return Err(AttachError::HiddenLibrary { pid, name, library }),
        // The agent declines, and knows why better.
        Some(Obstacle::Inert(_)) | None => {}
    }
    let library = library::find_here()?;
    library::check(&library).map_err(AttachError::BadLibrary)?;
    let path = library.to_str().ok_or_else(|| {
        AttachError::BadLibrary(format!("{} is no Unicode, as the runtime needs it", library.display()))
    })?;
    let milliseconds = u32::try_from(wait.as_millis()).unwrap_or(u32::MAX);
    let request =
        ipc::attach_profiler(milliseconds, AGENT_CLSID, path, &client_data(pid)).unwrap_or_default();
    // A request waits in the socket for a runtime that is stopped, and is carried out whenever that goes on, however
    // long we have been gone. So a question that changes nothing goes first.
    match port::ask(pid, ipc::PROCESS_INFO, Vec::new(), wait) {
        Asked::Answered(_) => {}
        Asked::Silence => {
            let halt = discover::halted(pid);
            let why = halt.map_or_else(|| "it may hang".to_owned(), |halt| halt.to_string());
            return Err(AttachError::Silent { pid, name, seconds: wait.as_secs(), why });
        }
        Asked::Failed(error) => return Err(port_failed(pid, name, &error)),
    }
    match port::ask(pid, ipc::ATTACH_PROFILER, request, wait) {
        Asked::Answered(Answer::Done(_)) => {}
        Asked::Answered(Answer::Error(ALREADY_ACTIVE)) => {
            // Another `redial attach` may just have been served.
            return match connect::open(pid, PROGRAM) {
                Ok(_) => Ok(Attached::Before),
                Err(LinkError::NoAgent { .. }) => {
                    Err(AttachError::OtherProfiler { pid, name, which: obstacle::named_profiler(pid) })
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

/// A conversation that broke off: the process ended, may not be spoken to, or has no port any more.
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

/// Whether a process with which a conversation broke off so has ended. One that is killed closes its sockets first, and is
/// seen to run for a moment more.
fn has_ended(pid: u32, broke: ErrorKind) -> bool {
    let closed = matches!(
        broke,
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
    );
    let until = Instant::now() + if closed { DYING } else { Duration::ZERO };
    while discover::runs(pid) {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
