//! Lays the packages' files out as .NET roots: `dotnet`, `host/fxr/VERSION`, `shared/FRAMEWORK/VERSION`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::packages::Package;
use crate::{cache, fetch, pe, unpack};

/// Executable files, on Linux and on Windows.
const PROGRAMS: &[&str] = &["dotnet", "createdump", "fabmcp", "dotnet.exe", "createdump.exe"];

/// Path of the self-contained .NET 8 program in its wheel.
const SELF_CONTAINED: &str = "artifacts_keyring/bin/plugins/netcore/CredentialProvider.Microsoft";

/// Layout version. Increment it when a layout below changes, so that older caches are rebuilt.
const LAYOUT: u32 = 1;

/// A framework of another root, to be copied beside a root's own.
#[derive(Clone, Copy, Debug)]
pub struct OtherFramework<'a> {
    /// The other root.
    pub root: &'a Path,
    /// Its folder in `shared`: `FRAMEWORK/VERSION`.
    pub name: &'a str,
    /// Whether its precompiled code is for another system, and stays behind.
    pub is_foreign: bool,
}

impl OtherFramework<'_> {
    fn recipe(&self) -> String {
        if self.is_foreign {
            format!("without precompiled code, in one code section: {}\n", self.name)
        } else {
            String::new()
        }
    }

    fn copy_into(&self, root: &Path) -> Result<()> {
        let inside = Path::new("shared").join(self.name);
        copy_files(&self.root.join(&inside), &root.join(&inside), self.is_foreign)
    }
}

/// Sets up `item` as the folder `inside` of `package`, with more frameworks.
///
/// # Errors
/// An error of fetching or unpacking, with the item's name.
pub fn plain(item: &str, package: &Package, inside: &str, more: &[OtherFramework<'_>]) -> Result<PathBuf> {
    cache::ensure(item, &(recipe(&[package]) + &recipe_of(more)), |into| {
        let unpacked = unpack_aside(package, into)?;
        move_children(&unpacked.join(inside), into)?;
        more.iter().try_for_each(|framework| framework.copy_into(into))?;
        finish(&unpacked, into)
    })
    .with_context(|| format!("{item} cannot be set up"))
}

/// Sets up `item` as a copy of a folder of managed files, without code precompiled for another system.
///
/// # Errors
/// When a file cannot be read, is damaged, or cannot be written.
pub fn without_precompiled_code(item: &str, package: &Package, folder: &Path) -> Result<PathBuf> {
    let recipe = format!("{}without precompiled code, in one code section\n", recipe(&[package]));
    cache::ensure(item, &recipe, |into| copy_files(folder, into, true))
        .with_context(|| format!("{item} cannot be set up"))
}

/// Sets up `item` as a shared .NET 8 taken from a self-contained program, with more frameworks.
///
/// # Errors
/// Fails like [`plain`], or when the program's `deps.json` names no runtime pack.
pub fn self_contained(
    item: &str,
    package: &Package,
    muxer: &Muxer<'_>,
    more: &[OtherFramework<'_>],
) -> Result<PathBuf> {
    cache::ensure(item, &(recipe(&[package]) + &muxer.recipe()? + &recipe_of(more)), |into| {
        let unpacked = unpack_aside(package, into)?;
        let program = unpacked.join(SELF_CONTAINED);
        let deps = program.join("CredentialProvider.Microsoft.deps.json");
        let mut pack = RuntimePack::read(&deps)?;
        pack.forget_absent_native_files(&program);
        let framework = into.join("shared/Microsoft.NETCore.App").join(&pack.version);
        fs::create_dir_all(&framework)?;
        for file in pack.files() {
            move_file(&program.join(&file), &framework.join(&file))?;
        }
        fs::write(framework.join("Microsoft.NETCore.App.deps.json"), pack.framework_deps()?)?;
        let resolver = if pack.rid.starts_with("win") { "hostfxr.dll" } else { "libhostfxr.so" };
        let host = into.join("host/fxr").join(&pack.version);
        fs::create_dir_all(&host)?;
        // The pack may list the resolver, or it may only lie beside the program.
        let beside = program.join(resolver);
        let found = if beside.exists() { beside } else { framework.join(resolver) };
        move_file(&found, &host.join(resolver))?;
        muxer.put_into(into)?;
        more.iter().try_for_each(|framework| framework.copy_into(into))?;
        finish(&unpacked, into)
    })
    .with_context(|| format!("{item} cannot be set up"))
}

/// The program that starts others on a runtime.
pub enum Muxer<'a> {
    /// `dotnet` of another root for Linux.
    Of(&'a Path),
    /// `dotnet.exe`, compiled from a C file.
    Compiled(&'a Path),
}

impl Muxer<'_> {
    fn recipe(&self) -> Result<String> {
        match self {
            Self::Of(_) => Ok(String::new()),
            Self::Compiled(source) => Ok(format!("muxer {}\n", fetch::sha256_of(source)?)),
        }
    }

    fn put_into(&self, root: &Path) -> Result<()> {
        match self {
            Self::Of(other) => fs::copy(other.join("dotnet"), root.join("dotnet"))
                .map(drop)
                .with_context(|| format!("cannot copy the muxer of {}", other.display())),
            Self::Compiled(source) => {
                let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
                // The compiler takes the address of a thread's block for one outside any object.
                compiler.args(["-municode", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-array-bounds", "-o"]);
                compiler.arg(root.join("dotnet.exe")).arg(source).stdin(Stdio::null());
                let output = compiler.output().context("the cross compiler cannot be started")?;
                if !output.status.success() {
                    bail!("the muxer does not compile:\n{}", String::from_utf8_lossy(&output.stderr));
                }
                Ok(())
            }
        }
    }
}

/// The runtime pack inside a self-contained program, as its `deps.json` lists it.
struct RuntimePack {
    target: String,
    rid: String,
    version: String,
    entry: Value,
}

impl RuntimePack {
    fn read(deps: &Path) -> Result<Self> {
        let text = fs::read_to_string(deps).with_context(|| format!("cannot read {}", deps.display()))?;
        let parsed: Value =
            serde_json::from_str(&text).with_context(|| format!("{} is not JSON", deps.display()))?;
        let targets = parsed.get("targets").and_then(Value::as_object).cloned().unwrap_or_default();
        for (target, libraries) in targets {
            let libraries = libraries.as_object().cloned().unwrap_or_default();
            for (name, entry) in libraries {
                let Some(rest) = name.strip_prefix("runtimepack.Microsoft.NETCore.App.Runtime.") else {
                    continue;
                };
                let Some((rid, version)) = rest.split_once('/') else { continue };
                let (rid, version) = (rid.to_owned(), version.to_owned());
                return Ok(Self { target, rid, version, entry });
            }
        }
        bail!("{} lists no runtime pack; the program is not self-contained", deps.display())
    }

    /// Drops listed native files that the package lacks. Wheels omit the optional tracing provider, and the
    /// host refuses a framework with a listed file missing. An absent managed file stays an error.
    fn forget_absent_native_files(&mut self, program: &Path) {
        if let Some(native) = self.entry.get_mut("native").and_then(Value::as_object_mut) {
            native.retain(|file, _| program.join(file).exists());
        }
    }

    /// Returns the names of the pack's managed and native files.
    fn files(&self) -> Vec<String> {
        ["runtime", "native"]
            .iter()
            .filter_map(|kind| self.entry.get(kind).and_then(Value::as_object))
            .flat_map(Map::keys)
            .cloned()
            .collect()
    }

    /// Returns the `Microsoft.NETCore.App.deps.json` of a shared framework, without which the host finds no
    /// framework.
    fn framework_deps(&self) -> Result<String> {
        let name = format!("Microsoft.NETCore.App.Runtime.{}/{}", self.rid, self.version);
        let platform = self.target.split('/').next().unwrap_or_default();
        let deps = json!({
            "runtimeTarget": { "name": self.target, "signature": "" },
            "compilationOptions": {},
            "targets": { platform: {}, &self.target: { &name: self.entry } },
            "libraries": { &name: { "type": "package", "serviceable": true, "sha512": "" } },
        });
        Ok(serde_json::to_string_pretty(&deps)?)
    }
}

fn recipe(packages: &[&Package]) -> String {
    let hashes: Vec<_> = packages.iter().map(|package| package.sha256).collect();
    format!("layout {LAYOUT}: {}\n", hashes.join(" "))
}

fn recipe_of(frameworks: &[OtherFramework<'_>]) -> String {
    frameworks.iter().map(OtherFramework::recipe).collect()
}

/// Unpacks into a folder inside the item being built, so that a failed build removes it too.
fn unpack_aside(package: &Package, into: &Path) -> Result<PathBuf> {
    let file = fetch::package(package)?;
    let unpacked = into.join(".unpacked");
    fs::create_dir_all(&unpacked)?;
    unpack::archive(&file, &unpacked)?;
    Ok(unpacked)
}

fn finish(unpacked: &Path, into: &Path) -> Result<()> {
    fs::remove_dir_all(unpacked).with_context(|| format!("cannot remove {}", unpacked.display()))?;
    unpack::settle_modes(into, PROGRAMS)
}

fn move_children(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        move_file(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn copy_files(from: &Path, to: &Path, is_foreign: bool) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            copy_file(&entry.path(), &to.join(entry.file_name()), is_foreign)
                .with_context(|| format!("cannot copy {}", entry.path().display()))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, is_foreign: bool) -> Result<()> {
    if is_foreign && from.extension().is_some_and(|extension| extension == "dll") {
        return Ok(fs::write(to, pe::without_precompiled_code(fs::read(from)?)?)?);
    }
    fs::copy(from, to)?;
    Ok(())
}

fn move_file(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("cannot move {} to {}", from.display(), to.display()))
}
