//! The systems that packages are made for.

use redial_testbed::artefacts;

/// The oldest glibc that Linux packages run on.
pub const OLDEST_GLIBC: (u32, u32) = (2, 28);

/// A system with packages. 64-bit ARM and musl are to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    /// Linux on x64 with glibc
    LinuxX64,
    /// Windows on x64
    WinX64,
}

impl Target {
    /// Returns every target.
    pub const ALL: [Target; 2] = [Target::LinuxX64, Target::WinX64];

    /// Returns .NET's identifier of the system, which names agents and archives.
    pub const fn rid(self) -> &'static str {
        match self {
            Target::LinuxX64 => "linux-x64",
            Target::WinX64 => "win-x64",
        }
    }

    /// Returns Rust's target triple.
    pub const fn triple(self) -> &'static str {
        match self {
            Target::LinuxX64 => "x86_64-unknown-linux-gnu",
            Target::WinX64 => artefacts::WINDOWS_TARGET,
        }
    }

    /// Returns whether it is Windows.
    pub const fn is_windows(self) -> bool {
        matches!(self, Target::WinX64)
    }

    /// Returns the file name of the program.
    pub const fn program(self) -> &'static str {
        artefacts::program_name(self.is_windows())
    }

    /// Returns the file name of the agent library.
    pub const fn agent(self) -> &'static str {
        artefacts::library_name(self.is_windows())
    }

    /// Returns the binutils program of this target, such as `objcopy`.
    pub fn binutil(self, name: &str) -> String {
        if self.is_windows() { format!("x86_64-w64-mingw32-{name}") } else { name.to_owned() }
    }
}
