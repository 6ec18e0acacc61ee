//! Owns the endpoint's name. The runtime's `Shutdown` removes it. So does the process's exit, because a runtime
//! that was already shutting down when the agent loaded does not call `Shutdown`.
#![forbid(unsafe_code)]

use crate::guard::guard_always;
use redial_protocol::ids::ProcessKey;
use redial_protocol::transport::{BindError, Listener};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::time::{Duration, Instant};

/// Longest wait at exit for an endpoint that is just being made.
const MAX_EXIT_WAIT: Duration = Duration::from_millis(100);

static ENDPOINT: Mutex<Endpoint> = Mutex::new(Endpoint { listener: Weak::new(), over: false });

/// The process that owns the name: a forked child has a copy of this state, perhaps locked for ever.
static OWNER: AtomicU32 = AtomicU32::new(0);

struct Endpoint {
    listener: Weak<Listener>,
    /// The process is exiting: make no endpoint any more.
    over: bool,
}

/// Makes the endpoint of this process. Its name disappears when the last holder drops it, and when the process
/// exits.
///
/// # Errors
/// As [`Listener::bind`]; [`BindError::Io`] if the process is already exiting.
pub fn make(process: ProcessKey) -> Result<Arc<Listener>, BindError> {
    let mut endpoint = crate::sync::lock(&ENDPOINT);
    if endpoint.over {
        let source = io::Error::other("the process is exiting");
        return Err(BindError::Io { name: "the endpoint".into(), source });
    }
    if OWNER.swap(std::process::id(), Ordering::Relaxed) != std::process::id() {
        // If this fails a name may stay behind; a later agent of this user removes it.
        crate::platform::at_exit(remove_name);
    }
    let listener = Arc::new(Listener::bind(process)?);
    endpoint.listener = Arc::downgrade(&listener);
    Ok(listener)
}

extern "C" fn remove_name() {
    guard_always((), || {
        if OWNER.load(Ordering::Relaxed) != std::process::id() {
            return;
        }
        let deadline = Instant::now() + MAX_EXIT_WAIT;
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
