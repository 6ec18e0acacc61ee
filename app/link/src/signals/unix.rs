//! Unix signals. Catching uses a thread that waits for them (sigwait(3)), so that no code runs in a handler. Forwarding
//! must use a handler, because the main thread waits for the child.

use super::remainder::Remainder;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Blocks SIGINT and SIGTERM for this thread and threads that it starts later, and calls `interrupted` from a separate
/// thread for each. Ignored signals, as in background jobs of a shell, stay ignored.
pub(super) fn catch(interrupted: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut set = empty_set();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        if !is_ignored(signal) {
            // SAFETY: sigaddset(3) gets an initialised set and a valid signal.
            unsafe { libc::sigaddset(&mut set, signal) };
        }
    }
    // SAFETY: pthread_sigmask(3) gets an initialised set; a null pointer for the old mask is allowed.
    let failed = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed));
    }
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        loop {
            let mut signal = 0;
            // SAFETY: sigwait(3) gets an initialised set and a pointer to a live integer.
            if unsafe { libc::sigwait(&set, &mut signal) } != 0 {
                return;
            }
            interrupted();
        }
    })?;
    Ok(())
}

/// The pid of the child that receives signals; 0 before it starts and after it ended.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// A signal that arrived before the child started.
static EARLY: AtomicI32 = AtomicI32::new(0);
/// The number of running handlers. The child is not reaped while they run, so that its pid cannot be reused.
static HANDLERS: AtomicU32 = AtomicU32::new(0);

/// Forwards SIGINT, SIGTERM, SIGHUP and SIGQUIT to a child until the child ends.
pub struct Forwarding(());

impl Forwarding {
    /// Starts to forward signals. A signal that arrives before `to` names the child is kept for it.
    pub fn begin() -> Forwarding {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            if is_ignored(signal) {
                continue; // the child inherits the ignored signal
            }
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = pass_on;
            // SAFETY: All-zero is a valid sigaction (no flags, empty mask). The handler has the signature that
            // SA_SIGINFO requires and calls only functions that signal-safety(7) allows. sigaction(2) gets live
            // pointers.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as libc::sighandler_t;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
        Forwarding(())
    }

    /// Names the child.
    pub fn to(&self, child: &Child) {
        let Ok(pid) = i32::try_from(child.id()) else { return };
        CHILD.store(pid, Ordering::SeqCst);
        let early = EARLY.swap(0, Ordering::SeqCst);
        if early != 0 {
            // SAFETY: kill(2) targets our own child, which has not been reaped.
            unsafe { libc::kill(pid, early) };
        }
    }

    /// Waits until the child ends, stops forwarding, and then reaps the child.
    pub fn wait(self, child: &mut Child) -> io::Result<std::process::ExitStatus> {
        loop {
            // SAFETY: waitid(2) waits for our own child with a zeroed siginfo; WNOWAIT leaves the child waitable.
            let failed = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                libc::waitid(libc::P_PID, child.id(), &mut info, libc::WEXITED | libc::WNOWAIT)
            };
            if failed == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break;
            }
        }
        CHILD.store(0, Ordering::SeqCst);
        while HANDLERS.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
        child.wait()
    }
}

/// Prepares a command whose child will be asked to end: the child leads its own process group, so that its own children
/// are asked, too. Otherwise a launcher (`dotnet run`, a shell script) would end and leave its program behind.
pub fn lead_process_group(command: &mut Command) {
    command.process_group(0);
}

/// Sends SIGTERM to the group of a child that was made askable and has not been reaped.
///
/// # Errors
/// When this user may not send the child signals.
pub fn terminate(child: &Child) -> io::Result<()> {
    signal_group(child, libc::SIGTERM)
}

/// Kills the group of such a child.
///
/// # Errors
/// When this user may not send the child signals.
pub fn kill(child: &mut Child) -> io::Result<()> {
    signal_group(child, libc::SIGKILL)
}

/// Returns the state of such a child and its group. Reaps the child once the whole group has ended.
///
/// # Errors
/// When the system cannot tell.
pub fn remainder_of(child: &mut Child) -> io::Result<Remainder> {
    if !has_ended(child)? {
        return Ok(Remainder::Child);
    }
    match others_of(child.id()) {
        0 => child.wait().map(Remainder::Nobody),
        others => Ok(Remainder::Others(others)),
    }
}

/// Returns whether a child has ended, without reaping it, so that its pid is not reused.
fn has_ended(child: &Child) -> io::Result<bool> {
    // SAFETY: waitid(2) checks our own child with a zeroed siginfo, which stays zero while the child runs; WNOWAIT
    // leaves the child waitable.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let how = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
        match libc::waitid(libc::P_PID, child.id(), &mut info, how) {
            0 => Ok(info.si_pid() != 0),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Counts the running processes of a group, without its leader.
fn others_of(leader: u32) -> usize {
    let Ok(listed) = std::fs::read_dir("/proc") else { return 0 };
    let pids = listed.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != leader && group_of(*pid) == Some(leader)).count()
}

/// Returns the group of a running process (proc(5), `stat`).
fn group_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name comes first and may contain any character.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let group = fields.nth(1)?.parse().ok()?;
    (!ended).then_some(group)
}

fn signal_group(child: &Child, signal: libc::c_int) -> io::Result<()> {
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    if pid <= 1 {
        // kill(-1) would signal every process.
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: kill(2) takes two numbers. The group is that of our own child, which has not been reaped, so its id is
    // not reused.
    if unsafe { libc::kill(-pid, signal) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // The child moved to another group. SAFETY: As above.
    if error.raw_os_error() == Some(libc::ESRCH) && unsafe { libc::kill(pid, signal) } == 0 {
        return Ok(());
    }
    Err(error)
}

extern "C" fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: With SA_SIGINFO, the kernel passes a valid siginfo.
    let code = unsafe { (*info).si_code };
    // The kernel sends positive codes: Ctrl-C at the terminal, which the child received, too.
    if code > 0 {
        return;
    }
    HANDLERS.fetch_add(1, Ordering::SeqCst);
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        // SAFETY: __errno_location returns this thread's errno, which the interrupted code may be about to read.
        // kill(2) is async-signal-safe, and the child is not reaped while HANDLERS is not 0.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            libc::kill(child, signal);
            *errno = before;
        }
    } else {
        EARLY.store(signal, Ordering::SeqCst);
    }
    HANDLERS.fetch_sub(1, Ordering::SeqCst);
}

fn empty_set() -> libc::sigset_t {
    // SAFETY: All-zero is a valid sigset_t, and sigemptyset(3) initialises it in any case.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        set
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: sigaction(2) only queries here; all-zero is a valid sigaction for the answer.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    /// A launcher that ends at once, and its program, which must not stay behind.
    #[test]
    fn stops_the_children_of_a_child() {
        let polite = "trap 'exit 0' TERM; sh -c 'trap \"echo closed; exit 0\" TERM; echo ready; while :; do sleep 0.05; done' & wait";
        let stubborn = "trap '' TERM; sh -c 'echo ready; while :; do sleep 0.05; done' & wait";
        for (script, says) in [(polite, "closed\n"), (stubborn, "")] {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::piped());
            lead_process_group(&mut command);
            let mut child = command.spawn().expect("sh");
            let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
            let mut line = String::new();
            output.read_line(&mut line).expect("readable");
            assert_eq!(line, "ready\n");
            match says {
                "" => kill(&mut child).expect("it can be killed"),
                _ => terminate(&child).expect("it can be asked"),
            }
            // Every process that still lives keeps the pipe open.
            let mut rest = String::new();
            output.read_to_string(&mut rest).expect("readable");
            assert_eq!(rest, says);
            let status = child.wait().expect("waited for");
            assert_eq!(status.signal(), says.is_empty().then_some(libc::SIGKILL), "{status}");
        }
    }

    /// A launcher that ends when asked, and its program, which does not.
    #[test]
    fn kills_a_process_that_outlives_its_launcher() {
        let script = "sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.05; done' & wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        lead_process_group(&mut command);
        let mut child = command.spawn().expect("sh");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("readable");
        assert_eq!(remainder_of(&mut child).expect("known"), Remainder::Child);
        terminate(&child).expect("it can be asked");
        while remainder_of(&mut child).expect("known") == Remainder::Child {
            std::thread::yield_now();
        }
        // The program and its current `sleep`.
        assert!(matches!(remainder_of(&mut child), Ok(Remainder::Others(1..))));
        kill(&mut child).expect("it can be killed");
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("readable");
        let status = loop {
            match remainder_of(&mut child).expect("known") {
                Remainder::Nobody(status) => break status,
                _ => std::thread::yield_now(),
            }
        };
        assert_eq!(status.signal(), Some(libc::SIGTERM), "it had ended before");
    }

    fn signal_this_process(signal: libc::c_int) {
        // SAFETY: kill(2) targets this process, for which the test below installed a handler.
        assert_eq!(unsafe { libc::kill(libc::getpid(), signal) }, 0);
    }

    /// One test, because handlers belong to the whole process.
    #[test]
    fn forwards_signals_before_and_after_the_child_starts() {
        for early in [true, false] {
            let forwarding = Forwarding::begin();
            if early {
                signal_this_process(libc::SIGTERM);
                while EARLY.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
            }
            let mut child = Command::new("sleep").arg("1000").spawn().expect("sleep");
            forwarding.to(&child);
            if !early {
                signal_this_process(libc::SIGTERM);
            }
            let status = forwarding.wait(&mut child).expect("waited for");
            assert_eq!(status.signal(), Some(libc::SIGTERM), "{status}");
            assert_eq!(CHILD.load(Ordering::SeqCst), 0);
        }
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            // SAFETY: signal(2) restores the default, so that Ctrl-C ends the tests again.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
