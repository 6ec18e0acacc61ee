//! Finds the .NET runtime that a checkout's set-up provides to programs built in it.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

/// Names the cache folder of a checkout; the default is `.cache` in the checkout.
const CACHE: &str = "REDIAL_CACHE";
/// The runtime in the cache, for machines without one.
const RUNTIME: &str = "runtimes/8.0.31";
/// The path of this program's source in a checkout.
const SOURCE: &str = "app/src/main.rs";

/// Returns the cache folder of the checkout that this program was built in.
fn cache() -> Option<PathBuf> {
    let named = std::env::var_os(CACHE).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(of_program(&std::env::current_exe().ok()?)?.join(".cache")))
}

/// Returns the file name of the .NET host: `dotnet`.
pub fn muxer() -> String {
    format!("dotnet{}", std::env::consts::EXE_SUFFIX)
}

/// Returns the checkout's `dotnet`.
pub fn dotnet() -> Option<PathBuf> {
    cache().map(|cache| cache.join(RUNTIME).join(muxer())).filter(|dotnet| dotnet.is_file())
}

/// Suggests a replacement for a missing program, as the end of a sentence; empty for most programs.
pub fn replacement_for(program: &str) -> String {
    place_of(program, dotnet())
}

fn place_of(program: &str, dotnet: Option<PathBuf>) -> String {
    let is_dotnet = program == "dotnet" || program == muxer();
    let dotnet = dotnet.filter(|_| is_dotnet);
    dotnet.map(|dotnet| format!("; this checkout has one: {}", dotnet.display())).unwrap_or_default()
}

/// Returns the checkout that a program was built in. Prefers the source path that cargo noted beside the
/// program, if that checkout still exists; otherwise takes the parent of the nearest `target` folder.
fn of_program(program: &Path) -> Option<PathBuf> {
    let recorded = std::fs::read_to_string(program.with_extension("d")).ok();
    let recorded =
        recorded.and_then(|recorded| of_sources(&recorded)).filter(|folder| folder.join(SOURCE).is_file());
    // Do not look further up: anybody could have put a program there.
    let target =
        || program.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "target"));
    recorded.or_else(|| target()?.parent().map(Path::to_owned))
}

/// Returns the checkout named in cargo's note about a program: `PROGRAM: SOURCE SOURCE …`.
fn of_sources(recorded: &str) -> Option<PathBuf> {
    // Cargo escapes a space in a name with a backslash.
    let joined = recorded.replace("\\ ", "\0");
    let mut sources = joined.split_whitespace().map(|source| PathBuf::from(source.replace('\0', " ")));
    let main = sources.find(|source| source.is_absolute() && source.ends_with(SOURCE))?;
    main.ancestors().nth(Path::new(SOURCE).components().count()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_checkout_above_its_target_folder() {
        let built = Path::new("/src/redial/target/release/redial");
        assert_eq!(of_program(built), Some(PathBuf::from("/src/redial")));
        assert_eq!(of_program(Path::new("/usr/bin/redial")), None);
    }

    #[test]
    #[cfg(unix)]
    fn finds_the_checkout_of_a_target_folder_elsewhere() {
        let base = std::env::temp_dir().join(format!("redial-checkout-{}", std::process::id()));
        let (recorded, target) = (base.join("my redial"), base.join("other/target"));
        let main = recorded.join(SOURCE);
        std::fs::create_dir_all(main.parent().expect("a folder")).expect("a folder");
        std::fs::create_dir_all(&target).expect("a folder");
        std::fs::write(&main, "").expect("a file");
        let source = main.to_str().expect("plain letters").replace(' ', "\\ ");
        let note = format!("/x/redial: {} {source} /y\n", source.replace("app/src/main", "agent/src/lib"));
        std::fs::write(target.join("redial.d"), note).expect("a file");
        assert_eq!(of_program(&target.join("redial")), Some(recorded.clone()));
        std::fs::remove_dir_all(&recorded).expect("removed");
        assert_eq!(of_program(&target.join("redial")), Some(base.join("other")), "it was moved, or is gone");
        std::fs::remove_dir_all(&base).expect("removed");
        assert_eq!(of_sources("/x/redial: app/src/main.rs /src/other/main.rs"), None);
    }

    #[test]
    fn suggests_a_replacement_only_for_dotnet() {
        let there = || Some(PathBuf::from("/src/redial/.cache/dotnet"));
        for dotnet in ["dotnet", &muxer()] {
            assert_eq!(place_of(dotnet, there()), "; this checkout has one: /src/redial/.cache/dotnet");
        }
        assert_eq!(place_of("no-such-program", there()), "");
        assert_eq!(place_of("dotnet", None), "");
    }
}
