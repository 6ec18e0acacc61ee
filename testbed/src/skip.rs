//! Tests that cannot run on this machine: said, counted as skipped, never taken for passed.

use std::io::Write;

/// Reports that `test` does not run here. The test returns right after.
///
/// Under `cargo xtask test` the line goes into the file that `REDIAL_NOT_RUN` names, is listed at the end and counted
/// as skipped; it always goes to standard error too.
pub fn not_run(test: &str, reason: &str) {
    eprintln!("not run: {test}: {reason}");
    if let Some(path) = std::env::var_os("REDIAL_NOT_RUN") {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        // One short line in one write: appends of several tests at once do not mix.
        let written = opened.and_then(|mut file| file.write_all(format!("{test}: {reason}\n").as_bytes()));
        if let Err(error) = written {
            eprintln!("cannot note that in {}: {error}", path.display());
        }
    }
}
