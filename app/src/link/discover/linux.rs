//! Processes of Linux, from /proc.

use super::runtime::{self, Kind, Runtime};
use super::{Found, Process, diagnostics, elf, group};
use redial_protocol::process;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(super) fn all() -> io::Result<Vec<Process>> {
    let mut processes = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        processes.extend(pid.and_then(one));
    }
    Ok(processes)
}

pub(super) fn pids() -> io::Result<Vec<u32>> {
    let entries = std::fs::read_dir("/proc")?.filter_map(Result::ok);
    Ok(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

pub(super) fn one(pid: u32) -> Option<Process> {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    if !runs(pid) {
        return None;
    }
    let uid = proc.metadata().ok()?.uid();
    let exe = proc.join("exe").read_link().ok();
    let command = command(&proc);
    let short = std::fs::read_to_string(proc.join("comm")).unwrap_or_default().trim_end().to_owned();
    let name = exe.as_deref().and_then(file_name).unwrap_or(short);
    let runtime = runtime(pid, &proc, &name);
    let group = std::fs::read_to_string(proc.join("cgroup")).ok().and_then(|text| group::from_cgroup(&text));
    Some(Process { pid, user: Some(user(uid)), group, command, runtime, name })
}

pub(super) fn runs(pid: u32) -> bool {
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { return false };
    !matches!(state(&stat), None | Some(b'Z' | b'X'))
}

/// Field 3 of a stat file; the command before it may hold anything, brackets included.
fn state(stat: &[u8]) -> Option<u8> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(end + 2).copied()
}

fn file_name(exe: &Path) -> Option<String> {
    let name = exe.file_name()?.to_str()?;
    Some(name.strip_suffix(" (deleted)").unwrap_or(name).to_owned())
}

fn command(proc: &Path) -> Option<String> {
    let bytes = std::fs::read(proc.join("cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end_matches('\0').replace('\0', " ");
    (!text.is_empty()).then_some(text)
}

fn runtime(pid: u32, proc: &Path, name: &str) -> Found {
    let maps = match std::fs::read(proc.join("maps")) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // It ended meanwhile, or is a kernel thread.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) =>
        {
            return Found::None;
        }
        Err(error) => {
            let likely = name == "dotnet" || diagnostics_socket(pid, proc).is_some();
            return Found::Unknown { why: format!("its memory map cannot be read: {error}"), likely };
        }
    };
    let mut found = runtime::recognise(runtime::mapped_files(&maps)).or_else(|| single_file(pid, proc));
    if let Some(Runtime { kind: Kind::CoreClr, version: version @ None }) = &mut found {
        *version = diagnostics_socket(pid, proc).and_then(|socket| diagnostics::version(&socket));
    }
    found.map_or(Found::None, Found::Runtime)
}

/// A program that has its runtime linked in. Reading every program's symbols would be slow, so that only those
/// with a diagnostics socket or with the diagnostics switched off are looked into.
fn single_file(pid: u32, proc: &Path) -> Option<Runtime> {
    let switched_off = || environment(proc, |name| name.ends_with("_EnableDiagnostics")).is_some();
    if diagnostics_socket(pid, proc).is_none() && !switched_off() {
        return None;
    }
    elf::linked_runtime(&proc.join("exe")).map(|kind| Runtime { kind, version: None })
}

fn diagnostics_socket(pid: u32, proc: &Path) -> Option<PathBuf> {
    let key = process::key_of(pid).ok()?;
    let uid = proc.metadata().ok()?.uid();
    let temporary = environment(proc, |name| name == "TMPDIR");
    let below = |root: &Path| {
        diagnostics::socket(root, &proc.join("cwd"), temporary.as_deref(), (key.pid, key.start), uid)
    };
    // Its own root folder where that may be entered (a container's), else ours.
    below(&proc.join("root")).or_else(|| below(Path::new("/")))
}

pub(super) fn diagnostics_port(pid: u32) -> Option<PathBuf> {
    diagnostics_socket(pid, Path::new(&format!("/proc/{pid}")))
}

pub(super) fn has_mapped(pid: u32, file: &Path) -> bool {
    let Ok(maps) = std::fs::read(format!("/proc/{pid}/maps")) else { return false };
    // Mapped files have their paths without links.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    runtime::mapped_files(&String::from_utf8_lossy(&maps)).any(|mapped| Path::new(mapped) == real)
}

pub(super) fn variable(pid: u32, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
    named(Path::new(&format!("/proc/{pid}")), fits)
}

/// The value of the first variable whose name fits, in the environment a process was started with.
fn environment(proc: &Path, fits: impl Fn(&str) -> bool) -> Option<String> {
    named(proc, fits).map(|(_, value)| value)
}

/// As [`environment`], with the name.
fn named(proc: &Path, fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
    let bytes = std::fs::read(proc.join("environ")).ok()?;
    bytes.split(|byte| *byte == 0).find_map(|entry| {
        let (name, value) = std::str::from_utf8(entry).ok()?.split_once('=')?;
        fits(name).then(|| (name.to_owned(), value.to_owned()))
    })
}

/// The name of a user, or its number where it has none.
fn user(uid: u32) -> String {
    let mut buffer = vec![0u8; 4096];
    // SAFETY: all-zero is a valid `passwd`: integers, and pointers that are only read after success.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found: *mut libc::passwd = std::ptr::null_mut();
    // SAFETY: getpwuid_r(3): every pointer is to a live local, the length is the buffer's.
    let failed =
        unsafe { libc::getpwuid_r(uid, &mut entry, buffer.as_mut_ptr().cast(), buffer.len(), &mut found) };
    if failed != 0 || found.is_null() || entry.pw_name.is_null() {
        return uid.to_string();
    }
    // SAFETY: on success pw_name is a NUL-terminated string inside `buffer`, which still lives.
    unsafe { std::ffi::CStr::from_ptr(entry.pw_name) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_very_process_is_found_and_has_no_runtime() {
        let me = std::process::id();
        let found = one(me).expect("it runs");
        let exe = std::env::current_exe().expect("path");
        assert_eq!(Some(found.name.as_str()), exe.file_name().and_then(|name| name.to_str()));
        assert_eq!(found.runtime, Found::None);
        assert!(found.command.is_some_and(|command| !command.contains('\0')));
        assert!(all().expect("/proc").iter().any(|process| process.pid == me));
        assert!(has_mapped(me, &std::env::current_exe().expect("path")));
        assert!(!has_mapped(me, Path::new("/no/such/library.so")));
    }

    #[test]
    fn a_child_that_was_not_waited_for_no_longer_runs() {
        let mut child = std::process::Command::new("true").spawn().expect("true");
        let pid = child.id();
        // SAFETY: waitid(2) with a zeroed siginfo of our own; WNOWAIT leaves the child to `wait` below.
        let ended = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        assert_eq!(ended, 0);
        assert!(!runs(pid));
        assert!(one(pid).is_none());
        child.wait().expect("waited for");
    }

    #[test]
    fn states_are_read_behind_hostile_names() {
        assert_eq!(state(b"12 (a) Z (b)) S 1"), Some(b'S'));
        assert_eq!(state(b"12 (a)"), None);
        assert_eq!(state(b""), None);
    }

    #[test]
    fn users_have_names_or_numbers() {
        assert_eq!(user(0), "root");
        assert_eq!(user(3_999_999_999), "3999999999");
    }
}
