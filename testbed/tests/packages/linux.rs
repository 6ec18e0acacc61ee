//! deb, rpm and tar.gz: installed, used, removed without a trace.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use redial_testbed::host;

use super::fresh_root::FreshRoot;
use super::package;

/// Files that system packages install, besides the programs.
const INSTALLED: [&str; 8] = [
    "/usr/share/applications/redial.desktop",
    "/usr/share/bash-completion/completions/redial",
    "/usr/share/doc/redial/copyright",
    "/usr/share/doc/redial/docs/guide/install.md",
    "/usr/share/fish/vendor_completions.d/redial.fish",
    "/usr/share/icons/hicolor/128x128/apps/redial.png",
    "/usr/share/icons/hicolor/scalable/apps/redial.svg",
    "/usr/share/man/man1/redial-dial.1.gz",
];

fn ensure_installed(root: &FreshRoot) -> Result<()> {
    for file in INSTALLED {
        let size = root.path(file).metadata().with_context(|| file.to_owned())?.len();
        ensure!(size > 0, "{file} is empty");
    }
    Ok(())
}

/// Compares the files of a root with those before.
fn ensure_only(root: &FreshRoot, before: &BTreeSet<String>) -> Result<()> {
    let after = root.files()?;
    let left: Vec<_> = after.symmetric_difference(before).collect();
    ensure!(left.is_empty(), "uninstalling left a difference: {left:?}");
    Ok(())
}

#[test]
fn deb_installs_counts_and_leaves_nothing() -> Result<()> {
    let root = FreshRoot::new("deb")?;
    let before = root.files()?;
    let mut install = Command::new("dpkg");
    install.arg("--root").arg(root.folder()).arg("--install").arg(package("_amd64.deb")?);
    host::run(install)?.ok()?;
    ensure_installed(&root)?;
    root.ensure_version("redial")?;
    root.first_number("redial")?;
    let mut purge = Command::new("dpkg");
    purge.arg("--root").arg(root.folder()).args(["--purge", "redial"]);
    host::run(purge)?.ok()?;
    ensure_only(&root, &before)
}

/// Runs `rpm --query --package PACKAGE` with options.
fn query(options: &[&str]) -> Result<String> {
    let mut rpm = Command::new("rpm");
    rpm.args(["--query", "--package"]).args(options).arg(package(".rpm")?);
    Ok(host::run(rpm)?.ok()?.stdout)
}

#[test]
fn rpm_installs_counts_and_leaves_nothing() -> Result<()> {
    ensure!(query(&["--scripts"])?.trim().is_empty(), "the package has scripts, which this test must run");
    let needs = query(&["--requires"])?;
    ensure!(needs.contains("libc.so.6(GLIBC_2."), "{needs}");
    let root = FreshRoot::new("rpm")?;
    let before = root.files()?;
    let mut unpack = Command::new("sh");
    unpack.args(["-c", "rpm2cpio \"$1\" | cpio --extract --make-directories --quiet", "sh"]);
    unpack.arg(package(".rpm")?).current_dir(root.folder());
    host::run(unpack)?.ok()?;
    ensure_installed(&root)?;
    root.ensure_version("redial")?;
    root.first_number("redial")?;
    // Removes what the package lists: first files, then folders, if they are its own.
    let listed = query(&["--list"])?;
    for file in listed.lines().rev() {
        let path = root.path(file);
        match path.symlink_metadata().with_context(|| file.to_owned())?.is_dir() {
            true => std::fs::remove_dir(&path).with_context(|| file.to_owned())?,
            false => std::fs::remove_file(&path).with_context(|| file.to_owned())?,
        }
    }
    // Shared folders that this base does not have belong to other packages.
    let left: Vec<String> = root.files()?.difference(&before).cloned().collect();
    let is_folder = |file: &String| root.path(file).is_dir();
    ensure!(left.iter().all(is_folder) && !left.iter().any(|file| file.contains("redial")), "{left:?}");
    Ok(())
}

/// Returns the X libraries that a program names: it opens them when the window does.
fn x_libraries(program: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(program);
    let names = text.split("libX").skip(1).filter_map(|rest| {
        let (name, version) = rest.split_once(".so.")?;
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let version = version.chars().next().filter(char::is_ascii_digit)?;
        is_name.then(|| format!("libX{name}.so.{version}"))
    });
    names.collect()
}

#[test]
fn packages_recommend_what_the_window_opens() -> Result<()> {
    let root = FreshRoot::new("window")?;
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("--extract").arg(package("_amd64.deb")?).arg(root.path("opt"));
    host::run(unpack)?.ok()?;
    let opened = x_libraries(&std::fs::read(root.path("opt/usr/lib/redial/redial"))?);
    ensure!(opened.len() > 3, "{opened:?}");
    let of_rpm = query(&["--recommends"])?;
    let mut field = Command::new("dpkg-deb");
    field.arg("--field").arg(package("_amd64.deb")?).arg("Recommends");
    let of_deb = host::run(field)?.ok()?.stdout;
    for library in opened {
        ensure!(of_rpm.contains(&format!("{library}()(64bit)")), "{library} is not in {of_rpm}");
        // By the rules for names of Debian's packages.
        let package =
            library.to_lowercase().replace(".so.", if library.contains("11.so") { "-" } else { "" });
        ensure!(of_deb.contains(&package), "{package} is not in {of_deb}");
    }
    Ok(())
}

#[test]
fn archive_runs_where_it_is_unpacked() -> Result<()> {
    let root = FreshRoot::new("tar")?;
    let before = root.files()?;
    let opt = root.path("opt");
    let mut unpack = Command::new("tar");
    unpack.arg("--extract").arg("--file").arg(package("-linux-x64.tar.gz")?).arg("--directory").arg(&opt);
    host::run(unpack)?.ok()?;
    let name = concat!("redial-", env!("CARGO_PKG_VERSION"), "-linux-x64");
    let redial = format!("/opt/{name}/redial");
    root.ensure_version(&redial)?;
    root.first_number(&redial)?;
    for file in
        ["INSTALL.md", "LICENSE-MIT", "THIRD-PARTY-LICENSES.txt", "redial.cdx.json", "man/man1/redial.1"]
    {
        ensure!(opt.join(name).join(file).is_file(), "no {file}");
    }
    let mut links = 0;
    for document in
        ["INSTALL.md", "README.md", "CHANGELOG.md", "docs/guide/limits.md", "docs/guide/windows-and-iis.md"]
    {
        let path = opt.join(name).join(document);
        let text = std::fs::read_to_string(&path).with_context(|| document.to_owned())?;
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_live = link.is_empty() || link.contains("://") || path.with_file_name(link).is_file();
            ensure!(is_live, "{document} links to {link}");
            links += 1;
        }
    }
    ensure!(links > 10, "only {links} links were found");
    std::fs::remove_dir_all(opt.join(name))?;
    ensure_only(&root, &before)
}

#[test]
fn checksums_cover_every_package() -> Result<()> {
    let sums = package("SHA256SUMS")?;
    let folder = sums.parent().context("a folder")?;
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(folder);
    let checked = host::run(check)?.ok()?.stdout;
    let files = std::fs::read_dir(folder)?.count();
    ensure!(checked.lines().count() == files - 1, "{checked}");
    Ok(())
}

/// The names of completion scripts and commands agree: each script knows a command that was added late.
#[test]
fn completions_know_the_commands() -> Result<()> {
    let root = FreshRoot::new("completions")?;
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("--extract").arg(package("_amd64.deb")?).arg(root.folder());
    host::run(unpack)?.ok()?;
    let script = root.run("redial completions bash")?.stdout;
    let packed = std::fs::read_to_string(root.path("/usr/share/bash-completion/completions/redial"))?;
    ensure!(script == packed, "the packed script is another one");
    let complete = "COMP_WORDS=(redial exc); COMP_CWORD=1; . /usr/share/bash-completion/completions/redial; \
                    _redial redial exc redial; echo \"${COMPREPLY[@]}\"";
    let mut bash = root.shell("exec bash -c \"$1\"", &[complete]);
    bash.env_remove("LANG");
    let completed = host::run(bash)?.ok()?.stdout;
    ensure!(completed.trim() == "exceptions", "bash completes 'exc' to {completed:?}");
    Ok(())
}
