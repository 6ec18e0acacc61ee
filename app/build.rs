//! Names the commit and the target for `redial --version`, and gives Windows programs their icon.

use std::path::Path;
use std::process::Command;

/// Names the commit where there is no Git repository, and overrides it elsewhere.
const COMMIT: &str = "REDIAL_COMMIT";
/// `assets/package/redial.svg` in the sizes that Windows uses.
const ICON: &str = "../assets/package/redial.ico";

fn main() {
    println!("cargo::rerun-if-env-changed={COMMIT}");
    println!("cargo::rerun-if-changed=build.rs");
    let named = std::env::var(COMMIT).ok().filter(|commit| !commit.is_empty());
    let commit = named.or_else(head).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env={COMMIT}={commit}");
    println!("cargo::rustc-env=REDIAL_TARGET={}", std::env::var("TARGET").unwrap_or_default());
    println!("cargo::rerun-if-changed={ICON}");
    if std::env::var_os("CARGO_CFG_WINDOWS").is_some()
        && let Err(error) = winresource::WindowsResource::new().set_icon(ICON).compile()
    {
        println!("cargo::error=the icon cannot be added: {error}");
    }
}

/// Returns the commit that is checked out, and has cargo look again once another one is.
fn head() -> Option<String> {
    // A source folder inside some other repository must not name that one's commit.
    let root = git(&["rev-parse", "--show-toplevel"])?;
    if !Path::new(&root).join("app/build.rs").is_file() {
        return None;
    }
    // Git appends a line to this file at each commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).is_file() {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
