//! Control sequences on the Windows console.

use std::ffi::c_void;

const STD_OUTPUT_HANDLE: u32 = -11i32 as u32;
const ENABLE_VIRTUAL_TERMINAL_PROCESSING: u32 = 4;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetStdHandle(which: u32) -> *mut c_void;
    fn GetConsoleMode(console: *mut c_void, mode: *mut u32) -> i32;
    fn SetConsoleMode(console: *mut c_void, mode: u32) -> i32;
}

/// Enables control sequences, which Windows 10 and later support; returns false if they are not supported.
pub fn understands_sequences() -> bool {
    let mut mode = 0;
    // SAFETY: The standard output handle is borrowed, not owned. GetConsoleMode rejects handles of other kinds.
    // `mode` lives through the calls.
    unsafe {
        let console = GetStdHandle(STD_OUTPUT_HANDLE);
        GetConsoleMode(console, &mut mode) != 0
            && SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0
    }
}
