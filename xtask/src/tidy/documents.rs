//! The documents exist and keep within their limits; the files, folders and headings they point to exist too.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::markdown;
use crate::process::checkout;

const NEEDED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "deny.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "docs/style.md",
    "docs/benchmarks.md",
];

/// Most lines of the README.
const README_LINES: usize = 150;
/// Most bytes of ARCHITECTURE.
const ARCHITECTURE_BYTES: usize = 25 * 1024;

/// First parts of paths that are meant to be files of the checkout.
const FOLDERS: &[&str] = &["protocol/", "agent/", "app/", "assets/", "docs/", "testbed/", "xtask/", "fuzz/"];

/// The document that names files as examples.
const EXAMPLES: &str = "docs/style.md";
/// The document that names the test behind each claim, and the folder of those tests.
const CLAIMS: (&str, &str) = ("docs/design/security.md", "testbed/tests/");

/// Checks presence, sizes, links, and every path in backquotes of the documents.
///
/// # Errors
/// When a document cannot be read.
pub fn check(files: &[PathBuf]) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    for name in NEEDED {
        if !files.iter().any(|file| file == Path::new(name)) {
            breaches.push(format!("{name} is missing"));
        }
    }
    for document in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(checkout().join(document))?;
        breaches.extend(too_long(document, &text));
        breaches.extend(dead_links(document, &text));
        // The changelog names files as they were.
        let dead = paths(&text).into_iter().filter(|path| !checkout().join(path).exists());
        if document != Path::new("CHANGELOG.md") {
            breaches.extend(
                dead.map(|path| format!("{} names `{path}`, which does not exist", document.display())),
            );
            if document != Path::new(EXAMPLES) {
                breaches.extend(missing_sources(document, &text, files));
            }
        }
    }
    Ok(breaches)
}

fn too_long(document: &Path, text: &str) -> Option<String> {
    let lines = text.lines().count();
    if document == Path::new("README.md") && lines > README_LINES {
        return Some(format!("README.md has {lines} lines; the limit is {README_LINES}"));
    }
    if document == Path::new("ARCHITECTURE.md") && text.len() > ARCHITECTURE_BYTES {
        return Some(format!("ARCHITECTURE.md has {} bytes; the limit is {ARCHITECTURE_BYTES}", text.len()));
    }
    None
}

/// Links to files that do not exist, or to headings that the linked document does not have.
fn dead_links(document: &Path, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    for link in markdown::links(text) {
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (path, anchor) =
            link.split_once('#').map_or((link.as_str(), None), |(path, anchor)| (path, Some(anchor)));
        let folder = document.parent().unwrap_or(Path::new(""));
        let target = if path.is_empty() { document.to_owned() } else { folder.join(path) };
        let found = checkout().join(&target);
        let heads = |anchor: &str| {
            std::fs::read_to_string(&found).is_ok_and(|text| markdown::anchors(&text).contains(anchor))
        };
        if !found.exists() || !anchor.is_none_or(heads) {
            breaches.push(format!("{} links to {link}, which does not exist", document.display()));
        }
    }
    breaches
}

/// Source files in backquotes that do not exist, also those named by the last part of their path. In the document of
/// claims, files and folders of tests, too.
fn missing_sources(document: &Path, text: &str, files: &[PathBuf]) -> Vec<String> {
    let (claims, tests) = CLAIMS;
    let exists = |word: &str| {
        if document == Path::new(claims) {
            return [tests, ""].iter().any(|folder| checkout().join(folder).join(word).exists());
        }
        files.iter().any(|file| file.ends_with(word))
    };
    let is_named =
        |word: &&str| word.ends_with(".rs") || document == Path::new(claims) && word.ends_with('/');
    words(text)
        .filter(is_named)
        .filter(|word| !exists(word))
        .map(|word| format!("{} names `{word}`, which does not exist", document.display()))
        .collect()
}

/// Words in backquotes that are plain paths into the checkout.
fn paths(text: &str) -> Vec<&str> {
    words(text).filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder))).collect()
}

/// Words in backquotes that may be paths.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|word| !word.contains(['*', '{', ' ', '<', '(', '…', '`']))
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

    #[test]
    fn missing_sources_are_found() {
        let files = [PathBuf::from("agent/src/il/decode.rs"), PathBuf::from("testbed/tests/exits.rs")];
        let missing = |document: &str, text: &str| missing_sources(Path::new(document), text, &files).len();
        assert_eq!(missing("docs/design/probes.md", "`decode.rs`, `il/decode.rs`, `there/`"), 0);
        assert_eq!(missing("docs/design/probes.md", "`code.rs` and `src/decode.rs`"), 2);
        assert_eq!(missing(CLAIMS.0, "`exits.rs`, `faults/main.rs`, `lying_agent/`, `fuzz/`"), 0);
        assert_eq!(missing(CLAIMS.0, "`decode.rs`, `no_such_test.rs`, `lying/`"), 3);
    }

    #[test]
    fn dead_links_are_found() {
        let text =
            "[a](README.md) [b](docs/none.md) [c](#here) [d](#there) [e](README.md#none-such)\n\n# Here\n";
        let dead = dead_links(Path::new("CONTRIBUTING.md"), text);
        let named: Vec<&str> = dead.iter().filter_map(|breach| breach.split(' ').nth(3)).collect();
        // `#here` is looked up in the document on disk, which has no such heading.
        assert_eq!(named, ["docs/none.md,", "#here,", "#there,", "README.md#none-such,"]);
    }

    #[test]
    fn a_long_readme_is_found() {
        assert!(too_long(Path::new("README.md"), &"x\n".repeat(README_LINES + 1)).is_some());
        assert!(too_long(Path::new("docs/x.md"), &"x\n".repeat(README_LINES + 1)).is_none());
    }
}
