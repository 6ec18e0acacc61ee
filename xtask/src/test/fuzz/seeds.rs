//! Seeds for the fuzzers: real method bodies and signatures, those of the project's own compiled C# programs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use redial_testbed::pe::Assembly;
use redial_testbed::programs;

/// Bodies are cut after so many bytes; hardly any is longer.
const BODY: usize = 2048;

/// Writes the seeds of `target` and returns their folder; `None` for a target that needs none.
///
/// # Errors
/// When a program does not compile or its assembly cannot be read.
pub fn write(target: &str, parent: &Path) -> Result<Option<PathBuf>> {
    let take_bodies = match target {
        "il" => true,
        "signatures" => false,
        _ => return Ok(None),
    };
    let folder = parent.join(target);
    std::fs::create_dir_all(&folder)?;
    for program in [programs::shop()?, programs::named("loops")?] {
        let name = program.dll().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let assembly = Assembly::read(program.dll())?.with_context(|| format!("{name} is not managed"))?;
        for method in assembly.methods() {
            let method = method?;
            let bytes = if !take_bodies {
                method.signature
            } else if method.is_il() {
                let rest = assembly.body(method.rva)?;
                rest.get(..BODY).unwrap_or(rest)
            } else {
                continue;
            };
            std::fs::write(folder.join(format!("{name}-{:08x}", method.token)), bytes)?;
        }
    }
    Ok(Some(folder))
}
