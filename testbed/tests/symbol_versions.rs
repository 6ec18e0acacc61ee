//! Which functions of glibc the builds of this machine need. The packages must run on glibc 2.28, and `cargo xtask dist`
//! checks the packaged files strictly. Builds for tests are bound to the versions of this machine's glibc, so this can only
//! check that the older one has functions of the same names.
#![cfg(target_os = "linux")]

use anyhow::{Result, ensure};
use redial_testbed::artefacts;
use redial_testbed::symbol_versions::needed;

const OLDEST: (u32, u32) = (2, 28);

/// Functions that glibc 2.28 has under an older version: moved into `libc.so.6` or `libm.so.6` since, or with new rules for
/// errors. Never add a function here that glibc 2.28 lacks.
const IN_OLDEST: &[&str] = &[
    "__libc_start_main",
    "dladdr",
    "dlclose",
    "dlerror",
    "dlopen",
    "dlsym",
    "exp",
    "exp2",
    "fstat64",
    "fstatat64",
    "hypot",
    "hypotf",
    "log",
    "log2",
    "lstat64",
    "pow",
    "stat64",
];

fn has_oldest(name: &str) -> bool {
    // Redial and its libraries use no newer function of pthreads than those of 2.28.
    const NEWER: [&str; 3] = ["pthread_clockjoin_np", "pthread_cond_clockwait", "pthread_mutex_clocklock"];
    IN_OLDEST.contains(&name) || (name.starts_with("pthread_") && !NEWER.contains(&name))
}

#[test]
fn agent_and_program_use_functions_of_glibc_2_28() -> Result<()> {
    for file in [artefacts::agent()?, artefacts::redial()?] {
        let needed = needed(&file)?;
        ensure!(needed.iter().any(|symbol| symbol.name == "malloc"), "{} needs no malloc", file.display());
        let newer = needed.iter().filter(|symbol| symbol.version > OLDEST && !symbol.weak);
        let missing: Vec<_> = newer.filter(|symbol| !has_oldest(&symbol.name)).collect();
        ensure!(missing.is_empty(), "{} needs what glibc 2.28 lacks: {missing:?}", file.display());
    }
    Ok(())
}
