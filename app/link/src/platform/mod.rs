//! The processor and the C library that a process or an agent library is built for.
#![forbid(unsafe_code)]

#[cfg(unix)]
mod elf;
mod system_library;

use std::fmt;
use std::path::Path;
pub use system_library::SystemLibrary;

/// A platform for which an agent library can exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The system and its C library.
    pub system: SystemLibrary,
    /// The processor, as .NET names it: `x64`, `arm64`, `x86`.
    pub processor: String,
}

/// Platforms whose agents are published.
const PUBLISHED: [&str; 2] = ["linux-x64", "win-x64"];

impl Platform {
    /// Returns the platform of this program.
    pub fn own() -> Platform {
        let system = if cfg!(windows) {
            SystemLibrary::Windows
        } else if cfg!(target_env = "musl") {
            SystemLibrary::Musl
        } else {
            SystemLibrary::Glibc
        };
        let processor = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        Platform { system, processor: processor.to_owned() }
    }

    /// Returns the platform of an ELF file. `mapped` are the files that its process has loaded; they tell the C library of
    /// a program that names none itself.
    #[cfg(unix)]
    pub fn of_file<'a>(path: &Path, mut mapped: impl Iterator<Item = &'a str>) -> Option<Platform> {
        let facts = elf::facts(path)?;
        let loaded = mapped.find_map(|file| SystemLibrary::of_file_name(file.rsplit('/').next()?));
        let system = loaded.or(facts.system).unwrap_or(SystemLibrary::Glibc);
        Some(Platform { system, processor: facts.processor })
    }

    /// Returns `None`: elsewhere only the processor is known.
    #[cfg(not(unix))]
    pub fn of_file<'a>(_path: &Path, _mapped: impl Iterator<Item = &'a str>) -> Option<Platform> {
        None
    }

    /// Returns the name of the package that brings the agent.
    pub fn package(&self) -> String {
        format!("redial-agent-{self}")
    }

    /// Returns whether that package is published.
    pub fn is_published(&self) -> bool {
        PUBLISHED.contains(&self.to_string().as_str())
    }
}

impl fmt::Display for Platform {
    /// Writes .NET's identifier: `linux-x64`, `linux-musl-arm64`, `win-x64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let system = match self.system {
            SystemLibrary::Glibc => "linux",
            SystemLibrary::Musl => "linux-musl",
            SystemLibrary::Windows => "win",
        };
        write!(f, "{system}-{}", self.processor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_have_the_identifiers_of_dotnet() {
        let platform = |system, processor: &str| Platform { system, processor: processor.into() };
        for (platform, rid) in [
            (platform(SystemLibrary::Glibc, "x64"), "linux-x64"),
            (platform(SystemLibrary::Musl, "arm64"), "linux-musl-arm64"),
            (platform(SystemLibrary::Windows, "x86"), "win-x86"),
        ] {
            assert_eq!(platform.to_string(), rid);
            assert_eq!(platform.package(), format!("redial-agent-{rid}"));
            assert_eq!(platform.is_published(), rid == "linux-x64");
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn recognizes_this_program() {
        let own = std::env::current_exe().expect("a path");
        assert_eq!(Platform::of_file(&own, std::iter::empty()), Some(Platform::own()));
        let musl = Platform::of_file(&own, ["/lib/ld-musl-x86_64.so.1", "/x/libcoreclr.so"].into_iter());
        assert_eq!(musl.map(|platform| platform.system), Some(SystemLibrary::Musl), "what is loaded decides");
    }
}
