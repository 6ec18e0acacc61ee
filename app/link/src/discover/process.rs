//! The description of one process.
#![forbid(unsafe_code)]

use super::runtime::Runtime;
use redial_protocol::ids::ProcessKey;
use std::fmt;

/// A process as `ps` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Pid as this machine sees it, and start time.
    pub key: ProcessKey,
    /// File name of the program; if it cannot be read, the command line's first word or the kernel's short
    /// name.
    pub name: String,
    /// The user it runs as.
    pub user: Option<String>,
    /// Its service, container or application pool.
    pub group: Option<String>,
    /// The command line; absent if it is empty or cannot be read.
    pub command: Option<String>,
    /// Its runtime.
    pub runtime: RuntimeSearch,
    /// Why the process is halted, if it is.
    pub halted: Option<Halt>,
    /// Whether it has exited but has not been reaped.
    pub ended: bool,
}

impl Process {
    /// A running process for tests, without user, group and command line.
    #[cfg(any(test, feature = "fixtures"))]
    pub fn for_test(pid: u32, name: &str, runtime: RuntimeSearch) -> Process {
        Process {
            key: ProcessKey { pid, start: 1 },
            name: name.into(),
            user: None,
            group: None,
            command: None,
            runtime,
            halted: None,
            ended: false,
        }
    }

    /// Returns whether it has, or probably has, a .NET runtime.
    pub fn may_be_dotnet(&self) -> bool {
        match &self.runtime {
            RuntimeSearch::Runtime(_) => true,
            RuntimeSearch::None => false,
            RuntimeSearch::Unknown { likely, .. } => *likely,
        }
    }
}

/// The result of looking for a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuntimeSearch {
    /// A runtime was found.
    Runtime(Runtime),
    /// There is no runtime.
    None,
    /// The process could not be inspected.
    Unknown {
        /// The reason, as a sentence without a final period.
        why: String,
        /// Whether other signs (its name, a diagnostics socket) indicate .NET.
        likely: bool,
    },
}

/// Why all threads of a process are halted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(windows, allow(dead_code, reason = "Windows does not report that a process is suspended"))]
pub enum Halt {
    /// A signal stopped it.
    Signal,
    /// A debugger holds it.
    Debugger {
        /// The debugger's process id; 0 where it is in another pid namespace.
        pid: u32,
        /// Its name; empty where that may not be read.
        name: String,
    },
}

impl fmt::Display for Halt {
    /// Writes a sentence without a final period.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::Signal => f.write_str("it is stopped by a signal (SIGCONT resumes it)"),
            Halt::Debugger { pid: 0, .. } => f.write_str("it is paused in a debugger"),
            Halt::Debugger { pid, name } if name.is_empty() => {
                write!(f, "it is paused in a debugger (process {pid})")
            }
            Halt::Debugger { pid, name } => write!(f, "it is paused in a debugger ({name}, process {pid})"),
        }
    }
}

/// The cheap facts about a process in a list of all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessSummary {
    /// Pid as this machine sees it, and start time.
    pub key: ProcessKey,
    /// A changed mark means that the process may have loaded something or run another program. `None` if
    /// unknown.
    pub mark: Option<u64>,
    /// Whether it is stopped or paused in a debugger.
    pub halted: bool,
    /// Whether it has exited but has not been reaped.
    pub ended: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_debugger_that_holds_a_process() {
        let held = |name: &str| Halt::Debugger { pid: 9, name: name.into() }.to_string();
        assert_eq!(held("gdb"), "it is paused in a debugger (gdb, process 9)");
        assert_eq!(Halt::Debugger { pid: 0, name: String::new() }.to_string(), "it is paused in a debugger");
        assert_eq!(held(""), "it is paused in a debugger (process 9)");
        assert!(Halt::Signal.to_string().contains("SIGCONT"));
    }
}
