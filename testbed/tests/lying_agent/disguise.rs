//! Makes this process look like a .NET process: the process list recognizes one by its mapped files.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use anyhow::{Result, ensure};

/// A mapping of a file named like the CLR. It stays until the process ends.
pub struct Disguise(PathBuf);

impl Disguise {
    /// Maps an empty page of a file `libcoreclr.so` in a folder of its own.
    ///
    /// # Errors
    /// When the file cannot be written or mapped.
    pub fn new() -> Result<Disguise> {
        const PAGE: usize = 4096;
        let folder = std::env::temp_dir().join(format!("redial-disguise-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let disguise = Disguise(folder.join("libcoreclr.so"));
        fs::write(&disguise.0, [0; PAGE])?;
        let file = File::open(&disguise.0)?;
        let none = std::ptr::null_mut();
        // SAFETY: a new private mapping of an open file, at an address that the system chooses.
        let mapped =
            unsafe { libc::mmap(none, PAGE, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        ensure!(mapped != libc::MAP_FAILED, "the file cannot be mapped");
        Ok(disguise)
    }
}

impl Drop for Disguise {
    fn drop(&mut self) {
        // The mapping keeps its name. A folder that stays behind must not hide a failure.
        let _ = self.0.parent().map(fs::remove_dir_all);
    }
}
