//! A thread's first calls use nothing that another thread of the process may hold up: not the heap, and not the
//! loader, which registers destructors of thread-local variables.

use super::async_helper;
use super::callers;
use super::count_helper;
use super::time_helper::tests::call;
use crate::platform::ALLOCATIONS;
use std::cell::Cell;
use std::ffi::c_void;

thread_local! {
    static DESTRUCTORS: Cell<u64> = const { Cell::new(0) };
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
