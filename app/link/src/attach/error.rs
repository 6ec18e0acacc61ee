//! Attach errors with their exit codes, and the wording of diagnostics port error codes.
#![forbid(unsafe_code)]

use super::agent_path;
use crate::error::LinkError;
use crate::exit::{Exit, Failure};
use crate::library::LibraryError;
use redial_protocol::attach::{AttachRefusal, VARIABLES};
use std::path::PathBuf;

/// An error that prevented the agent from being attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The process or its agent cannot be reached.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The runtime loads agents only when the program starts.
    #[error(
        "the agent cannot be attached to process {pid} ({name}): {why}; start it with `redial run -- COMMAND`"
    )]
    Unsuitable {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The reason.
        why: String,
    },
    /// The agent library was not found.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The agent library does not fit this machine; holds the full sentence.
    #[error("{0}")]
    BadLibrary(String),
    /// The process runs in a container that does not have the file.
    #[error("process {pid} ({name}) has {}", agent_path::describe_hidden(library))]
    HiddenLibrary {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The library's path outside the container.
        library: PathBuf,
    },
    /// There is no agent library for the process's processor and C library.
    #[error("the agent cannot be attached to process {pid} ({name}): {why}")]
    NoLibrary {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The reason.
        why: String,
    },
    /// The port did not answer a read-only question, so no request was sent.
    #[error(
        "the runtime of process {pid} ({name}) did not answer within {seconds} s: {why}; nothing was changed"
    )]
    Silent {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Seconds waited.
        seconds: u64,
        /// The likely reason.
        why: String,
    },
    /// The port accepted the request but did not answer it.
    #[error(
        "the runtime of process {pid} ({name}) did not confirm within {seconds} s that the agent is loaded; \
         check with `redial ps`"
    )]
    NotYet {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Seconds waited.
        seconds: u64,
    },
    /// The connection to the port failed.
    #[error("the diagnostics port of process {pid} ({name}) cannot be used: {why}")]
    Port {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The reason.
        why: String,
    },
    /// The process already has a profiler, and allows only one.
    #[error("process {pid} ({name}) has another profiler{}; a process can have only one", named(.which))]
    OtherProfiler {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Its library or class id, if known.
        which: Option<String>,
    },
    /// The agent refused to load.
    #[error("the agent refused to load into process {pid} ({name}): {}", declined(*.why))]
    Declined {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The reason.
        why: AttachRefusal,
    },
    /// The runtime refused to load the agent.
    #[error("the runtime of process {pid} ({name}) did not load the agent {library}: {}", words(*.code))]
    Refused {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Path of the agent library.
        library: String,
        /// An HRESULT.
        code: u32,
    },
    /// The agent was loaded but stopped before a controller could connect.
    #[error("the agent was loaded into process {pid} ({name}) but could not start; it stays inactive there")]
    GaveUp {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
    },
}

impl AttachError {
    /// Converts an error code of the diagnostics port.
    pub fn answered(pid: u32, name: String, library: &str, code: u32) -> AttachError {
        match AttachRefusal::from_code(code) {
            Some(why) => AttachError::Declined { pid, name, why },
            None => AttachError::Refused { pid, name, library: library.to_owned(), code },
        }
    }

    /// Returns the exit code for the command line.
    pub fn exit(&self) -> Exit {
        match self {
            AttachError::Link(error) => error.exit(),
            AttachError::Unsuitable { .. } | AttachError::OtherProfiler { .. } => Exit::NoProcess,
            AttachError::Library(_)
            | AttachError::BadLibrary(_)
            | AttachError::HiddenLibrary { .. }
            | AttachError::NoLibrary { .. }
            | AttachError::Declined { .. } => Exit::NoAgent,
            AttachError::Silent { .. }
            | AttachError::NotYet { .. }
            | AttachError::Port { .. }
            | AttachError::Refused { .. }
            | AttachError::GaveUp { .. } => Exit::Failed,
        }
    }
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Self {
        Failure::new(error.exit(), error.to_string())
    }
}

fn named(which: &Option<String>) -> String {
    which.as_ref().map(|which| format!(" ({which})")).unwrap_or_default()
}

fn declined(why: AttachRefusal) -> String {
    match why {
        AttachRefusal::Disabled => "REDIAL_DISABLE is set in its environment".to_owned(),
        AttachRefusal::Malformed(index) => match VARIABLES.get(usize::from(index)) {
            Some(name) => format!("{name} in its environment is invalid"),
            None => "a variable in its environment is invalid".to_owned(),
        },
        AttachRefusal::NoIdentity => "it cannot read the process's own pid and start time".to_owned(),
        AttachRefusal::NoEndpoint(Some(number)) => {
            let error = std::io::Error::from_raw_os_error(i32::from(number));
            format!("it cannot create its endpoint there: {error}")
        }
        AttachRefusal::NoEndpoint(None) => {
            "no folder can hold its socket: XDG_RUNTIME_DIR and the temporary folders are full, not writable or \
             not trusted"
                .to_owned()
        }
        AttachRefusal::Another => "an agent loaded earlier is already there and stays inactive".to_owned(),
        AttachRefusal::NoThreads => "the system does not let it start threads".to_owned(),
        AttachRefusal::Fault => "it failed at startup because of a bug in the agent".to_owned(),
    }
}

/// Describes an HRESULT of the diagnostics port, always with its number (corerror.h, winerror.h).
fn words(code: u32) -> String {
    let known = match code {
        0x8000_4005 => "it gave no reason (E_FAIL)",
        0x8007_000E => "the process is out of memory (E_OUTOFMEMORY)",
        0x8007_0002 | 0x8007_0003 | 0x8007_007E => {
            "it cannot be loaded there: the process's user cannot read the file, or a library it needs \
             is missing"
        }
        0x8007_000B | 0x8007_00C1 => "the agent library is built for another processor or system",
        0x8013_1351 | 0x8013_135B | 0x8013_1371 | 0x8013_1373 => {
            "the runtime has not started yet, or is paused at startup; try again"
        }
        0x8013_1367 => "another profiler is being detached; try again",
        0x8013_1368 | 0x8013_136E => "the agent library does not support attaching",
        0x8013_136B => "the runtime is not compatible with it (CORPROF_E_PROFILEE_INCOMPATIBLE_WITH_TRIGGER)",
        0x8013_136C => "the connection failed (CORPROF_E_IPC_FAILED)",
        0x8013_136F => "the runtime allows this only when the program starts",
        0x8013_1375 => "the agent asked not to be loaded (CORPROF_E_PROFILER_CANCEL_ACTIVATION)",
        0x8013_1376 | 0x8013_1379 => "a garbage collection did not end in time; try again",
        0x8013_1378 => "its diagnostics are switched off (CORPROF_E_DEBUGGING_DISABLED)",
        0x8013_1384 => "it cannot read the request (CORDIAGIPC_E_BAD_ENCODING)",
        0x8013_1385 | 0x8013_1515 => {
            "it cannot load an agent into a running process; runtimes older than .NET Core 3.0 cannot"
        }
        0x8013_1386 => "it speaks another version of the diagnostics protocol (CORDIAGIPC_E_UNKNOWN_MAGIC)",
        0x8013_1387 => "it gave no reason (CORDIAGIPC_E_UNKNOWN_ERROR)",
        _ => return format!("HRESULT 0x{code:08x}"),
    };
    format!("{known}, HRESULT 0x{code:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_have_sentences_and_exit_codes() {
        let answered = |code| AttachError::answered(7, "shop".into(), "/lib/agent.so", code);
        let space = AttachRefusal::NoEndpoint(Some(28)).code();
        let cases = [
            (AttachRefusal::Disabled.code(), Exit::NoAgent, "REDIAL_DISABLE is set"),
            (AttachRefusal::malformed("REDIAL_MAX_LEVEL").code(), Exit::NoAgent, "REDIAL_MAX_LEVEL in its"),
            (AttachRefusal::malformed("NONE_OF_THEM").code(), Exit::NoAgent, "a variable in its"),
            (space, Exit::NoAgent, "create its endpoint"),
            (AttachRefusal::NoEndpoint(None).code(), Exit::NoAgent, "no folder"),
            (0x8007_007E, Exit::Failed, "cannot be loaded there"),
            (0x8013_1385, Exit::Failed, "older than .NET Core 3.0"),
            (0x8013_135B, Exit::Failed, "not started yet"),
            (0x8013_9999, Exit::Failed, "HRESULT 0x80139999"),
        ];
        for (code, exit, part) in cases {
            let failure = Failure::from(answered(code));
            assert_eq!(failure.exit(), exit, "{failure}");
            let text = failure.to_string();
            let names_library = matches!(answered(code), AttachError::Refused { .. });
            assert_eq!(text.contains("did not load the agent /lib/agent.so: "), names_library, "{text}");
            assert!(
                text.contains(part) && text.contains("process 7 (shop)") && !text.ends_with('.'),
                "{text}"
            );
        }
    }

    #[test]
    fn names_another_profiler_if_known() {
        let other = |which: Option<&str>| AttachError::OtherProfiler {
            pid: 7,
            name: "shop".into(),
            which: which.map(str::to_owned),
        };
        assert_eq!(
            other(Some("/opt/apm.so")).to_string(),
            "process 7 (shop) has another profiler (/opt/apm.so); a process can have only one"
        );
        assert_eq!(
            other(None).to_string(),
            "process 7 (shop) has another profiler; a process can have only one"
        );
        assert_eq!(other(None).exit(), Exit::NoProcess);
    }
}
