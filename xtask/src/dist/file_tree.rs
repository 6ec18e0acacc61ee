//! The files of a package, as a folder whose times and modes are the same on every machine.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::release::Release;
use crate::process::{command, run_quietly};

/// A folder that becomes a package.
#[derive(Debug)]
pub struct FileTree {
    root: PathBuf,
    time: u64,
}

impl FileTree {
    /// Empties a folder.
    ///
    /// # Errors
    /// When the folder cannot be removed or made.
    pub fn new(root: PathBuf, release: &Release) -> Result<FileTree> {
        if root.exists() {
            std::fs::remove_dir_all(&root).with_context(|| root.display().to_string())?;
        }
        std::fs::create_dir_all(&root).with_context(|| root.display().to_string())?;
        Ok(FileTree { root, time: release.time })
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Copies a file to a path below the folder.
    ///
    /// # Errors
    /// The failure to read or write, with the path.
    pub fn copy(&self, from: &Path, to: &str) -> Result<()> {
        self.write(to, &std::fs::read(from).with_context(|| from.display().to_string())?)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// The failure to write, with the path.
    pub fn write(&self, to: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(to)?;
        std::fs::write(&path, bytes).with_context(|| path.display().to_string())
    }

    /// Writes a file compressed, without name and time inside it.
    ///
    /// # Errors
    /// When gzip fails.
    pub fn write_compressed(&self, to: &str, bytes: &[u8]) -> Result<()> {
        self.write(to, bytes)?;
        run_quietly(command("gzip", &["--best", "--no-name", "--force"]).arg(self.path(to)?)).map(drop)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// The failure to make it, with the path.
    #[cfg(unix)]
    pub fn link(&self, to: &str, target: &str) -> Result<()> {
        let path = self.path(to)?;
        std::os::unix::fs::symlink(target, &path).with_context(|| path.display().to_string())
    }

    /// Fails: packages are made on Linux.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn link(&self, _to: &str, _target: &str) -> Result<()> {
        anyhow::bail!("packages are made on Linux")
    }

    /// Sets every mode (755 for folders and `programs`, 644 for other files) and every time. Call it last.
    ///
    /// # Errors
    /// When `chmod`, `find` or `touch` fails.
    pub fn finish(&self, programs: &[&str]) -> Result<()> {
        run_quietly(command("chmod", &["-R", "u=rwX,go=rX"]).arg(&self.root))?;
        for program in programs {
            run_quietly(command("chmod", &["755"]).arg(self.root.join(program)))?;
        }
        let time = format!("--date=@{}", self.time);
        let touch = ["-exec", "touch", "--no-dereference", &time, "{}", "+"];
        run_quietly(command("find", &[]).arg(&self.root).args(touch)).map(drop)
    }

    /// Returns the paths of files and links below the folder, sorted.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn files(&self) -> Result<Vec<String>> {
        let listed =
            run_quietly(command("find", &[]).arg(&self.root).args(["!", "-type", "d", "-printf", "%P\\n"]))?;
        let mut files: Vec<String> = listed.lines().map(str::to_owned).collect();
        files.sort();
        Ok(files)
    }

    fn path(&self, to: &str) -> Result<PathBuf> {
        let path = self.root.join(to);
        let folder = path.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(path)
    }
}
