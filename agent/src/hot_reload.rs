//! Detects Hot Reload (Edit and Continue). It is a second way for the runtime to replace a method's code, and a
//! module open to one way is closed to the other. Before .NET 9 the runtime does not report this
//! (`RuntimeIssue::EditableIgnored`).
#![forbid(unsafe_code)]

use std::ffi::OsString;

/// `DebuggableAttribute.DebuggingModes.DisableOptimizations`, set by debug builds.
const DISABLE_OPTIMIZATIONS: u32 = 0x100;
/// The first major version that supports `MODIFIABLE_ASSEMBLIES`.
const MODIFIABLE_ASSEMBLIES_FROM: u16 = 6;
/// The first bytes of a custom attribute's value (ECMA-335 II.23.3).
const PROLOG: [u8; 2] = [1, 0];

/// Whether the environment opens debug builds to Hot Reload: `DOTNET_MODIFIABLE_ASSEMBLIES=debug`, as `dotnet
/// watch` and Visual Studio set it, or `ForceEnc` (`clrconfignames.h`; numbers are hexadecimal).
pub fn is_on(major: u16, lookup: impl Fn(&str) -> Option<OsString>) -> bool {
    let value = |name: &str| {
        let either = lookup(&format!("DOTNET_{name}")).or_else(|| lookup(&format!("COMPlus_{name}")));
        either.map(|value| value.to_string_lossy().trim().to_lowercase())
    };
    let forced = value("ForceEnc").and_then(|value| u32::from_str_radix(&value, 16).ok());
    major >= MODIFIABLE_ASSEMBLIES_FROM
        && value("MODIFIABLE_ASSEMBLIES").is_some_and(|value| value == "debug")
        || forced.is_some_and(|number| number != 0)
}

/// Whether an assembly is a debug build, according to the value of its `DebuggableAttribute` (None if it has none).
/// The constructor is `Debuggable(DebuggingModes)` or `Debuggable(bool, bool)`, whose second argument disables the
/// JIT's optimiser.
pub fn is_debug_build(debuggable: Option<&[u8]>) -> bool {
    match debuggable.and_then(|value| value.strip_prefix(&PROLOG)) {
        Some([a, b, c, d, 0, 0]) => u32::from_le_bytes([*a, *b, *c, *d]) & DISABLE_OPTIMIZATIONS != 0,
        Some([_, not_optimised, 0, 0]) => *not_optimised != 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_turns_it_on() {
        let with = |name: &'static str, value: &'static str| {
            is_on(8, |asked| (asked == name).then(|| OsString::from(value)))
        };
        assert!(!is_on(8, |_| None));
        let everything = |value: &'static str| move |_: &str| Some(OsString::from(value));
        assert!(!is_on(3, everything("debug")) && is_on(3, everything("1")));
        for (name, value, on) in [
            ("DOTNET_MODIFIABLE_ASSEMBLIES", "debug", true),
            ("DOTNET_MODIFIABLE_ASSEMBLIES", "Debug", true),
            ("COMPlus_MODIFIABLE_ASSEMBLIES", "debug", true),
            ("DOTNET_MODIFIABLE_ASSEMBLIES", "none", false),
            ("COMPlus_ForceEnc", "1", true),
            ("DOTNET_ForceEnc", "0", false),
            ("DOTNET_ForceEnc", "yes", false),
        ] {
            assert_eq!(with(name, value), on, "{name}={value}");
        }
    }

    #[test]
    fn recognizes_debug_builds() {
        assert!(!is_debug_build(None));
        for (value, debug) in [
            // The values that the C# compiler writes with -optimize- and with -optimize+.
            (&[1, 0, 7, 1, 0, 0, 0, 0][..], true),
            (&[1, 0, 2, 0, 0, 0, 0, 0], false),
            (&[1, 0, 1, 1, 0, 0], true),
            (&[1, 0, 1, 0, 0, 0], false),
            (&[1, 0, 7], false),
            (&[], false),
        ] {
            assert_eq!(is_debug_build(Some(value)), debug, "{value:?}");
        }
    }
}
