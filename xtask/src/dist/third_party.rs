//! The libraries compiled into programs: their licences and the software bill of materials.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::release::Release;
use super::target::Target;
use crate::process::{cargo, checkout, run_quietly};

/// A library.
#[derive(Clone, Debug)]
pub struct Library {
    name: String,
    version: String,
    licence: String,
    folder: PathBuf,
    purl: String,
    /// SHA-256 of its package, from `Cargo.lock`.
    checksum: Option<String>,
    /// Identifiers of what it uses, for the bill of materials.
    uses: Vec<String>,
}

/// Everything that is compiled into program and agent of a system.
#[derive(Clone, Debug)]
pub struct Libraries {
    /// Packages from the registry, by name and version.
    pub external: Vec<Library>,
    /// Packages of this workspace.
    own: Vec<Library>,
}

impl Libraries {
    /// Reads cargo's resolved dependency graph. Libraries for tests and build scripts are not part of it.
    ///
    /// # Errors
    /// When cargo fails, or a package has no licence.
    pub fn of(target: Target) -> Result<Libraries> {
        let metadata = run_quietly(&mut cargo(&[
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
            target.triple(),
        ]))?;
        let metadata: Value = serde_json::from_str(&metadata)?;
        let lock = std::fs::read_to_string(checkout().join("Cargo.lock"))?;
        let graph = graph(&metadata)?;
        let mut libraries = Libraries { external: Vec::new(), own: Vec::new() };
        for package in metadata["packages"].as_array().context("no packages")? {
            let Some(uses) = package["id"].as_str().and_then(|id| graph.get(id)) else { continue };
            let library = library(package, uses, &lock)?;
            let to = if package["source"].is_null() { &mut libraries.own } else { &mut libraries.external };
            to.push(library);
        }
        for list in [&mut libraries.external, &mut libraries.own] {
            list.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        }
        ensure!(libraries.external.len() > 30, "only {} libraries are known", libraries.external.len());
        Ok(libraries)
    }

    /// Returns the licences of all libraries, each text once.
    ///
    /// # Errors
    /// When a folder of a library cannot be read.
    pub fn licences(&self) -> Result<String> {
        let mut text = "Redial is licensed under MIT or Apache-2.0; see LICENSE-MIT and LICENSE-APACHE. It contains these \
                        libraries.\n\n"
            .to_owned();
        let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for library in &self.external {
            writeln!(text, "{} {}: {}", library.name, library.version, library.licence)?;
            for licence in licence_texts(&library.folder)? {
                users.entry(licence).or_default().insert(format!("{} {}", library.name, library.version));
            }
        }
        for (licence, of) in users {
            let of: Vec<String> = of.into_iter().collect();
            write!(text, "\n{}\n{}\n\n{licence}\n", "=".repeat(100), of.join(", "))?;
        }
        Ok(text)
    }

    /// Returns a bill of materials: CycloneDX 1.5 as JSON.
    pub fn bill_of_materials(&self, target: Target, release: &Release) -> String {
        let component = |library: &Library| {
            let mut component = json!({
                "type": "library", "bom-ref": library.purl, "name": library.name, "version": library.version,
                "purl": library.purl, "licenses": [{ "expression": library.licence }],
            });
            if let Some(checksum) = &library.checksum {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
            }
            component
        };
        let all = || self.own.iter().chain(&self.external);
        let dependencies: Vec<Value> =
            all().map(|library| json!({ "ref": library.purl, "dependsOn": library.uses })).collect();
        let bill = json!({
            "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {
                "component": {
                    "type": "application", "bom-ref": release.name(target.rid()), "name": "redial",
                    "version": release.version,
                    "properties": [
                        { "name": "redial:commit", "value": release.commit },
                        { "name": "redial:target", "value": target.triple() },
                    ],
                },
            },
            "components": all().map(component).collect::<Vec<_>>(),
            "dependencies": dependencies,
        });
        format!("{bill:#}\n")
    }
}

fn purl(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

fn library(package: &Value, uses: &BTreeSet<String>, lock: &str) -> Result<Library> {
    let text = |field: &str| package[field].as_str().map(str::to_owned);
    let name = text("name").context("a package without a name")?;
    let version = text("version").context("a package without a version")?;
    let manifest = PathBuf::from(text("manifest_path").context("a package without a manifest")?);
    let folder = manifest.parent().unwrap_or(&manifest).to_owned();
    // Some manifests still separate alternatives with a slash.
    let licence = text("license").with_context(|| format!("{name} names no licence"))?.replace('/', " OR ");
    let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let rest = lock.split_once(&entry).map(|(_, rest)| rest.split("\n\n").next().unwrap_or(""));
    let checksum = rest
        .and_then(|rest| rest.lines().find_map(|line| line.strip_prefix("checksum = \"")?.strip_suffix('"')));
    Ok(Library {
        purl: purl(&name, &version),
        checksum: checksum.map(str::to_owned),
        uses: uses.iter().cloned().collect(),
        name,
        version,
        licence,
        folder,
    })
}

/// Returns the packages below program and agent by id, each with the identifiers of its own dependencies.
fn graph(metadata: &Value) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let names: BTreeMap<&str, String> = list(&metadata["packages"])
        .filter_map(|package| {
            let name = purl(package["name"].as_str()?, package["version"].as_str()?);
            Some((package["id"].as_str()?, name))
        })
        .collect();
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"])
        .filter_map(|node| node["id"].as_str().map(|id| (id, node)))
        .collect();
    let is_root = |package: &&Value| package["name"] == "redial" || package["name"] == "redial-agent";
    let mut open: Vec<&str> =
        list(&metadata["packages"]).filter(is_root).filter_map(|package| package["id"].as_str()).collect();
    let mut graph = BTreeMap::new();
    while let Some(id) = open.pop() {
        if graph.contains_key(id) {
            continue;
        }
        let node = nodes.get(id).with_context(|| format!("cargo resolves no {id}"))?;
        // The kind of an ordinary dependency is null; others are "dev" and "build".
        let is_linked =
            |dependency: &&Value| list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
        let below: Vec<&str> = list(&node["deps"])
            .filter(is_linked)
            .filter_map(|dependency| dependency["pkg"].as_str())
            .collect();
        graph.insert(id.to_owned(), below.iter().filter_map(|id| names.get(id).cloned()).collect());
        open.extend(below);
    }
    Ok(graph)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns the texts of the licence files of a package, and those of fonts in it.
fn licence_texts(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let entries = |folder: &Path| std::fs::read_dir(folder).with_context(|| folder.display().to_string());
    let fonts = folder.join("fonts");
    if fonts.is_dir() {
        for entry in entries(&fonts)? {
            let path = entry?.path();
            files.extend(path.extension().is_some_and(|extension| extension == "txt").then_some(path));
        }
    }
    for entry in entries(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT"]
            .iter()
            .any(|word| name.starts_with(word));
        if is_licence && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let read = |path: &PathBuf| {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        Ok(text.trim_matches('\n').to_owned())
    };
    files.iter().map(read).collect()
}
