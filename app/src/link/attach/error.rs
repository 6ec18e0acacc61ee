//! Why the agent was not attached, each with its exit code: what the diagnostics port answers, in words.
#![forbid(unsafe_code)]

use crate::exit::{Exit, Failure};
use crate::link::error::LinkError;
use crate::link::library::LibraryError;
use redial_protocol::attach::{Declined, VARIABLES};
use std::path::PathBuf;

/// Why the agent was not attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The process, or its agent, cannot be spoken to.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Its runtime takes no agent while it runs.
    #[error(
        "the agent cannot be attached to process {pid} ({name}): {why}; start it with `redial run -- COMMAND`"
    )]
    Unsuitable {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Why.
        why: String,
    },
    /// There is no agent library.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// It is none for this machine; the sentence.
    #[error("{0}")]
    BadLibrary(String),
    /// The process runs in a container that does not have the file.
    #[error(
        "process {pid} ({name}) has its own file system, in which there is no {}; copy the agent library there, and \
         name it with REDIAL_AGENT",
        library.display()
    )]
    HiddenLibrary {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The library as seen from here.
        library: PathBuf,
    },
    /// The port does not answer even a question that changes nothing. Nothing was asked for.
    #[error(
        "the runtime of process {pid} ({name}) did not answer within {seconds} s: {why}; nothing was changed"
    )]
    Silent {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The time waited.
        seconds: u64,
        /// Why, as far as can be told.
        why: String,
    },
    /// The port took the request and did not answer it.
    #[error(
        "the runtime of process {pid} ({name}) did not say within {seconds} s that the agent is loaded; it may still \
         be: look with `redial ps`"
    )]
    NotYet {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// The time waited.
        seconds: u64,
    },
    /// The conversation broke off.
    #[error("the diagnostics port of process {pid} ({name}) cannot be used: {why}")]
    Port {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Why.
        why: String,
    },
    /// A process takes one profiler.
    #[error("process {pid} ({name}) has another profiler{}; a process takes only one", named(.which))]
    OtherProfiler {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Its library or class, where it can be told.
        which: Option<String>,
    },
    /// The agent declined.
    #[error("the agent declined to be loaded into process {pid} ({name}): {}", declined(*.why))]
    Declined {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// Why.
        why: Declined,
    },
    /// The runtime refused.
    #[error("the runtime of process {pid} ({name}) did not load the agent: {}", words(*.code))]
    Refused {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
        /// An HRESULT.
        code: u32,
    },
    /// It was loaded, and stopped before anybody could connect.
    #[error(
        "the agent was loaded into process {pid} ({name}), but could not begin its work; it keeps out of the way there"
    )]
    GaveUp {
        /// Process id.
        pid: u32,
        /// Its program.
        name: String,
    },
}

impl AttachError {
    /// What an error code of the diagnostics port stands for.
    pub fn answered(pid: u32, name: String, code: u32) -> AttachError {
        match Declined::from_code(code) {
            Some(why) => AttachError::Declined { pid, name, why },
            None => AttachError::Refused { pid, name, code },
        }
    }

    /// The exit code it stands for.
    pub fn exit(&self) -> Exit {
        match self {
            AttachError::Link(error) => error.exit(),
            AttachError::Unsuitable { .. } | AttachError::OtherProfiler { .. } => Exit::NoProcess,
            AttachError::Library(_)
            | AttachError::BadLibrary(_)
            | AttachError::HiddenLibrary { .. }
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

fn declined(why: Declined) -> String {
    match why {
        Declined::Disabled => "REDIAL_DISABLE is set in its environment".to_owned(),
        Declined::Malformed(index) => match VARIABLES.get(usize::from(index)) {
            Some(name) => format!("{name} in its environment cannot be understood"),
            None => "a variable of its environment cannot be understood".to_owned(),
        },
        Declined::NoIdentity => "it cannot read the process's own pid and start time".to_owned(),
        Declined::NoEndpoint(Some(number)) => {
            let error = std::io::Error::from_raw_os_error(i32::from(number));
            format!("its endpoint cannot be made there: {error}")
        }
        Declined::NoEndpoint(None) => {
            "no folder of the process can hold its socket (XDG_RUNTIME_DIR, the temporary folders): they are full, may \
             not be written to, or cannot be trusted"
                .to_owned()
        }
        Declined::Another => "an agent is there that was loaded before and keeps out of the way".to_owned(),
        Declined::NoThreads => "the system refuses to start its threads".to_owned(),
        Declined::Fault => "it failed at its start, which is a bug of the agent".to_owned(),
    }
}

/// What an HRESULT of the diagnostics port means, always with its number (corerror.h, winerror.h).
fn words(code: u32) -> String {
    let known = match code {
        0x8000_4005 => "it gave no reason (E_FAIL)",
        0x8007_000E => "the process is out of memory (E_OUTOFMEMORY)",
        0x8007_0002 | 0x8007_0003 | 0x8007_007E => {
            "the agent library cannot be loaded there: the process's user may not read it, or something it needs is \
             missing"
        }
        0x8007_000B | 0x8007_00C1 => "the agent library is built for another processor or system",
        0x8013_1351 | 0x8013_135B | 0x8013_1371 | 0x8013_1373 => {
            "the runtime has not started yet, or is paused at its start; try again"
        }
        0x8013_1367 => "another profiler is being detached; try again",
        0x8013_1368 | 0x8013_136E => "the agent library is no agent that can be attached",
        0x8013_136B => "the runtime is not compatible with it (CORPROF_E_PROFILEE_INCOMPATIBLE_WITH_TRIGGER)",
        0x8013_136C => "the connection broke off (CORPROF_E_IPC_FAILED)",
        0x8013_136F => "the runtime allows this only from a program's start on",
        0x8013_1375 => "the agent asked not to be loaded (CORPROF_E_PROFILER_CANCEL_ACTIVATION)",
        0x8013_1376 | 0x8013_1379 => "a garbage collection did not end in time; try again",
        0x8013_1378 => "its diagnostics are switched off (CORPROF_E_DEBUGGING_DISABLED)",
        0x8013_1384 => "it cannot read the request (CORDIAGIPC_E_BAD_ENCODING)",
        0x8013_1385 | 0x8013_1515 => {
            "it does not know how to load an agent while it runs, as runtimes older than .NET Core 3.0 do not"
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
    fn codes_become_sentences_with_exit_codes() {
        let answered = |code| AttachError::answered(7, "shop".into(), code);
        let space = Declined::NoEndpoint(Some(28)).code();
        let cases = [
            (Declined::Disabled.code(), Exit::NoAgent, "REDIAL_DISABLE is set"),
            (Declined::malformed("REDIAL_MAX_LEVEL").code(), Exit::NoAgent, "REDIAL_MAX_LEVEL in its"),
            (Declined::malformed("NONE_OF_THEM").code(), Exit::NoAgent, "a variable of its"),
            (space, Exit::NoAgent, "endpoint cannot be made"),
            (Declined::NoEndpoint(None).code(), Exit::NoAgent, "no folder"),
            (0x8007_007E, Exit::Failed, "cannot be loaded there"),
            (0x8013_1385, Exit::Failed, "older than .NET Core 3.0"),
            (0x8013_135B, Exit::Failed, "not started yet"),
            (0x8013_9999, Exit::Failed, "HRESULT 0x80139999"),
        ];
        for (code, exit, part) in cases {
            let failure = Failure::from(answered(code));
            assert_eq!(failure.exit(), exit, "{failure}");
            let text = failure.to_string();
            assert!(
                text.contains(part) && text.contains("process 7 (shop)") && !text.ends_with('.'),
                "{text}"
            );
        }
    }

    #[test]
    fn another_profiler_is_named_where_it_can_be() {
        let other = |which: Option<&str>| AttachError::OtherProfiler {
            pid: 7,
            name: "shop".into(),
            which: which.map(str::to_owned),
        };
        assert_eq!(
            other(Some("/opt/apm.so")).to_string(),
            "process 7 (shop) has another profiler (/opt/apm.so); a process takes only one"
        );
        assert_eq!(
            other(None).to_string(),
            "process 7 (shop) has another profiler; a process takes only one"
        );
        assert_eq!(other(None).exit(), Exit::NoProcess);
    }
}
