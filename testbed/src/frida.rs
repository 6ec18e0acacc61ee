//! Frida, which the benchmark compares with: its Python module, for whatever `python3` is there.

use std::path::PathBuf;

use anyhow::Result;

use crate::{layout, packages};

/// The folder to put on `PYTHONPATH`, fetched when the cache has none.
///
/// # Errors
/// A sentence with what the package manager said.
pub fn python_module() -> Result<PathBuf> {
    layout::plain("tools/frida-17.25.2", &packages::FRIDA, ".")
}
