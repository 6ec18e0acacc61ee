//! Unloading a domain. CoreCLR 2.1 still has the code of the .NET Framework for that, but never starts its thread.

use std::cell::Cell;
use std::ffi::c_void;

use anyhow::{Result, bail, ensure};

/// `SetupUnstartedThread(BOOL)`: makes the `Thread` of a thread that starts later.
const SETUP_UNSTARTED: &str = "_Z20SetupUnstartedThreadi";
/// `Thread::CreateNewThread(SIZE_T, LPTHREAD_START_ROUTINE, void*, LPCWSTR)`.
const CREATE_THREAD: &str = "_ZN6Thread15CreateNewThreadEmPFjPvES0_PKDs";
/// `Thread::StartThread()`.
const START_THREAD: &str = "_ZN6Thread11StartThreadEv";
/// `AppDomain::ADUnloadThreadStart(void*)`: the thread that unloads domains. Its argument is its `Thread`.
const UNLOAD_THREAD: &str = "_ZN9AppDomain19ADUnloadThreadStartEPv";
/// `AppDomain::UnloadById(ADID, BOOL, BOOL)`: has that thread unload a domain, and waits if the first flag is set.
const UNLOAD: &str = "_ZN9AppDomain10UnloadByIdE4ADIDii";

/// The symbols that an [`Unloader`] needs.
pub const SYMBOLS: [&str; 5] = [SETUP_UNSTARTED, CREATE_THREAD, START_THREAD, UNLOAD_THREAD, UNLOAD];

const S_OK: i32 = 0;
/// `E_UNEXPECTED`: the thread is not there, or not ready yet.
const NO_THREAD: i32 = 0x8000_FFFF_u32 as i32;
/// How often to ask a thread that is not ready, a millisecond apart.
const ATTEMPTS: u32 = 10_000;

type Routine = unsafe extern "C" fn(*mut c_void) -> u32;

/// Unloads domains.
pub struct Unloader {
    setup_unstarted: unsafe extern "C" fn(i32) -> *mut c_void,
    create_thread: unsafe extern "C" fn(*mut c_void, usize, Routine, *mut c_void, *const u16) -> i32,
    start_thread: unsafe extern "C" fn(*mut c_void) -> u32,
    unload_thread: Routine,
    unload: unsafe extern "C" fn(u32, i32, i32) -> i32,
    has_thread: Cell<bool>,
}

impl Unloader {
    /// Takes the functions; `address` returns the address of a symbol.
    ///
    /// # Safety
    /// The addresses belong to the build that `private.rs` checks.
    pub unsafe fn new(address: impl Fn(&'static str) -> Result<usize>) -> Result<Self> {
        use std::mem::transmute;
        // SAFETY: functions of the checked build, cast to their signatures in that build. A member function takes its
        // object first.
        unsafe {
            Ok(Self {
                setup_unstarted: transmute::<usize, unsafe extern "C" fn(i32) -> *mut c_void>(address(
                    SETUP_UNSTARTED,
                )?),
                create_thread: transmute::<
                    usize,
                    unsafe extern "C" fn(*mut c_void, usize, Routine, *mut c_void, *const u16) -> i32,
                >(address(CREATE_THREAD)?),
                start_thread: transmute::<usize, unsafe extern "C" fn(*mut c_void) -> u32>(address(
                    START_THREAD,
                )?),
                unload_thread: transmute::<usize, Routine>(address(UNLOAD_THREAD)?),
                unload: transmute::<usize, unsafe extern "C" fn(u32, i32, i32) -> i32>(address(UNLOAD)?),
                has_thread: Cell::new(false),
            })
        }
    }

    /// Unloads a domain other than the default domain, and waits until it is gone. Managed code has run on this thread.
    pub fn unload(&self, id: u32) -> Result<()> {
        if !self.has_thread.replace(true) {
            self.start_unload_thread()?;
        }
        for _ in 0..ATTEMPTS {
            // SAFETY: the runtime has started and this thread is not in that domain; the function only takes numbers.
            match unsafe { (self.unload)(id, 1, 0) } {
                S_OK => return Ok(()),
                NO_THREAD => std::thread::sleep(std::time::Duration::from_millis(1)),
                result => bail!("AppDomain::UnloadById answered 0x{result:08x}"),
            }
        }
        bail!("the runtime's thread for unloading did not start")
    }

    fn start_unload_thread(&self) -> Result<()> {
        // SAFETY: the runtime has started, and this thread is in preemptive mode. The new thread owns its `Thread`.
        unsafe {
            let thread = (self.setup_unstarted)(1);
            ensure!(!thread.is_null(), "SetupUnstartedThread made no thread");
            let made = (self.create_thread)(thread, 0, self.unload_thread, thread, std::ptr::null());
            ensure!(made != 0, "Thread::CreateNewThread failed");
            (self.start_thread)(thread);
        }
        Ok(())
    }
}
