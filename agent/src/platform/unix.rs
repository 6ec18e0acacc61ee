//! Unix: `dlopen`, signal masks, /proc.

/// Keeps this library mapped for the life of the process.
pub fn pin_library() {
    // SAFETY: an all-zero Dl_info is valid; dladdr fills it for an address inside this library; dli_fname is a
    // NUL-terminated path owned by the loader. RTLD_NOLOAD only raises the flags of what is loaded already.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(pin_library as *const () as *const _, &mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE);
        }
    }
}

/// Runs `body` with every signal blocked on this thread; a thread started in it inherits that.
pub fn without_signals<T>(body: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are live locals of the right type; the mask is restored below.
    let old = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        old
    };
    let result = body();
    // SAFETY: `old` was filled by pthread_sigmask above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut()) };
    result
}

/// The parent of a process, from its stat file (field 4).
pub fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name may hold spaces and parentheses; the fields start after its last one.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The path libcoreclr was loaded from.
pub fn runtime_path() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("/libcoreclr.so"))?;
    Some(line.split_at(line.find('/')?).1.to_owned())
}
