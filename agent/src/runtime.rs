//! Identifies the runtime, for the defect table (`known_bad.rs`) and for users. Capabilities are queried, never
//! guessed from versions.
#![forbid(unsafe_code)]

use crate::clr::{ClrError, ProfilerInfo};
use crate::known_bad::RuntimeIssue;

/// File names of the core library.
pub const CORE_LIBRARIES: [&str; 2] = ["System.Private.CoreLib.dll", "mscorlib.dll"];

/// The runtime's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// .NET Framework (clr.dll).
    pub framework: bool,
    /// Major version in common terms: 2 (Core 2.1), 3, 5, 8, … or 4 for .NET Framework, and for a self-contained program
    /// on Core 2.1 or 3.1, which does not show which of the two it has.
    pub major: u16,
    /// The last number of the version, if known: 31 for 8.0.31.
    pub patch: u16,
    /// The version as text, such as `8.0.31`.
    pub version: String,
}

impl Runtime {
    /// Whether the runtime has a known defect.
    pub fn does(&self, known: RuntimeIssue) -> bool {
        known.is_of(self.major)
    }

    /// Returns the number of compilations that dialling a frequently called method costs. .NET 5 and later go
    /// through tiers (measured on 8.0: first tier, instrumented, optimised); earlier runtimes compile a recompiled
    /// body once.
    pub fn compilations_per_dial(&self) -> u64 {
        if self.major >= 5 { 3 } else { 1 }
    }

    /// Asks the runtime. CoreCLR before 5.0 reports 4.0; for those, the folder of the runtime's library
    /// (`shared/Microsoft.NETCore.App/3.1.23`) contains the version.
    ///
    /// # Errors
    /// When the API call fails.
    pub fn detect(info: &ProfilerInfo) -> Result<Runtime, ClrError> {
        let reported = info.runtime()?;
        let [major, minor, build, _] = reported.version;
        let version = format!("{major}.{minor}.{build}");
        let plain = Runtime { framework: reported.framework, major, patch: build, version };
        if reported.framework || major >= 5 {
            return Ok(plain);
        }
        Ok(crate::platform::runtime_path().and_then(|path| version_in(&path)).unwrap_or(plain))
    }
}

/// Returns the version from the folder that contains a runtime library.
fn version_in(path: &str) -> Option<Runtime> {
    let version = path.rsplit('/').nth(1)?;
    let major = version.split('.').next()?.parse().ok()?;
    let patch = version.rsplit('.').next().and_then(|patch| patch.parse().ok()).unwrap_or(0);
    Some(Runtime { framework: false, major, patch, version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_version_from_the_folder() {
        let found = version_in(
            "7f00-7f01 r--p 0 0 0 /usr/share/dotnet/shared/Microsoft.NETCore.App/3.1.23/libcoreclr.so",
        );
        assert_eq!(found, Some(Runtime { framework: false, major: 3, patch: 23, version: "3.1.23".into() }));
        assert_eq!(version_in("/opt/app/libcoreclr.so"), None);
    }
}
