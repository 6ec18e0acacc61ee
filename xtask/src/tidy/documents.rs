//! The documents exist, and the paths they name exist too.

use std::path::PathBuf;

use anyhow::Result;

use crate::process::checkout;

const NEEDED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "deny.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
];

/// First parts of paths that are meant to be files of the checkout.
const FOLDERS: &[&str] = &["protocol/", "agent/", "app/", "assets/", "testbed/", "xtask/", "fuzz/"];

/// Checks presence, and every path in backquotes of the three documents.
pub fn check(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    for name in NEEDED {
        if !files.iter().any(|file| file == &PathBuf::from(name)) {
            breaches.push(format!("{name} is missing"));
        }
    }
    for document in ["README.md", "ARCHITECTURE.md"] {
        let Ok(text) = std::fs::read_to_string(checkout().join(document)) else { continue };
        for path in paths(&text) {
            if !checkout().join(path).exists() {
                breaches.push(format!("{document} names `{path}`, which does not exist"));
            }
        }
    }
    Ok(breaches)
}

/// Words in backquotes that are plain paths into the checkout.
fn paths(text: &str) -> Vec<&str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .filter(|word| !word.contains(['*', '{', ' ', '<', '(', '…']))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_between_backquotes() {
        let text =
            "See `agent/src/il/mod.rs` and `cargo xtask test`.\n`app/src/{a,b}.rs`, not agent/src here.\n";
        assert_eq!(paths(text), ["agent/src/il/mod.rs"]);
    }
}
