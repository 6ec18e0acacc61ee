//! A thread's first calls use nothing that another thread of the process may hold up: not the heap, and not the
//! loader, which registers destructors of thread-local variables.

use super::async_helper;
use super::callers;
use super::count_helper;
use super::time_helper::tests::call;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static DESTRUCTORS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: it only counts, and leaves the rest to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(address, layout) }
    }
}

type Destructor = unsafe extern "C" fn(*mut c_void);
type Register = unsafe extern "C" fn(Destructor, *mut c_void, *mut c_void) -> i32;

/// Replaces the C library's function in the test program.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cxa_thread_atexit_impl(
    destructor: Destructor,
    object: *mut c_void,
    library: *mut c_void,
) -> i32 {
    DESTRUCTORS.set(DESTRUCTORS.get() + 1);
    // SAFETY: the C library has this function with this signature; the caller's contract.
    unsafe {
        let real = libc::dlsym(libc::RTLD_NEXT, c"__cxa_thread_atexit_impl".as_ptr());
        std::mem::transmute::<*mut c_void, Register>(real)(destructor, object, library)
    }
}

#[test]
fn first_calls_of_a_thread_use_neither_heap_nor_loader() {
    // What is done once in a process.
    count_helper::prepare();
    callers::helpers();
    let run = || {
        let used = || (ALLOCATIONS.get(), DESTRUCTORS.get());
        let before = used();
        count_helper::tests::call_on_new_page(200);
        call(201, &mut 0, || true);
        async_helper::tests::call_begins(super::blocks::Slot(202));
        callers::calls_of_nothing(super::blocks::Slot(210), 0x1000, true)();
        assert_eq!(used(), before);
        // The counts work.
        drop(std::hint::black_box(Box::new(before)));
        thread_local!(static LATE: String = const { String::new() });
        LATE.with(String::len);
        assert_eq!(used(), (before.0 + 1, before.1 + 1));
    };
    // Threads that live at the same time, so that each gets a block of its own.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(run);
        }
    });
}
