//! The demo program, where it was built.

use crate::views::launch::Plan;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Variable that names `Shop.dll`.
const VARIABLE: &str = "REDIAL_DEMO";
/// Variable that names the `dotnet` to run it with, if not the one on the PATH.
const DOTNET: &str = "REDIAL_DEMO_DOTNET";
/// Variable that names the cache folder of a checkout; else it is `.cache` in the checkout.
const CACHE: &str = "REDIAL_CACHE";
/// What the set-up of a checkout puts the demo in: `programs/Shop-NUMBER-with-plugins`, complete with this file in it.
const FOLDER: (&str, &str) = ("Shop-", "-with-plugins");
const COMPLETE: &str = ".complete";
/// The runtime of a checkout, for machines without one.
const RUNTIME: &str = "runtimes/8.0.31";

/// How to start it, if it is there: where `REDIAL_DEMO` says, else beside the program, else what the set-up of the
/// checkout that the program was built in has left.
pub fn find() -> Option<Plan> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let program = std::env::current_exe().ok();
    let cache = variable(CACHE).or_else(|| Some(checkout(program.as_ref()?)?.join(".cache")));
    let beside = program.as_ref().and_then(|path| path.parent()).map(|folder| folder.join("demo/Shop.dll"));
    let dll = match variable(VARIABLE) {
        Some(named) => named,
        None => beside.filter(|dll| dll.is_file()).or_else(|| built(cache.as_ref()?))?,
    };
    let dotnet = variable(DOTNET).or_else(|| {
        let on_path = |path| std::env::split_paths(&path).any(|folder| folder.join(muxer()).is_file());
        let found = std::env::var_os("PATH").is_some_and(on_path);
        let ours = cache.as_ref().filter(|_| !found).map(|cache| cache.join(RUNTIME).join(muxer()));
        ours.filter(|dotnet| dotnet.is_file())
    });
    plan(&dll, dotnet)
}

/// The checkout in whose `target` folder a program stands.
fn checkout(program: &Path) -> Option<&Path> {
    // Folders further up are not looked at: anybody might have put a program there.
    program.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "target"))?.parent()
}

fn muxer() -> String {
    format!("dotnet{}", std::env::consts::EXE_SUFFIX)
}

/// The newest complete `Shop.dll` in a cache folder.
fn built(cache: &Path) -> Option<PathBuf> {
    let complete = |folder: PathBuf| {
        let name = folder.file_name()?.to_str()?;
        let since = folder.join(COMPLETE).metadata().ok()?.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let dll = folder.join("Shop.dll");
        (name.starts_with(FOLDER.0) && name.ends_with(FOLDER.1) && dll.is_file()).then_some((since, dll))
    };
    let folders = std::fs::read_dir(cache.join("programs")).ok()?;
    folders.filter_map(|entry| complete(entry.ok()?.path())).max().map(|(_, dll)| dll)
}

fn plan(dll: &Path, dotnet: Option<PathBuf>) -> Option<Plan> {
    if !dll.is_file() {
        return None;
    }
    // It was compiled for the oldest runtime, and has no need of language packages.
    let mut environment = vec![
        ("DOTNET_ROLL_FORWARD".to_owned(), "Major".to_owned()),
        ("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT".to_owned(), "1".to_owned()),
    ];
    let dotnet = match dotnet {
        Some(dotnet) => {
            let root = dotnet.parent()?.to_str()?.to_owned();
            environment.push(("DOTNET_ROOT".to_owned(), root));
            dotnet.to_str()?.to_owned()
        }
        None => "dotnet".to_owned(),
    };
    Some(Plan {
        program: dotnet,
        arguments: vec![dll.to_str()?.to_owned()],
        folder: None,
        environment,
        orders: Vec::new(),
        // It ends at the end of its input: nothing of a demo stays behind.
        tied: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_offered() {
        assert_eq!(plan(Path::new("/no/such/Shop.dll"), None), None);
        let here = std::env::current_exe().expect("a program");
        let shop = plan(&here, Some(PathBuf::from("/opt/dotnet/dotnet"))).expect("a plan");
        assert_eq!(
            (shop.program.as_str(), shop.arguments[0].as_str()),
            ("/opt/dotnet/dotnet", here.to_str().expect("text"))
        );
        assert!(shop.environment.contains(&("DOTNET_ROOT".to_owned(), "/opt/dotnet".to_owned())));
        assert_eq!(plan(&here, None).expect("a plan").program, "dotnet");
    }

    #[test]
    fn a_checkout_is_above_its_target_folder() {
        let built = Path::new("/src/redial/target/release/redial");
        assert_eq!(checkout(built), Some(Path::new("/src/redial")));
        assert_eq!(checkout(Path::new("/usr/bin/redial")), None);
    }

    #[test]
    fn of_a_checkout_only_a_complete_shop_is_taken() {
        let cache = std::env::temp_dir().join(format!("redial-demo-{}", std::process::id()));
        let shop = cache.join("programs/Shop-0123-with-plugins");
        std::fs::create_dir_all(&shop).expect("a folder");
        std::fs::write(shop.join("Shop.dll"), "").expect("a file");
        assert_eq!(built(&cache), None, "half-way");
        std::fs::write(shop.join(COMPLETE), "").expect("a file");
        assert_eq!(built(&cache), Some(shop.join("Shop.dll")));
        std::fs::rename(&shop, cache.join("programs/Other-0123-with-plugins")).expect("renamed");
        assert_eq!(built(&cache), None, "another program");
        std::fs::remove_dir_all(&cache).expect("removed");
    }
}
