//! The endpoint's name and its end. The runtime's `Shutdown` takes it away; a runtime that was shutting down already
//! when we were loaded does not call that, so the process's own end does it as well.
#![forbid(unsafe_code)]

use crate::guard::guard_always;
use redial_protocol::ids::ProcessKey;
use redial_protocol::transport::{BindError, Listener};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::time::{Duration, Instant};

/// Longest the end of the process waits for an endpoint that is just being made.
const LONGEST: Duration = Duration::from_millis(100);

static ENDPOINT: Mutex<Endpoint> = Mutex::new(Endpoint { listener: Weak::new(), over: false });

/// The process the name is of: a forked child has a copy of all this, perhaps locked for ever.
static OWNER: AtomicU32 = AtomicU32::new(0);

struct Endpoint {
    listener: Weak<Listener>,
    /// The process ends: nothing is made any more.
    over: bool,
}

/// Makes the endpoint of this process; its name is gone when the last holder drops it, and when the process exits.
///
/// # Errors
/// As [`Listener::bind`]; [`BindError::Io`] when the process ends already.
pub fn make(process: ProcessKey) -> Result<Arc<Listener>, BindError> {
    let mut endpoint = crate::sync::lock(&ENDPOINT);
    if endpoint.over {
        let source = io::Error::other("the process ends");
        return Err(BindError::Io { name: "the endpoint".into(), source });
    }
    if OWNER.swap(std::process::id(), Ordering::Relaxed) != std::process::id() {
        // Without it a name may stay; a later agent of this user sweeps it.
        crate::platform::at_exit(take_away);
    }
    let listener = Arc::new(Listener::bind(process)?);
    endpoint.listener = Arc::downgrade(&listener);
    Ok(listener)
}

extern "C" fn take_away() {
    guard_always((), || {
        if OWNER.load(Ordering::Relaxed) != std::process::id() {
            return;
        }
        let deadline = Instant::now() + LONGEST;
        let mut endpoint = loop {
            match ENDPOINT.try_lock() {
                Ok(endpoint) => break endpoint,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        endpoint.over = true;
        if let Some(listener) = endpoint.listener.upgrade() {
            listener.unlink();
        }
    });
}
