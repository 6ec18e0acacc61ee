//! Everything that tests built for Windows need from the C# compiler, whose own files are for Linux.

use anyhow::Result;

use crate::{generate, programs, runtimes};

/// Compiles and generates it, unless the cache has it.
///
/// # Errors
/// The first program that does not compile.
pub fn ensure_all() -> Result<()> {
    runtimes::windows_compiler()?;
    for name in programs::names()? {
        programs::named(&name)?;
    }
    for optimised in [true, false] {
        programs::shapes(optimised)?;
    }
    programs::shop()?;
    programs::unoptimised("awaits")?;
    programs::newer_copied()?;
    generate::big_library()?;
    generate::hot_library()?;
    generate::bad_library()?;
    generate::jumps_library()?;
    generate::tiny_libraries(200).map(drop)
}
