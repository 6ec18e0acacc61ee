//! How many inputs each fuzz target should have run before a release.

/// Returns the goal of a target, in inputs.
pub fn inputs(target: &str) -> u64 {
    match target {
        "frames" | "packets" => 100_000_000,
        "il" => 50_000_000,
        "edits" | "signatures" => 20_000_000,
        _ => 1_000_000,
    }
}
