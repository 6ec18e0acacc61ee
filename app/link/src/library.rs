//! Finds the agent library for a platform and checks that it fits.
#![forbid(unsafe_code)]

use crate::platform::{Platform, SystemLibrary};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// File name of the agent library.
pub const FILE: &str = if cfg!(windows) { "redial_agent.dll" } else { "libredial_agent.so" };
/// The variable that overrides its path.
pub const VARIABLE: &str = "REDIAL_AGENT";
/// The folder of agents that were copied to a container or another machine; see [`path_below`].
pub const COPIES: &str = "/opt/redial";

/// The library was not found.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// The variable names a missing file.
    #[error("{VARIABLE} names {0}, which is not a file")]
    Named(PathBuf),
    /// No searched folder has it; holds the folders.
    #[error("the agent library {FILE} was not found (looked in {}); set {VARIABLE} to its path", listed(.0))]
    NotFound(Vec<PathBuf>),
    /// No searched folder has one for the platform of a process.
    #[error("there is no agent for {platform} here (looked in {}); {}", listed(folders), remedy(platform))]
    NoneFor {
        /// The platform of the process.
        platform: Platform,
        /// The folders.
        folders: Vec<PathBuf>,
    },
}

fn remedy(platform: &Platform) -> String {
    let package = platform.package();
    match platform.is_published() {
        true => format!("install the package {package}"),
        false => format!("it will come in the package {package}, which is not published yet"),
    }
}

fn listed(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    if folders.is_empty() { "no folder".to_owned() } else { folders.join(", ") }
}

/// Finds the library for this program's platform; see [`find_for`].
pub fn find(named: Option<PathBuf>, program: Option<&Path>) -> Result<PathBuf, LibraryError> {
    find_for(&Platform::own(), named, program)
}

/// Finds the library for a platform. Uses only `named` (the value of `REDIAL_AGENT`) if given; otherwise looks in
/// `agents/PLATFORM` beside the program. For this program's own platform it also looks beside the program and in its
/// build folder. Returns an absolute path.
pub fn find_for(
    platform: &Platform,
    named: Option<PathBuf>,
    program: Option<&Path>,
) -> Result<PathBuf, LibraryError> {
    if let Some(path) = named.filter(|path| !path.as_os_str().is_empty()) {
        return match path.is_file() {
            true => Ok(std::path::absolute(&path).unwrap_or(path)),
            false => Err(LibraryError::Named(path)),
        };
    }
    let folders = folders(platform, program);
    let found = folders.iter().map(|folder| folder.join(FILE)).find(|path| path.is_file());
    found.ok_or_else(|| match *platform == Platform::own() {
        true => LibraryError::NotFound(folders),
        false => LibraryError::NoneFor { platform: platform.clone(), folders },
    })
}

/// Finds the library of this program's platform from this process's environment and location.
pub fn find_here() -> Result<PathBuf, LibraryError> {
    find_here_for(&Platform::own())
}

/// Finds the library of a platform from this process's environment and location.
pub fn find_here_for(platform: &Platform) -> Result<PathBuf, LibraryError> {
    let program = std::env::current_exe().ok();
    find_for(platform, std::env::var_os(VARIABLE).map(PathBuf::from), program.as_deref())
}

/// Returns the library for a program that is about to start, by the platform of its file. What is no program file itself,
/// such as a script, gets the library of this program's platform.
///
/// # Errors
/// A sentence, when there is no library or it does not fit.
pub fn to_start(program: &OsStr) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let file = match Path::new(program).components().count() {
        1 => std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file()),
        _ => Some(PathBuf::from(program)),
    };
    let platform = file.and_then(|file| Platform::of_file(&file, std::iter::empty()));
    let platform = platform.unwrap_or_else(Platform::own);
    let library = find_here_for(&platform).map_err(|error| error.to_string())?;
    check_for(&library, &platform)?;
    Ok(library)
}

/// Returns the path of a platform's library below the folder of an installation.
pub fn path_below(folder: &str, platform: &Platform) -> PathBuf {
    Path::new(folder).join("agents").join(platform.to_string()).join(FILE)
}

fn folders(platform: &Platform, program: Option<&Path>) -> Vec<PathBuf> {
    let Some(beside) = program.and_then(Path::parent) else { return Vec::new() };
    let mut folders = vec![beside.join("agents").join(platform.to_string())];
    if *platform != Platform::own() {
        return folders;
    }
    folders.push(beside.to_owned());
    // A test program lies in target/PROFILE/deps.
    if beside.file_name().is_some_and(|name| name == "deps") {
        folders.extend(beside.parent().map(Path::to_owned));
    } else {
        folders.push(beside.join("deps"));
    }
    folders
}

/// Checks by its header that a file is a shared library for this program's platform; see [`check_for`].
pub fn check(path: &Path) -> Result<(), String> {
    check_for(path, &Platform::own())
}

/// Checks by its header that a file is a shared library for a platform. The error is a sentence about the
/// file.
pub fn check_for(path: &Path, platform: &Platform) -> Result<(), String> {
    let mut head = Vec::new();
    let file =
        std::fs::File::open(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    file.take(4096)
        .read_to_end(&mut head)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let windows = platform.system == SystemLibrary::Windows;
    let machine = if windows { pe_machine(&head) } else { elf_machine(&head) };
    let Some(machine) = machine else {
        return Err(format!("{} is not a shared library of this system", path.display()));
    };
    if Some(machine) != machine_of(platform) {
        return Err(format!(
            "{} is built for another processor (machine {machine:#x}); the process needs an agent for {platform}",
            path.display()
        ));
    }
    match Platform::of_file(path, std::iter::empty()) {
        Some(found) if found != *platform => {
            Err(format!("{} is built for {found}; the process needs an agent for {platform}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Reads e_machine of a shared object (System V ABI: e_type 3 at 16, e_machine at 18).
fn elf_machine(head: &[u8]) -> Option<u16> {
    let shared = head.starts_with(b"\x7fELF\x02\x01") && head.get(16..18)? == [3, 0];
    shared.then(|| u16_at(head, 18))?
}

/// Reads Machine of a DLL (PE format: e_lfanew at 0x3c, "PE\0\0", Machine, and IMAGE_FILE_DLL 0x2000 at 18
/// after it).
fn pe_machine(head: &[u8]) -> Option<u16> {
    let at = usize::from(u16_at(head, 0x3c)?);
    let library =
        head.starts_with(b"MZ") && head.get(at..at + 4)? == b"PE\0\0" && u16_at(head, at + 22)? & 0x2000 != 0;
    library.then(|| u16_at(head, at + 4))?
}

fn machine_of(platform: &Platform) -> Option<u16> {
    match (platform.processor.as_str(), platform.system == SystemLibrary::Windows) {
        ("x64", false) => Some(62),
        ("arm64", false) => Some(183),
        ("x64", true) => Some(0x8664),
        ("arm64", true) => Some(0xaa64),
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("redial-library-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deps")).expect("folder");
        folder
    }

    #[test]
    fn the_variable_overrides_all_folders() {
        let folder = folder("named");
        std::fs::write(folder.join(FILE), "").expect("file");
        let program = folder.join("redial");
        let other = folder.join("other.so");
        assert_eq!(find(Some(other.clone()), Some(&program)), Err(LibraryError::Named(other.clone())));
        std::fs::write(&other, "").expect("file");
        assert_eq!(find(Some(other.clone()), Some(&program)), Ok(other));
        assert_eq!(find(Some(PathBuf::new()), Some(&program)), Ok(folder.join(FILE)), "empty is absent");
        std::fs::remove_dir_all(folder).expect("cleaned");
    }

    #[test]
    fn searches_beside_the_program_and_in_build_folder() {
        let folder = folder("places");
        let program = folder.join("redial");
        let error = find(None, Some(&program)).expect_err("nothing is there");
        assert!(error.to_string().contains(&folder.display().to_string()), "{error}");
        let built = folder.join("deps").join(FILE);
        std::fs::write(&built, "").expect("file");
        assert_eq!(find(None, Some(&program)), Ok(built));
        let beside = folder.join(FILE);
        std::fs::write(&beside, "").expect("file");
        assert_eq!(find(None, Some(&program)), Ok(beside.clone()));
        std::fs::remove_file(folder.join("deps").join(FILE)).expect("removed");
        assert_eq!(find(None, Some(&folder.join("deps/test"))), Ok(beside), "a test's program");
        std::fs::remove_dir_all(folder).expect("cleaned");
    }

    #[test]
    fn other_platforms_have_folders_and_packages_of_their_own() {
        let folder = folder("platforms");
        let program = folder.join("redial");
        std::fs::write(folder.join(FILE), "").expect("file");
        let musl = Platform { system: SystemLibrary::Musl, processor: "x64".into() };
        let error = find_for(&musl, None, Some(&program)).expect_err("there is only our own").to_string();
        assert!(error.contains("no agent for linux-musl-x64"), "{error}");
        assert!(error.contains("package redial-agent-linux-musl-x64, which is not published yet"), "{error}");
        let path = path_below(folder.to_str().expect("a path"), &musl);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        std::fs::write(&path, "").expect("file");
        assert_eq!(find_for(&musl, None, Some(&program)), Ok(path));
        std::fs::remove_dir_all(folder).expect("cleaned");
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    fn a_library_must_fit_the_platform() {
        // Test programs are position-independent, so their headers are those of libraries.
        let own = std::env::current_exe().expect("a path");
        let platform = |system, processor: &str| Platform { system, processor: processor.into() };
        assert_eq!(check_for(&own, &Platform::own()), Ok(()));
        for (other, part) in [
            (
                platform(SystemLibrary::Musl, "x64"),
                "built for linux-x64; the process needs an agent for linux-musl-x64",
            ),
            (platform(SystemLibrary::Glibc, "arm64"), "another processor (machine 0x3e)"),
            (platform(SystemLibrary::Windows, "x64"), "not a shared library"),
        ] {
            assert!(check_for(&own, &other).is_err_and(|why| why.contains(part)), "{other}");
        }
    }

    #[test]
    fn recognizes_libraries_by_their_headers() {
        let mut elf = vec![0u8; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[16], elf[18]) = (3, 62);
        assert_eq!(elf_machine(&elf), Some(62));
        elf[16] = 2;
        assert_eq!(elf_machine(&elf), None, "a program is not a library");
        let mut pe = vec![0u8; 0x80];
        pe[..2].copy_from_slice(b"MZ");
        pe[0x3c] = 0x40;
        pe[0x40..0x46].copy_from_slice(b"PE\0\0\x64\x86");
        pe[0x57] = 0x20;
        assert_eq!(pe_machine(&pe), Some(0x8664));
        for length in 0..0x58 {
            assert_eq!(pe_machine(&pe[..length]), None, "{length} bytes");
        }
        assert_eq!((elf_machine(b"\x7fELF"), elf_machine(b"")), (None, None));
    }
}
