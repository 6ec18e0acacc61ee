//! Tests that cannot run on this machine. They are reported and counted as skipped, never as passed.

use std::io::Write;

/// Reports that `test` does not run here. The test must return right after.
///
/// Under `cargo xtask test` the line goes to the file named by `REDIAL_NOT_RUN`; the runner lists it at the end
/// and counts the test as skipped. The line also goes to standard error.
pub fn not_run(test: &str, reason: &str) {
    eprintln!("not run: {test}: {reason}");
    if let Some(path) = std::env::var_os("REDIAL_NOT_RUN") {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        // One short line in a single write, so that appends of parallel tests do not mix.
        let written = opened.and_then(|mut file| file.write_all(format!("{test}: {reason}\n").as_bytes()));
        if let Err(error) = written {
            eprintln!("cannot note that in {}: {error}", path.display());
        }
    }
}
