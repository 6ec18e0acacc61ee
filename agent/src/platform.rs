//! The operating system services that the agent needs inside another program's process: keeping the library loaded,
//! starting threads that receive none of the host's signals, and finding its ancestors.

use redial_protocol::ids::ProcessKey;
use std::ffi::CStr;

mod allocator;
#[cfg(test)]
pub use allocator::ALLOCATIONS;
pub use allocator::{heap_bytes, release_kept_blocks, trim_heap, untrimmed_bytes};
#[cfg(target_os = "linux")]
mod large_blocks;
#[cfg(unix)]
#[path = "platform/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "platform/windows.rs"]
mod system;

pub use system::{
    at_exit, changed_since_start, descriptors, is_native, open_private, pin_library, read_memory,
    runtime_path, thread_id, thread_time,
};

/// Stack size of the agent's threads, bytes. They do not recurse.
const STACK: usize = 512 << 10;

/// Starts an agent thread with a small stack, a guard, and the host's signals blocked. Returns false if the system
/// refuses.
pub fn spawn(name: &'static CStr, body: impl FnOnce() + Send + 'static) -> bool {
    let guarded = move || crate::guard::guard_always((), body);
    system::without_signals(|| system::start_thread(name, STACK, Box::new(guarded)))
}

/// Longest chain of parents to follow.
const MAX_ANCESTORS: usize = 64;

/// Returns the parent, its parent, and so on, as far as the system reports them.
pub fn ancestors() -> Vec<ProcessKey> {
    let mut found = Vec::new();
    let mut pid = std::process::id();
    while found.len() < MAX_ANCESTORS {
        let Some(parent) = system::parent_of(pid).filter(|parent| *parent != 0) else { break };
        let Ok(key) = redial_protocol::process::key_of(parent) else { break };
        found.push(key);
        pid = parent;
    }
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_parent_is_the_first_ancestor() {
        #[cfg(unix)]
        assert_eq!(super::ancestors()[0].pid, std::os::unix::process::parent_id());
    }
}
