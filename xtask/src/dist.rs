//! `cargo xtask dist`: the packages of a release in `target/packages`.

mod agent_packages;
mod archives;
mod compile;
mod contents;
mod documents;
mod file_tree;
mod release;
mod reproduction;
mod system_packages;
mod target;
mod third_party;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::build::{Built, target_folder};
use crate::process::{command, run_quietly};
use crate::setup::{apt, step};
use compile::Programs;
use contents::Contents;
use file_tree::FileTree;
use release::Release;
pub use reproduction::reproduce;
use target::Target;

/// A kind of package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Archive for Linux, with an archive of symbols
    Tar,
    /// Debian package
    Deb,
    /// RPM package
    Rpm,
    /// Archive for Windows, with an archive of symbols
    Zip,
    /// Windows installer
    Msi,
    /// NuGet package of the agents
    Nuget,
    /// Files of a container image with the agents
    Image,
}

impl Format {
    const ALL: [Format; 7] =
        [Format::Tar, Format::Deb, Format::Rpm, Format::Zip, Format::Msi, Format::Nuget, Format::Image];

    fn targets(self) -> &'static [Target] {
        match self {
            Format::Tar | Format::Deb | Format::Rpm | Format::Image => &[Target::LinuxX64],
            Format::Zip | Format::Msi => &[Target::WinX64],
            Format::Nuget => &Target::ALL,
        }
    }
}

/// System packages that make packages.
const TOOLS: &[&str] = &[
    "binutils",
    "binutils-mingw-w64-x86-64",
    "gcc-mingw-w64-x86-64-posix",
    "msitools",
    "rpm",
    "wixl",
    "zip",
];

/// Makes the packages of these formats, or all, and returns their folder.
///
/// # Errors
/// The first thing that fails.
pub fn run(formats: &[Format]) -> Result<PathBuf> {
    if !cfg!(target_os = "linux") {
        bail!("packages, those for Windows included, are made on Linux");
    }
    let formats = if formats.is_empty() { &Format::ALL } else { formats };
    step("tools for packages", || apt::ensure(TOOLS))?;
    let release = Release::of_checkout()?;
    let native = compile::compile(Target::LinuxX64, &release)?;
    let mut programs = vec![native];
    if formats.iter().any(|format| format.targets().contains(&Target::WinX64)) {
        programs.push(compile::compile(Target::WinX64, &release)?);
    }
    let to = target_folder().join("packages").join(&release.version);
    pack_all(formats, &programs, &release, &to)?;
    println!("    {}", to.display());
    Ok(to)
}

/// Returns the agent and the program that [`run`] built for Linux last.
///
/// # Errors
/// When it has not built them.
pub fn linux_programs() -> Result<Built> {
    let [program, agent] = compile::built(Target::LinuxX64, &target_folder());
    for file in [&agent, &program] {
        if !file.is_file() {
            bail!("{} is missing; cargo xtask dist builds it", file.display());
        }
    }
    Ok(Built::of(agent, program))
}

/// Makes the packages for Linux of these formats, or all, from the debug builds of the tests.
///
/// # Errors
/// When `cargo xtask test` has not built them, and as [`run`].
pub fn run_with_debug_builds(formats: &[Format]) -> Result<PathBuf> {
    step("tools for packages", || apt::ensure(TOOLS))?;
    let release = Release::of_checkout()?;
    let built = target_folder().join("debug");
    let programs = compile::split(Target::LinuxX64, [&built, &built], &target_folder())?;
    let is_linux = |format: &&Format| format.targets() == [Target::LinuxX64];
    let all = if formats.is_empty() { &Format::ALL } else { formats };
    let formats: Vec<Format> = all.iter().filter(is_linux).copied().collect();
    let to = target_folder().join("packages/debug");
    pack_all(&formats, &[programs], &release, &to)?;
    println!("    {}", to.display());
    Ok(to)
}

/// Makes packages of programs. The first of them are those for this machine, which write manual and completions.
fn pack_all(formats: &[Format], programs: &[Programs], release: &Release, to: &Path) -> Result<()> {
    let native = programs.first().context("nothing was built")?;
    let contents = programs
        .iter()
        .map(|programs| Contents::of(programs.clone(), native, release))
        .collect::<Result<Vec<_>>>()?;
    FileTree::new(to.to_owned(), release)?;
    for format in formats {
        step(&format!("{format:?}").to_lowercase(), || make(*format, &contents, release, to))?;
    }
    for contents in &contents {
        let bill = format!("{}.cdx.json", release.name(contents.programs().target.rid()));
        std::fs::write(to.join(bill), &contents.bill)?;
    }
    write_checksums(to)
}

fn make(format: Format, contents: &[Contents], release: &Release, to: &Path) -> Result<()> {
    let work = target_folder().join("packages/work");
    let of = |target: Target| {
        let found = contents.iter().find(|contents| contents.programs().target == target);
        found.with_context(|| format!("nothing was built for {}", target.rid()))
    };
    let version = &release.version;
    match format {
        Format::Tar | Format::Zip => {
            let contents = of(if format == Format::Tar { Target::LinuxX64 } else { Target::WinX64 })?;
            archive(contents, release, &work, to)
        }
        Format::Deb => {
            let package = to.join(format!("redial_{version}_amd64.deb"));
            system_packages::deb(of(Target::LinuxX64)?, release, &work, &package)
        }
        Format::Rpm => {
            let package = to.join(format!("redial-{version}-1.x86_64.rpm"));
            system_packages::rpm(of(Target::LinuxX64)?, release, &work, &package)
        }
        Format::Msi => {
            let package = to.join(format!("{}.msi", release.name(Target::WinX64.rid())));
            system_packages::msi(of(Target::WinX64)?, release, &work, &package)
        }
        Format::Nuget => {
            let package = to.join(format!("Redial.Agent.{version}.nupkg"));
            agent_packages::nuget(contents, release, &work, &package)
        }
        Format::Image => {
            let package = to.join(format!("redial-{version}-agent-image.tar.gz"));
            agent_packages::image(contents, release, &work, &package)
        }
    }
}

/// Makes the archive of a system, and the archive of its symbols.
fn archive(contents: &Contents, release: &Release, work: &Path, to: &Path) -> Result<()> {
    let target = contents.programs().target;
    let name = release.name(target.rid());
    let tree = FileTree::new(work.join(&name), release)?;
    contents.archive(&tree)?;
    pack(&tree, target, release, to)?;
    let symbols = FileTree::new(work.join(format!("{name}-symbols")), release)?;
    for file in &contents.programs().symbols {
        symbols.copy(file, &file.file_name().unwrap_or_default().to_string_lossy())?;
    }
    symbols.finish(&[])?;
    pack(&symbols, target, release, to)
}

/// Packs a folder under its own name: as zip for Windows, else as tar.gz.
fn pack(tree: &FileTree, target: Target, release: &Release, to: &Path) -> Result<()> {
    let name = tree.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !target.is_windows() {
        return archives::tar_gz(tree, release, &to.join(format!("{name}.tar.gz")));
    }
    let parent = tree.root().parent().context("a folder without a parent")?;
    let files: Vec<String> = tree.files()?.into_iter().map(|file| format!("{name}/{file}")).collect();
    archives::zip(parent, &files, &to.join(format!("{name}.zip")))
}

/// Writes `SHA256SUMS` over all files of a folder, for `sha256sum --check`.
fn write_checksums(folder: &Path) -> Result<()> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        files.insert(entry?.file_name());
    }
    let sums = run_quietly(command("sha256sum", &["--"]).args(files).current_dir(folder))?;
    std::fs::write(folder.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")
}
