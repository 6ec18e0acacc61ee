//! Finds the PDB of a module: embedded, beside the module, where the compiler wrote it, or in folders that the user names.

use super::pdb::{MethodSource, PortablePdb};
use super::pe::{DebugDirectory, PdbId};
use std::fmt;
use std::path::{Path, PathBuf};

/// Largest file to read, bytes.
const MAX_FILE: u64 = 512 << 20;

/// A place where a PDB may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the module itself.
    Embedded(PathBuf),
    /// A file.
    File(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Embedded(module) => write!(to, "{} (embedded)", module.display()),
            Place::File(path) => write!(to, "{}", path.display()),
        }
    }
}

/// Why a place does not help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There is no file.
    Missing,
    /// The file cannot be read, or is no module or PDB, with the reason.
    Unusable(String),
    /// The PDB belongs to another build of the module.
    OtherBuild,
    /// The module has no PDB in it.
    NotEmbedded,
}

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing => to.write_str("no such file"),
            Problem::Unusable(why) => to.write_str(why),
            Problem::OtherBuild => to.write_str("belongs to another build of the module"),
            Problem::NotEmbedded => to.write_str("has no PDB in it"),
        }
    }
}

/// A place that was searched without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The place.
    pub place: Place,
    /// Why it does not help.
    pub problem: Problem,
}

/// A PDB that belongs to the module.
#[derive(Debug)]
pub struct Found {
    /// Where it was.
    pub place: Place,
    bytes: Vec<u8>,
}

impl Found {
    /// Returns the source of a method by its token.
    ///
    /// # Errors
    /// A sentence, when the PDB is damaged.
    pub fn method(&self, token: u32) -> Result<Option<MethodSource>, String> {
        let damaged = |error| format!("{}: {error}", self.place);
        PortablePdb::parse(&self.bytes).and_then(|pdb| pdb.method(token & 0x00ff_ffff)).map_err(damaged)
    }
}

/// Where to look for PDBs.
#[derive(Clone, Debug, Default)]
pub struct SymbolSearch {
    /// The root of the process's files as seen from here, `/proc/PID/root` on Linux; tried before the path itself.
    pub root: Option<PathBuf>,
    /// Folders that the user names.
    pub folders: Vec<PathBuf>,
}

impl SymbolSearch {
    /// Returns the search for a process of this machine.
    pub fn of_process(pid: u32, folders: Vec<PathBuf>) -> SymbolSearch {
        let root = cfg!(target_os = "linux").then(|| PathBuf::from(format!("/proc/{pid}/root")));
        SymbolSearch { root, folders }
    }

    /// Finds the PDB of the module at this path, as the process names it.
    ///
    /// # Errors
    /// The places that were searched, in this order.
    pub fn find(&self, module: &Path) -> Result<Found, Vec<Searched>> {
        let mut searched = Vec::new();
        let Some((directory, module)) = self.directory(module, &mut searched) else { return Err(searched) };
        let DebugDirectory { id, path, embedded } = directory;
        let place = Place::Embedded(module.clone());
        let mut check = |place: Place, bytes: Result<Vec<u8>, Problem>| match bytes.and_then(|bytes| {
            belongs(&bytes, id)?;
            Ok(bytes)
        }) {
            Ok(bytes) => Some(Found { place, bytes }),
            Err(problem) => {
                searched.push(Searched { place, problem });
                None
            }
        };
        if let Some(found) = check(place, embedded.ok_or(Problem::NotEmbedded)) {
            return Ok(found);
        }
        for path in self.candidates(&module, &path) {
            if let Some(found) = check(Place::File(path.clone()), read(&path)) {
                return Ok(found);
            }
        }
        Err(searched)
    }

    /// Reads the module through the process's root, or directly.
    fn directory(&self, module: &Path, searched: &mut Vec<Searched>) -> Option<(DebugDirectory, PathBuf)> {
        let paths = self.root.iter().map(|root| within(root, module)).chain([module.to_owned()]);
        for path in paths {
            let directory = read(&path).and_then(|bytes| {
                DebugDirectory::of(&bytes).map_err(|error| Problem::Unusable(error.to_string()))
            });
            match directory {
                Ok(directory) => return Some((directory, path)),
                Err(problem) => searched.push(Searched { place: Place::File(path), problem }),
            }
        }
        None
    }

    /// Returns the files that may be the PDB, each once.
    fn candidates(&self, module: &Path, written: &str) -> Vec<PathBuf> {
        let beside = module.with_extension("pdb");
        // The compiler may have run on another system.
        let name = written.rsplit(['/', '\\']).next().filter(|name| !name.is_empty() && *name != "..");
        let name =
            name.map_or_else(|| beside.file_name().map(PathBuf::from), |name| Some(PathBuf::from(name)));
        let mut paths = vec![beside.clone()];
        paths.extend(name.iter().map(|name| beside.with_file_name(name)));
        if Path::new(written).is_absolute() {
            paths.extend(self.root.iter().map(|root| within(root, Path::new(written))));
            paths.push(PathBuf::from(written));
        }
        for folder in &self.folders {
            paths.extend(name.iter().map(|name| folder.join(name)));
            paths.extend(beside.file_name().map(|name| folder.join(name)));
        }
        let mut unique = Vec::new();
        for path in paths {
            if !unique.contains(&path) {
                unique.push(path);
            }
        }
        unique
    }
}

/// Returns an absolute path below a root.
fn within(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn belongs(bytes: &[u8], id: Option<PdbId>) -> Result<(), Problem> {
    let pdb = PortablePdb::parse(bytes).map_err(|error| Problem::Unusable(error.to_string()))?;
    // A module without an id cannot be told from another build.
    if Some(pdb.id()) == id { Ok(()) } else { Err(Problem::OtherBuild) }
}

/// Reads a regular file: a pipe or device would block.
fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let unusable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Problem::Missing,
        _ => Problem::Unusable(error.to_string()),
    };
    let about = std::fs::metadata(path).map_err(unusable)?;
    if !about.is_file() {
        return Err(Problem::Unusable("it is not a file".to_owned()));
    }
    if about.len() > MAX_FILE {
        return Err(Problem::Unusable("it is too large".to_owned()));
    }
    std::fs::read(path).map_err(unusable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_every_place_once() {
        let search = SymbolSearch {
            root: Some("/proc/7/root".into()),
            folders: vec!["/symbols".into(), "/symbols".into()],
        };
        let shown = |written: &str| {
            let paths = search.candidates(Path::new("/proc/7/root/app/Shop.dll"), written);
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(shown("Shop.pdb"), ["/proc/7/root/app/Shop.pdb", "/symbols/Shop.pdb"]);
        assert_eq!(
            shown("/src/obj/Store.pdb"),
            [
                "/proc/7/root/app/Shop.pdb",
                "/proc/7/root/app/Store.pdb",
                "/proc/7/root/src/obj/Store.pdb",
                "/src/obj/Store.pdb",
                "/symbols/Store.pdb",
                "/symbols/Shop.pdb",
            ]
        );
        assert_eq!(shown(r"C:\src\Shop.pdb"), ["/proc/7/root/app/Shop.pdb", "/symbols/Shop.pdb"]);
    }

    #[test]
    fn tells_where_it_looked() {
        let folder = std::env::temp_dir().join(format!("redial-symbols-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let module = folder.join("No.dll");
        std::fs::write(&module, "MZ and nothing else").expect("written");
        let searched = SymbolSearch::default().find(&module).expect_err("no PDB");
        let [Searched { place: Place::File(path), problem: Problem::Unusable(why) }] = &searched[..] else {
            panic!("{searched:?}");
        };
        assert_eq!((path, why.as_str()), (&module, "it is not a PE file"));
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
