//! Opens a session with the agent in a process, or explains why that failed and what to do.
#![forbid(unsafe_code)]

use super::attach::obstacle::obstacle;
use super::discover::{self, RuntimeSearch};
use super::error::LinkError;
use super::session::Session;
pub use super::silent::silent;
use redial_model::processes::program_name;
use redial_protocol::transport::{self, ConnectError};

/// Connects to the agent in process `pid` and introduces itself as `program` ("redial dial").
pub fn open(pid: u32, program: &str) -> Result<Session, LinkError> {
    match transport::connect(pid) {
        Ok(connection) => Session::open(pid, connection, program),
        Err(error) => Err(explain(pid, error)),
    }
}

fn explain(pid: u32, error: ConnectError) -> LinkError {
    match error {
        ConnectError::NoSuchProcess { .. } => LinkError::NoProcess(pid),
        ConnectError::NoAgent { .. } => without_agent(pid, discover::find(pid)),
        ConnectError::NotAllowed { why, .. } => LinkError::NotAllowed { pid, why },
        error => match discover::halted(pid) {
            Some(halt) => LinkError::Halted { pid, why: halt.to_string() },
            None => LinkError::Connect { pid, why: error.to_string() },
        },
    }
}

/// Returns the error for a process that offers no endpoint.
fn without_agent(pid: u32, process: Option<discover::Process>) -> LinkError {
    let Some(process) = process else { return LinkError::NoProcess(pid) };
    let name = program_name(&process.name, process.command.as_deref());
    match process.runtime {
        RuntimeSearch::Runtime(runtime) => match runtime.obstacle() {
            None => LinkError::NoAgent { pid, name, obstacle: obstacle(pid, &runtime) },
            Some(why) => LinkError::Unsuitable { pid, name, why },
        },
        RuntimeSearch::None => {
            LinkError::Unsuitable { pid, name, why: "it is not a .NET process".to_owned() }
        }
        RuntimeSearch::Unknown { why, likely: true } => LinkError::NotAllowed { pid, why },
        RuntimeSearch::Unknown { why, likely: false } => LinkError::Unsuitable {
            pid,
            name,
            why: format!("it does not look like a .NET process, and {why}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::Process;
    use crate::discover::runtime::{Runtime, RuntimeKind};
    use crate::exit::Exit;

    fn process(runtime: RuntimeSearch) -> Option<Process> {
        Some(Process::for_test(7, "shop", runtime))
    }

    fn found(kind: RuntimeKind) -> RuntimeSearch {
        RuntimeSearch::Runtime(Runtime::new(kind, None))
    }

    #[test]
    fn explains_each_kind_of_process_without_an_agent() {
        let unreadable =
            |likely| RuntimeSearch::Unknown { why: "its memory map cannot be read".into(), likely };
        let cases = [
            (None, Exit::NoProcess, "no process 7"),
            (process(RuntimeSearch::None), Exit::NoProcess, "not a .NET process"),
            (process(found(RuntimeKind::NativeAot)), Exit::NoProcess, "ahead of time"),
            (process(found(RuntimeKind::Mono)), Exit::NoProcess, "Mono"),
            (process(found(RuntimeKind::CoreClr)), Exit::NoAgent, "redial run"),
            (process(found(RuntimeKind::Framework)), Exit::NoAgent, "redial run"),
            (process(unreadable(true)), Exit::Failed, "may not be dialled by this user"),
            (
                process(unreadable(false)),
                Exit::NoProcess,
                "it does not look like a .NET process, and its memory map",
            ),
        ];
        for (process, exit, part) in cases {
            let error = without_agent(7, process);
            assert_eq!(error.exit(), exit, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn suggests_attaching_if_possible() {
        let error = |obstacle| LinkError::NoAgent { pid: 7, name: "shop".into(), obstacle }.to_string();
        assert_eq!(error(None), "process 7 (shop) runs without the agent; load it with `redial attach 7`");
        let old = error(Some(crate::attach::Obstacle::Start("it is too old".into())));
        assert!(old.ends_with("start it with `redial run -- COMMAND` (it is too old)"), "{old}");
    }

    #[test]
    fn an_unused_pid_is_no_process() {
        let error = open(u32::MAX, "redial test").err().expect("there is none");
        assert_eq!((error.exit(), error.to_string()), (Exit::NoProcess, format!("no process {}", u32::MAX)));
    }

    #[test]
    fn this_process_is_not_dotnet() {
        let child = std::process::Command::new(if cfg!(windows) { "cmd" } else { "cat" })
            .stdin(std::process::Stdio::piped())
            .spawn();
        let mut child = child.expect("a harmless program");
        let error = open(child.id(), "redial test").err().expect("it has no agent");
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert_eq!(error.exit(), Exit::NoProcess, "{error}");
        assert!(error.to_string().contains("not a .NET process"), "{error}");
    }
}
