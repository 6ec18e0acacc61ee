//! Dependencies point one way: between packages, between a crate's top-level modules, and between files.

use std::path::{Component, Path};

use anyhow::{Context, Result};
use serde_json::Value;

use super::imports::Imports;
use crate::process::{cargo, checkout, run_quietly};

/// Packages of the workspace and the packages of it that each may depend on, for tests and builds included.
const ALLOWED: &[(&str, &[&str])] = &[
    ("redial-protocol", &[]),
    ("redial-agent", &["redial-protocol"]),
    ("redial-text", &["redial-protocol"]),
    ("redial-model", &["redial-protocol", "redial-text"]),
    ("redial-link", &["redial-protocol", "redial-text", "redial-model", "redial-symbols"]),
    ("redial-symbols", &[]),
    ("redial-cli", &["redial-protocol", "redial-text", "redial-model", "redial-link", "redial-symbols"]),
    ("redial-window", &["redial-protocol", "redial-text", "redial-model", "redial-link"]),
    ("redial", &["redial-cli", "redial-window"]),
    ("redial-window-bench", &["redial-protocol", "redial-model", "redial-link", "redial-window"]),
    (
        "redial-testbed",
        &[
            "redial-protocol",
            "redial-agent",
            "redial-text",
            "redial-model",
            "redial-link",
            "redial-symbols",
            "redial-window",
        ],
    ),
    ("redial-bench-hooks", &[]),
    ("xtask", &["redial-protocol", "redial-testbed"]),
];

/// A crate's root file, and its top-level modules by layer, lowest first. A module may use its own layer and those below.
struct CrateLayers {
    root: &'static str,
    layers: &'static [&'static [&'static str]],
}

/// Crates whose modules form layers.
const LAYERED: &[CrateLayers] = &[
    CrateLayers {
        root: "agent/src/lib.rs",
        layers: &[
            &["sync", "guard", "platform", "planted_fault"],
            &["il", "signature", "capture", "planner", "known_bad", "eligibility", "startup"],
            &["clr", "runtime", "hot_reload"],
            &["probes"],
            &["events"],
            &["catalogue", "inlining"],
            &["instrument"],
            &[
                "ledger",
                "control",
                "audit",
                "inbox",
                "standing_orders",
                "launcher_orders",
                "cost_budget",
                "caller_names",
                "traces",
                "classes",
                "thrown_exceptions",
            ],
            &["context"],
            &["rejit"],
            &["server"],
            &["agent"],
            &["attach"],
            &["com"],
        ],
    },
    CrateLayers {
        root: "app/window/src/lib.rs",
        layers: &[&["settings"], &["ui"], &["commands"], &["views"], &["desktop"]],
    },
];

/// Root files of the other crates, in which files only must not import each other in a circle.
const UNLAYERED: &[&str] = &[
    "app/text/src/lib.rs",
    "app/model/src/lib.rs",
    "app/link/src/lib.rs",
    "app/cli/src/lib.rs",
    "app/symbols/src/lib.rs",
    "protocol/src/lib.rs",
    "testbed/src/lib.rs",
    "xtask/src/main.rs",
    "xtask/bench-hooks/src/lib.rs",
];

/// Compares packages, modules and files with the tables.
///
/// # Errors
/// When cargo cannot be asked, or a source file cannot be read or parsed.
pub fn check() -> Result<Vec<String>> {
    let mut breaches = packages()?;
    for layered in LAYERED {
        let imports = Imports::read(&checkout().join(layered.root))?;
        breaches.extend(circles(&imports));
        breaches.extend(upward(&imports, layered));
    }
    for root in UNLAYERED {
        breaches.extend(circles(&Imports::read(&checkout().join(root))?));
    }
    Ok(breaches)
}

/// A path below the checkout, for messages.
fn shown(file: &Path) -> String {
    file.strip_prefix(checkout()).unwrap_or(file).display().to_string()
}

fn circles(imports: &Imports) -> Vec<String> {
    let name = |group: Vec<std::path::PathBuf>| {
        let files: Vec<String> = group.iter().map(|file| shown(file)).collect();
        format!("these files import each other in a circle: {}", files.join(", "))
    };
    imports.circles().into_iter().map(name).collect()
}

/// Imports of a higher layer, and modules without a layer.
fn upward(imports: &Imports, layered: &CrateLayers) -> Vec<String> {
    let source = checkout().join(layered.root).parent().map(Path::to_owned).unwrap_or_default();
    let module = |file: &Path| top_module(file.strip_prefix(&source).unwrap_or(file));
    let layer = |module: &str| layered.layers.iter().position(|modules| modules.contains(&module));
    let mut breaches = Vec::new();
    for (file, targets) in &imports.edges {
        // The root file only puts the crate together.
        let Some(own) = module(file) else { continue };
        let Some(own_layer) = layer(&own) else {
            breaches.push(format!("{} is in no layer (xtask/src/tidy/layers.rs)", shown(file)));
            continue;
        };
        for target in targets {
            let Some(other) = module(target) else {
                breaches.push(format!("{} must not import {}", shown(file), shown(target)));
                continue;
            };
            if layer(&other).is_some_and(|other| other > own_layer) {
                breaches.push(format!(
                    "{} must not import {}: `{other}` lies above `{own}`",
                    shown(file),
                    shown(target)
                ));
            }
        }
    }
    breaches
}

/// The top-level module of a file, from its path below `src`; nothing for the crate's root file.
fn top_module(file: &Path) -> Option<String> {
    let Component::Normal(first) = file.components().next()? else { return None };
    let first = Path::new(first).file_stem()?.to_string_lossy().into_owned();
    (first != "lib" && first != "main").then_some(first)
}

/// Compares the manifests with the table of packages.
fn packages() -> Result<Vec<String>> {
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
        assert!(breaches(&[edge("redial", &["redial-cli"])]).is_empty());
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
