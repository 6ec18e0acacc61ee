//! Processes of Linux, from /proc.

use super::files::{Files, Stat, file_name};
use super::runtime::{self, Kind, Runtime};
use super::{Found, Halt, Process, Sight, diagnostics, elf, group, users};
use redial_protocol::ids::ProcessKey;
use redial_protocol::process;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Programs with a runtime linked in are larger than this; the least ones compiled ahead of time have a mebibyte.
const LEAST_RUNTIME: u64 = 512 << 10;

pub(super) fn pids() -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir("/proc")?.filter_map(Result::ok);
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

pub(super) fn sights() -> io::Result<Vec<Sight>> {
    Ok(pids()?.into_iter().filter_map(|pid| Some(sight(pid, &Files::of(pid).stat()?))).collect())
}

fn sight(pid: u32, stat: &Stat) -> Sight {
    // A runtime that is loaded takes address space, and another program has another name or size.
    let mut hasher = DefaultHasher::new();
    (&stat.name, stat.memory).hash(&mut hasher);
    Sight {
        key: ProcessKey { pid, start: stat.start },
        mark: Some(hasher.finish()),
        halted: stat.is_halted(),
        ended: stat.has_ended(),
    }
}

/// Looks at processes.
pub(super) struct Looker;

impl Looker {
    pub(super) fn new(_pids: impl Iterator<Item = u32>) -> Looker {
        Looker
    }

    /// What was known of a process `before` and cannot change is not asked again.
    pub(super) fn look(&self, sight: Sight, before: Option<&Process>) -> Option<Process> {
        look_into(&Files::of(sight.key.pid), sight, before)
    }
}

fn look_into(files: &Files, sight: Sight, before: Option<&Process>) -> Option<Process> {
    let before = before.filter(|before| before.key == sight.key);
    let uid = files.uid()?;
    let arguments = files.arguments();
    let mut process = Process {
        key: sight.key,
        name: name(files, &arguments),
        user: Some(users::name(uid)),
        group: None,
        command: Some(arguments.join(" ")).filter(|command| !command.is_empty()),
        halted: if sight.halted { halt(files) } else { None },
        ended: sight.ended,
        runtime: Found::None,
    };
    if process.ended {
        return Some(process);
    }
    let ended = || files.stat().is_none_or(|stat| stat.has_ended());
    process.runtime = match files.read("maps") {
        // A process that is ending has nothing mapped any more; a thread of the kernel never has.
        Ok(maps) if maps.is_empty() && ended() => return None,
        Ok(maps) => runtime(files, &process, &String::from_utf8_lossy(&maps), before),
        Err(error) if is_gone(&error) => return None,
        Err(error) => unreadable(files, uid, &process, &error),
    };
    if process.may_be_dotnet() {
        // The pid may have become another's meanwhile.
        if files.stat()?.start != sight.key.start {
            return None;
        }
        process.group = files.text("cgroup").and_then(|text| group::from_cgroup(&text));
        // Files of a process that has more rights than its user are root's.
        let owner = process::owner_of(sight.key.pid).ok().map(|owner| users::name(owner.uid));
        process.user = owner.or(process.user);
    }
    Some(process)
}

/// The file name of its program; where that may not be read, of what it was called by; else the kernel's short name.
fn name(files: &Files, arguments: &[String]) -> String {
    if let Some(name) = files.program().as_deref().and_then(file_name) {
        return name;
    }
    let short = files.text("comm").unwrap_or_default().trim_end().to_owned();
    // Programs write what they like there; what begins as the kernel says is no lie.
    let called = arguments.first().and_then(|first| file_name(Path::new(first)));
    called.filter(|name| name.starts_with(&short)).unwrap_or(short)
}

/// Why a process is halted; None when it has ended, or goes on.
fn halt(files: &Files) -> Option<Halt> {
    let stat = files.stat().filter(Stat::is_halted)?;
    Some(match files.status_number("TracerPid:").filter(|thread| *thread != 0) {
        // What traces is a thread; its process is what people know.
        Some(thread) => {
            let pid = Files::of(thread).status_number("Tgid:").unwrap_or(thread);
            let name = Files::of(pid).text("comm").map(|name| name.trim_end().to_owned());
            Halt::Debugger { pid, name: name.unwrap_or_default() }
        }
        None if stat.state == b't' => Halt::Debugger { pid: 0, name: String::new() },
        None => Halt::Signal,
    })
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn unreadable(files: &Files, uid: u32, process: &Process, error: &io::Error) -> Found {
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    let own = unsafe { libc::geteuid() };
    let why = match (error.kind(), &process.user) {
        (io::ErrorKind::PermissionDenied, Some(user)) if own != 0 && own != uid => {
            format!("it belongs to {user}; only that user and root may look into it")
        }
        _ => format!("its memory map cannot be read: {error}"),
    };
    let likely = process.name == "dotnet" || diagnostics_socket(files, process.key).is_some();
    Found::Unknown { why, likely }
}

fn runtime(files: &Files, process: &Process, maps: &str, before: Option<&Process>) -> Found {
    let (mut runtime, file) = match runtime::recognise(runtime::mapped_files(maps)) {
        Some((runtime, file)) => {
            let inside = files.path("root").join(file.trim_start_matches('/'));
            (runtime, if inside.exists() { inside } else { PathBuf::from(file) })
        }
        None => match single_file(files, process.key) {
            Some(kind) => (Runtime::new(kind, None), files.path("exe")),
            None => return Found::None,
        },
    };
    runtime.foreign = elf::foreign_processor(&file);
    if let Runtime { kind: Kind::CoreClr, version: version @ None, .. } = &mut runtime {
        let known = match before.map(|before| &before.runtime) {
            Some(Found::Runtime(Runtime { kind: Kind::CoreClr, version: Some(version), .. })) => {
                Some(version.clone())
            }
            _ => None,
        };
        // Who is stopped does not answer.
        let ask = || {
            let socket = diagnostics_socket(files, process.key).filter(|_| process.halted.is_none());
            socket.and_then(|socket| diagnostics::version(&socket))
        };
        *version = known.or_else(ask);
    }
    Found::Runtime(runtime)
}

/// A program that has its runtime linked in. Reading every program's symbols would be slow, so that only those
/// with a diagnostics socket or with the diagnostics switched off are looked into.
fn single_file(files: &Files, key: ProcessKey) -> Option<Kind> {
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

fn diagnostics_socket(files: &Files, key: ProcessKey) -> Option<PathBuf> {
    socket(files, key, files.environment().value("TMPDIR"))
}

fn socket(files: &Files, key: ProcessKey, temporary: Option<String>) -> Option<PathBuf> {
    let uid = files.uid()?;
    // A runtime calls itself by its pid in its own namespace.
    let below = |root: &Path, inner: u32| {
        diagnostics::socket(root, &files.path("cwd"), temporary.as_deref(), (inner, key.start), uid)
    };
    let anywhere = |inner: u32| {
        // Its own root folder where that may be entered (a container's), else ours.
        below(&files.path("root"), inner).or_else(|| below(Path::new("/"), inner))
    };
    let elsewhere = || {
        if !has_other_numbers(files) {
            return None;
        }
        anywhere(process::key_of(key.pid).ok()?.pid)
    };
    anywhere(key.pid).or_else(elsewhere)
}

/// Whether a process is in another pid namespace, where it has another number.
fn has_other_numbers(files: &Files) -> bool {
    static OURS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let ours = OURS.get_or_init(|| Files::of(std::process::id()).path("ns/pid").read_link().ok());
    files.path("ns/pid").read_link().ok() != *ours
}

pub(super) fn one(pid: u32) -> Option<Process> {
    let files = Files::of(pid);
    let sight = sight(pid, &files.stat()?);
    look_into(&files, sight, None).filter(|process| !process.ended)
}

pub(super) fn runs(pid: u32) -> bool {
    Files::of(pid).stat().is_some_and(|stat| !stat.has_ended())
}

pub(super) fn halted(pid: u32) -> Option<Halt> {
    halt(&Files::of(pid))
}

pub(super) fn diagnostics_port(pid: u32) -> Option<PathBuf> {
    let files = Files::of(pid);
    let start = files.stat()?.start;
    diagnostics_socket(&files, ProcessKey { pid, start })
}

pub(super) fn has_mapped(pid: u32, file: &Path) -> bool {
    let Some(maps) = Files::of(pid).text("maps") else { return false };
    // Mapped files have their paths without links.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    runtime::mapped_files(&maps).any(|mapped| Path::new(mapped) == real)
}

pub(super) fn variable(pid: u32, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
    Files::of(pid).environment().find(fits)
}

#[cfg(test)]
#[path = "linux_tests.rs"]
pub(super) mod tests;
