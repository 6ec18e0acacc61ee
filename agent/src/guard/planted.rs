//! Faults that tests plant in callbacks. Release builds contain none of it.

/// Panics if a test wants this callback to: the file that `REDIAL_TEST_PANIC` names contains its name, or `*`.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "a test checks that the guard catches it")]
pub fn plant(callback: &str) {
    use std::path::PathBuf;
    use std::sync::OnceLock;

    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE.get_or_init(|| std::env::var_os("REDIAL_TEST_PANIC").map(PathBuf::from));
    let names = file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
    if names.is_some_and(|names| names.split_whitespace().any(|name| name == callback || name == "*")) {
        panic!("planted in {callback}");
    }
}

/// Does nothing.
#[cfg(not(debug_assertions))]
pub fn plant(_callback: &str) {}
