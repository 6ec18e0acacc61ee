//! Native helpers that a counting body calls. Calling convention C, two native integers (the slot's byte offset
//! in a block, an address on the caller's stack), no result. They never block, take no lock of the process and
//! nothing from its heap. The first call on a thread claims a block, for which it may ask the system for memory.
//! Some bodies call [`address`] on every call, which does not look at the stack. Others call
//! [`address_for_new_page`], only while the page of the stack does not lead to the thread's block; it enters the
//! page.
//!
//! On x86-64 Linux with glibc they are assembly with initial-exec thread-local storage (one load through `fs`),
//! because `thread_local!` in a library loaded at run time goes through `__tls_get_addr` and a state check.
//! (musl's loader refuses such storage in a library loaded at run time.)

use super::blocks::{self, Block, Slot};
use super::thread_timer::{set_timer, timer};
use super::thread_value::{ENDED, ThreadValue};
use super::timers::Timer;
use std::ffi::c_void;
use std::sync::atomic::AtomicU64;

/// The block of each thread.
static OWNED: ThreadValue = ThreadValue::new(thread_ends);

/// Does once what the first call of a thread would have to do. The library must stay loaded from now on.
pub fn prepare() {
    OWNED.prepare();
}

/// Releases the thread's block and its timer.
extern "C" fn thread_ends(block: *mut c_void) {
    crate::guard::guard_always((), || {
        OWNED.end();
        if block == ENDED {
            return;
        }
        // SAFETY: the values of this thread were its block and ENDED; blocks are never given back.
        let Some(block) = (unsafe { block.cast::<Block>().as_ref() }) else { return };
        // First: nothing may lead to a block that serves another thread.
        block.pages.leave(block.base());
        set_base(std::ptr::null_mut());
        if let Some(timer) = timer() {
            set_timer(std::ptr::null());
            timer.release();
        }
        block.release();
    });
}

/// Returns the block of the calling thread; None if it cannot own one, or is at its very end.
#[inline]
pub(super) fn thread_block() -> Option<&'static Block> {
    let known = OWNED.get();
    if known.is_null() {
        return claim_block();
    }
    // SAFETY: any other value is the thread's block; blocks are never given back.
    (known != ENDED).then(|| unsafe { known.cast::<Block>().as_ref() }).flatten()
}

#[cold]
fn claim_block() -> Option<&'static Block> {
    let block = blocks::acquire()?;
    if !OWNED.set(std::ptr::from_ref(block).cast()) {
        block.release();
        return None;
    }
    set_base(block.base().as_ptr());
    Some(block)
}

/// Returns the timer of the calling thread, which owns the block, and makes it known to the helpers; None if memory
/// is refused.
pub(super) fn thread_timer(block: &Block) -> Option<&'static Timer> {
    if let Some(timer) = timer() {
        return Some(timer);
    }
    if block.untimed.get() {
        return None;
    }
    let timer = Timer::acquire(block);
    block.untimed.set(timer.is_none());
    timer.inspect(|timer| set_timer(std::ptr::from_ref(*timer)))
}

/// Returns the address of the counting helper, for the IL.
pub fn address() -> usize {
    redial_count as *const () as usize
}

/// Returns the address of the helper that counts and makes the stack's page lead to the thread's block.
pub fn address_for_new_page() -> usize {
    redial_count_on_new_page as *const () as usize
}

/// Returns the address of a helper that does nothing: entering it, a thread can be stopped.
pub fn gc_poll() -> usize {
    redial_gc_poll as *const () as usize
}

extern "C" fn redial_gc_poll(_: usize, _: usize) {}

/// Handles the first count of a thread, and every count of a thread that cannot own a block.
#[unsafe(no_mangle)]
extern "C" fn redial_count_slow(slot_offset: usize) {
    count(slot_offset, None);
}

extern "C" fn redial_count_on_new_page(slot_offset: usize, address: usize) {
    count(slot_offset, Some(address));
}

fn count(slot_offset: usize, here: Option<usize>) {
    crate::guard::guard_always((), || {
        let slot = Slot((slot_offset / size_of::<AtomicU64>()) as u32);
        let Some(block) = thread_block().filter(|block| block.count(slot)) else {
            return blocks::add_shared(slot, 1);
        };
        if let Some(address) = here {
            block.pages.enter(address, block.base());
        }
    });
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod native {
    use std::sync::atomic::AtomicU64;

    std::arch::global_asm!(
        ".pushsection .tbss,\"awT\",@nobits",
        ".p2align 3",
        ".type redial_base, @object",
        "redial_base: .zero 8",
        ".size redial_base, 8",
        ".popsection",
        ".pushsection .text.redial_count,\"ax\",@progbits",
        ".p2align 5",
        ".globl redial_count",
        ".type redial_count, @function",
        "redial_count:",
        "  mov rax, qword ptr [rip + redial_base@GOTTPOFF]",
        "  mov rax, qword ptr fs:[rax]",
        "  test rax, rax",
        "  je 2f",
        "  inc qword ptr [rax + rdi]",
        "  ret",
        "2: jmp {slow}",
        ".size redial_count, . - redial_count",
        ".globl redial_set_base",
        ".type redial_set_base, @function",
        "redial_set_base:",
        "  mov rax, qword ptr [rip + redial_base@GOTTPOFF]",
        "  mov qword ptr fs:[rax], rdi",
        "  ret",
        ".size redial_set_base, . - redial_set_base",
        ".popsection",
        slow = sym super::redial_count_slow,
    );

    unsafe extern "C" {
        pub safe fn redial_count(slot_offset: usize);
        pub safe fn redial_set_base(base: *mut AtomicU64);
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod native {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU64, Ordering};

    thread_local! {
        static BASE: Cell<*mut AtomicU64> = const { Cell::new(std::ptr::null_mut()) };
    }

    pub extern "C" fn redial_count(slot_offset: usize) {
        let base = BASE.get();
        if base.is_null() {
            return super::redial_count_slow(slot_offset);
        }
        // SAFETY: a base set on this thread is its own block; the IL has offsets of slots below MAX_SLOTS.
        let counter = unsafe { &*base.byte_add(slot_offset) };
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    pub fn redial_set_base(base: *mut AtomicU64) {
        BASE.set(base);
    }
}

use native::{redial_count, redial_set_base as set_base};

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Counts a call of `slot` like a body whose page of the stack leads nowhere.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub fn call_on_new_page(slot: u32) {
        let variable = 0;
        redial_count_on_new_page(slot as usize * 8, std::ptr::from_ref(&variable).addr());
    }

    #[test]
    fn counts_are_exact_over_short_lived_threads() {
        let slot = Slot(17);
        let mut before = Vec::new();
        blocks::sum(&[slot], &mut before);
        for _ in 0..50 {
            let thread = |_| std::thread::spawn(|| (0..1000).for_each(|_| redial_count(17 * 8)));
            let threads: Vec<_> = (0..8).map(thread).collect();
            // Joined one by one: only joining waits for the destructors of a thread.
            threads.into_iter().for_each(|thread| thread.join().expect("it counts"));
        }
        let mut after = Vec::new();
        blocks::sum(&[slot], &mut after);
        assert_eq!(after[0] - before[0], 50 * 8 * 1000);
        assert!(blocks::count() <= 16, "dead threads' blocks are recycled, {} made", blocks::count());
    }

    #[test]
    fn counts_threads_past_their_destructors() {
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                redial_count(19 * 8);
            }
        }
        thread_local!(static LATE: Late = const { Late });
        let slot = Slot(19);
        let mut sums = Vec::new();
        std::thread::spawn(|| {
            LATE.with(|_| ());
            redial_count(19 * 8);
            // The system calls it later than any destructor of Rust.
            thread_ends(OWNED.get());
            redial_count(19 * 8);
            assert!(thread_block().is_none());
        })
        .join()
        .unwrap();
        blocks::sum(&[slot], &mut sums);
        assert_eq!(sums[0], 3);
    }
}
