//! Inspects Linux processes through /proc.

use super::proc_files::{ProcFolder, ProcStat, file_name};
use super::process::{Halt, Process, ProcessSummary, RuntimeSearch};
use super::runtime::{self, Runtime, RuntimeKind};
use super::{diagnostics, elf, group, users};
use crate::platform::Platform;
use redial_protocol::ids::ProcessKey;
use redial_protocol::process;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Programs with a linked-in runtime are larger than this; the smallest ahead-of-time compiled ones have 1
/// MiB.
const LEAST_RUNTIME: u64 = 512 << 10;

pub(super) fn pids() -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir("/proc")?.filter_map(Result::ok);
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

pub(super) fn summaries() -> io::Result<Vec<ProcessSummary>> {
    Ok(pids()?.into_iter().filter_map(|pid| Some(summary(pid, &ProcFolder::of(pid).stat()?))).collect())
}

fn summary(pid: u32, stat: &ProcStat) -> ProcessSummary {
    // Loading a runtime takes address space; another program has another name or size.
    let mut hasher = DefaultHasher::new();
    (&stat.name, stat.memory).hash(&mut hasher);
    ProcessSummary {
        key: ProcessKey { pid, start: stat.start },
        mark: Some(hasher.finish()),
        halted: stat.is_halted(),
        ended: stat.has_ended(),
    }
}

/// Inspects processes.
pub(super) struct ProcessInspector;

impl ProcessInspector {
    pub(super) fn new(_pids: impl Iterator<Item = u32>) -> ProcessInspector {
        ProcessInspector
    }

    /// Inspects a process. Reuses facts in `before` that cannot change.
    pub(super) fn inspect(&self, summary: ProcessSummary, before: Option<&Process>) -> Option<Process> {
        inspect_files(&ProcFolder::of(summary.key.pid), summary, before)
    }
}

fn inspect_files(files: &ProcFolder, summary: ProcessSummary, before: Option<&Process>) -> Option<Process> {
    let before = before.filter(|before| before.key == summary.key);
    let uid = files.uid()?;
    let arguments = files.arguments();
    let mut process = Process {
        key: summary.key,
        name: name(files, &arguments),
        user: Some(users::name(uid)),
        group: None,
        command: Some(arguments.join(" ")).filter(|command| !command.is_empty()),
        halted: if summary.halted { halt(files) } else { None },
        ended: summary.ended,
        runtime: RuntimeSearch::None,
    };
    if process.ended {
        return Some(process);
    }
    let ended = || files.stat().is_none_or(|stat| stat.has_ended());
    process.runtime = match files.read("maps") {
        // An ending process has no mappings any more; a kernel thread never has.
        Ok(maps) if maps.is_empty() && ended() => return None,
        Ok(maps) => runtime(files, &process, &String::from_utf8_lossy(&maps), before),
        Err(error) if is_gone(&error) => return None,
        Err(error) => unreadable(files, uid, &process, &error),
    };
    if process.may_be_dotnet() {
        // The pid may belong to another process by now.
        if files.stat()?.start != summary.key.start {
            return None;
        }
        process.group = files.text("cgroup").and_then(|text| group::from_cgroup(&text));
        // If a process has more rights than its user, root owns its files.
        let owner = process::owner_of(summary.key.pid).ok().map(|owner| users::name(owner.uid));
        process.user = owner.or(process.user);
    }
    Some(process)
}

/// Returns the file name of the program. If that cannot be read: of the command line's first word, else the
/// kernel's short name.
fn name(files: &ProcFolder, arguments: &[String]) -> String {
    if let Some(name) = files.program().as_deref().and_then(file_name) {
        return name;
    }
    let short = files.text("comm").unwrap_or_default().trim_end().to_owned();
    // Programs can overwrite their command line; trust it only if it starts with the kernel's short name.
    let called = arguments.first().and_then(|first| file_name(Path::new(first)));
    called.filter(|name| name.starts_with(&short)).unwrap_or(short)
}

/// Returns why a process is halted; `None` if it has ended or runs.
fn halt(files: &ProcFolder) -> Option<Halt> {
    let stat = files.stat().filter(ProcStat::is_halted)?;
    Some(match files.status_number("TracerPid:").filter(|thread| *thread != 0) {
        // The tracer is a thread; people know its process.
        Some(thread) => {
            let pid = ProcFolder::of(thread).status_number("Tgid:").unwrap_or(thread);
            let name = ProcFolder::of(pid).text("comm").map(|name| name.trim_end().to_owned());
            Halt::Debugger { pid, name: name.unwrap_or_default() }
        }
        None if stat.state == b't' => Halt::Debugger { pid: 0, name: String::new() },
        None => Halt::Signal,
    })
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn unreadable(files: &ProcFolder, uid: u32, process: &Process, error: &io::Error) -> RuntimeSearch {
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    let own = unsafe { libc::geteuid() };
    let why = match (error.kind(), &process.user) {
        (io::ErrorKind::PermissionDenied, Some(user)) if own != 0 && own != uid => {
            format!("it belongs to {user}; only that user and root can inspect it")
        }
        _ => format!("its memory map cannot be read: {error}"),
    };
    let likely = process.name == "dotnet" || diagnostics_socket(files, process.key).is_some();
    RuntimeSearch::Unknown { why, likely }
}

fn runtime(files: &ProcFolder, process: &Process, maps: &str, before: Option<&Process>) -> RuntimeSearch {
    let mut runtime = match runtime::recognise(runtime::mapped_files(maps)) {
        Some((runtime, _)) => runtime,
        None => match single_file(files, process.key) {
            Some(kind) => Runtime::new(kind, None),
            None => return RuntimeSearch::None,
        },
    };
    if let Runtime { kind: RuntimeKind::CoreClr, version: version @ None } = &mut runtime {
        let known = match before.map(|before| &before.runtime) {
            Some(RuntimeSearch::Runtime(Runtime { kind: RuntimeKind::CoreClr, version: Some(version) })) => {
                Some(version.clone())
            }
            _ => None,
        };
        // A stopped process does not answer.
        let ask = || {
            let socket = diagnostics_socket(files, process.key).filter(|_| process.halted.is_none());
            socket.and_then(|socket| diagnostics::version(&socket))
        };
        *version = known.or_else(ask);
    }
    RuntimeSearch::Runtime(runtime)
}

/// Recognizes a program with a linked-in runtime. Reading every program's symbols would be slow, so this
/// checks only programs with a diagnostics socket or with diagnostics switched off.
fn single_file(files: &ProcFolder, key: ProcessKey) -> Option<RuntimeKind> {
    let program = files.path("exe");
    if program.metadata().is_ok_and(|facts| facts.len() < LEAST_RUNTIME) {
        return None;
    }
    let environment = files.environment();
    let switched_off = || environment.find(|name| name.ends_with("_EnableDiagnostics")).is_some();
    if socket(files, key, environment.value("TMPDIR")).is_none() && !switched_off() {
        return None;
    }
    elf::linked_runtime(&program)
}

fn diagnostics_socket(files: &ProcFolder, key: ProcessKey) -> Option<PathBuf> {
    socket(files, key, files.environment().value("TMPDIR"))
}

fn socket(files: &ProcFolder, key: ProcessKey, temporary: Option<String>) -> Option<PathBuf> {
    let uid = files.uid()?;
    // A runtime names its socket with the pid in its own namespace.
    let below = |root: &Path, inner: u32| {
        diagnostics::socket(root, &files.path("cwd"), temporary.as_deref(), (inner, key.start), uid)
    };
    let anywhere = |inner: u32| {
        // The process's own root folder if accessible (a container), else ours.
        below(&files.path("root"), inner).or_else(|| below(Path::new("/"), inner))
    };
    let elsewhere = || {
        if !is_in_other_pid_namespace(files) {
            return None;
        }
        anywhere(process::key_of(key.pid).ok()?.pid)
    };
    anywhere(key.pid).or_else(elsewhere)
}

/// Returns whether a process is in another pid namespace, where it has another pid.
fn is_in_other_pid_namespace(files: &ProcFolder) -> bool {
    static OURS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let ours = OURS.get_or_init(|| ProcFolder::of(std::process::id()).path("ns/pid").read_link().ok());
    files.path("ns/pid").read_link().ok() != *ours
}

pub(super) fn find(pid: u32) -> Option<Process> {
    let files = ProcFolder::of(pid);
    let summary = summary(pid, &files.stat()?);
    inspect_files(&files, summary, None).filter(|process| !process.ended)
}

pub(super) fn runs(pid: u32) -> bool {
    ProcFolder::of(pid).stat().is_some_and(|stat| !stat.has_ended())
}

pub(super) fn halted(pid: u32) -> Option<Halt> {
    halt(&ProcFolder::of(pid))
}

pub(super) fn diagnostics_port(pid: u32) -> Option<PathBuf> {
    let files = ProcFolder::of(pid);
    let start = files.stat()?.start;
    diagnostics_socket(&files, ProcessKey { pid, start })
}

/// Reads the mapped runtime, because an emulator's own program says nothing about the one it runs. In a single-file
/// program the runtime is part of the program.
pub(super) fn platform(pid: u32) -> Option<Platform> {
    let files = ProcFolder::of(pid);
    let maps = files.text("maps")?;
    let mapped = || runtime::mapped_files(&maps);
    let file = match runtime::recognise(mapped()) {
        Some((_, file)) => {
            let inside = files.path("root").join(file.trim_start_matches('/'));
            if inside.exists() { inside } else { PathBuf::from(file) }
        }
        None => files.path("exe"),
    };
    Platform::of_file(&file, mapped())
}

pub(super) fn has_mapped(pid: u32, file: &Path) -> bool {
    let Some(maps) = ProcFolder::of(pid).text("maps") else { return false };
    // Mapped paths have their symbolic links resolved.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    runtime::mapped_files(&maps).any(|mapped| Path::new(mapped) == real)
}

pub(super) fn variable(pid: u32, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
    ProcFolder::of(pid).environment().find(fits)
}

#[cfg(test)]
#[path = "linux_tests.rs"]
pub(super) mod tests;
