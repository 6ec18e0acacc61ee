//! Variables of this shell that would keep the agent out of programs started from it. Pure.

use super::check;
use crate::link::launch;
use crate::output::json::CheckJson;
use crate::output::words;
use std::ffi::OsString;

/// Settings of the runtime that block profilers: name behind `DOTNET_` or `COMPlus_`, the value that does, and
/// what follows from it.
const SETTINGS: [(&str, u32, &str); 4] = [
    ("EnableDiagnostics", 0, "the runtime loads no profiler at all"),
    ("EnableDiagnostics_Profiler", 0, "the runtime loads no profiler at all"),
    ("ProfAPI_RejitOnAttach", 0, "dials cannot be turned in a process that was attached to"),
    ("ForceEnC", 1, "the runtime accepts dials and then ignores them"),
];

/// Whether another profiler is switched on.
pub fn other_profiler(lookup: impl Fn(&str) -> Option<OsString>) -> CheckJson {
    let outcome = match launch::other_profiler(lookup) {
        None => Ok(String::new()),
        Some((variable, value)) => Err(format!(
            "{variable} names another profiler ({}), and a process can have only one: `redial run` replaces it, \
             programs started otherwise keep it; unset {variable} if it is not wanted",
            words::one_line(&value.to_string_lossy())
        )),
    };
    check("no other profiler", outcome)
}

/// Whether a setting blocks the agent.
pub fn blocking(lookup: impl Fn(&str) -> Option<OsString>) -> CheckJson {
    let mut found = Vec::new();
    for (setting, value, consequence) in SETTINGS {
        for prefix in ["DOTNET_", "COMPlus_"] {
            let name = format!("{prefix}{setting}");
            if lookup(&name).is_some_and(|given| number(&given) == Some(value)) {
                found.push(format!("with {name}={value} {consequence}; unset it"));
            }
        }
    }
    if lookup("REDIAL_DISABLE").is_some_and(|value| !value.is_empty() && value != "0") {
        found.push("REDIAL_DISABLE keeps the agent inert; unset it".to_owned());
    }
    if let Some(level) = lookup("REDIAL_MAX_LEVEL").filter(|value| value == "off") {
        found.push(format!("REDIAL_MAX_LEVEL={} allows no dial at all; unset it", level.to_string_lossy()));
    }
    check("no blocking settings", if found.is_empty() { Ok(String::new()) } else { Err(found.join("; ")) })
}

/// The runtime reads its settings as hexadecimal numbers.
fn number(value: &OsString) -> Option<u32> {
    let text = value.to_str()?.trim();
    u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> impl Fn(&str) -> Option<OsString> {
        move |asked| (asked == name).then(|| OsString::from(value))
    }

    #[test]
    fn blocking_settings_are_named_with_what_to_do() {
        for (name, value) in [
            ("DOTNET_EnableDiagnostics", "0"),
            ("COMPlus_EnableDiagnostics", "0x0"),
            ("DOTNET_EnableDiagnostics_Profiler", "00"),
            ("DOTNET_ProfAPI_RejitOnAttach", "0"),
            ("COMPlus_ForceEnC", "1"),
            ("REDIAL_DISABLE", "1"),
            ("REDIAL_MAX_LEVEL", "off"),
        ] {
            let check = blocking(with(name, value));
            assert!(!check.ok, "{name}={value}");
            assert!(check.advice.is_some_and(|advice| advice.contains(name) && advice.contains("unset")));
        }
    }

    #[test]
    fn harmless_settings_are_left_alone() {
        for (name, value) in [
            ("DOTNET_EnableDiagnostics", "1"),
            ("DOTNET_EnableDiagnostics", ""),
            ("DOTNET_ForceEnC", "0"),
            ("REDIAL_DISABLE", "0"),
            ("REDIAL_MAX_LEVEL", "count"),
            ("OTHER", "0"),
        ] {
            assert!(blocking(with(name, value)).ok, "{name}={value}");
        }
    }

    #[test]
    fn another_profiler_is_named() {
        let both = |asked: &str| match asked {
            "CORECLR_ENABLE_PROFILING" => Some(OsString::from("1")),
            "CORECLR_PROFILER" => Some(OsString::from("{11111111-2222-3333-4444-555555555555}")),
            _ => None,
        };
        let check = other_profiler(both);
        assert!(!check.ok && check.advice.is_some_and(|advice| advice.contains("{11111111")));
        assert!(other_profiler(|_| None).ok);
    }
}
