//! From a pid to a session, or to the sentence that says why not and what to do.
#![forbid(unsafe_code)]

use super::attach;
use super::discover::{self, Found};
use super::error::LinkError;
use super::session::Session;
use crate::model::processes::program_name;
use redial_protocol::transport::{self, ConnectError};
use std::time::Duration;

/// Connects to the agent in process `pid` and says hello as `program` ("redial dial").
pub fn open(pid: u32, program: &str) -> Result<Session, LinkError> {
    match transport::connect(pid) {
        Ok(connection) => Session::open(pid, connection, program),
        Err(error) => Err(explain(pid, error)),
    }
}

fn explain(pid: u32, error: ConnectError) -> LinkError {
    match error {
        ConnectError::NoSuchProcess { .. } => LinkError::NoProcess(pid),
        ConnectError::NoAgent { .. } => without_agent(pid, discover::one(pid)),
        ConnectError::NotAllowed { why, .. } => LinkError::NotAllowed { pid, why },
        error => match discover::halted(pid) {
            Some(halt) => LinkError::Halted { pid, why: halt.to_string() },
            None => LinkError::Connect { pid, why: error.to_string() },
        },
    }
}

/// The error for an agent that said nothing for so long, or why it cannot.
pub fn silent(pid: u32, patience: Duration) -> LinkError {
    match discover::halted(pid) {
        Some(halt) => LinkError::Halted { pid, why: halt.to_string() },
        None => LinkError::Silent { pid, seconds: patience.as_secs() },
    }
}

/// Why a process that offers no endpoint has no agent.
fn without_agent(pid: u32, process: Option<discover::Process>) -> LinkError {
    let Some(process) = process else { return LinkError::NoProcess(pid) };
    let name = program_name(&process.name, process.command.as_deref());
    match process.runtime {
        Found::Runtime(runtime) => match runtime.obstacle() {
            None => LinkError::NoAgent { pid, name, obstacle: attach::obstacle(pid, &runtime) },
            Some(why) => LinkError::Unsuitable { pid, name, why },
        },
        Found::None => LinkError::Unsuitable { pid, name, why: "it is not a .NET process".to_owned() },
        Found::Unknown { why, likely: true } => LinkError::NotAllowed { pid, why },
        Found::Unknown { why, likely: false } => {
            LinkError::Unsuitable { pid, name, why: format!("nothing speaks for .NET in it, and {why}") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::link::discover::Process;
    use crate::link::discover::runtime::{Kind, Runtime};
    use redial_protocol::ids::ProcessKey;

    fn process(runtime: Found) -> Option<Process> {
        Some(Process {
            key: ProcessKey { pid: 7, start: 1 },
            name: "shop".into(),
            user: None,
            group: None,
            command: None,
            runtime,
            halted: None,
            ended: false,
        })
    }

    fn found(kind: Kind) -> Found {
        Found::Runtime(Runtime::new(kind, None))
    }

    #[test]
    fn each_process_without_an_agent_has_its_sentence_and_code() {
        let unreadable = |likely| Found::Unknown { why: "its memory map cannot be read".into(), likely };
        let cases = [
            (None, Exit::NoProcess, "no process 7"),
            (process(Found::None), Exit::NoProcess, "not a .NET process"),
            (process(found(Kind::NativeAot)), Exit::NoProcess, "ahead of time"),
            (process(found(Kind::Mono)), Exit::NoProcess, "Mono"),
            (process(found(Kind::CoreClr)), Exit::NoAgent, "redial run"),
            (process(found(Kind::Framework)), Exit::NoAgent, "redial run"),
            (process(unreadable(true)), Exit::Failed, "may not be dialled by this user"),
            (
                process(unreadable(false)),
                Exit::NoProcess,
                "nothing speaks for .NET in it, and its memory map",
            ),
        ];
        for (process, exit, part) in cases {
            let error = without_agent(7, process);
            assert_eq!(error.exit(), exit, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn what_can_be_attached_says_so() {
        let error = |obstacle| LinkError::NoAgent { pid: 7, name: "shop".into(), obstacle }.to_string();
        assert_eq!(error(None), "process 7 (shop) runs without the agent; load it with `redial attach 7`");
        let old = error(Some(attach::Obstacle::Start("it is too old".into())));
        assert!(old.ends_with("start it with `redial run -- COMMAND` (it is too old)"), "{old}");
    }

    #[test]
    fn only_who_can_answer_is_called_silent() {
        let error = silent(std::process::id(), Duration::from_secs(5));
        assert!(matches!(error, LinkError::Silent { seconds: 5, .. }), "{error}");
    }

    #[test]
    fn a_pid_nobody_has_is_no_process() {
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
