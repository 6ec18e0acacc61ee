//! Zig as a linker, which can aim at an older glibc than this machine's, and its cargo command. Both come from the Python
//! index by name.

use std::path::PathBuf;

use anyhow::{Context, Result};
use redial_testbed::cache;

use crate::process::{command, run_quietly};

/// The pinned packages.
const PACKAGES: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// The file of [`LINKER`].
const LINKER_FILE: &str = "zig-for-any-folder";
/// Runs Zig, but links in the root folder: Zig compiles glibc's start files when it links, and their symbols name the folder.
const LINKER: &str = "#!/bin/sh
case \"$1 $* \" in
\"cc \"*\" -c \"* | \"cc \"*\" -E \"*) ;;
\"cc \"*) cd / ;;
esac
exec \"$(dirname \"$0\")/ziglang/zig\" \"$@\"
";

/// The two programs.
#[derive(Clone, Debug)]
pub struct Zig {
    /// `cargo-zigbuild`
    pub cargo_command: PathBuf,
    /// `zig`, for any folder
    pub zig: PathBuf,
}

/// Returns Zig in the cache folder, installed by pip if missing.
///
/// # Errors
/// pip's message.
pub fn ensure() -> Result<Zig> {
    let folder = cache::ensure("tools/zig", &[&PACKAGES.join("\n"), LINKER].join("\n"), |into| {
        println!("    installing {}", PACKAGES.join(" "));
        let target = into.to_string_lossy();
        let mut pip = vec!["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"];
        pip.extend(["--target", &target]);
        pip.extend(PACKAGES);
        run_quietly(&mut command("python3", &pip)).context("pip cannot install Zig")?;
        let linker = into.join(LINKER_FILE);
        std::fs::write(&linker, LINKER)?;
        run_quietly(command("chmod", &["755"]).arg(&linker)).map(drop)
    })?;
    Ok(Zig { cargo_command: folder.join("bin/cargo-zigbuild"), zig: folder.join(LINKER_FILE) })
}
