//! Release builds with the same bytes from any folder, and their separate symbols.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use redial_testbed::symbol_versions;

use super::release::Release;
use super::target::{OLDEST_GLIBC, Target};
use crate::build::target_folder;
use crate::process::{cargo, checkout, command, for_another_package, run, run_quietly};
use crate::setup::{step, zig};

/// Limits of the stripped files, in bytes.
const PROGRAM_LIMIT: u64 = 25_000_000;
const AGENT_LIMIT: u64 = 3_000_000;

/// Cargo's profiles of the program and the agent.
const PROFILES: [&str; 2] = ["dist", "dist-agent"];
/// Cargo's arguments for the program and the agent. Cargo leaves out link-time optimization when it also builds a library
/// for other crates, which the agent's tests need.
const BUILDS: [&[&str]; 2] = [
    &["build", "--package", "redial", "--profile", PROFILES[0]],
    &["rustc", "--package", "redial-agent", "--lib", "--crate-type", "cdylib", "--profile", PROFILES[1]],
];

/// Stripped programs and their symbols.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The system they run on.
    pub target: Target,
    /// The `redial` program.
    pub program: PathBuf,
    /// The agent library.
    pub agent: PathBuf,
    /// A file of symbols for each of them.
    pub symbols: Vec<PathBuf>,
}

/// Builds program and agent of this checkout, and moves their symbols into files of their own.
///
/// # Errors
/// When they do not compile, need a newer glibc than promised, or exceed their size.
pub fn compile(target: Target, release: &Release) -> Result<Programs> {
    compile_from(&checkout(), &target_folder(), target, release)
}

/// As [`compile`], from the source and in the target folder given.
///
/// # Errors
/// As [`compile`].
pub fn compile_from(
    source: &Path,
    target_folder: &Path,
    target: Target,
    release: &Release,
) -> Result<Programs> {
    let what = format!("redial {} ({}) for {}", release.version, release.commit, target.rid());
    step(&what, || BUILDS.iter().try_for_each(|one| build(source, target_folder, target, release, one)))?;
    let built = PROFILES.map(|profile| target_folder.join(target.triple()).join(profile));
    let programs = split(target, [&built[0], &built[1]], target_folder)?;
    check(&programs)?;
    Ok(programs)
}

/// Returns the program and the agent of a target as Cargo leaves them, with their symbols.
pub fn built(target: Target, target_folder: &Path) -> [PathBuf; 2] {
    let [program, agent] = PROFILES.map(|profile| target_folder.join(target.triple()).join(profile));
    [program.join(target.program()), agent.join(target.agent())]
}

/// Takes the symbols out of the program and the agent, which are in the folders given.
///
/// # Errors
/// When a program is missing, or `objcopy` fails.
pub fn split(target: Target, built: [&Path; 2], target_folder: &Path) -> Result<Programs> {
    let into = target_folder.join("packages/programs").join(target.rid());
    std::fs::create_dir_all(&into).with_context(|| into.display().to_string())?;
    let mut symbols = Vec::new();
    for (folder, file) in built.into_iter().zip([target.program(), target.agent()]) {
        symbols.push(strip(target, &folder.join(file), &into)?);
    }
    Ok(Programs { target, program: into.join(target.program()), agent: into.join(target.agent()), symbols })
}

fn build(
    source: &Path,
    target_folder: &Path,
    target: Target,
    release: &Release,
    arguments: &[&str],
) -> Result<()> {
    let triple = match target {
        Target::LinuxX64 => format!("{}.{}.{}", target.triple(), OLDEST_GLIBC.0, OLDEST_GLIBC.1),
        Target::WinX64 => target.triple().to_owned(),
    };
    let mut build = if target.is_windows() {
        cargo(arguments)
    } else {
        let zig = zig::ensure()?;
        // cargo-zigbuild runs the cargo that it finds by this variable or on the PATH.
        let mut build = for_another_package(command(&zig.cargo_command.to_string_lossy(), arguments));
        build.env("CARGO_ZIGBUILD_ZIG_PATH", &zig.zig);
        // Not the user's cache, whose files may name another folder.
        for variable in ["ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"] {
            build.env(variable, target_folder.join("zig"));
        }
        build
    };
    build.args(["--locked", "--target", &triple]);
    if !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        build.arg("--quiet");
    }
    build
        .current_dir(source)
        .env("CARGO_TARGET_DIR", target_folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags(source, target_folder, target)?.join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0")
        .env("REDIAL_COMMIT", &release.commit)
        .env("SOURCE_DATE_EPOCH", release.time.to_string());
    run(&mut build)
}

/// Returns the compiler's flags: every path in the output is one that any machine shares.
fn flags(source: &Path, target_folder: &Path, target: Target) -> Result<Vec<String>> {
    let rustc = |arguments: &[&str]| run_quietly(&mut command("rustc", arguments));
    let sysroot = rustc(&["--print", "sysroot"])?;
    let version = rustc(&["--version", "--verbose"])?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let home = std::env::var("CARGO_HOME").or_else(|_| {
        let home = std::env::var(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
        home.map(|home| format!("{home}/.cargo"))
    });
    let map = |from: &str, to: &str| format!("--remap-path-prefix={from}={to}");
    let mut flags = vec![
        map(&source.to_string_lossy(), "/redial"),
        // Of several that match, the last one counts. Build scripts write sources here.
        map(&target_folder.to_string_lossy(), "/redial/target"),
        map(&home.context("neither CARGO_HOME nor HOME is set")?, "/cargo"),
        map(
            &format!("{}/lib/rustlib/src/rust", sysroot.trim()),
            &format!("/rustc/{}", commit.unwrap_or("unknown")),
        ),
    ];
    if target.is_windows() {
        flags.push("-Clink-arg=-Wl,--no-insert-timestamp".to_owned());
    }
    Ok(flags)
}

/// Writes a stripped copy of `file` into a folder, and its symbols beside it. The copy names the file of symbols, which
/// debuggers then find in the same folder.
fn strip(target: Target, file: &Path, into: &Path) -> Result<PathBuf> {
    let name = file.file_name().context("a file without a name")?.to_string_lossy().into_owned();
    let stripped = into.join(&name);
    let symbols = into.join(format!("{name}.debug"));
    let objcopy = |arguments: &[&str], from: &Path, to: &Path| {
        let mut objcopy = command(&target.binutil("objcopy"), arguments);
        // Without it, the time is written into programs for Windows.
        run_quietly(objcopy.arg(from).arg(to).env("SOURCE_DATE_EPOCH", "0")).map(drop)
    };
    let mut keep = vec!["--only-keep-debug"];
    if target.is_windows() {
        // rustc names these symbols after temporary folders.
        keep.extend(["--wildcard", "--strip-symbol=*_dll_imports_lib*"]);
    }
    objcopy(&keep, file, &symbols)?;
    let link = format!("--add-gnu-debuglink={}", symbols.display());
    objcopy(&["--strip-all", &link], file, &stripped)?;
    Ok(symbols)
}

fn check(programs: &Programs) -> Result<()> {
    for (file, limit) in [(&programs.program, PROGRAM_LIMIT), (&programs.agent, AGENT_LIMIT)] {
        let bytes = file.metadata().with_context(|| file.display().to_string())?.len();
        println!("    {}: {:.1} MB", file.display(), bytes as f64 / 1e6);
        ensure!(bytes <= limit, "{} has {bytes} bytes; the limit is {limit}", file.display());
        if !programs.target.is_windows() {
            let newer = symbol_versions::newer_than(file, OLDEST_GLIBC)?;
            ensure!(newer.is_empty(), "{} needs a newer glibc: {}", file.display(), newer.join(", "));
        }
    }
    Ok(())
}
