//! Which end-to-end suites run on Windows: all except those that a list names, with a reason.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::process::checkout;
use crate::test::wine::LINUX_ONLY;

/// Opening words of the attribute that leaves a whole suite out of Windows builds.
const LEFT_OUT: [&str; 2] = ["#![cfg(unix)]", "#![cfg(target_os = \"linux\")]"];

/// Compares the list with the suites that a Windows build leaves out.
pub fn check() -> Result<Vec<String>> {
    let mut left_out = BTreeSet::new();
    for entry in std::fs::read_dir(checkout().join("testbed/tests"))? {
        let path = entry?.path();
        let file = if path.is_dir() { path.join("main.rs") } else { path.clone() };
        if file.extension().is_none_or(|extension| extension != "rs") || !file.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&file)?;
        if text.lines().any(|line| LEFT_OUT.contains(&line)) {
            left_out.insert(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    Ok(compare(&left_out, LINUX_ONLY))
}

fn compare(left_out: &BTreeSet<String>, listed: &[(&str, &str)]) -> Vec<String> {
    let mut breaches = Vec::new();
    for suite in left_out {
        if !listed.iter().any(|(name, _)| name == suite) {
            breaches.push(format!("testbed/tests/{suite} is left out on Windows; say why in LINUX_ONLY"));
        }
    }
    for (name, reason) in listed {
        if !left_out.contains(*name) {
            breaches
                .push(format!("LINUX_ONLY names {name}, which a Windows build has, or which does not exist"));
        }
        if reason.is_empty() {
            breaches.push(format!("LINUX_ONLY gives no reason for {name}"));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_and_suites_must_agree() {
        let left_out = BTreeSet::from(["users".to_owned(), "web".to_owned()]);
        assert_eq!(compare(&left_out, &[("users", "why"), ("web", "why")]), Vec::<String>::new());
        assert_eq!(compare(&left_out, &[("users", "why")]).len(), 1, "one has no reason");
        assert_eq!(compare(&left_out, &[("users", "why"), ("web", "")]).len(), 1, "an empty reason");
        assert_eq!(compare(&BTreeSet::new(), &[("users", "why")]).len(), 1, "it runs there");
    }
}
