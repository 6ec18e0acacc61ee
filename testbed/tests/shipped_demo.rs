//! The demo program inside `redial` is what its sources compile to.

use std::fs;

use anyhow::{Context, Result, ensure};
use redial_testbed::{cache, shipped_demo};

#[test]
fn is_what_the_sources_compile_to() -> Result<()> {
    let into = cache::folder().join("building").join(format!("demo-{}", std::process::id()));
    shipped_demo::compile(&into)?;
    for file in shipped_demo::FILES {
        let compiled = fs::read(into.join(file)).with_context(|| file.to_owned())?;
        let committed = fs::read(shipped_demo::folder().join(file)).with_context(|| file.to_owned())?;
        ensure!(compiled == committed, "{file} is out of date; `cargo xtask demo-program` compiles it again");
    }
    fs::remove_dir_all(&into)?;
    Ok(())
}
