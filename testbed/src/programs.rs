//! The project's C# programs, compiled on first use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cache;
use crate::csharp::{Compilation, Framework};
use crate::runtimes::Runtime;
use crate::sources::{inheriting_source, large_bodies_source, long_body_source};

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Program {
    dll: PathBuf,
}

impl Program {
    /// Returns the path of the program's assembly.
    pub fn dll(&self) -> &Path {
        &self.dll
    }

    /// Returns the folder of the assembly, its references and its `runtimeconfig.json`.
    pub fn folder(&self) -> &Path {
        self.dll.parent().unwrap_or(&self.dll)
    }

    /// Returns `dotnet PROGRAM.dll` on `runtime`; see [`Runtime::command`].
    ///
    /// # Errors
    /// When the runtime cannot be set up.
    pub fn command(&self, runtime: Runtime) -> Result<Command> {
        Ok(runtime.ensure()?.command(&self.dll))
    }
}

/// Compiles the demo program of `assets/demo`: `Shop.dll`.
///
/// Every `.cs` file directly in the folder belongs to Shop. Every sub-folder is a plug-in: an assembly of the
/// folder's name that references Shop, and lies in `plugins/` below Shop's folder. A comment line `// references: NAME`
/// in its first file adds another plug-in, which must be earlier in the alphabet.
///
/// # Errors
/// The compiler's messages.
pub fn shop() -> Result<Program> {
    with_plugins("Shop", &cache::checkout().join("assets/demo"))
}

/// Compiles the test program `name`: `testbed/programs/NAME.cs`, or every `.cs` file of
/// `testbed/programs/NAME/`, whose sub-folders are plug-ins as for [`shop`].
///
/// Comment lines at the very top of the first file set options: `// csc: -optimize-` and `// framework:
/// aspnet`.
///
/// # Errors
/// When there is no such program, or the compiler's messages.
pub fn named(name: &str) -> Result<Program> {
    let programs = cache::checkout().join("testbed/programs");
    let file = programs.join(format!("{name}.cs"));
    if file.is_file() {
        let dll = with_directives(Compilation::program(name, vec![file]))?.build()?;
        return Ok(Program { dll });
    }
    let folder = programs.join(name);
    if folder.is_dir() {
        return with_plugins(name, &folder);
    }
    bail!("there is no test program {name}: neither {} nor {}", file.display(), folder.display())
}

/// Compiles the test program `testbed/programs/NAME.cs` without optimisation, as for debugging.
///
/// # Errors
/// Fails like [`named`].
pub fn unoptimised(name: &str) -> Result<Program> {
    let file = cache::checkout().join(format!("testbed/programs/{name}.cs"));
    let mut compilation = Compilation::program(name, vec![file]);
    compilation.options.push("-optimize-".to_owned());
    Ok(Program { dll: compilation.build()? })
}

/// Compiles the test program `shapes`, including a body of more than 64 KiB, with or without optimisation.
///
/// # Errors
/// The compiler's messages.
pub fn shapes(optimised: bool) -> Result<Program> {
    let mut files = sources(&cache::checkout().join("testbed/programs/shapes"))?;
    files.push(long_body_source()?);
    let mut compilation = Compilation::program("shapes", files);
    if !optimised {
        compilation.options.push("-optimize-".to_owned());
    }
    Ok(Program { dll: compilation.build()? })
}

/// Compiles the program of [`large_bodies_source`].
///
/// # Errors
/// The compiler's messages.
pub fn large_bodies() -> Result<Program> {
    let compilation = Compilation::program("large", vec![large_bodies_source()?]);
    Ok(Program { dll: compilation.build()? })
}

/// Compiles the program of [`inheriting_source`].
///
/// # Errors
/// The compiler's messages.
pub fn inheriting() -> Result<Program> {
    let compilation = Compilation::program("inheriting", vec![inheriting_source()?]);
    Ok(Program { dll: compilation.build()? })
}

/// Compiles a newer version of the plug-in `Copied` of the test program `alc`: its method has another token, and
/// another method has the old token.
///
/// # Errors
/// The compiler's messages.
pub fn newer_copied() -> Result<PathBuf> {
    let source = cache::checkout().join("testbed/programs/alc/Copied/Counter.cs");
    let mut newer = Compilation::library("Copied", vec![source]);
    newer.options.push("-define:NEWER".into());
    newer.build()
}

/// Returns the names of all test programs, sorted.
///
/// # Errors
/// When the folder cannot be listed.
pub fn names() -> Result<Vec<String>> {
    let programs = cache::checkout().join("testbed/programs");
    let mut names = Vec::new();
    for entry in fs::read_dir(&programs).with_context(|| format!("cannot list {}", programs.display()))? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "cs") {
            names.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn with_plugins(name: &str, folder: &Path) -> Result<Program> {
    let main = with_directives(Compilation::program(name, sources(folder)?))?;
    let dll = main.build()?;
    let mut plugins = Vec::new();
    for sub_folder in children(folder, Path::is_dir)? {
        if !sources(&sub_folder)?.is_empty() {
            plugins.push(sub_folder);
        }
    }
    if plugins.is_empty() {
        return Ok(Program { dll });
    }
    let mut built = Vec::new();
    for plugin in &plugins {
        let plugin_name = plugin.file_name().unwrap_or_default().to_string_lossy();
        let mut compilation = with_directives(Compilation::library(&plugin_name, sources(plugin)?))?;
        let others = referenced(&compilation, &built)?;
        compilation.references.push(dll.clone());
        compilation.references.extend(others);
        built.push(compilation.build()?);
    }
    Ok(Program { dll: assemble(name, &dll, &built)? })
}

/// Copies the program's files, with its plug-ins below `plugins/`, into their own folder.
fn assemble(name: &str, dll: &Path, plugins: &[PathBuf]) -> Result<PathBuf> {
    let built_from = |path: &Path| cache::path_at_home(path.parent().unwrap_or(path));
    let mut recipe = format!("{}\n", built_from(dll));
    for plugin in plugins {
        recipe.push_str(&format!("{}\n", built_from(plugin)));
    }
    let own = dll.parent().unwrap_or(dll);
    let short = own.file_name().unwrap_or_default().to_string_lossy();
    let folder = cache::ensure(&format!("programs/{short}-with-plugins"), &recipe, |into| {
        copy_files(own, into)?;
        for plugin in plugins {
            let target = into.join("plugins");
            fs::create_dir_all(&target)?;
            for extension in ["dll", "pdb"] {
                let file = plugin.with_extension(extension);
                let file_name = file.file_name().unwrap_or_default();
                fs::copy(&file, target.join(file_name))
                    .with_context(|| format!("cannot copy {}", file.display()))?;
            }
        }
        Ok(())
    })?;
    Ok(folder.join(format!("{name}.dll")))
}

fn with_directives(mut compilation: Compilation) -> Result<Compilation> {
    let Some(first) = compilation.sources.first() else { bail!("{} has no C# files", compilation.assembly) };
    let text = fs::read_to_string(first).with_context(|| format!("cannot read {}", first.display()))?;
    for line in text.lines().map_while(|line| line.strip_prefix("//")) {
        let line = line.trim();
        if let Some(options) = line.strip_prefix("csc:") {
            compilation.options.extend(options.split_whitespace().map(str::to_owned));
        } else if line == "framework: aspnet" {
            compilation.framework = Framework::AspNet;
        }
    }
    Ok(compilation)
}

/// Returns those of the plug-ins built before that a plug-in names: `// references: NAME`.
fn referenced(compilation: &Compilation, built: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let text = compilation.sources.first().map(fs::read_to_string).transpose()?.unwrap_or_default();
    let mut found = Vec::new();
    for name in text.lines().filter_map(|line| line.strip_prefix("// references:")) {
        let is_it = |dll: &&PathBuf| dll.file_stem().is_some_and(|stem| *stem == *name.trim());
        let dll = built.iter().find(is_it);
        found.push(dll.with_context(|| format!("no earlier plug-in is called {}", name.trim()))?.clone());
    }
    Ok(found)
}

/// Returns the C# files directly in a folder, sorted.
///
/// # Errors
/// When the folder cannot be listed.
pub fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    children(folder, |path| path.extension().is_some_and(|extension| extension == "cs"))
}

fn children(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for file in children(from, Path::is_file)? {
        let name = file.file_name().unwrap_or_default();
        if name != ".complete" {
            fs::copy(&file, to.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
        }
    }
    Ok(())
}
