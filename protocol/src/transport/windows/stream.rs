//! A connected pipe: overlapped reads and writes that a third thread can end.
//!
//! The stream of interprocess cannot be unblocked or timed out, so only its listener is used.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_IO_PENDING, ERROR_NO_DATA, ERROR_OPERATION_ABORTED, ERROR_PIPE_NOT_CONNECTED,
    HANDLE, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::Threading::{CreateEventW, INFINITE, SetEvent, WaitForMultipleObjects};

#[derive(Debug)]
pub(crate) struct Stream(Arc<Pipe>);

#[derive(Debug)]
pub(crate) struct ReadHalf {
    pipe: Arc<Pipe>,
    /// Milliseconds, or INFINITE.
    timeout: AtomicU32,
}

#[derive(Debug)]
pub(crate) struct WriteHalf {
    pipe: Arc<Pipe>,
}

#[derive(Clone, Debug)]
pub(crate) struct Closer(Arc<Pipe>);

#[derive(Debug)]
struct Pipe {
    /// Read-locked while an operation runs. `close` takes it out and so closes it. That also ends the peer's
    /// calls, but the peer can still read what was written before.
    handle: RwLock<Option<OwnedHandle>>,
    /// Set by `close`; ends running operations.
    closed: OwnedHandle,
    /// Completion events of the two halves, created here so that splitting cannot fail.
    done: [OwnedHandle; 2],
}

/// Reason why an operation did not succeed.
enum IoFailure {
    Closed,
    TimedOut,
    Failed(io::Error),
}

impl Stream {
    /// Wraps the overlapped handle of a connected pipe.
    pub(super) fn new(handle: OwnedHandle) -> io::Result<Stream> {
        let done = [event()?, event()?];
        Ok(Stream(Arc::new(Pipe { handle: RwLock::new(Some(handle)), closed: event()?, done })))
    }

    pub(crate) fn split(self) -> (ReadHalf, WriteHalf, Closer) {
        (
            ReadHalf { pipe: Arc::clone(&self.0), timeout: AtomicU32::new(INFINITE) },
            WriteHalf { pipe: Arc::clone(&self.0) },
            Closer(self.0),
        )
    }
}

impl ReadHalf {
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let timeout = self.timeout.load(Ordering::Relaxed);
        let [done, _] = &self.pipe.done;
        let result = self.pipe.run(done, timeout, |handle, overlapped| {
            // SAFETY: the buffer is writable for that length, and the operation ends before `run` returns.
            unsafe { ReadFile(handle, buffer.as_mut_ptr(), length, std::ptr::null_mut(), overlapped) }
        });
        match result {
            Ok(read) => Ok(read),
            Err(IoFailure::Closed) => Ok(0),
            Err(IoFailure::TimedOut) => Err(io::ErrorKind::TimedOut.into()),
            Err(IoFailure::Failed(error)) => match error.raw_os_error().map(|code| code as u32) {
                Some(ERROR_BROKEN_PIPE | ERROR_PIPE_NOT_CONNECTED | ERROR_NO_DATA) => Ok(0),
                _ => Err(error),
            },
        }
    }

    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let milliseconds = match timeout {
            None => INFINITE,
            Some(Duration::ZERO) => return Err(io::ErrorKind::InvalidInput.into()),
            // At least 1, and never INFINITE by accident.
            Some(duration) => {
                u32::try_from(duration.as_millis().max(1)).unwrap_or(INFINITE - 1).min(INFINITE - 1)
            }
        };
        self.timeout.store(milliseconds, Ordering::Relaxed);
        Ok(())
    }
}

impl WriteHalf {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let [_, done] = &self.pipe.done;
        let result = self.pipe.run(done, INFINITE, |handle, overlapped| {
            // SAFETY: the bytes are readable for that length, and the operation ends before `run` returns.
            unsafe { WriteFile(handle, bytes.as_ptr(), length, std::ptr::null_mut(), overlapped) }
        });
        result.map_err(|failure| match failure {
            IoFailure::Closed | IoFailure::TimedOut => io::ErrorKind::BrokenPipe.into(),
            IoFailure::Failed(error) => error,
        })
    }
}

impl Closer {
    pub(crate) fn close(&self) {
        // SAFETY: the event is open as long as self. Setting an open event does not fail.
        unsafe { SetEvent(self.0.closed.as_raw_handle()) };
        // Waits for the operations that are now ending.
        drop(self.0.handle.write().unwrap_or_else(PoisonError::into_inner).take());
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        let guard = self.0.handle.read().unwrap_or_else(PoisonError::into_inner);
        let Some(handle) = guard.as_ref().map(AsRawHandle::as_raw_handle) else { return true };
        let nothing = std::ptr::null_mut();
        // SAFETY: the handle is open while the guard lives. Without buffers the call only looks (PeekNamedPipe).
        unsafe { PeekNamedPipe(handle, std::ptr::null_mut(), 0, nothing, nothing, nothing) == 0 }
    }
}

impl Pipe {
    /// Starts an overlapped operation and waits until it completes, the pipe is closed, or `timeout`
    /// milliseconds have passed. The operation has always ended when this returns.
    fn run(
        &self,
        done: &OwnedHandle,
        timeout: u32,
        start: impl FnOnce(HANDLE, *mut OVERLAPPED) -> i32,
    ) -> Result<usize, IoFailure> {
        let guard = self.handle.read().unwrap_or_else(PoisonError::into_inner);
        let Some(handle) = guard.as_ref().map(AsRawHandle::as_raw_handle) else {
            return Err(IoFailure::Closed);
        };
        let mut overlapped = OVERLAPPED { hEvent: done.as_raw_handle(), ..OVERLAPPED::default() };
        if start(handle, &mut overlapped) == 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error().map(|code| code as u32) != Some(ERROR_IO_PENDING) {
                return Err(IoFailure::Failed(error));
            }
        }
        let events = [done.as_raw_handle(), self.closed.as_raw_handle()];
        // SAFETY: both events are open as long as self; the array has the given length.
        let woken = unsafe { WaitForMultipleObjects(2, events.as_ptr(), 0, timeout) };
        if woken != WAIT_OBJECT_0 {
            // SAFETY: the handle is open (read-locked), and the structure belongs to the operation.
            unsafe { CancelIoEx(handle, &overlapped) };
        }
        let mut transferred = 0;
        // SAFETY: as above; waiting ensures that the operation no longer uses the structure or the buffer.
        let finished = unsafe { GetOverlappedResult(handle, &overlapped, &mut transferred, 1) != 0 };
        if finished {
            // Also if the cancellation came too late: the bytes read must not be lost.
            return Ok(transferred as usize);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().map(|code| code as u32) {
            Some(ERROR_OPERATION_ABORTED) if woken == WAIT_TIMEOUT => Err(IoFailure::TimedOut),
            Some(ERROR_OPERATION_ABORTED) if woken != WAIT_OBJECT_0 => Err(IoFailure::Closed),
            _ => Err(IoFailure::Failed(error)),
        }
    }
}

/// Creates a manual-reset event that no child inherits.
fn event() -> io::Result<OwnedHandle> {
    // SAFETY: no attributes, no name; we own and close a handle that is not null.
    unsafe {
        let handle = CreateEventW(std::ptr::null(), 1, 0, std::ptr::null());
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedHandle::from_raw_handle(handle))
    }
}
