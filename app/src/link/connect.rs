//! From a pid to a session, or to the sentence that says why not and what to do.
#![forbid(unsafe_code)]

use super::attach;
use super::discover::{self, Found};
use super::error::LinkError;
use super::session::Session;
use redial_protocol::transport::{self, ConnectError};

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
        error => LinkError::Connect { pid, why: error.to_string() },
    }
}

/// Why a process that offers no endpoint has no agent.
fn without_agent(pid: u32, process: Option<discover::Process>) -> LinkError {
    let Some(process) = process else { return LinkError::NoProcess(pid) };
    let name = process.name;
    match process.runtime {
        Found::Runtime(runtime) => match runtime.kind.obstacle() {
            None => without_agent_yet(pid, name, attach::obstacle(pid, &runtime)),
            Some(why) => LinkError::Unsuitable { pid, name, why: why.to_owned() },
        },
        Found::None => LinkError::Unsuitable { pid, name, why: "it is not a .NET process".to_owned() },
        Found::Unknown { why, likely: true } => LinkError::NotAllowed { pid, why },
        Found::Unknown { why, likely: false } => {
            LinkError::Unsuitable { pid, name, why: format!("nothing speaks for .NET in it, and {why}") }
        }
    }
}

/// A process that could have one: whether it can be attached now, or why not.
fn without_agent_yet(pid: u32, name: String, obstacle: Option<String>) -> LinkError {
    const START: &str = "start it with `redial run -- COMMAND`";
    let advice = match &obstacle {
        None => format!("load it with `redial attach {pid}`"),
        Some(why) => format!("{START} ({why})"),
    };
    LinkError::NoAgent { pid, name, attachable: obstacle.is_none(), advice }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use crate::link::discover::Process;
    use crate::link::discover::runtime::{Kind, Runtime};

    fn process(runtime: Found) -> Option<Process> {
        Some(Process { pid: 7, name: "shop".into(), user: None, group: None, command: None, runtime })
    }

    fn found(kind: Kind) -> Found {
        Found::Runtime(Runtime { kind, version: None })
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
        let error = without_agent_yet(7, "shop".into(), None);
        assert!(error.to_string().ends_with("load it with `redial attach 7`"), "{error}");
        let error = without_agent_yet(7, "shop".into(), Some("it is too old".into()));
        assert!(error.to_string().ends_with("`redial run -- COMMAND` (it is too old)"), "{error}");
        assert!(matches!(error, LinkError::NoAgent { attachable: false, .. }));
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
