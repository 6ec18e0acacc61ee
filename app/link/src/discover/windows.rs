//! Inspects Windows processes: sysinfo lists them, the Tool Help functions list their modules.

use super::group;
use super::process::{Halt, Process, ProcessSummary, RuntimeSearch};
use super::runtime;
use crate::platform::Platform;
use redial_protocol::ids::ProcessKey;
use redial_protocol::process;
use std::io;
use std::path::{Path, PathBuf};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

pub(super) fn summaries() -> io::Result<Vec<ProcessSummary>> {
    let mut system = System::new().map_err(|error| io::Error::other(format!("{error:?}")))?;
    let kind = ProcessRefreshKind::nothing().with_memory();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
    let summary = |found: &sysinfo::Process| {
        Some(ProcessSummary {
            key: key(found.pid().as_u32())?,
            // Loading a runtime takes address space.
            mark: Some(found.virtual_memory()),
            halted: false,
            ended: false,
        })
    };
    Ok(system.processes().values().filter_map(summary).collect())
}

/// Returns pid and start time; start time 0 if the process does not reveal it, `None` if the process is gone.
fn key(pid: u32) -> Option<ProcessKey> {
    match process::key_of(pid) {
        Ok(key) => Some(key),
        Err(process::ProcessError::NoSuchProcess { .. }) => None,
        Err(_) => Some(ProcessKey { pid, start: 0 }),
    }
}

pub(super) fn pids() -> io::Result<Vec<u32>> {
    let mut system = System::new().map_err(|error| io::Error::other(format!("{error:?}")))?;
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, ProcessRefreshKind::nothing());
    Ok(system.processes().keys().map(|pid| pid.as_u32()).collect())
}

pub(super) fn find(pid: u32) -> Option<Process> {
    let summary = ProcessSummary { key: key(pid)?, mark: None, halted: false, ended: false };
    ProcessInspector::new(std::iter::once(pid)).inspect(summary, None)
}

/// Inspects processes, with names and command lines fetched for all at once.
pub(super) struct ProcessInspector(Option<System>);

impl ProcessInspector {
    pub(super) fn new(pids: impl Iterator<Item = u32>) -> ProcessInspector {
        let pids: Vec<Pid> = pids.map(Pid::from_u32).collect();
        ProcessInspector(refreshed(ProcessesToUpdate::Some(&pids)).ok())
    }

    pub(super) fn inspect(&self, summary: ProcessSummary, _before: Option<&Process>) -> Option<Process> {
        describe(summary.key, self.0.as_ref()?.process(Pid::from_u32(summary.key.pid))?)
    }
}

/// Windows does not distinguish suspended from waiting processes.
pub(super) fn halted(_pid: u32) -> Option<Halt> {
    None
}

pub(super) fn runs(pid: u32) -> bool {
    // A process that denies access still runs.
    !matches!(process::key_of(pid), Err(process::ProcessError::NoSuchProcess { .. }))
}

pub(super) fn diagnostics_port(pid: u32) -> Option<PathBuf> {
    let pipe = PathBuf::from(format!(r"\\.\pipe\dotnet-diagnostic-{pid}"));
    pipes::exists(&pipe).then_some(pipe)
}

/// Named pipes (namedpipeapi.h).
mod pipes {
    use std::io;
    use std::os::windows::ffi::OsStrExt;
    use std::path::Path;
    use std::time::Duration;

    /// Between two questions, .NET Core 3.1 has no pipe for a moment. Tries and pauses that outlast it.
    const TRIES: u32 = 50;
    const PAUSE: Duration = Duration::from_millis(5);

    /// NMPWAIT_NOWAIT.
    const NO_WAIT: u32 = 1;
    const ERROR_SEM_TIMEOUT: i32 = 121;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn WaitNamedPipeW(name: *const u16, milliseconds: u32) -> i32;
    }

    /// Returns whether somebody serves this pipe, without connecting to it.
    pub fn exists(pipe: &Path) -> bool {
        let name: Vec<u16> = pipe.as_os_str().encode_wide().chain([0]).collect();
        for _ in 1..TRIES {
            if exists_now(&name) {
                return true;
            }
            std::thread::sleep(PAUSE);
        }
        exists_now(&name)
    }

    /// The name ends with a zero.
    fn exists_now(name: &[u16]) -> bool {
        // SAFETY: the name ends with a zero.
        let is_free = unsafe { WaitNamedPipeW(name.as_ptr(), NO_WAIT) } != 0;
        // A busy pipe exists too.
        is_free || io::Error::last_os_error().raw_os_error() == Some(ERROR_SEM_TIMEOUT)
    }
}

/// The runtime's answer reveals this instead.
pub(super) fn platform(pid: u32) -> Option<Platform> {
    let own = Platform::own();
    Some(if modules::is_32_bit(pid) { Platform { processor: "x86".to_owned(), ..own } } else { own })
}

pub(super) fn has_mapped(_pid: u32, _file: &Path) -> bool {
    false
}

/// Redial does not read other processes' environments on Windows.
pub(super) fn variable(_pid: u32, _fits: impl Fn(&str) -> bool) -> Option<(String, String)> {
    None
}

fn refreshed(which: ProcessesToUpdate<'_>) -> io::Result<System> {
    let mut system = System::new().map_err(|error| io::Error::other(format!("{error:?}")))?;
    let kind = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always).with_exe(UpdateKind::Always);
    system.refresh_processes_specifics(which, true, kind);
    Ok(system)
}

fn describe(key: ProcessKey, found: &sysinfo::Process) -> Option<Process> {
    let pid = key.pid;
    let name = found.name().to_string_lossy().into_owned();
    let arguments: Vec<String> = found.cmd().iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let runtime = match modules::files(pid) {
        Ok(files) => match runtime::recognise(files.iter().map(String::as_str)) {
            Some((found, _)) => RuntimeSearch::Runtime(found),
            None => RuntimeSearch::None,
        },
        Err(_) if key_is_gone(key) => return None,
        Err(error) => {
            let likely = name.eq_ignore_ascii_case("dotnet.exe") || name.eq_ignore_ascii_case("w3wp.exe");
            RuntimeSearch::Unknown { why: format!("its modules cannot be listed: {error}"), likely }
        }
    };
    Some(Process {
        key,
        user: process::owner_of(pid).ok().map(|owner| accounts::name(&owner.sid).unwrap_or(owner.sid)),
        group: group::from_worker_command(&name, &arguments),
        command: Some(arguments.join(" ")).filter(|command| !command.is_empty()),
        runtime,
        halted: None,
        ended: false,
        name,
    })
}

fn key_is_gone(before: ProcessKey) -> bool {
    key(before.pid).is_none_or(|now| now != before)
}

/// Account names (sddl.h, winbase.h).
mod accounts {
    use std::ffi::c_void;

    #[link(name = "advapi32")]
    unsafe extern "system" {
        fn ConvertStringSidToSidW(text: *const u16, sid: *mut *mut c_void) -> i32;
        fn LookupAccountSidW(
            system: *const u16,
            sid: *mut c_void,
            name: *mut u16,
            name_length: *mut u32,
            domain: *mut u16,
            domain_length: *mut u32,
            kind: *mut i32,
        ) -> i32;
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn LocalFree(memory: *mut c_void) -> *mut c_void;
    }

    /// Returns the name of the account with this SID (`S-1-5-18`); `None` if there is none.
    pub fn name(sid: &str) -> Option<String> {
        let text: Vec<u16> = sid.encode_utf16().chain([0]).collect();
        let mut binary = std::ptr::null_mut();
        // SAFETY: the text ends with a zero, and the output pointer is valid.
        if unsafe { ConvertStringSidToSidW(text.as_ptr(), &mut binary) } == 0 {
            return None;
        }
        let (mut name, mut domain) = ([0u16; 256], [0u16; 256]);
        let (mut name_length, mut domain_length) = (name.len() as u32, domain.len() as u32);
        let mut kind = 0;
        // SAFETY: the SID was just created; both buffers live and have the given lengths; a null system means
        // this one.
        let found = unsafe {
            LookupAccountSidW(
                std::ptr::null(),
                binary,
                name.as_mut_ptr(),
                &mut name_length,
                domain.as_mut_ptr(),
                &mut domain_length,
                &mut kind,
            )
        };
        // SAFETY: ConvertStringSidToSidW allocates with LocalAlloc and leaves freeing to its caller.
        unsafe { LocalFree(binary) };
        // On success the lengths exclude the terminating zero.
        (found != 0).then(|| String::from_utf16_lossy(name.get(..name_length as usize).unwrap_or_default()))
    }
}

/// The modules of a process (Tool Help Library, tlhelp32.h).
mod modules {
    use std::ffi::c_void;
    use std::io;

    type Handle = *mut c_void;
    const SNAP_MODULE: u32 = 0x8;
    const SNAP_MODULE32: u32 = 0x10;
    const ERROR_BAD_LENGTH: i32 = 24;
    const INVALID: Handle = usize::MAX as Handle;

    /// MODULEENTRY32W.
    #[repr(C)]
    struct Entry {
        size: u32,
        module_id: u32,
        process_id: u32,
        global_usage: u32,
        process_usage: u32,
        base: *mut u8,
        base_size: u32,
        module: Handle,
        name: [u16; 256],
        path: [u16; 260],
    }

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn CreateToolhelp32Snapshot(flags: u32, process: u32) -> Handle;
        fn Module32FirstW(snapshot: Handle, entry: *mut Entry) -> i32;
        fn Module32NextW(snapshot: Handle, entry: *mut Entry) -> i32;
        fn CloseHandle(handle: Handle) -> i32;
        fn OpenProcess(access: u32, inherit: i32, process: u32) -> Handle;
        fn IsWow64Process(process: Handle, answer: *mut i32) -> i32;
    }

    /// PROCESS_QUERY_LIMITED_INFORMATION (winnt.h).
    const QUERY: u32 = 0x1000;

    /// Returns whether a process is 32-bit on this 64-bit system; `false` if unknown.
    pub fn is_32_bit(pid: u32) -> bool {
        // SAFETY: takes three numbers; the handle is checked before it is used.
        let process = unsafe { OpenProcess(QUERY, 0, pid) };
        if process.is_null() {
            return false;
        }
        let mut answer = 0;
        // SAFETY: the handle is open, and the output location is valid.
        let succeeded = unsafe { IsWow64Process(process, &mut answer) } != 0;
        // SAFETY: the handle is open and not used again.
        unsafe { CloseHandle(process) };
        succeeded && answer != 0
    }

    /// Returns the paths of all modules in a process.
    pub fn files(pid: u32) -> io::Result<Vec<String>> {
        let snapshot = snapshot(pid)?;
        // SAFETY: all-zero is a valid Entry: integers, arrays of them and pointers that are never followed.
        let mut entry: Entry = unsafe { std::mem::zeroed() };
        entry.size = size_of::<Entry>() as u32;
        let mut files = Vec::new();
        // SAFETY: the snapshot is open, and entry is a MODULEENTRY32W with its size filled in.
        let mut more = unsafe { Module32FirstW(snapshot, &mut entry) };
        while more != 0 {
            let end = entry.path.iter().position(|unit| *unit == 0).unwrap_or(entry.path.len());
            files.push(String::from_utf16_lossy(&entry.path[..end]));
            // SAFETY: as above.
            more = unsafe { Module32NextW(snapshot, &mut entry) };
        }
        // SAFETY: the snapshot is open and not used again.
        unsafe { CloseHandle(snapshot) };
        Ok(files)
    }

    fn snapshot(pid: u32) -> io::Result<Handle> {
        // Fails with ERROR_BAD_LENGTH while the process loads modules; the documentation says to retry.
        for _ in 0..8 {
            // SAFETY: takes two numbers; a pid that is gone is an error.
            let snapshot = unsafe { CreateToolhelp32Snapshot(SNAP_MODULE | SNAP_MODULE32, pid) };
            if snapshot != INVALID {
                return Ok(snapshot);
            }
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(ERROR_BAD_LENGTH) {
                return Err(error);
            }
        }
        Err(io::Error::other("its list of modules keeps changing"))
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn this_process_has_kernel32_mapped() {
            let files = super::files(std::process::id()).expect("own modules");
            assert!(
                files.iter().any(|file| file.to_ascii_lowercase().ends_with("kernel32.dll")),
                "{files:?}"
            );
            assert!(!super::is_32_bit(std::process::id()), "this test is built for 64 bits");
        }
    }
}
