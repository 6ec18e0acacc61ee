//! Recipes to start a program with the agent without `redial run` or the window: what to set, restart and undo.
#![forbid(unsafe_code)]

mod containers;
mod recipe;
mod unix;
mod windows;

use crate::library;
pub use recipe::{Recipe, variables};
use std::path::Path;

/// The ways to start a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartMethod {
    /// Lines for a POSIX shell.
    Shell,
    /// Lines for PowerShell.
    PowerShell,
    /// A drop-in for a systemd service.
    Systemd,
    /// Options for `docker run`.
    Docker,
    /// A patch for a deployment.
    Kubernetes,
    /// A patch for a deployment whose agent an init container copies.
    InitContainer,
    /// Variables for a program that has the NuGet package.
    NuGet,
    /// An IIS application pool, by name.
    Iis(String),
    /// A Windows service, by name.
    WindowsService(String),
}

/// The accepted forms, for errors.
const FORMS: &str = "--for takes shell, powershell, systemd, docker, kubernetes, init-container, nuget, iis:POOL or windows-service:NAME";

impl StartMethod {
    /// The accepted keywords; `:` precedes a name.
    pub const WORDS: [&str; 9] = [
        "shell",
        "powershell",
        "systemd",
        "docker",
        "kubernetes",
        "init-container",
        "nuget",
        "iis:",
        "windows-service:",
    ];

    /// Parses the value of `--for`.
    ///
    /// # Errors
    /// A sentence with the accepted forms, or about the missing or unusable name.
    pub fn parse(word: &str) -> Result<StartMethod, String> {
        let (means, name) = word.split_once(':').map_or((word, None), |(means, name)| (means, Some(name)));
        match (means, name) {
            ("shell", None) => Ok(StartMethod::Shell),
            ("powershell", None) => Ok(StartMethod::PowerShell),
            ("systemd", None) => Ok(StartMethod::Systemd),
            ("docker", None) => Ok(StartMethod::Docker),
            ("kubernetes", None) => Ok(StartMethod::Kubernetes),
            ("init-container", None) => Ok(StartMethod::InitContainer),
            ("nuget", None) => Ok(StartMethod::NuGet),
            ("iis", Some(name)) => plain(name).map(StartMethod::Iis),
            ("windows-service", Some(name)) => plain(name).map(StartMethod::WindowsService),
            ("iis", None) => Err("the application pool is missing: iis:POOL".to_owned()),
            ("windows-service", None) => Err("the service is missing: windows-service:NAME".to_owned()),
            _ => Err(FORMS.to_owned()),
        }
    }

    /// Returns the keyword, without the name.
    pub fn word(&self) -> &'static str {
        match self {
            StartMethod::Shell => "shell",
            StartMethod::PowerShell => "powershell",
            StartMethod::Systemd => "systemd",
            StartMethod::Docker => "docker",
            StartMethod::Kubernetes => "kubernetes",
            StartMethod::InitContainer => "init-container",
            StartMethod::NuGet => "nuget",
            StartMethod::Iis(_) => "iis",
            StartMethod::WindowsService(_) => "windows-service",
        }
    }
}

/// Accepts names that are safe in commands. Names of pools and services have none of the rejected characters.
fn plain(name: &str) -> Result<String, String> {
    let is_odd = |letter: char| {
        letter.is_control() || matches!(letter, '\'' | '"' | '`' | '$' | '[' | ']' | '\\' | '/')
    };
    match name {
        "" => Err("the name is empty".to_owned()),
        name if name.contains(is_odd) => Err(format!("'{name}' is not a valid pool or service name")),
        name => Ok(name.to_owned()),
    }
}

/// Returns the recipe, with the path of the agent library on this machine where it applies.
///
/// # Errors
/// A sentence, when the agent library is not found.
pub fn recipe(means: &StartMethod) -> Result<Recipe, String> {
    let here = || text(&library::find_here().map_err(|error| error.to_string())?);
    // A recipe for another system names the library's place on that system.
    let there = |windows: bool, place: String| if windows == cfg!(windows) { here() } else { Ok(place) };
    Ok(match means {
        StartMethod::Shell => unix::shell(here()?),
        StartMethod::PowerShell => windows::powershell(here()?, cfg!(windows)),
        StartMethod::Systemd => unix::systemd(there(false, unix::elsewhere())?),
        StartMethod::Docker => containers::docker(there(false, unix::elsewhere())?),
        StartMethod::Kubernetes => containers::kubernetes(),
        StartMethod::InitContainer => containers::init_container(),
        StartMethod::NuGet => containers::nuget(),
        StartMethod::Iis(pool) => windows::iis(pool, there(true, windows::elsewhere())?),
        StartMethod::WindowsService(name) => windows::service(name, there(true, windows::elsewhere())?),
    })
}

fn text(path: &Path) -> Result<String, String> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("the path {} is not Unicode; move the agent library", path.display()))
}

#[cfg(test)]
mod tests;
