//! Native helpers that a counting body calls. Calling convention C, two native integers (the slot's byte offset
//! in a block, an address on the caller's stack), no result. They never block and take no lock, except
//! that the first call on a thread claims a block and registers a thread-local destructor, which may take the
//! loader's lock. Some bodies call [`address`] on every call, which does not look at the stack.
//! Others call [`address_for_new_page`], only while the page of the stack does not lead to the thread's block; it
//! enters the page.
//!
//! On x86-64 Linux with glibc they are assembly with initial-exec thread-local storage (one load through `fs`),
//! because `thread_local!` in a library loaded at run time goes through `__tls_get_addr` and a state check.
//! (musl's loader refuses such storage in a library loaded at run time.)

use super::blocks::{self, Block, Slot};
use super::stack_pages::Pages;
use super::thread_timer::set_timer;
use super::timers::Timer;
use std::cell::OnceCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Releases the thread's block and its timer when the thread dies.
pub(super) struct ThreadBlock {
    block: &'static Block,
    /// Removed first: nothing may lead to a block that serves another thread.
    pages: Option<Pages>,
    /// Created at the first timed call; None if memory is refused.
    timer: OnceCell<Option<&'static Timer>>,
}

impl ThreadBlock {
    fn new(block: &'static Block) -> ThreadBlock {
        set_base(block.base().as_ptr());
        ThreadBlock { block, pages: Some(Pages::new(block.base())), timer: OnceCell::new() }
    }

    /// Returns the thread's timer and makes it known to the helpers.
    pub(super) fn timer(&self) -> Option<&'static Timer> {
        let make =
            || Timer::acquire(self.block.base()).inspect(|timer| set_timer(std::ptr::from_ref(*timer)));
        *self.timer.get_or_init(make)
    }

    /// Returns the first counter of the block.
    pub(super) fn base(&self) -> NonNull<AtomicU64> {
        self.block.base()
    }

    /// Counts one call; only for the thread itself.
    pub(super) fn count(&self, slot: Slot) {
        // SAFETY: the block is this thread's own and has MAX_SLOTS counters; callers checked the slot.
        let counter = unsafe { self.block.base().add(slot.0 as usize).as_ref() };
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl Drop for ThreadBlock {
    fn drop(&mut self) {
        self.pages = None;
        set_base(std::ptr::null_mut());
        if let Some(Some(timer)) = self.timer.take() {
            set_timer(std::ptr::null());
            timer.release();
        }
        self.block.release();
    }
}

thread_local! {
    static OWNER: OnceCell<Option<ThreadBlock>> = const { OnceCell::new() };
}

/// Calls `body` with the block of the calling thread, or with None if it cannot own one. A thread past its own
/// destructors has none either, and `body` is not called.
pub(super) fn with_thread_block(body: impl FnOnce(Option<&ThreadBlock>) -> bool) -> bool {
    OWNER
        .try_with(|owner| body(owner.get_or_init(|| blocks::acquire().map(ThreadBlock::new)).as_ref()))
        .unwrap_or(false)
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
        let counted = with_thread_block(|owner| {
            let Some(owner) = owner.filter(|_| slot.0 < blocks::MAX_SLOTS) else { return false };
            owner.count(slot);
            if let (Some(address), Some(pages)) = (here, &owner.pages) {
                pages.enter(address);
            }
            true
        });
        if !counted {
            blocks::add_shared(slot, 1);
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
mod tests {
    use super::*;

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
        })
        .join()
        .unwrap();
        blocks::sum(&[slot], &mut sums);
        assert_eq!(sums[0], 2);
    }
}
