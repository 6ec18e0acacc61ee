//! Requests of an agent that do not return until a test lets them (`REDIAL_TEST_HANG`, test builds of the agent alone).

use crate::cache;
use anyhow::{Context, Result};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file: while it is there, requests wait. Gone when dropped.
pub struct Hang(String);

impl Default for Hang {
    /// Nothing waits before [`Hang::begin`].
    fn default() -> Hang {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = cache::folder().join(format!("hang-{}-{number}", std::process::id()));
        Hang(file.to_string_lossy().into_owned())
    }
}

impl Hang {
    /// The variable that a program is to be started with, and its value.
    pub fn variable(&self) -> (&'static str, &str) {
        ("REDIAL_TEST_HANG", &self.0)
    }

    /// Requests wait from now on.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&self) -> Result<()> {
        std::fs::write(&self.0, "").with_context(|| self.0.clone())
    }

    /// They go on.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn end(&self) -> Result<()> {
        std::fs::remove_file(&self.0).with_context(|| self.0.clone())
    }
}

impl Drop for Hang {
    fn drop(&mut self) {
        // It is not there unless a check failed meanwhile.
        let _ = std::fs::remove_file(&self.0);
    }
}
