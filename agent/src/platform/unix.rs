//! Unix: `dlopen`, signal masks, private files, /proc.

use std::ffi::{CStr, c_void};
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Keeps this library mapped for the life of the process.
pub fn pin_library() {
    // SAFETY: an all-zero Dl_info is valid; dladdr fills it for an address inside this library; the loader owns
    // dli_fname, a NUL-terminated path. RTLD_NOLOAD only raises the flags of an already loaded library.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(pin_library as *const () as *const _, &mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
        }
    }
}

/// Whether an address lies within the program or a library that the loader knows.
pub fn is_native(address: usize) -> bool {
    // SAFETY: an all-zero Dl_info is valid; dladdr looks the address up without following it.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(std::ptr::without_provenance(address), &mut info) != 0
    }
}

/// Returns the limit on this process's descriptors, and how many are free, counting no further than `enough`. None if
/// there is no limit.
pub fn descriptors(enough: usize) -> Option<(u64, usize)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the out pointer is a live local.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return None;
    }
    let highest = libc::c_int::try_from(limit.rlim_cur).ok()?;
    // SAFETY: F_GETFD only asks; a number that is not open is an error.
    let is_free = |number: &libc::c_int| unsafe { libc::fcntl(*number, libc::F_GETFD) } == -1;
    // From the highest down, since the lowest are given out first.
    Some((limit.rlim_cur, (0..highest).rev().filter(is_free).take(enough).count()))
}

/// Registers `run` to be called when the process exits (exit(3)), or when this library unloads before that.
pub fn at_exit(run: extern "C" fn()) {
    // SAFETY: `run` never unwinds and lives as long as this library; atexit(3) ties it to the library that
    // registers it.
    unsafe { libc::atexit(run) };
}

/// Returns the system's number of the calling thread; 0 if it has none.
pub fn thread_id() -> u32 {
    #[cfg(target_os = "linux")]
    // SAFETY: this system call takes nothing and cannot fail. glibc has a function for it from 2.30 on only.
    return unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    #[cfg(not(target_os = "linux"))]
    0
}

/// Copies memory of this process, wherever it is; false if it cannot be read as a whole. Takes a system call.
pub fn read_memory(address: usize, to: &mut [u8]) -> bool {
    #[cfg(target_os = "linux")]
    {
        let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
        let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: to.len() };
        // SAFETY: the local range is the slice; the system checks the remote one.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
        usize::try_from(read) == Ok(to.len())
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (address, to);
        false
    }
}

/// Returns the processor time of the calling thread.
pub fn thread_time() -> std::time::Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the out pointer is a live local.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    std::time::Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Signals that a fault raises on its own thread. If they were blocked, a fault would end the process without the
/// host's crash report.
const FAULTS: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS];

/// Runs `body` with all signals except faults blocked on this thread; threads that it starts inherit this.
pub fn without_signals<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are live locals of the right type; the mask is restored below.
    let old = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        for fault in FAULTS {
            libc::sigdelset(&mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        old
    };
    let result = body();
    // SAFETY: `old` was filled by pthread_sigmask above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut()) };
    result
}

type ThreadBody = Box<dyn FnOnce() + Send>;

/// Starts a thread; returns false if the system refuses. `body` must not unwind. Not through std, which registers a
/// destructor on the *starting* thread: a thread of the host could then not unload the agent after a failed attach.
pub fn start_thread(name: &'static CStr, stack: usize, body: ThreadBody) -> bool {
    extern "C" fn run(body: *mut c_void) -> *mut c_void {
        // SAFETY: `start_thread` leaves the box to this thread.
        let body = unsafe { Box::from_raw(body.cast::<ThreadBody>()) };
        body();
        std::ptr::null_mut()
    }
    let named: ThreadBody = Box::new(move || {
        // SAFETY: PR_SET_NAME reads a NUL-terminated string.
        #[cfg(target_os = "linux")]
        unsafe {
            libc::prctl(libc::PR_SET_NAME, name.as_ptr())
        };
        body();
    });
    let body = Box::into_raw(Box::new(named));
    // SAFETY: the attributes are initialized before use and destroyed after it; `run` takes the box exactly once, or
    // it is taken back here.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&mut attributes, stack);
        let mut thread: libc::pthread_t = std::mem::zeroed();
        let code = libc::pthread_create(&mut thread, &attributes, run, body.cast());
        libc::pthread_attr_destroy(&mut attributes);
        if code != 0 {
            drop(Box::from_raw(body));
        }
        code == 0
    }
}

/// Returns the parent of a process, from field 4 of its stat file.
pub fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name may contain spaces and parentheses; the fields start after the last one.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Returns the path from which libcoreclr was loaded.
pub fn runtime_path() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("/libcoreclr.so"))?;
    Some(line.split_at(line.find('/')?).1.to_owned())
}

/// Opens a file for reading if nobody except this process's user and root can have written it: a regular file, not
/// a link, owned by one of these two and writable by no one else. Never blocks (it refuses a FIFO).
pub fn open_private(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    // SAFETY: geteuid has no preconditions and cannot fail.
    let own = unsafe { libc::geteuid() };
    let problem = if !facts.is_file() {
        "it is not a regular file"
    } else if facts.uid() != own && facts.uid() != 0 {
        "it belongs to another user"
    } else if facts.mode() & 0o022 != 0 {
        "others may write to it; make it writable by its owner only (chmod go-w)"
    } else {
        return Ok(file);
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, problem))
}

/// Whether a file was changed or replaced after this process started; true if the system does not say.
pub fn changed_since_start(path: &Path) -> bool {
    let changed = std::fs::metadata(path).map(|file| file.ctime().max(file.mtime()));
    match (changed, started()) {
        (Ok(changed), Some(started)) => changed >= started,
        _ => true,
    }
}

/// Returns when this process started, in Unix seconds: the boot time plus field 22 of the process's stat file.
fn started() -> Option<i64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let boot: i64 = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let ticks = redial_protocol::process::own_key().ok()?.start;
    // SAFETY: sysconf takes no pointer.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Some(boot + i64::try_from(ticks).ok()?.checked_div(per_second)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_private_regular_files_are_opened() {
        let folder = std::env::temp_dir().join(format!("redial-private-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("orders");
        std::fs::write(&file, "x").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        assert!(open_private(&file).is_ok());
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o620)).unwrap();
        assert!(open_private(&file).unwrap_err().to_string().contains("by its owner only"));
        let link = folder.join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(open_private(&link).is_err());
        assert!(open_private(&folder).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
