//! One value per thread, with a function that is called at the thread's very end. Reading and setting it takes no
//! lock, and nothing from the heap unless the process uses dozens of such values.
//!
//! A Rust thread-local with a destructor would take the loader's lock at a thread's first use, in code that holds
//! up the garbage collector.

pub use native::ThreadValue;

use std::ffi::c_void;

/// The value of a thread whose function has been called.
pub const ENDED: *mut c_void = std::ptr::without_provenance_mut(1);

#[cfg(unix)]
mod native {
    use super::ENDED;
    use std::ffi::c_void;
    use std::sync::OnceLock;

    /// A value per thread; null until set.
    pub struct ThreadValue {
        key: OnceLock<Option<libc::pthread_key_t>>,
        ends: extern "C" fn(*mut c_void),
    }

    impl ThreadValue {
        /// Makes a value. When a thread ends that has set it, `ends` is called with it. Then the function must call
        /// [`ThreadValue::end`], after which the system calls it a few times more.
        pub const fn new(ends: extern "C" fn(*mut c_void)) -> ThreadValue {
            ThreadValue { key: OnceLock::new(), ends }
        }

        /// Reserves the value at the system. Done early, it spares the first thread the work.
        pub fn prepare(&self) {
            self.key();
        }

        fn key(&self) -> Option<libc::pthread_key_t> {
            let make = || {
                let mut key = 0;
                // SAFETY: the out pointer is a live local; the function never unwinds, and the library stays.
                (unsafe { libc::pthread_key_create(&mut key, Some(self.ends)) } == 0).then_some(key)
            };
            *self.key.get_or_init(make)
        }

        /// Returns the calling thread's value; [`ENDED`] if the system has no place for it.
        pub fn get(&self) -> *mut c_void {
            // SAFETY: the key was created above and is never deleted.
            self.key().map_or(ENDED, |key| unsafe { libc::pthread_getspecific(key) })
        }

        /// Sets the calling thread's value; false if the system refuses.
        pub fn set(&self, value: *const c_void) -> bool {
            // SAFETY: as in `get`.
            self.key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, value) } == 0)
        }

        /// Marks the calling thread as ended.
        pub fn end(&self) {
            self.set(ENDED);
        }
    }
}

#[cfg(windows)]
mod native {
    use super::ENDED;
    use std::cell::Cell;
    use std::ffi::c_void;

    /// As on Unix.
    pub struct ThreadValue {
        ends: extern "C" fn(*mut c_void),
    }

    struct Value(Cell<*const c_void>, Cell<Option<extern "C" fn(*mut c_void)>>);

    impl Drop for Value {
        fn drop(&mut self) {
            if let Some(ends) = self.1.get() {
                ends(self.0.get().cast_mut());
            }
        }
    }

    thread_local! {
        static VALUE: Value = const { Value(Cell::new(std::ptr::null()), Cell::new(None)) };
    }

    impl ThreadValue {
        /// As on Unix. There is one such value only.
        pub const fn new(ends: extern "C" fn(*mut c_void)) -> ThreadValue {
            ThreadValue { ends }
        }

        /// As on Unix.
        pub fn prepare(&self) {}

        /// As on Unix.
        pub fn get(&self) -> *mut c_void {
            VALUE.try_with(|value| value.0.get().cast_mut()).unwrap_or(ENDED)
        }

        /// As on Unix.
        pub fn set(&self, value: *const c_void) -> bool {
            let set = |of: &Value| {
                of.1.set(Some(self.ends));
                of.0.set(value);
            };
            VALUE.try_with(set).is_ok()
        }

        /// As on Unix.
        pub fn end(&self) {}
    }
}
