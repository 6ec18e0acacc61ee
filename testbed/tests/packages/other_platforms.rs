//! Processes with another C library get a message that names their package, and are not touched.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::cache;
use redial_testbed::host::{self, Host};

use super::fresh_root::FreshRoot;
use super::package;

/// A program that loads the library named by its argument, and waits.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
    if (count > 1 && !dlopen(words[1], RTLD_NOW)) return 1;
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
"#;

/// A folder with a program and a `libcoreclr.so` for musl. Dropping it removes the folder.
struct MuslProgram(PathBuf);

impl MuslProgram {
    fn compile(test: &str) -> Result<MuslProgram> {
        let folder = cache::folder().join("musl").join(format!("{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let made = MuslProgram(folder);
        std::fs::write(made.path("program.c"), PROGRAM)?;
        std::fs::write(made.path("runtime.c"), "int coreclr_initialize(void) { return 0; }\n")?;
        for arguments in [
            ["-o", "program", "program.c"].as_slice(),
            &["-shared", "-fPIC", "-o", "libcoreclr.so", "runtime.c"],
        ] {
            let mut compiler = Command::new("musl-gcc");
            compiler.args(arguments).current_dir(&made.0);
            host::run(compiler)?.ok().context("musl-gcc")?;
        }
        Ok(made)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for MuslProgram {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the packaged program, unpacked in a root.
fn installed(root: &FreshRoot) -> Result<Command> {
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--extract").arg(package("_amd64.deb")?).arg(root.folder());
    host::run(extract)?.ok()?;
    let mut redial = Command::new(root.path("usr/bin/redial"));
    redial.env_remove("REDIAL_AGENT");
    Ok(redial)
}

const MISSING: [&str; 2] = ["there is no agent for linux-musl-x64", "redial-agent-linux-musl-x64"];

#[test]
fn attach_names_the_package_for_musl() -> Result<()> {
    let root = FreshRoot::new("musl-attach")?;
    let program = MuslProgram::compile("attach")?;
    let mut command = Command::new(program.path("program"));
    command.arg(program.path("libcoreclr.so"));
    let mut host = Host::start(command)?;
    host.wait_for("ready")?;
    let mut attach = installed(&root)?;
    attach.args(["attach", &host.pid().to_string()]);
    let outcome = host::run(attach)?;
    ensure!(outcome.code()? == 4, "{}", outcome.output());
    for part in MISSING {
        ensure!(outcome.stderr.contains(part), "no {part:?} in {}", outcome.output());
    }
    host.say("")?;
    host.finish()?.ok().map(drop)
}

#[test]
fn run_names_the_package_for_musl() -> Result<()> {
    let root = FreshRoot::new("musl-run")?;
    let program = MuslProgram::compile("run")?;
    let mut run = installed(&root)?;
    run.args(["run", "--"]).arg(program.path("program"));
    let outcome = host::run(run)?;
    ensure!(outcome.code()? == 125 && outcome.stdout.is_empty(), "{}", outcome.output());
    for part in MISSING {
        ensure!(outcome.stderr.contains(part), "no {part:?} in {}", outcome.output());
    }
    Ok(())
}
