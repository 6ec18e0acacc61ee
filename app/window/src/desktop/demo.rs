//! Finds the demo program.

use crate::views::launch_dialog::LaunchPlan;
use redial_link::checkout;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The variable with the path of `Shop.dll`.
const VARIABLE: &str = "REDIAL_DEMO";
/// The variable with the path of the `dotnet` that runs it, if not the one on the PATH.
const DOTNET: &str = "REDIAL_DEMO_DOTNET";
/// Prefix and suffix of the folders in which a checkout's setup builds the demo,
/// `programs/Shop-NUMBER-with-plugins`; the file marks a complete one.
const FOLDER: (&str, &str) = ("Shop-", "-with-plugins");
const COMPLETE: &str = ".complete";

/// Returns how to start the demo, if it exists: from `REDIAL_DEMO`, else beside the program, else from the
/// cache of the checkout that built the program.
pub fn find() -> Option<LaunchPlan> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let program = std::env::current_exe().ok();
    let beside = program.as_ref().and_then(|path| path.parent()).map(|folder| folder.join("demo/Shop.dll"));
    let dll = match variable(VARIABLE) {
        Some(named) => named,
        None => beside.filter(|dll| dll.is_file()).or_else(|| built(&checkout::cache()?))?,
    };
    let dotnet = variable(DOTNET).or_else(|| {
        let has_one = |folder: PathBuf| folder.join(checkout::muxer()).is_file();
        let on_path = std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(has_one));
        if on_path { None } else { checkout::dotnet() }
    });
    plan(&dll, dotnet)
}

/// Returns the newest complete `Shop.dll` in a cache folder.
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

fn plan(dll: &Path, dotnet: Option<PathBuf>) -> Option<LaunchPlan> {
    if !dll.is_file() {
        return None;
    }
    // The demo targets the oldest runtime and needs no ICU.
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
    Some(LaunchPlan {
        program: dotnet,
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
    fn offers_only_an_existing_demo() {
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
    fn takes_only_a_complete_demo_from_a_checkout() {
        let cache = std::env::temp_dir().join(format!("redial-demo-{}", std::process::id()));
        let shop = cache.join("programs/Shop-0123-with-plugins");
        std::fs::create_dir_all(&shop).expect("a folder");
        std::fs::write(shop.join("Shop.dll"), "").expect("a file");
        assert_eq!(built(&cache), None, "incomplete");
        std::fs::write(shop.join(COMPLETE), "").expect("a file");
        assert_eq!(built(&cache), Some(shop.join("Shop.dll")));
        std::fs::rename(&shop, cache.join("programs/Other-0123-with-plugins")).expect("renamed");
        assert_eq!(built(&cache), None, "another program");
        std::fs::remove_dir_all(&cache).expect("removed");
    }
}
