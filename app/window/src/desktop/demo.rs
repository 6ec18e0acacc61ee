//! The demo program, which `redial` carries: written to a folder of the user when it is started.

use crate::views::launch_dialog::LaunchPlan;
use redial_link::atomic_write::AtomicFile;
use redial_link::checkout;
use std::io;
use std::path::{Path, PathBuf};

/// The variable with the path of the `dotnet` that runs it, if not the one on the PATH.
const DOTNET: &str = "REDIAL_DEMO_DOTNET";

/// Its files. `cargo xtask demo-program` compiles them from `assets/demo`.
const FILES: [(&str, &[u8]); 5] = [
    ("Shop.dll", include_bytes!("../../../../assets/demo/built/Shop.dll")),
    ("Shop.pdb", include_bytes!("../../../../assets/demo/built/Shop.pdb")),
    ("Shop.runtimeconfig.json", include_bytes!("../../../../assets/demo/built/Shop.runtimeconfig.json")),
    ("plugins/Plugin.dll", include_bytes!("../../../../assets/demo/built/plugins/Plugin.dll")),
    ("plugins/Plugin.pdb", include_bytes!("../../../../assets/demo/built/plugins/Plugin.pdb")),
];

/// Returns how to start the demo; `None` without a `dotnet`, or without a folder for it.
pub fn find() -> Option<LaunchPlan> {
    let folder = folder()?;
    let named = std::env::var_os(DOTNET).filter(|value| !value.is_empty()).map(PathBuf::from);
    let on_path = || {
        let has_one = |folder: PathBuf| folder.join(checkout::muxer()).is_file();
        let found = std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(has_one));
        found.then(|| PathBuf::from("dotnet"))
    };
    let installed =
        || usual_folders().map(|folder| folder.join(checkout::muxer())).find(|path| path.is_file());
    let dotnet = named.or_else(on_path).or_else(installed).or_else(checkout::dotnet)?;
    plan(&folder.join("Shop.dll"), &dotnet)
}

/// Writes the files of the demo, unless they are there.
///
/// # Errors
/// When the folder cannot be written; the message names the file.
pub fn unpack() -> io::Result<()> {
    let folder =
        folder().ok_or_else(|| io::Error::other("the system has no folder for the user's caches"))?;
    unpack_to(&folder)
}

fn unpack_to(folder: &Path) -> io::Result<()> {
    for (name, content) in FILES {
        let path = folder.join(name);
        // A demo that runs keeps its files.
        if std::fs::read(&path).is_ok_and(|found| found == content) {
            continue;
        }
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .map_err(|error| io::Error::other(format!("{}: {error}", parent.display())))?;
        AtomicFile::create_private(&path)?.write(content)?;
    }
    Ok(())
}

/// Returns the folder of this version's demo.
fn folder() -> Option<PathBuf> {
    let caches = directories::ProjectDirs::from("", "", "redial")?.cache_dir().to_owned();
    Some(caches.join(concat!("demo-", env!("CARGO_PKG_VERSION"))))
}

/// Returns the folders in which installers put `dotnet`, with or without an entry on the PATH.
fn usual_folders() -> impl Iterator<Item = PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let fixed: &[&str] =
        if cfg!(windows) { &[] } else { &["/usr/share/dotnet", "/usr/lib/dotnet", "/usr/lib64/dotnet"] };
    let home = directories::BaseDirs::new().map(|folders| folders.home_dir().join(".dotnet"));
    let programs = variable("ProgramFiles").filter(|_| cfg!(windows)).map(|folder| folder.join("dotnet"));
    let fixed = fixed.iter().map(PathBuf::from);
    variable("DOTNET_ROOT").into_iter().chain(fixed).chain(programs).chain(home)
}

fn plan(dll: &Path, dotnet: &Path) -> Option<LaunchPlan> {
    // The demo targets the oldest runtime and needs no ICU.
    let mut environment = vec![
        ("DOTNET_ROLL_FORWARD".to_owned(), "Major".to_owned()),
        ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT".to_owned(), "1".to_owned()),
    ];
    if dotnet.is_absolute() {
        let root = dotnet.parent()?.to_str()?.to_owned();
        environment.push(("DOTNET_ROOT".to_owned(), root));
    }
    Some(LaunchPlan {
        program: dotnet.to_str()?.to_owned(),
        arguments: vec![dll.to_str()?.to_owned()],
        folder: None,
        environment,
        orders: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dotnet_outside_the_path_is_the_root_of_the_demo() {
        let here = std::env::current_exe().expect("a program");
        let shop = plan(Path::new("/cache/Shop.dll"), &here).expect("a plan");
        assert_eq!(
            (shop.program.as_str(), shop.arguments[0].as_str()),
            (here.to_str().expect("text"), "/cache/Shop.dll")
        );
        let root = here.parent().and_then(Path::to_str).expect("text").to_owned();
        assert!(shop.environment.contains(&("DOTNET_ROOT".to_owned(), root)));
        let on_path = plan(Path::new("/cache/Shop.dll"), Path::new("dotnet")).expect("a plan");
        assert!(on_path.environment.iter().all(|(name, _)| name != "DOTNET_ROOT"), "{on_path:?}");
    }

    #[test]
    fn files_are_written_once_and_mended() {
        let folder = std::env::temp_dir().join(format!("redial-demo-{}", std::process::id()));
        unpack_to(&folder).expect("it is written");
        let dll = folder.join("Shop.dll");
        let written = dll.metadata().and_then(|facts| facts.modified()).expect("a file");
        std::fs::write(folder.join("plugins/Plugin.dll"), "cut").expect("a damaged file");
        unpack_to(&folder).expect("it is mended");
        assert_eq!(dll.metadata().and_then(|facts| facts.modified()).expect("a file"), written);
        for (name, content) in FILES {
            assert_eq!(std::fs::read(folder.join(name)).expect(name), content, "{name}");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
        std::fs::write(&folder, "").expect("a file in its place");
        let why = unpack_to(&folder).expect_err("no folder").to_string();
        assert!(why.contains(&folder.display().to_string()), "{why}");
        std::fs::remove_file(&folder).expect("removed");
    }
}
