//! The agent library for a running process, under the path by which that process finds it.
#![forbid(unsafe_code)]

use crate::discover;
use crate::library::{self, LibraryError};
use crate::platform::Platform;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Folders in which a container may have agents: where the recipes for containers put them, and where packages do.
const INSTALLATIONS: [&str; 2] = [library::COPIES, "/usr/lib/redial"];

/// Why no library can be used for a process.
#[derive(Debug, PartialEq, Eq)]
pub enum AgentPathError {
    /// There is none for its platform on this side.
    Library(LibraryError),
    /// The file is not for its platform; holds a sentence.
    Unfit(String),
    /// The process has its own file system without a library; holds the path where it could be.
    Hidden(PathBuf),
}

/// Returns the path of a fitting library as process `pid` sees it. A process with its own root, such as one in a
/// container, must have the file there.
///
/// # Errors
/// See [`AgentPathError`].
pub fn of(pid: u32) -> Result<PathBuf, AgentPathError> {
    let platform = discover::platform(pid).unwrap_or_else(Platform::own);
    let here = library::find_here_for(&platform);
    if !cfg!(unix) {
        let library = here.map_err(AgentPathError::Library)?;
        return library::check_for(&library, &platform).map(|()| library).map_err(AgentPathError::Unfit);
    }
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let installed = INSTALLATIONS.iter().map(|folder| library::path_below(folder, &platform));
    choose(&root, &platform, here, installed)
}

/// Describes a process without this library in a file system of its own, after "it has", and says where to copy the library.
pub fn describe_hidden(library: &Path) -> String {
    format!(
        "its own file system, without {}; copy the agent library there: to {}/agents/{}, to the same path, or to one that {} \
         names and that has it on this side, too",
        library.display(),
        library::COPIES,
        Platform::own(),
        library::VARIABLE
    )
}

/// Chooses among the library found on this side and those of installations inside `root`.
fn choose(
    root: &Path,
    platform: &Platform,
    here: Result<PathBuf, LibraryError>,
    installed: impl Iterator<Item = PathBuf>,
) -> Result<PathBuf, AgentPathError> {
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    let mut first = None;
    for path in here.iter().cloned().chain(installed) {
        let file = inside(&path);
        match file.metadata() {
            // What cannot be looked at may be there; the runtime will say.
            Err(error) if error.kind() != ErrorKind::NotFound => return Ok(path),
            Err(_) => first = first.or(Some(AgentPathError::Hidden(path))),
            Ok(_) => match library::check_for(&file, platform) {
                Ok(()) => return Ok(path),
                Err(why) => first = first.or(Some(AgentPathError::Unfit(why))),
            },
        }
    }
    Err(match (here, first) {
        (Err(error), _) => AgentPathError::Library(error),
        (Ok(_), Some(reason)) => reason,
        (Ok(path), None) => AgentPathError::Hidden(path),
    })
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod tests {
    use super::*;

    /// A root with a library at these paths; dropping it removes the folder.
    struct Root(PathBuf);

    impl Root {
        fn with(test: &str, libraries: &[&str]) -> Root {
            let root = std::env::temp_dir().join(format!("redial-root-{test}-{}", std::process::id()));
            std::fs::create_dir_all(&root).expect("a folder");
            for library in libraries {
                let path = root.join(library.trim_start_matches('/'));
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::copy(std::env::current_exe().expect("a path"), &path).expect("a copy");
            }
            Root(root)
        }

        fn choose(&self, here: Result<PathBuf, LibraryError>) -> Result<PathBuf, AgentPathError> {
            let own = Platform::own();
            let installed = INSTALLATIONS.iter().map(|folder| library::path_below(folder, &own));
            choose(&self.0, &own, here, installed)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const HERE: &str = "/usr/lib/redial/agents/linux-x64/libredial_agent.so";
    const COPIED: &str = "/opt/redial/agents/linux-x64/libredial_agent.so";

    #[test]
    fn prefers_the_same_path_inside() {
        let root = Root::with("same", &[HERE, COPIED]);
        assert_eq!(root.choose(Ok(HERE.into())), Ok(HERE.into()));
    }

    #[test]
    fn takes_the_copy_that_a_container_has() {
        let root = Root::with("copy", &[COPIED]);
        assert_eq!(root.choose(Ok("/somewhere/libredial_agent.so".into())), Ok(COPIED.into()));
        assert_eq!(root.choose(Err(LibraryError::NotFound(Vec::new()))), Ok(COPIED.into()));
    }

    #[test]
    fn without_a_file_inside_it_is_hidden() {
        let root = Root::with("none", &[]);
        assert_eq!(root.choose(Ok(HERE.into())), Err(AgentPathError::Hidden(HERE.into())));
        let missing = || LibraryError::NotFound(Vec::new());
        assert_eq!(root.choose(Err(missing())), Err(AgentPathError::Library(missing())));
    }

    #[test]
    fn a_file_for_another_platform_is_unfit() {
        let root = Root::with("unfit", &[]);
        std::fs::create_dir_all(root.0.join("opt")).expect("a folder");
        std::fs::write(root.0.join("opt/agent.so"), "no library").expect("a file");
        let chosen = root.choose(Ok("/opt/agent.so".into()));
        assert!(
            matches!(&chosen, Err(AgentPathError::Unfit(why)) if why.contains("not a shared library")),
            "{chosen:?}"
        );
    }
}
