//! What the set-up of a checkout leaves for a program that was built in it: the demo, and a runtime.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

/// Variable that names the cache folder of a checkout; else it is `.cache` in the checkout.
const CACHE: &str = "REDIAL_CACHE";
/// The runtime in it, for machines without one.
const RUNTIME: &str = "runtimes/8.0.31";
/// The source of this program, in a checkout.
const SOURCE: &str = "app/src/main.rs";

/// The cache folder of the checkout that this program was built in.
pub fn cache() -> Option<PathBuf> {
    let named = std::env::var_os(CACHE).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(of_program(&std::env::current_exe().ok()?)?.join(".cache")))
}

/// The file that starts programs of .NET: `dotnet`.
pub fn muxer() -> String {
    format!("dotnet{}", std::env::consts::EXE_SUFFIX)
}

/// The `dotnet` of the checkout.
pub fn dotnet() -> Option<PathBuf> {
    cache().map(|cache| cache.join(RUNTIME).join(muxer())).filter(|dotnet| dotnet.is_file())
}

/// What can be started in the place of a program that is not there, as the end of a sentence; nothing of most.
pub fn instead_of(program: &str) -> String {
    place_of(program, dotnet())
}

fn place_of(program: &str, dotnet: Option<PathBuf>) -> String {
    let is_dotnet = program == "dotnet" || program == muxer();
    let dotnet = dotnet.filter(|_| is_dotnet);
    dotnet.map(|dotnet| format!("; this checkout has one: {}", dotnet.display())).unwrap_or_default()
}

/// The checkout that a program was built in: as cargo noted beside it, wherever its target folder is, while that checkout
/// is there; else the one in whose `target` folder it stands.
fn of_program(program: &Path) -> Option<PathBuf> {
    let noted = std::fs::read_to_string(program.with_extension("d")).ok();
    let noted = noted.and_then(|noted| of_sources(&noted)).filter(|folder| folder.join(SOURCE).is_file());
    // Folders further up are not looked at: anybody might have put a program there.
    let target =
        || program.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "target"));
    noted.or_else(|| target()?.parent().map(Path::to_owned))
}

/// The checkout of the sources that a program was made of, by cargo's note: `PROGRAM: SOURCE SOURCE …`.
fn of_sources(noted: &str) -> Option<PathBuf> {
    // A space within a name has a backslash before it.
    let joined = noted.replace("\\ ", "\0");
    let mut sources = joined.split_whitespace().map(|source| PathBuf::from(source.replace('\0', " ")));
    let main = sources.find(|source| source.is_absolute() && source.ends_with(SOURCE))?;
    main.ancestors().nth(Path::new(SOURCE).components().count()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_above_its_target_folder() {
        let built = Path::new("/src/redial/target/release/redial");
        assert_eq!(of_program(built), Some(PathBuf::from("/src/redial")));
        assert_eq!(of_program(Path::new("/usr/bin/redial")), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_checkout_is_found_from_a_target_folder_elsewhere_while_it_is_there() {
        let base = std::env::temp_dir().join(format!("redial-checkout-{}", std::process::id()));
        let (noted, target) = (base.join("my redial"), base.join("other/target"));
        let main = noted.join(SOURCE);
        std::fs::create_dir_all(main.parent().expect("a folder")).expect("a folder");
        std::fs::create_dir_all(&target).expect("a folder");
        std::fs::write(&main, "").expect("a file");
        let source = main.to_str().expect("plain letters").replace(' ', "\\ ");
        let note = format!("/x/redial: {} {source} /y\n", source.replace("app/src/main", "agent/src/lib"));
        std::fs::write(target.join("redial.d"), note).expect("a file");
        assert_eq!(of_program(&target.join("redial")), Some(noted.clone()));
        std::fs::remove_dir_all(&noted).expect("removed");
        assert_eq!(of_program(&target.join("redial")), Some(base.join("other")), "it was moved, or is gone");
        std::fs::remove_dir_all(&base).expect("removed");
        assert_eq!(of_sources("/x/redial: app/src/main.rs /src/other/main.rs"), None);
    }

    #[test]
    fn only_dotnet_has_another_in_its_place() {
        let there = || Some(PathBuf::from("/src/redial/.cache/dotnet"));
        for dotnet in ["dotnet", &muxer()] {
            assert_eq!(place_of(dotnet, there()), "; this checkout has one: /src/redial/.cache/dotnet");
        }
        assert_eq!(place_of("no-such-program", there()), "");
        assert_eq!(place_of("dotnet", None), "");
    }
}
