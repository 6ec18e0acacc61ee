//! Packages that carry agents alone: the NuGet package and the files of a container image.

use std::path::Path;

use anyhow::Result;

use super::archives;
use super::contents::{Contents, LICENCES, agent_path, asset};
use super::file_tree::FileTree;
use super::release::Release;
use super::target::Target;
use crate::process::checkout;

/// Makes the NuGet package of the agents of all targets (a zip file by the Open Packaging Conventions).
///
/// # Errors
/// When a file cannot be written or zip fails.
pub fn nuget(contents: &[Contents], release: &Release, work: &Path, to: &Path) -> Result<()> {
    let tree = FileTree::new(work.join("nuget"), release)?;
    let specification = std::fs::read_to_string(asset("nuget/Redial.Agent.nuspec"))?;
    tree.write("Redial.Agent.nuspec", specification.replace("VERSION", &release.version).as_bytes())?;
    tree.copy(&asset("nuget/content-types.xml"), "[Content_Types].xml")?;
    tree.copy(&asset("nuget/README.md"), "README.md")?;
    own_licences(&tree, "licenses")?;
    tree.write("_rels/.rels", relationships().as_bytes())?;
    for contents in contents {
        let target = contents.programs().target;
        let path = format!("runtimes/{}/native/{}", target.rid(), target.agent());
        tree.copy(&contents.programs().agent, &path)?;
        tree.write(&format!("licenses/{}-{LICENCES}", target.rid()), contents.licences().as_bytes())?;
    }
    tree.finish(&[])?;
    archives::zip(tree.root(), &tree.files()?, to)
}

/// Adds Redial's own licences.
fn own_licences(tree: &FileTree, folder: &str) -> Result<()> {
    ["LICENSE-MIT", "LICENSE-APACHE"]
        .iter()
        .try_for_each(|name| tree.copy(&checkout().join(name), &format!("{folder}/{name}.txt")))
}

/// Returns the entry that leads a reader to the specification. The type is a name, not an address.
fn relationships() -> String {
    let scheme = ["http", "://"].concat();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <Relationships xmlns=\"{scheme}schemas.openxmlformats.org/package/2006/relationships\">\n  \
         <Relationship Id=\"R1\" Target=\"/Redial.Agent.nuspec\" \
         Type=\"{scheme}schemas.microsoft.com/packaging/2010/07/manifest\"/>\n</Relationships>\n"
    )
}

/// Makes the folder of a container image as plain files: the agents of Linux, and a Dockerfile.
///
/// # Errors
/// When a file cannot be written or tar fails.
pub fn image(contents: &[Contents], release: &Release, work: &Path, to: &Path) -> Result<()> {
    let tree = FileTree::new(work.join(format!("redial-{}-agent-image", release.version)), release)?;
    tree.copy(&asset("image/Dockerfile"), "Dockerfile")?;
    own_licences(&tree, "agents")?;
    let is_linux = |target: Target| !target.is_windows();
    let mut agents = Vec::new();
    for contents in contents.iter().filter(|contents| is_linux(contents.programs().target)) {
        let path = agent_path(contents.programs().target);
        tree.copy(&contents.programs().agent, &path)?;
        tree.write(&format!("agents/{LICENCES}"), contents.licences().as_bytes())?;
        agents.push(path);
    }
    tree.finish(&agents.iter().map(String::as_str).collect::<Vec<_>>())?;
    archives::tar_gz(&tree, release, to)
}
