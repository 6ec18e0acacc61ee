//! A Wine prefix in which Windows builds of .NET and of Rust programs run.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use redial_testbed::cache;

use crate::process::{command, line, run_quietly};

/// Rust's standard library imports `ProcessPrng` from bcryptprimitives.dll, which Wine before 9 lacks. Without it every
/// Rust program ends at once, without a message.
const RANDOM_SHIM: &str = r"
unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long length) {
    return SystemFunction036(buffer, (unsigned long)length);
}
";

/// Makes Wine be Windows 8 to `redial.exe` alone. There the library that lists processes reads their command lines from
/// their memory; later Windows has a call for that, which Wine 8 lacks.
const OLDER_FOR_REDIAL: [&str; 8] =
    ["reg", "add", r"HKCU\Software\Wine\AppDefaults\redial.exe", "/v", "Version", "/d", "win8", "/f"];

/// Debian's path of the 64-bit loader, which is not on the PATH.
const LOADERS: [&str; 4] =
    ["/usr/lib/wine/wine64", "/usr/bin/wine64", "/usr/local/bin/wine64", "/opt/wine-stable/bin/wine64"];

/// Wine and a prefix, ready to run programs.
#[derive(Clone, Debug)]
pub struct Wine {
    /// The 64-bit loader.
    pub loader: PathBuf,
    /// The prefix folder.
    pub prefix: PathBuf,
}

impl Wine {
    /// Sets the variables by which tests find Wine.
    pub fn tell(&self, command: &mut Command) {
        command
            .env("REDIAL_WINE", &self.loader)
            .env("WINEPREFIX", &self.prefix)
            .env("WINEARCH", "win64")
            .env("WINEDEBUG", "-all")
            .env("WINEDLLOVERRIDES", "mshtml=;winedbg.exe=d");
    }
}

/// The prefix, for one run at a time. Dropping it ends its server, and every program of the prefix.
#[derive(Debug)]
pub struct Claim<'a> {
    wine: &'a Wine,
    /// The system unlocks it when this process ends, however it ends.
    _lock: File,
}

impl Wine {
    /// Waits until no other run uses the prefix. Then ends what a killed run left there: its programs would keep their
    /// server, and a new one waits for the end of an earlier server.
    ///
    /// # Errors
    /// When the prefix cannot be locked, or a server does not end.
    pub fn claim(&self) -> Result<Claim<'_>> {
        let path = self.prefix.with_file_name("in-use");
        let lock = File::create(&path).with_context(|| path.display().to_string())?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                println!("    another run uses Wine's prefix; waiting for its end");
                lock.lock().with_context(|| path.display().to_string())?;
            }
            Err(TryLockError::Error(error)) => return Err(error).context(path.display().to_string()),
        }
        let claim = Claim { wine: self, _lock: lock };
        claim.end_server();
        wait_for_server(&self.loader, &self.prefix)?;
        Ok(claim)
    }

    fn server(&self, option: &str) -> Command {
        let mut server = command(&server_of(&self.loader).to_string_lossy(), &[option]);
        self.tell(&mut server);
        server
    }
}

impl Claim<'_> {
    /// Starts a server that stays between programs, and with it the services of Windows. Without it a program that starts
    /// while the server of an earlier one ends fails without a message.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn serve(&self) -> Result<()> {
        run_mutely(self.wine.server("-p")).context("the Wine server cannot be started")?;
        let mut first = command(&self.wine.loader.to_string_lossy(), &["cmd", "/c", "exit"]);
        self.wine.tell(&mut first);
        run_mutely(first).context("the first program cannot be run under Wine")
    }

    /// Ends the server, if there is one, and every program of the prefix. Wine kills a server that does not end by itself.
    fn end_server(&self) {
        // It fails where no server runs, which is the goal.
        let _ = run_mutely(self.wine.server("-k"));
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.end_server();
    }
}

/// Returns the prefix in the cache folder, created if missing.
///
/// # Errors
/// When Wine or the cross compiler is missing or fails.
pub fn ensure() -> Result<Wine> {
    let Some(loader) = LOADERS.iter().map(Path::new).find(|path| path.is_file()) else {
        bail!("wine64 is in none of {}; `cargo xtask setup` installs it where it may", LOADERS.join(", "))
    };
    let version = run_quietly(command(&loader.to_string_lossy(), &["--version"]).env("WINEDEBUG", "-all"))?;
    let recipe = format!("{}\n{RANDOM_SHIM}{}\n", version.trim(), OLDER_FOR_REDIAL.join(" "));
    let folder = cache::ensure("wine", &recipe, |into| make(loader, into))?;
    Ok(Wine { loader: loader.to_path_buf(), prefix: folder.join("prefix") })
}

fn make(loader: &Path, into: &Path) -> Result<()> {
    let prefix = into.join("prefix");
    let wine = |arguments: &[&str]| -> Result<String> {
        run_quietly(
            command(&loader.to_string_lossy(), arguments)
                .env("WINEPREFIX", &prefix)
                .env("WINEARCH", "win64")
                .env("WINEDEBUG", "-all")
                // Suppresses the offers to install Mono and Gecko, and needs no display.
                .env("WINEDLLOVERRIDES", "mscoree,mshtml=")
                .env_remove("DISPLAY"),
        )
    };
    wine(&["wineboot", "-i"]).context("the Wine prefix cannot be made")?;
    wine(&["winecfg", "-v", "win10"]).context("Wine cannot be told to be Windows 10")?;
    wine(&OLDER_FOR_REDIAL).context("Wine cannot be told to be Windows 8 to redial.exe")?;
    // The prefix is about to move, so its server must first write the registry and end.
    wine(&["wineboot", "-e"]).context("the Wine session cannot be ended")?;
    wait_for_server(loader, &prefix)?;
    let source = into.join("bcryptprimitives.c");
    std::fs::write(&source, RANDOM_SHIM)?;
    let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
    run_quietly(
        command("x86_64-w64-mingw32-gcc", &["-shared", "-O2", "-o"])
            .arg(&library)
            .arg(&source)
            .arg("-ladvapi32"),
    )
    .context("the library that Wine lacks cannot be built")?;
    Ok(())
}

fn wait_for_server(loader: &Path, prefix: &Path) -> Result<()> {
    run_quietly(command(&server_of(loader).to_string_lossy(), &["-w"]).env("WINEPREFIX", prefix))
        .map(drop)
        .context("the Wine server did not end")
}

/// Runs a command to its end without its output. What it leaves running inherits no stream to wait for.
fn run_mutely(mut command: Command) -> Result<()> {
    let what = line(&command);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let status = status.with_context(|| format!("`{what}` cannot be started"))?;
    if !status.success() {
        bail!("`{what}` ended with {status}");
    }
    Ok(())
}

fn server_of(loader: &Path) -> PathBuf {
    let beside = loader.with_file_name("wineserver");
    if beside.is_file() { beside } else { PathBuf::from("wineserver") }
}
