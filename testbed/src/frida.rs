//! Frida's Python module for benchmark comparisons, for any `python3`.

use std::path::PathBuf;

use anyhow::Result;

use crate::{layout, packages};

/// Returns the folder to put on `PYTHONPATH`, fetching it if the cache has none.
///
/// # Errors
/// The package manager's message.
pub fn python_module() -> Result<PathBuf> {
    layout::plain("tools/frida-17.25.2", &packages::FRIDA, ".", &[])
}
