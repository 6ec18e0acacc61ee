//! Which runtime this is: for vetoes (`known_bad.rs`), and for people. Capabilities are asked for, never guessed from
//! versions.
#![forbid(unsafe_code)]

use crate::clr::{ClrError, ProfilerInfo};
use crate::known_bad::Known;

/// File names of core libraries.
pub const CORE_LIBRARIES: [&str; 2] = ["System.Private.CoreLib.dll", "mscorlib.dll"];

/// What the runtime says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// .NET Framework (clr.dll).
    pub framework: bool,
    /// Major version as people count it: 2 (Core 2.1), 3, 5, 8, … or 4 for .NET Framework.
    pub major: u16,
    /// The last number of its version, where it tells it: of 8.0.31, 31.
    pub patch: u16,
    /// The version in words, `8.0.31`.
    pub version: String,
}

impl Runtime {
    /// Whether it does something that is known to be bad.
    pub fn does(&self, known: Known) -> bool {
        known.is_of(self.major)
    }

    /// Compilations that a dial of a method called often costs: .NET 5 and later go through tiers (measured on 8.0: first
    /// tier, instrumented, optimised), earlier ones compile a recompiled body once.
    pub fn compilations_per_dial(&self) -> u64 {
        if self.major >= 5 { 3 } else { 1 }
    }

    /// Asks the runtime. CoreCLR before 5.0 calls itself 4.0; there the folder of the runtime's own library
    /// (`shared/Microsoft.NETCore.App/3.1.23`) tells more.
    ///
    /// # Errors
    /// When the API does not answer.
    pub fn detect(info: &ProfilerInfo) -> Result<Runtime, ClrError> {
        let told = info.runtime()?;
        let [major, minor, build, _] = told.version;
        let version = format!("{major}.{minor}.{build}");
        let plain = Runtime { framework: told.framework, major, patch: build, version };
        if told.framework || major >= 5 {
            return Ok(plain);
        }
        Ok(crate::platform::runtime_path().and_then(|path| version_in(&path)).unwrap_or(plain))
    }
}

/// The version folder a runtime library stands in.
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
    fn the_folder_tells_the_version() {
        let found = version_in(
            "7f00-7f01 r--p 0 0 0 /usr/share/dotnet/shared/Microsoft.NETCore.App/3.1.23/libcoreclr.so",
        );
        assert_eq!(found, Some(Runtime { framework: false, major: 3, patch: 23, version: "3.1.23".into() }));
        assert_eq!(version_in("/opt/app/libcoreclr.so"), None);
    }
}
