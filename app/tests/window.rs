//! Tests the real program where it cannot open its window.
#![cfg(target_os = "linux")]

use std::process::Command;

/// The toolkit's own message names a line of its source.
#[test]
fn names_a_display_that_does_not_answer() {
    let outcome = Command::new(env!("CARGO_BIN_EXE_redial"))
        .env("DISPLAY", ":98765")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env("REDIAL_CONFIG", std::env::temp_dir().join("redial-without-a-window"))
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.status.code(), Some(1), "{said}");
    assert!(said.starts_with("redial: cannot open a window: no display answers at DISPLAY=:98765"), "{said}");
    assert!(!said.contains(".rs") && said.contains("redial --help"), "{said}");
}
