//! Dependencies point one way: `protocol` ← `agent`, `protocol` ← `app`; `app` and `agent` never see each other.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::{cargo, run_quietly};

/// Packages of the workspace and the packages of it that each may depend on, for tests and builds included.
const ALLOWED: &[(&str, &[&str])] = &[
    ("redial-protocol", &[]),
    ("redial-agent", &["redial-protocol"]),
    ("redial", &["redial-protocol"]),
    ("redial-window-bench", &["redial-protocol", "redial"]),
    ("redial-testbed", &["redial-protocol", "redial-agent", "redial"]),
    ("redial-bench-hooks", &[]),
    ("xtask", &["redial-protocol", "redial-testbed"]),
];

/// Compares what the manifests say with the table.
pub fn check() -> Result<Vec<String>> {
    let text = run_quietly(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
    let mut edges = Vec::new();
    for package in array(&metadata, "packages") {
        let name = text_of(package, "name");
        let inside = array(package, "dependencies")
            .iter()
            .filter(|dependency| dependency.get("path").is_some_and(Value::is_string))
            .map(|dependency| text_of(dependency, "name"))
            .collect();
        edges.push((name, inside));
    }
    Ok(breaches(&edges))
}

fn breaches(edges: &[(String, Vec<String>)]) -> Vec<String> {
    let mut breaches = Vec::new();
    for (package, dependencies) in edges {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| name == package) else {
            breaches
                .push(format!("package {package} is not in the table of layers (xtask/src/tidy/layers.rs)"));
            continue;
        };
        for dependency in dependencies {
            if !allowed.contains(&dependency.as_str()) {
                breaches.push(format!("{package} must not depend on {dependency}"));
            }
        }
    }
    breaches
}

fn array<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text_of(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(package: &str, dependencies: &[&str]) -> (String, Vec<String>) {
        (package.to_owned(), dependencies.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn the_app_and_the_agent_never_see_each_other() {
        assert!(breaches(&[edge("redial", &["redial-protocol"])]).is_empty());
        assert_eq!(
            breaches(&[edge("redial", &["redial-agent"]), edge("redial-agent", &["redial"])]),
            ["redial must not depend on redial-agent", "redial-agent must not depend on redial"]
        );
    }

    #[test]
    fn a_new_package_must_be_placed() {
        assert_eq!(breaches(&[edge("stranger", &[])]).len(), 1);
    }
}
