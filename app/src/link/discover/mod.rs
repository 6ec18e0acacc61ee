//! Which processes there are and which .NET runtime each has, told by the libraries it has mapped. Everything
//! here only looks; nothing is loaded, stopped or changed.

mod census;
pub mod group;
pub mod runtime;

#[cfg(unix)]
mod diagnostics;
#[cfg(unix)]
mod elf;
#[cfg(unix)]
mod files;
#[cfg(unix)]
#[path = "linux.rs"]
mod system;
#[cfg(windows)]
#[path = "windows.rs"]
mod system;
#[cfg(unix)]
mod users;

#[cfg(all(test, target_os = "linux"))]
pub(crate) use system::tests::Waiting;

pub use census::{Census, Changes};
use redial_protocol::ids::ProcessKey;
use runtime::Runtime;
use std::fmt;

/// What a user is called whom an agent told by a number; other words stay as they are.
pub fn user_name(word: &str) -> String {
    #[cfg(unix)]
    if let Ok(uid) = word.parse() {
        return users::name(uid);
    }
    word.to_owned()
}

/// The same with the number behind the name, for who compares it with what other tools say: `www (33)`.
pub fn user_title(word: &str) -> String {
    let name = user_name(word);
    if name == word { name } else { format!("{name} ({word})") }
}

/// A process as `ps` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Pid as this machine sees it, and start time.
    pub key: ProcessKey,
    /// File name of the program; where that may not be read, what it was called by, or the kernel's short name.
    pub name: String,
    /// The user it runs as.
    pub user: Option<String>,
    /// The service, container or application pool it belongs to.
    pub group: Option<String>,
    /// The command line; absent where it may not be read or is empty.
    pub command: Option<String>,
    /// Its runtime.
    pub runtime: Found,
    /// Why none of it runs for now.
    pub halted: Option<Halt>,
    /// Whether it has exited, and only its parent has not heard of it yet.
    pub ended: bool,
}

impl Process {
    /// Whether it has a .NET runtime, or something else speaks for one.
    pub fn may_be_dotnet(&self) -> bool {
        match &self.runtime {
            Found::Runtime(_) => true,
            Found::None => false,
            Found::Unknown { likely, .. } => *likely,
        }
    }
}

/// What was found out about a process's runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It has one.
    Runtime(Runtime),
    /// It has none.
    None,
    /// It could not be looked at.
    Unknown {
        /// Why, as a sentence without a final period.
        why: String,
        /// Whether something else (its name, a diagnostics socket) speaks for .NET.
        likely: bool,
    },
}

/// Why no thread of a process runs until somebody lets it go on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(windows, allow(dead_code, reason = "Windows does not say of a process that it is suspended"))]
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
    /// As a sentence without a final period.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::Signal => f.write_str("it is stopped by a signal (SIGCONT lets it go on)"),
            Halt::Debugger { pid: 0, .. } => f.write_str("it is paused in a debugger"),
            Halt::Debugger { pid, name } if name.is_empty() => {
                write!(f, "it is paused in a debugger (process {pid})")
            }
            Halt::Debugger { pid, name } => write!(f, "it is paused in a debugger ({name}, process {pid})"),
        }
    }
}

/// A process as it is seen in a list of all, for little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Pid as this machine sees it, and start time.
    pub key: ProcessKey,
    /// Another number than before: it may have loaded something, or run another program. None: nothing tells.
    pub mark: Option<u64>,
    /// Whether it is stopped, or paused in a debugger.
    pub halted: bool,
    /// Whether it has exited, and only its parent has not heard of it yet.
    pub ended: bool,
}

/// Every process there is, by ascending pid, ended ones that were not yet waited for included. Those that go meanwhile
/// are left out.
///
/// # Errors
/// When processes cannot be listed.
pub fn all() -> std::io::Result<Vec<Process>> {
    let mut census = Census::default();
    census.refresh()?;
    Ok(census.processes().cloned().collect())
}

/// One process; None when there is none with that pid, or it has ended.
pub fn one(pid: u32) -> Option<Process> {
    system::one(pid)
}

/// Why no thread of a process runs for now; None when it runs, or nothing tells.
pub fn halted(pid: u32) -> Option<Halt> {
    system::halted(pid)
}

/// The pids of all processes, zombies included; cheap.
///
/// # Errors
/// When processes cannot be listed.
pub fn pids() -> std::io::Result<Vec<u32>> {
    system::pids()
}

/// Where the runtime of a process takes diagnostics commands: a socket's path, or a named pipe's. None when it offers
/// nothing, or nothing that can be seen from here.
pub fn diagnostics_port(pid: u32) -> Option<std::path::PathBuf> {
    system::diagnostics_port(pid)
}

/// The first variable whose name fits, of the environment a process was started with: name and value. None where that
/// cannot be read.
pub fn variable(pid: u32, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
    system::variable(pid, fits)
}

/// Whether a process has this file mapped; false where that cannot be told.
pub fn has_mapped(pid: u32, file: &std::path::Path) -> bool {
    system::has_mapped(pid, file)
}

/// Whether a process with that pid runs (one that has exited but was not yet waited for does not).
pub fn runs(pid: u32) -> bool {
    system::runs(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_a_process_is_named() {
        let held = |name: &str| Halt::Debugger { pid: 9, name: name.into() }.to_string();
        assert_eq!(held("gdb"), "it is paused in a debugger (gdb, process 9)");
        assert_eq!(Halt::Debugger { pid: 0, name: String::new() }.to_string(), "it is paused in a debugger");
        assert_eq!(held(""), "it is paused in a debugger (process 9)");
        assert!(Halt::Signal.to_string().contains("SIGCONT"));
    }
}
