//! Blocks requests of an agent until a test releases them (`REDIAL_TEST_HANG`, in test builds of the agent
//! only).

use crate::cache;
use anyhow::{Context, Result};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that blocks requests while it exists. Dropping it removes the file.
pub struct Hang(String);

impl Default for Hang {
    /// Nothing blocks before [`Hang::begin`].
    fn default() -> Hang {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = cache::folder().join(format!("hang-{}-{number}", std::process::id()));
        Hang(file.to_string_lossy().into_owned())
    }
}

impl Hang {
    /// Returns the variable, and its value, to start a program with.
    pub fn variable(&self) -> (&'static str, &str) {
        ("REDIAL_TEST_HANG", &self.0)
    }

    /// Blocks requests from now on.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&self) -> Result<()> {
        std::fs::write(&self.0, "").with_context(|| self.0.clone())
    }

    /// Releases the blocked requests.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn end(&self) -> Result<()> {
        std::fs::remove_file(&self.0).with_context(|| self.0.clone())
    }
}

impl Drop for Hang {
    fn drop(&mut self) {
        // The file exists only if a check failed meanwhile.
        let _ = std::fs::remove_file(&self.0);
    }
}
