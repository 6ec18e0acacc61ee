//! Windows console events.

use super::remainder::Remainder;
use std::io;
use std::sync::{Mutex, PoisonError};

const CTRL_C_EVENT: u32 = 0;
const CTRL_BREAK_EVENT: u32 = 1;
/// A flag of CreateProcess: the child leads its own process group, which can receive console events.
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

type Handler = unsafe extern "system" fn(u32) -> i32;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetConsoleCtrlHandler(handler: Option<Handler>, add: i32) -> i32;
    fn GenerateConsoleCtrlEvent(event: u32, group: u32) -> i32;
}

static INTERRUPTED: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// Calls `interrupted` from a system thread for each Ctrl-C and Ctrl-Break.
pub(super) fn catch(interrupted: impl Fn() + Send + 'static) -> io::Result<()> {
    *INTERRUPTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(interrupted));
    add(call)
}

fn add(handler: Handler) -> io::Result<()> {
    // SAFETY: The handler has the signature of HandlerRoutine and lives as long as the program.
    if unsafe { SetConsoleCtrlHandler(Some(handler), 1) } == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

unsafe extern "system" fn call(event: u32) -> i32 {
    if event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT {
        return 0;
    }
    if let Some(interrupted) = &*INTERRUPTED.lock().unwrap_or_else(PoisonError::into_inner) {
        interrupted();
    }
    1
}

/// Prepares a command whose child will be asked to end.
pub fn lead_process_group(command: &mut std::process::Command) {
    std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
}

/// Asks a child that was made askable to end, with Ctrl+Break. Ctrl+C cannot be sent to a single group
/// (GenerateConsoleCtrlEvent).
///
/// # Errors
/// When this program shares no console with the child.
pub fn terminate(child: &std::process::Child) -> io::Result<()> {
    // SAFETY: GenerateConsoleCtrlEvent takes two numbers. The child leads the group with its own id.
    match unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, child.id()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Returns the state of the child. Its own children are not followed.
///
/// # Errors
/// When the system cannot tell.
pub fn remainder_of(child: &mut std::process::Child) -> io::Result<Remainder> {
    Ok(child.try_wait()?.map_or(Remainder::Child, Remainder::Nobody))
}

/// Kills a child.
///
/// # Errors
/// When this user may not kill it.
pub fn kill(child: &mut std::process::Child) -> io::Result<()> {
    child.kill()
}

/// Leaves Ctrl-C to the child. The console sends it to every attached program, so this program only has to survive it.
pub struct Forwarding(());

impl Forwarding {
    /// Makes this program ignore Ctrl-C.
    pub fn begin() -> Forwarding {
        // Without a console there is no Ctrl-C.
        let _ = add(swallow);
        Forwarding(())
    }

    /// Names the child. Does nothing, because the console knows the child.
    pub fn to(&self, _child: &std::process::Child) {}

    /// Waits for the child.
    pub fn wait(self, child: &mut std::process::Child) -> io::Result<std::process::ExitStatus> {
        child.wait()
    }
}

unsafe extern "system" fn swallow(event: u32) -> i32 {
    i32::from(event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT)
}
