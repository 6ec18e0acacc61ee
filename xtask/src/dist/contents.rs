//! What the packages of a system contain, and where it lies.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::compile::Programs;
use super::documents::Documents;
use super::file_tree::FileTree;
use super::release::Release;
use super::target::Target;
use super::third_party::Libraries;
use crate::build::target_folder;
use crate::process::{checkout, command, run_quietly};

/// The text of all licences.
pub const LICENCES: &str = "THIRD-PARTY-LICENSES.txt";
/// The bill of materials.
pub const BILL: &str = "redial.cdx.json";
/// Completion scripts: the shell, and the file's name in archives.
const COMPLETIONS: [(&str, &str); 4] =
    [("bash", "redial.bash"), ("zsh", "_redial"), ("fish", "redial.fish"), ("powershell", "redial.ps1")];

/// Files that packages add to the programs.
#[derive(Clone, Debug)]
pub struct Contents {
    programs: Programs,
    /// Pages of the manual, by file name.
    manual: Vec<(String, Vec<u8>)>,
    /// Completion scripts in the order of [`COMPLETIONS`].
    completions: Vec<Vec<u8>>,
    documents: Documents,
    licences: String,
    /// The bill of materials.
    pub bill: String,
}

impl Contents {
    /// Makes completions and manual with `native`, the program of this machine.
    ///
    /// # Errors
    /// When the program or cargo fails.
    pub fn of(programs: Programs, native: &Programs, release: &Release) -> Result<Contents> {
        let folder = target_folder().join("packages/manual");
        FileTree::new(folder.clone(), release)?;
        let program = native.program.to_string_lossy();
        run_quietly(command(&program, &["manual"]).arg(&folder))?;
        let mut manual = Vec::new();
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            manual.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?));
        }
        manual.sort();
        let script = |(shell, _): &(&str, &str)| {
            run_quietly(&mut command(&program, &["completions", shell])).map(String::into_bytes)
        };
        let libraries = Libraries::of(programs.target)?;
        Ok(Contents {
            manual,
            completions: COMPLETIONS.iter().map(script).collect::<Result<_>>()?,
            documents: Documents::read()?,
            licences: libraries.licences()?,
            bill: libraries.bill_of_materials(programs.target, release),
            programs,
        })
    }

    /// Returns the programs.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Returns the licences of everything in the programs.
    pub fn licences(&self) -> &str {
        &self.licences
    }

    /// Fills the folder of an archive that runs where it is unpacked.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn archive(&self, tree: &FileTree) -> Result<()> {
        let target = self.programs.target;
        let agent = agent_path(target);
        tree.copy(&self.programs.program, target.program())?;
        tree.copy(&self.programs.agent, &agent)?;
        for ((_, name), script) in COMPLETIONS.iter().zip(&self.completions) {
            tree.write(&format!("completions/{name}"), script)?;
        }
        for (path, text) in self.documents.files() {
            tree.write(path, text.as_bytes())?;
        }
        tree.write("INSTALL.md", self.documents.instructions().as_bytes())?;
        tree.write(LICENCES, self.licences.as_bytes())?;
        tree.write(BILL, self.bill.as_bytes())?;
        if !target.is_windows() {
            for (name, page) in &self.manual {
                tree.write(&format!("man/man1/{name}"), page)?;
            }
            tree.copy(&asset("redial.desktop"), "share/redial.desktop")?;
            tree.copy(&asset("redial.svg"), "share/redial.svg")?;
            tree.copy(&asset("redial.png"), "share/redial.png")?;
        }
        tree.finish(&[target.program(), &agent])
    }

    /// Fills the root of a system package, with zsh's completions in `zsh`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn system(&self, tree: &FileTree, zsh: &str) -> Result<()> {
        let target = self.programs.target;
        let agent = format!("usr/lib/redial/{}", agent_path(target));
        tree.copy(&self.programs.program, "usr/lib/redial/redial")?;
        tree.copy(&self.programs.agent, &agent)?;
        tree.link("usr/bin/redial", "../lib/redial/redial")?;
        let [bash, zsh_script, fish, powershell] = self.completions.as_slice() else {
            anyhow::bail!("completions for four shells are expected")
        };
        tree.write("usr/share/bash-completion/completions/redial", bash)?;
        tree.write(&format!("{zsh}/_redial"), zsh_script)?;
        tree.write("usr/share/fish/vendor_completions.d/redial.fish", fish)?;
        tree.write("usr/share/doc/redial/redial.ps1", powershell)?;
        for (name, page) in &self.manual {
            tree.write_compressed(&format!("usr/share/man/man1/{name}"), page)?;
        }
        tree.copy(&asset("redial.desktop"), "usr/share/applications/redial.desktop")?;
        tree.copy(&asset("redial.svg"), "usr/share/icons/hicolor/scalable/apps/redial.svg")?;
        tree.copy(&asset("redial.png"), "usr/share/icons/hicolor/128x128/apps/redial.png")?;
        for (path, text) in self.documents.files() {
            tree.write(&format!("usr/share/doc/redial/{path}"), text.as_bytes())?;
        }
        tree.write(&format!("usr/share/doc/redial/{BILL}"), self.bill.as_bytes())?;
        tree.write("usr/share/doc/redial/copyright", self.licences.as_bytes())?;
        tree.finish(&["usr/lib/redial/redial", &agent])
    }
}

/// Returns the agent's path beside the program, where the program looks for it.
pub fn agent_path(target: Target) -> String {
    format!("agents/{}/{}", target.rid(), target.agent())
}

/// Returns a file of `assets/package`.
pub fn asset(name: &str) -> PathBuf {
    checkout().join("assets/package").join(name)
}
