//! The real runtimes: their places and the commands that start a program on them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::layout::{self, Muxer, OtherFramework};
use crate::{cache, packages};

/// A .NET runtime of the cache folder, as a root with a `dotnet` muxer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Runtime {
    name: &'static str,
    version: &'static str,
    item: &'static str,
    windows: bool,
}

impl Runtime {
    /// .NET Core 2.1.30: `ICorProfilerInfo9`, no tiering by default, no diagnostics port.
    pub const V2_1: Self = if cfg!(windows) { Self::WINDOWS_2_1 } else { Self::LINUX_2_1 };
    /// .NET Core 3.1.23: `ICorProfilerInfo11`; ReJIT suspends the runtime.
    pub const V3_1: Self = if cfg!(windows) { Self::WINDOWS_3_1 } else { Self::LINUX_3_1 };
    /// .NET 8.0.31: `ICorProfilerInfo14`. Its root also carries ASP.NET Core 3.1.2.
    pub const V8_0: Self = if cfg!(windows) { Self::WINDOWS_8_0 } else { Self::LINUX_8_0 };
    const LINUX_2_1: Self = Self { name: "2.1", version: "2.1.30", item: "runtimes/2.1.30", windows: false };
    const LINUX_3_1: Self = Self { name: "3.1", version: "3.1.23", item: "runtimes/3.1.23", windows: false };
    const LINUX_8_0: Self = Self { name: "8.0", version: "8.0.31", item: "runtimes/8.0.31", windows: false };
    /// The runtime that programs are compiled against, on every system.
    pub const REFERENCES: Self = Self::LINUX_2_1;
    /// The 3.1.102 SDK's own .NET Core 3.1.2, with ASP.NET Core 3.1.2 and the C# compiler, for Linux.
    pub const SDK_3_1: Self = Self { name: "3.1-sdk", version: "3.1.2", item: "sdk/3.1.102", windows: false };
    /// The .NET Core 3.1 that also carries ASP.NET Core 3.1.2.
    pub const ASP_NET_3_1: Self = if cfg!(windows) { Self::WINDOWS_3_1 } else { Self::SDK_3_1 };
    /// .NET Core 2.1.30 for Windows, started through Wine.
    pub const WINDOWS_2_1: Self =
        Self { name: "2.1-windows", version: "2.1.30", item: "windows/2.1.30", windows: true };
    /// .NET Core 3.1.23 for Windows, started through Wine.
    pub const WINDOWS_3_1: Self =
        Self { name: "3.1-windows", version: "3.1.23", item: "windows/3.1.23-asp-net", windows: true };
    /// .NET 8.0.31 for Windows, started through Wine by a muxer of ours (`testbed/native/dotnet.c`).
    pub const WINDOWS_8_0: Self =
        Self { name: "8.0-windows", version: "8.0.31", item: "windows/8.0.31-asp-net", windows: true };

    /// Returns the three runtimes of every end-to-end test: those for Windows in a test built for it.
    pub const fn all() -> [Self; 3] {
        [Self::V2_1, Self::V3_1, Self::V8_0]
    }

    /// Returns the short name for messages and test names: `2.1`, `3.1`, `8.0`, `3.1-sdk`, `8.0-windows`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the full version, such as `8.0.31`.
    pub const fn version(self) -> &'static str {
        self.version
    }

    /// Makes sure that the runtime is in the cache, fetching it if needed.
    ///
    /// # Errors
    /// The package manager's message.
    pub fn ensure(self) -> Result<Self> {
        match self {
            Self::LINUX_2_1 => layout::plain(self.item, &packages::CORE_2_1, BIN, &[]),
            Self::LINUX_3_1 => layout::plain(self.item, &packages::CORE_3_1, BIN, &[]),
            Self::SDK_3_1 => layout::plain(self.item, &packages::SDK_3_1, "package", &[]),
            Self::WINDOWS_2_1 => layout::plain(self.item, &packages::WINDOWS_CORE_2_1, BIN, &[]),
            Self::WINDOWS_3_1 => {
                let sdk = Self::SDK_3_1.ensure()?.root();
                layout::plain(self.item, &packages::WINDOWS_CORE_3_1, BIN, &[asp_net(&sdk, true)])
            }
            Self::WINDOWS_8_0 => {
                let sdk = Self::SDK_3_1.ensure()?.root();
                let muxer = cache::checkout().join("testbed/native/dotnet.c");
                let (package, muxer) = (&packages::WINDOWS_NET_8_0, Muxer::Compiled(&muxer));
                layout::self_contained(self.item, package, &muxer, &[asp_net(&sdk, true)])
            }
            _ => {
                let muxer = Self::LINUX_3_1.ensure()?.root();
                let sdk = Self::SDK_3_1.ensure()?.root();
                let (package, muxer) = (&packages::NET_8_0, Muxer::Of(&muxer));
                layout::self_contained(self.item, package, &muxer, &[asp_net(&sdk, false)])
            }
        }?;
        Ok(self)
    }

    /// Returns the root folder (`DOTNET_ROOT`).
    pub fn root(self) -> PathBuf {
        cache::folder().join(self.item)
    }

    /// Returns the path of the muxer: `dotnet`, or `dotnet.exe` for a Windows runtime.
    pub fn dotnet(self) -> PathBuf {
        self.root().join(if self.windows { "dotnet.exe" } else { "dotnet" })
    }

    /// Returns the folder of the base framework: the core library, `libcoreclr.so` and all other framework
    /// files.
    pub fn framework_dir(self) -> PathBuf {
        self.root().join("shared/Microsoft.NETCore.App").join(self.version)
    }

    /// Returns the managed assemblies of the base framework, sorted.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn framework_assemblies(self) -> Result<Vec<PathBuf>> {
        let mut assemblies = Vec::new();
        for entry in std::fs::read_dir(self.framework_dir())? {
            let path = entry?.path();
            // On Linux every DLL of a framework is managed; native code is in .so files.
            if path.extension().is_some_and(|extension| extension == "dll") {
                assemblies.push(path);
            }
        }
        assemblies.sort();
        Ok(assemblies)
    }

    /// Returns `dotnet dll` on this runtime, in a clean environment: no profiler, no other root, no variables
    /// of Redial, no telemetry, the newest framework of the root regardless of the program's request, invariant
    /// culture.
    ///
    /// For a Windows runtime the command needs Wine; see [`crate::wine`].
    pub fn command(self, dll: &Path) -> Command {
        let mut command = Command::new(self.dotnet());
        self.settle_environment(&mut command);
        command.arg(dll);
        command
    }

    /// Gives `command` the environment that [`Runtime::command`] promises, for starts through another program.
    pub fn settle_environment(self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy().to_ascii_uppercase();
            if ["CORECLR_", "COR_", "COMPLUS_", "DOTNET_", "REDIAL_"]
                .iter()
                .any(|prefix| text.starts_with(prefix))
            {
                command.env_remove(&name);
            }
        }
        command
            .env("DOTNET_ROOT", self.root())
            .env("DOTNET_MULTILEVEL_LOOKUP", "0")
            .env("DOTNET_ROLL_FORWARD", "Major")
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            .env("DOTNET_CLI_TELEMETRY_OPTOUT", "1")
            .env("DOTNET_NOLOGO", "1")
            // On a loaded machine, a bounded wait of the agent must not become a missed first call.
            .env("REDIAL_FIRST_CALL_MS", "20000");
    }
}

/// Folder of the runtime in its package.
const BIN: &str = "dotnetcore2/bin";

/// Returns ASP.NET Core of the SDK, which is for Linux.
fn asp_net(sdk: &Path, is_foreign: bool) -> OtherFramework<'_> {
    OtherFramework { root: sdk, name: "Microsoft.AspNetCore.App/3.1.2", is_foreign }
}

/// Returns the folder of the C# compiler. Windows gets a copy without the code precompiled for Linux.
///
/// # Errors
/// The package manager's message.
pub fn compiler() -> Result<PathBuf> {
    if cfg!(windows) { windows_compiler() } else { linux_compiler() }
}

fn linux_compiler() -> Result<PathBuf> {
    Ok(Runtime::SDK_3_1.ensure()?.root().join("sdk/3.1.102/Roslyn/bincore"))
}

/// Returns the compiler's folder for Windows.
///
/// # Errors
/// Fails like [`compiler`].
pub(crate) fn windows_compiler() -> Result<PathBuf> {
    layout::without_precompiled_code("windows/compiler", &packages::SDK_3_1, &linux_compiler()?)
}

/// Returns the path of the real single-file program on .NET 10.0.11, `fabmcp`; start it as `fabmcp server
/// start`.
///
/// # Errors
/// The package manager's message.
pub fn single_file_program() -> Result<PathBuf> {
    let folder = layout::plain("single-file/10.0.11", &packages::SINGLE_FILE_10_0, "package/dist", &[])?;
    Ok(folder.join("fabmcp"))
}

/// Sets up all runtimes and packages of the Linux suites and, with `windows`, those of the Wine suites.
///
/// Downloads run in parallel.
///
/// # Errors
/// The first failure, after all downloads have ended.
pub fn ensure_all(windows: bool) -> Result<()> {
    let mut jobs: Vec<fn() -> Result<()>> = vec![
        || Runtime::V2_1.ensure().map(drop),
        || Runtime::V8_0.ensure().map(drop),
        || Runtime::SDK_3_1.ensure().map(drop),
        || single_file_program().map(drop),
        || crate::fetch::package(&packages::NET_8_0).map(drop),
    ];
    if windows {
        jobs.push(|| Runtime::WINDOWS_2_1.ensure().map(drop));
        jobs.push(|| Runtime::WINDOWS_3_1.ensure().map(drop));
        jobs.push(|| Runtime::WINDOWS_8_0.ensure().map(drop));
        jobs.push(|| crate::fetch::package(&packages::WINDOWS_NET_8_0).map(drop));
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = jobs.into_iter().map(|job| scope.spawn(job)).collect();
        running
            .into_iter()
            .map(|job| job.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a set-up thread panicked"))))
            .collect::<Vec<_>>()
            .into_iter()
            .collect()
    })
}
