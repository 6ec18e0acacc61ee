//! The demo program as `redial` carries it: compiled files in `assets/demo/built`, the same bytes from any checkout.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cache;
use crate::csharp::Compilation;
use crate::programs::sources;

/// The committed files, below [`folder`].
pub const FILES: [&str; 5] =
    ["Shop.dll", "Shop.pdb", "Shop.runtimeconfig.json", "plugins/Plugin.dll", "plugins/Plugin.pdb"];

/// The path of sources and results in the compiled files.
const PATH: &str = "/redial/demo";

/// Returns the folder of the committed files.
pub fn folder() -> PathBuf {
    cache::checkout().join("assets/demo/built")
}

/// Compiles the demo program into a folder, which is created.
///
/// # Errors
/// The compiler's messages, or an error of writing.
pub fn compile(into: &Path) -> Result<()> {
    let demo = cache::checkout().join("assets/demo");
    let plugins = into.join("plugins");
    fs::create_dir_all(&plugins).with_context(|| plugins.display().to_string())?;
    let mut shop = Compilation::program("Shop", sources(&demo)?);
    shop.options.push(path_map(&[into, &demo])?);
    let dll = into.join("Shop.dll");
    shop.compile_to(&dll)?;
    let mut plugin = Compilation::library("Plugin", sources(&demo.join("Plugin"))?);
    plugin.options.push(path_map(&[into, &demo])?);
    plugin.references.push(dll);
    plugin.compile_to(&plugins.join("Plugin.dll"))?;
    let config = into.join("Shop.runtimeconfig.json");
    fs::write(&config, shop.runtime_config()).with_context(|| config.display().to_string())
}

/// Returns the compiler's option that replaces the start of paths. The first folder that matches counts.
fn path_map(folders: &[&Path]) -> Result<String> {
    let map = |folder: &&Path| {
        let mut map = OsString::from(folder);
        map.push(format!("={PATH}"));
        map.into_string().ok()
    };
    let maps: Option<Vec<String>> = folders.iter().map(map).collect();
    Ok(format!("-pathmap:{}", maps.context("a path is not Unicode")?.join(",")))
}
