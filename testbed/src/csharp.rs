//! The C# compiler. One assembly serves .NET Core 2.1, 3.1, .NET 8 and later; the cache key covers all inputs.
//!
//! The compiler of the 3.1 SDK runs on .NET 8, because its own runtime needs an OpenSSL version that newer
//! systems lack. It compiles against the framework files of 2.1.30, so every later runtime can run the file by
//! rolling forward.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::cache;
use crate::fetch;
use crate::runtimes::{self, Runtime};

/// Program or library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Has a `Main` and gets a `runtimeconfig.json` beside it.
    Program,
    /// Loaded by others.
    Library,
}

/// The framework that the assembly is compiled against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    /// The base framework of 2.1.30: runs on 2.1, 3.1, 8 and later.
    Core,
    /// ASP.NET Core 3.1.2 and the base framework 3.1.2: runs on [`Runtime::ASP_NET_3_1`] and [`Runtime::V8_0`].
    AspNet,
}

/// The input of one compiler run.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// Name of the assembly without extension.
    pub assembly: String,
    /// C# files.
    pub sources: Vec<PathBuf>,
    /// Program or library.
    pub kind: Kind,
    /// Framework to compile against.
    pub framework: Framework,
    /// Assemblies to reference besides the framework. They are copied beside the result, where the runtime
    /// looks for them.
    pub references: Vec<PathBuf>,
    /// Further compiler options, such as `-unsafe` or `-optimize-`. The default is `-optimize+ -debug:portable
    /// -langversion:8 -unsafe+`.
    pub options: Vec<String>,
}

impl Compilation {
    /// Describes a program of the base framework.
    pub fn program(assembly: &str, sources: Vec<PathBuf>) -> Self {
        Self {
            assembly: assembly.to_owned(),
            sources,
            kind: Kind::Program,
            framework: Framework::Core,
            references: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Describes a library of the base framework.
    pub fn library(assembly: &str, sources: Vec<PathBuf>) -> Self {
        Self { kind: Kind::Library, ..Self::program(assembly, sources) }
    }

    /// Returns the path of the assembly, compiling it unless the cache holds a result for the same sources,
    /// references and options.
    ///
    /// The folder of the assembly belongs to it alone and must not be written to.
    ///
    /// # Errors
    /// The compiler's messages, or an error of setting up the runtimes.
    pub fn build(&self) -> Result<PathBuf> {
        let recipe = self.recipe()?;
        let digest = Sha256::digest(recipe.as_bytes());
        let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let item = format!("programs/{}-{short}", self.assembly);
        let folder = cache::ensure(&item, &recipe, |into| self.compile(into))?;
        Ok(folder.join(self.file_name()))
    }

    fn file_name(&self) -> String {
        format!("{}.dll", self.assembly)
    }

    /// Returns everything that the result depends on as text: hashes of inputs, options, the compiler's
    /// package.
    fn recipe(&self) -> Result<String> {
        let mut recipe = format!(
            "{} {:?} {:?} {:?}\ncompiler {}\n",
            self.assembly,
            self.kind,
            self.framework,
            self.all_options(),
            crate::packages::SDK_3_1.sha256
        );
        for input in self.sources.iter().chain(&self.references) {
            let name = input.file_name().unwrap_or_default().to_string_lossy();
            recipe.push_str(&format!("{name} {}\n", fetch::sha256_of(input)?));
        }
        Ok(recipe)
    }

    fn all_options(&self) -> Vec<String> {
        let mut options: Vec<String> = [
            "-nologo",
            "-noconfig",
            "-nostdlib+",
            "-deterministic+",
            "-langversion:8",
            "-optimize+",
            "-debug:portable",
            "-unsafe+",
            "-warnaserror+",
        ]
        .map(str::to_owned)
        .to_vec();
        options.push(match self.kind {
            Kind::Program => "-target:exe".to_owned(),
            Kind::Library => "-target:library".to_owned(),
        });
        options.extend(self.options.iter().cloned());
        options
    }

    /// Returns the compiler's command on `runtime`, writing to `out`. The same `out` gets the same bytes each
    /// time.
    ///
    /// # Errors
    /// When the runtimes cannot be set up.
    pub fn command(&self, runtime: Runtime, out: &Path) -> Result<Command> {
        let compiler = runtimes::compiler()?.join("csc.dll");
        let mut command = runtime.ensure()?.command(&compiler);
        command.args(self.all_options());
        for reference in self.framework_references()?.iter().chain(&self.references) {
            command.arg(option("-reference:", reference));
        }
        command.arg(option("-out:", out)).args(&self.sources);
        Ok(command)
    }

    /// Compiles to a file outside the cache, without copies of references and without a `runtimeconfig.json`.
    ///
    /// # Errors
    /// Fails like [`Compilation::build`].
    pub fn compile_to(&self, dll: &Path) -> Result<()> {
        let mut command = self.command(Runtime::V8_0, dll)?;
        let output =
            command.stdin(Stdio::null()).output().with_context(|| "the C# compiler cannot be started")?;
        if !output.status.success() {
            bail!(
                "{} does not compile ({}):\n{}{}",
                self.assembly,
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    }

    fn compile(&self, into: &Path) -> Result<()> {
        self.compile_to(&into.join(self.file_name()))?;
        for reference in &self.references {
            let name = reference.file_name().unwrap_or_default();
            fs::copy(reference, into.join(name))
                .with_context(|| format!("cannot copy {}", reference.display()))?;
        }
        if self.kind == Kind::Program {
            let path = into.join(format!("{}.runtimeconfig.json", self.assembly));
            fs::write(&path, self.runtime_config())
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn framework_references(&self) -> Result<Vec<PathBuf>> {
        match self.framework {
            Framework::Core => Runtime::REFERENCES.ensure()?.framework_assemblies(),
            Framework::AspNet => {
                let sdk = Runtime::SDK_3_1.ensure()?;
                let mut references = sdk.framework_assemblies()?;
                for entry in fs::read_dir(sdk.root().join("shared/Microsoft.AspNetCore.App/3.1.2"))? {
                    let path = entry?.path();
                    if path.extension().is_some_and(|extension| extension == "dll") {
                        references.push(path);
                    }
                }
                references.sort();
                Ok(references)
            }
        }
    }

    /// Returns the content of the program's `runtimeconfig.json`.
    pub fn runtime_config(&self) -> String {
        let (name, version) = match self.framework {
            Framework::Core => ("Microsoft.NETCore.App", "2.1.0"),
            Framework::AspNet => ("Microsoft.AspNetCore.App", "3.1.0"),
        };
        let config = serde_json::json!({
            "runtimeOptions": { "framework": { "name": name, "version": version } }
        });
        format!("{config:#}\n")
    }
}

fn option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}
