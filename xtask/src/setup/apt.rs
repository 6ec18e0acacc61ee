//! System packages by apt: installed if permitted, else the command is printed.

use anyhow::{Result, bail};

use crate::process::{command, run_quietly, works};

/// Every package: the cross compiler for Windows, Wine, a C++ compiler for the fuzzers, libraries that draw the window
/// (with or without a display), and systemd's verifier of units.
pub const ALL: &[&str] = &[
    "binutils-mingw-w64-x86-64",
    "g++",
    "g++-mingw-w64-x86-64-posix",
    "gcc-mingw-w64-x86-64-posix",
    "libegl-mesa0",
    "libegl1",
    "libgl1-mesa-dri",
    "libx11-xcb1",
    "libxcursor1",
    "libxi6",
    "libxkbcommon-x11-0",
    "mesa-vulkan-drivers",
    "systemd",
    "wine",
    "wine64",
    "xvfb",
];

/// Installs `packages` where they are missing.
///
/// # Errors
/// The command to run by hand, where packages are missing and this user may not install them.
pub fn ensure(packages: &[&str]) -> Result<()> {
    let missing: Vec<_> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = format!("sudo apt-get install --no-install-recommends {}", missing.join(" "));
    if !works("apt-get", &["--version"]) {
        println!(
            "    not a system with apt; please install what these Debian packages hold: {}",
            missing.join(" ")
        );
        return Ok(());
    }
    // `id -u` prints 0 for root; sudo -n fails at once where it would ask for a password.
    let prefix: &[&str] = if run_quietly(&mut command("id", &["-u"]))?.trim() == "0" {
        &[]
    } else if works("sudo", &["-n", "true"]) {
        &["sudo", "-n"]
    } else {
        bail!("system packages are missing and this user may not install them; please run: {by_hand}")
    };
    println!("    installing {}", missing.join(" "));
    apt(prefix, &["update"])?;
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(&missing);
    apt(prefix, &install)
}

fn apt(prefix: &[&str], arguments: &[&str]) -> Result<()> {
    let mut line: Vec<&str> = prefix.to_vec();
    line.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120"]);
    line.extend(arguments);
    let Some((program, rest)) = line.split_first() else { return Ok(()) };
    run_quietly(&mut command(program, rest)).map(drop)
}

fn is_installed(package: &str) -> bool {
    run_quietly(&mut command("dpkg-query", &["-W", "-f=${Status}", package]))
        .is_ok_and(|status| status == "install ok installed")
}
