//! Windows: module pinning and the process snapshot.

use std::ffi::CStr;
use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::Debug::ReadProcessMemory;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GetModuleFileNameW,
    GetModuleHandleExW, GetModuleHandleW,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetCurrentThreadId, GetThreadTimes,
};

/// Does nothing: a pipe's name disappears with its process.
pub fn at_exit(_run: extern "C" fn()) {}

/// Always false. Unused on Windows, where the agent does not report callers.
pub fn is_native(_address: usize) -> bool {
    false
}

/// Always None: a Windows process has room for millions of handles.
pub fn descriptors(_enough: usize) -> Option<(u64, usize)> {
    None
}

/// Keeps this library mapped for the life of the process.
pub fn pin_library() {
    let mut module = std::ptr::null_mut();
    // SAFETY: with FROM_ADDRESS the second argument is any address inside the module; the out pointer is live.
    unsafe {
        GetModuleHandleExW(
            GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
            pin_library as *const () as *const u16,
            &mut module,
        );
    }
}

/// Runs `body`; Windows has no signals to block.
pub fn without_signals<T>(body: impl FnOnce() -> T) -> T {
    body()
}

/// Starts a thread; returns false if the system refuses.
pub fn start_thread(name: &'static CStr, stack: usize, body: Box<dyn FnOnce() + Send>) -> bool {
    let name = name.to_string_lossy().into_owned();
    std::thread::Builder::new().name(name).stack_size(stack).spawn(body).is_ok()
}

/// Returns the system's number of the calling thread.
pub fn thread_id() -> u32 {
    // SAFETY: no preconditions.
    unsafe { GetCurrentThreadId() }
}

/// Copies memory of this process, wherever it is; false if it cannot be read as a whole.
pub fn read_memory(address: usize, to: &mut [u8]) -> bool {
    let mut read = 0;
    // SAFETY: the target is the slice; the system checks the source. The pseudo handle names this process.
    let done = unsafe {
        ReadProcessMemory(
            GetCurrentProcess(),
            std::ptr::without_provenance(address),
            to.as_mut_ptr().cast(),
            to.len(),
            &mut read,
        )
    };
    done != 0 && read == to.len()
}

/// Returns the processor time of the calling thread.
pub fn thread_time() -> std::time::Duration {
    let mut times = [FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 }; 4];
    let [created, exited, kernel, user] = &mut times;
    // SAFETY: the pseudo handle names the calling thread; the out pointers are live locals.
    unsafe { GetThreadTimes(GetCurrentThread(), created, exited, kernel, user) };
    let units = |time: &FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    std::time::Duration::from_nanos(100 * (units(kernel) + units(user)))
}

/// Returns the parent of a process, from a snapshot of all processes.
pub fn parent_of(pid: u32) -> Option<u32> {
    // SAFETY: the snapshot is closed below; the entry has its size set, as the API demands.
    unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
        if snapshot == INVALID_HANDLE_VALUE {
            return None;
        }
        let mut entry: PROCESSENTRY32W = std::mem::zeroed();
        entry.dwSize = size_of::<PROCESSENTRY32W>() as u32;
        let mut more = Process32FirstW(snapshot, &mut entry) != 0;
        let mut parent = None;
        while more && parent.is_none() {
            if entry.th32ProcessID == pid {
                parent = Some(entry.th32ParentProcessID);
            }
            more = Process32NextW(snapshot, &mut entry) != 0;
        }
        CloseHandle(snapshot);
        parent
    }
}

/// Returns the path from which coreclr.dll was loaded, with forward slashes.
pub fn runtime_path() -> Option<String> {
    let name: Vec<u16> = "coreclr.dll".encode_utf16().chain([0]).collect();
    let mut path = [0u16; 1024];
    // SAFETY: the name is NUL-terminated; the buffer has the length given.
    let length = unsafe {
        let module = GetModuleHandleW(name.as_ptr());
        if module.is_null() {
            return None;
        }
        GetModuleFileNameW(module, path.as_mut_ptr(), path.len() as u32)
    };
    Some(String::from_utf16_lossy(path.get(..length as usize)?).replace('\\', "/"))
}

/// Opens a file for reading without further checks: access lists keep Windows user folders private.
pub fn open_private(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

/// Always false: Windows does not let anyone replace a loaded file.
pub fn changed_since_start(_path: &std::path::Path) -> bool {
    false
}
