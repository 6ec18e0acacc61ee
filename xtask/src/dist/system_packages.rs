//! The deb, rpm and msi packages, made by their systems' tools.

use std::path::Path;

use anyhow::{Context, Result};

use super::contents::{Contents, asset};
use super::file_tree::FileTree;
use super::release::Release;
use super::target::OLDEST_GLIBC;
use crate::process::{command, run_quietly};

/// Libraries that the window opens at run time, with the packages of Debian that have them.
const WINDOW_LIBRARIES: [(&str, &str); 8] = [
    ("libEGL.so.1", "libegl1"),
    ("libGL.so.1", "libgl1"),
    ("libX11.so.6", "libx11-6"),
    ("libX11-xcb.so.1", "libx11-xcb1"),
    ("libXcursor.so.1", "libxcursor1"),
    ("libXi.so.6", "libxi6"),
    ("libXrender.so.1", "libxrender1"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
];

/// Makes the deb package. It has no maintainer scripts: triggers of other packages pick up its files.
///
/// # Errors
/// When `dpkg-deb` fails.
pub fn deb(contents: &Contents, release: &Release, work: &Path, to: &Path) -> Result<()> {
    let tree = FileTree::new(work.join("deb"), release)?;
    contents.system(&tree, "usr/share/zsh/vendor-completions")?;
    let mut bytes = 0;
    let mut sums = String::new();
    for file in tree.files()? {
        let path = tree.root().join(&file);
        let metadata = path.symlink_metadata().with_context(|| path.display().to_string())?;
        if metadata.is_file() {
            bytes += metadata.len();
            let sum = run_quietly(command("md5sum", &[&file]).current_dir(tree.root()))?;
            sums.push_str(&sum);
        }
    }
    let control = format!(
        "Package: redial\nVersion: {}\nArchitecture: amd64\nMaintainer: The Redial contributors\nInstalled-Size: {}\n\
         Depends: libc6 (>= {}.{})\n\
         Recommends: {}, libgl1-mesa-dri\nSection: devel\nPriority: optional\n\
         Description: Count, time and trace methods of live .NET processes\n \
         Turn a dial on a method, type, module or AppDomain; exact numbers appear; turn\n it off, and the method runs \
         its original code again. Nothing is restarted,\n redeployed or recompiled.\n",
        release.version,
        bytes.div_ceil(1024),
        OLDEST_GLIBC.0,
        OLDEST_GLIBC.1,
        WINDOW_LIBRARIES.map(|(_, package)| package).join(", "),
    );
    tree.write("DEBIAN/control", control.as_bytes())?;
    tree.write("DEBIAN/md5sums", sums.as_bytes())?;
    run_quietly(
        command("dpkg-deb", &["--build", "--root-owner-group", "-Zxz"])
            .arg(tree.root())
            .arg(to)
            .env("SOURCE_DATE_EPOCH", release.time.to_string()),
    )
    .map(drop)
}

/// Makes the rpm package. It has no scripts.
///
/// # Errors
/// When `rpmbuild` fails or makes no package.
pub fn rpm(contents: &Contents, release: &Release, work: &Path, to: &Path) -> Result<()> {
    let tree = FileTree::new(work.join("rpm-files"), release)?;
    contents.system(&tree, "usr/share/zsh/site-functions")?;
    let top = FileTree::new(work.join("rpm"), release)?;
    let libraries = WINDOW_LIBRARIES.map(|(library, _)| format!("{library}()(64bit)")).join(", ");
    let define = |name: &str, value: &str| ["--define".to_owned(), format!("{name} {value}")];
    let mut build = command("rpmbuild", &["-bb", "--quiet", "--target", "x86_64-linux"]);
    for pair in [
        define("_topdir", &top.root().to_string_lossy()),
        define("redial_version", &release.version),
        define("redial_files", &tree.root().to_string_lossy()),
        define("redial_window_libraries", &libraries),
        define("_buildhost", "redial"),
        define("use_source_date_epoch_as_buildtime", "1"),
        define("clamp_mtime_to_source_date_epoch", "1"),
        define("source_date_epoch_from_changelog", "0"),
    ] {
        build.args(pair);
    }
    build.arg(asset("redial.spec")).env("SOURCE_DATE_EPOCH", release.time.to_string());
    run_quietly(&mut build)?;
    let made = top.root().join(format!("RPMS/x86_64/redial-{}-1.x86_64.rpm", release.version));
    std::fs::copy(&made, to).map(drop).with_context(|| made.display().to_string())
}

/// Makes the msi package. It puts its folder on the PATH, for which wixl has no element: the table and its actions are added
/// afterwards.
///
/// # Errors
/// When `wixl` or `msibuild` fails.
pub fn msi(contents: &Contents, release: &Release, work: &Path, to: &Path) -> Result<()> {
    const ACTIONS: [(&str, u32); 2] = [("RemoveEnvironmentStrings", 3300), ("WriteEnvironmentStrings", 5200)];
    let tree = FileTree::new(work.join("msi"), release)?;
    contents.archive(&tree)?;
    let guides = work.join("guides.wxs");
    std::fs::write(&guides, guide_components(&tree)?).with_context(|| guides.display().to_string())?;
    let mut wixl = command("wixl", &["--arch", "x64", "-D", "Win64=yes", "-D", "Guides=docs", "-D"]);
    wixl.arg(format!("Version={}", release.version)).arg("--output").arg(to);
    wixl.arg(asset("redial.wxs")).arg(&guides);
    // wixl reads files relative to its folder, and takes no absolute paths.
    run_quietly(wixl.current_dir(tree.root()))?;
    run_quietly(command("msibuild", &[]).arg(to).arg("-i").arg(asset("msi-environment.idt")))?;
    for (action, sequence) in ACTIONS {
        let query =
            format!("INSERT INTO InstallExecuteSequence (Action, Sequence) VALUES ('{action}', {sequence})");
        run_quietly(command("msibuild", &[]).arg(to).args(["-q", &query]))?;
    }
    Ok(())
}

/// Returns the description of the guides for wixl.
fn guide_components(tree: &FileTree) -> Result<String> {
    const HEAT: &str = "find docs -type f | LC_ALL=C sort | wixl-heat --prefix docs/ --directory-ref Guides \
        --component-group Guides --var var.Guides --win64";
    run_quietly(command("sh", &["-c", HEAT]).current_dir(tree.root()))
}
