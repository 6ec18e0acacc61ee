//! Checks for environment variables that would keep the agent out of programs started here. Pure.

use super::check::check;
use crate::output::json::CheckJson;
use redial_link::launch;
use redial_text::words;
use std::ffi::OsString;

/// Runtime settings that block profilers: the name after `DOTNET_` or `COMPlus_`, the blocking value, and the effect.
const SETTINGS: [(&str, u32, &str); 4] = [
    ("EnableDiagnostics", 0, "the runtime loads no profiler"),
    ("EnableDiagnostics_Profiler", 0, "the runtime loads no profiler"),
    ("ProfAPI_RejitOnAttach", 0, "dials do not work after an attach"),
    ("ForceEnC", 1, "the runtime accepts dials and then ignores them"),
];

/// Checks that no other profiler is switched on.
pub fn other_profiler(lookup: impl Fn(&str) -> Option<OsString>) -> CheckJson {
    let outcome = match launch::other_profiler(lookup) {
        None => Ok(String::new()),
        Some((variable, value)) => Err(format!(
            "{variable} names another profiler ({}), and a process can have only one. `redial run` replaces it; other \
             programs keep it unless you unset {variable}",
            words::one_line(&value.to_string_lossy())
        )),
    };
    check("no other profiler", outcome)
}

/// Checks that no setting blocks the agent.
pub fn blocking(lookup: impl Fn(&str) -> Option<OsString>) -> CheckJson {
    let mut found = Vec::new();
    for (setting, value, consequence) in SETTINGS {
        for prefix in ["DOTNET_", "COMPlus_"] {
            let name = format!("{prefix}{setting}");
            if lookup(&name).is_some_and(|given| number(&given) == Some(value)) {
                found.push(format!("with {name}={value}, {consequence}; unset it"));
            }
        }
    }
    if lookup("REDIAL_DISABLE").is_some_and(|value| !value.is_empty() && value != "0") {
        found.push("REDIAL_DISABLE keeps the agent inactive; unset it".to_owned());
    }
    if let Some(level) = lookup("REDIAL_MAX_LEVEL").filter(|value| value == "off") {
        found.push(format!("REDIAL_MAX_LEVEL={} allows no dials; unset it", level.to_string_lossy()));
    }
    check("no blocking settings", if found.is_empty() { Ok(String::new()) } else { Err(found.join("; ")) })
}

/// Parses a setting as the runtime does: as a hexadecimal number.
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
    fn names_blocking_settings_with_advice() {
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
    fn accepts_harmless_settings() {
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
    fn names_another_profiler() {
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
