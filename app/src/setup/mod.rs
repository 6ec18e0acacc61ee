//! How a program is started with the agent by other means than `redial run` and the window's launch dialog: exactly what
//! to set, what to restart, and how to undo it.
#![forbid(unsafe_code)]

mod containers;
mod unix;
mod windows;

use crate::link::library;
use redial_protocol::AGENT_CLSID;
use std::path::Path;

/// What a user may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// A shell's lines, for what is started from it.
    Shell,
    /// The same of PowerShell.
    PowerShell,
    /// A drop-in of a systemd service.
    Systemd,
    /// Options of a container.
    Docker,
    /// A patch of a deployment.
    Kubernetes,
    /// An application pool.
    Iis(String),
    /// A service of Windows.
    WindowsService(String),
}

/// The forms, in one sentence.
const FORMS: &str =
    "--for takes shell, powershell, systemd, docker, kubernetes, iis:POOL or windows-service:NAME";

impl Means {
    /// Reads what was written after `--for`.
    pub fn parse(word: &str) -> Result<Means, String> {
        let (means, name) = word.split_once(':').map_or((word, None), |(means, name)| (means, Some(name)));
        match (means, name) {
            ("shell", None) => Ok(Means::Shell),
            ("powershell", None) => Ok(Means::PowerShell),
            ("systemd", None) => Ok(Means::Systemd),
            ("docker", None) => Ok(Means::Docker),
            ("kubernetes", None) => Ok(Means::Kubernetes),
            ("iis", Some(name)) => plain(name).map(Means::Iis),
            ("windows-service", Some(name)) => plain(name).map(Means::WindowsService),
            ("iis", None) => Err("the application pool is missing: iis:POOL".to_owned()),
            ("windows-service", None) => Err("the service is missing: windows-service:NAME".to_owned()),
            _ => Err(FORMS.to_owned()),
        }
    }

    /// The word of it, without the name.
    pub fn word(&self) -> &'static str {
        match self {
            Means::Shell => "shell",
            Means::PowerShell => "powershell",
            Means::Systemd => "systemd",
            Means::Docker => "docker",
            Means::Kubernetes => "kubernetes",
            Means::Iis(_) => "iis",
            Means::WindowsService(_) => "windows-service",
        }
    }
}

/// A name that can stand in commands: those of pools and services have none of these characters.
fn plain(name: &str) -> Result<String, String> {
    let is_odd = |letter: char| {
        letter.is_control() || matches!(letter, '\'' | '"' | '`' | '$' | '[' | ']' | '\\' | '/')
    };
    match name {
        "" => Err("the name is empty".to_owned()),
        name if name.contains(is_odd) => Err(format!("'{name}' is no name of a pool or service")),
        name => Ok(name.to_owned()),
    }
}

/// What to do.
pub struct Recipe {
    /// What it does, in one sentence.
    pub title: String,
    /// What to put in place: commands, or the content of a file.
    pub lines: Vec<String>,
    /// What to restart, and how.
    pub restart: Vec<String>,
    /// How all of it is taken back.
    pub undo: Vec<String>,
    /// What else to know.
    pub notes: Vec<String>,
    /// Where the library must lie for whoever loads it.
    pub library: String,
    /// Whether it is for Windows, with .NET Framework besides.
    pub windows: bool,
    /// Whether tests of this project use exactly this.
    pub tested: bool,
}

/// What to do for some means, with the agent that is found here.
///
/// # Errors
/// When there is none, as a sentence.
pub fn recipe(means: &Means) -> Result<Recipe, String> {
    let here = || text(&library::find_here().map_err(|error| error.to_string())?);
    // What is meant for another system names the place where the library goes there.
    let there = |windows: bool, place: String| if windows == cfg!(windows) { here() } else { Ok(place) };
    Ok(match means {
        Means::Shell => unix::shell(here()?),
        Means::PowerShell => windows::powershell(here()?, cfg!(windows)),
        Means::Systemd => unix::systemd(there(false, unix::elsewhere())?),
        Means::Docker => containers::docker(there(false, unix::elsewhere())?),
        Means::Kubernetes => containers::kubernetes(),
        Means::Iis(pool) => windows::iis(pool, there(true, windows::elsewhere())?),
        Means::WindowsService(name) => windows::service(name, there(true, windows::elsewhere())?),
    })
}

fn text(path: &Path) -> Result<String, String> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("{} is no Unicode, as variables need it", path.display()))
}

impl Recipe {
    /// The lines as they can be used; all that is said besides is comments.
    pub fn text(&self) -> Vec<String> {
        let comment = |text: &str| format!("# {text}");
        let mut lines = vec![comment(&self.title)];
        if !self.tested {
            lines.push(comment("(written from the documentation; not run by Redial's tests)"));
        }
        lines.extend(self.notes.iter().map(|note| comment(note)));
        lines.extend(self.lines.iter().cloned());
        for (what, steps) in [("then", &self.restart), ("undo", &self.undo)] {
            lines.extend(steps.iter().map(|step| comment(&format!("{what}: {step}"))));
        }
        lines
    }
}

/// The variables that make a runtime load the agent from `library`; on Windows also those of .NET Framework.
pub fn variables(library: &str, windows: bool) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        ("CORECLR_ENABLE_PROFILING", "1".to_owned()),
        ("CORECLR_PROFILER", AGENT_CLSID.to_owned()),
        ("CORECLR_PROFILER_PATH", library.to_owned()),
    ];
    if windows {
        variables.extend([
            ("COR_ENABLE_PROFILING", "1".to_owned()),
            ("COR_PROFILER", AGENT_CLSID.to_owned()),
            ("COR_PROFILER_PATH", library.to_owned()),
        ]);
    }
    variables
}

fn names(windows: bool) -> impl Iterator<Item = &'static str> {
    variables("", windows).into_iter().map(|(name, _)| name)
}

#[cfg(test)]
mod tests;
