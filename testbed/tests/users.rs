//! Hosts of another user. That user and root may connect, others may not, and servers of other users are not
//! trusted. Needs root to become those users.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use redial_protocol::{endpoint, process};
use redial_testbed::host::{self, Host, Outcome};
use redial_testbed::runtimes::Runtime;
use redial_testbed::under_agent::{self, LiveHost, ensure_messages};
use redial_testbed::{artefacts, on_each_runtime, programs, skip};

on_each_runtime!(
    only_root_and_the_owner_may_connect,
    refuses_third_user_at_the_socket,
    does_not_trust_folders_of_other_users,
);

const STEP: &str = "child!Child.Step(int)";

/// Two users that exist on no machine, and a folder that both may read.
struct Users {
    folder: PathBuf,
    owner: u32,
    third: u32,
}

impl Users {
    /// Returns `None`, and records a skipped test, where the test cannot become other users. `number` separates
    /// tests.
    fn new(test: &str, number: u32, runtime: Runtime) -> Result<Option<Self>> {
        let place = Runtime::all().iter().position(|one| *one == runtime).unwrap_or_default() as u32;
        let owner = 612_000 + number * 10 + place * 2;
        let name = format!("redial-users-{owner}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // SAFETY: geteuid takes nothing and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            skip::not_run(&format!("users::{test}"), "only root can start processes of other users");
            return Ok(None);
        }
        let users = Self { folder, owner, third: owner + 1 };
        fs::create_dir(&users.folder)?;
        fs::set_permissions(&users.folder, Permissions::from_mode(0o755))?;
        // The build folder may be inaccessible to others.
        for file in [artefacts::agent()?, artefacts::redial()?, std::env::current_exe()?] {
            let copy = users.copy(&file);
            fs::copy(&file, &copy).with_context(|| format!("cannot copy {}", file.display()))?;
            fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
        }
        for uid in [users.owner, users.third] {
            let home = users.home(uid);
            fs::create_dir(&home)?;
            chown(&home, Some(uid), Some(uid))?;
            fs::set_permissions(&home, Permissions::from_mode(0o700))?;
        }
        let mut reads = Command::new("test");
        reads.arg("-r").arg(programs::named("child")?.dll());
        if host::run(users.run(users.owner, reads))?.status.success() {
            return Ok(Some(users));
        }
        skip::not_run(&format!("users::{test}"), "other users may not read the cache folder");
        Ok(None)
    }

    fn copy(&self, file: &Path) -> PathBuf {
        self.folder.join(file.file_name().unwrap_or(OsStr::new("file")))
    }

    fn home(&self, uid: u32) -> PathBuf {
        self.folder.join(format!("home-{uid}"))
    }

    /// Runs `command` as that user would start it.
    fn run(&self, uid: u32, mut command: Command) -> Command {
        command.uid(uid).gid(uid).env("HOME", self.home(uid)).env("TMPDIR", self.home(uid));
        command.env_remove("XDG_RUNTIME_DIR").current_dir("/");
        command
    }

    /// Returns the command of a host of the owner, with the agent.
    fn host(&self, runtime: Runtime) -> Result<Command> {
        let mut command = self.run(self.owner, programs::named("child")?.command(runtime)?);
        host::load_agent_from(&mut command, &self.copy(&artefacts::agent()?));
        Ok(command)
    }

    /// Runs `redial WORDS` as a user.
    fn redial(&self, uid: u32, words: &[&str]) -> Result<Outcome> {
        let mut command = Command::new(self.copy(&artefacts::redial()?));
        command.args(words);
        host::run(self.run(uid, command))
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn only_root_and_the_owner_may_connect(runtime: Runtime) -> Result<()> {
    let Some(users) = Users::new("only_root_and_the_owner_may_connect", 0, runtime)? else {
        return Ok(());
    };
    let mut live = under_agent::start(users.host(runtime)?)?;
    let pid = live.pid.to_string();

    // Root, with other folders and variables.
    ensure_messages(&live.redial("dial", &[STEP, "count"])?, 0, &[])?;
    live.host.ask("call 5", "called 5")?;
    let outcome = live.redial("watch", &["--interval", "20", "--count", "1", "--json"])?;
    ensure_messages(&outcome, 0, &[])?;
    ensure!(outcome.json()?["dials"][0]["calls"] == 5, "{}", outcome.output());
    let audit = live.redial("status", &["--agent", "--json"])?.ok()?.json()?["audit"].clone();
    ensure!(audit[0]["user"] == "0", "{audit}");
    ensure_messages(&live.redial("off", &[])?, 0, &[])?;

    // The host's user.
    ensure_messages(&users.redial(users.owner, &["dial", &pid, STEP, "count"])?, 0, &[])?;
    live.host.ask("call 2", "called 2")?;
    ensure!(live.rows(STEP)?[0]["calls"] == 7);

    // Anyone else.
    let uid = format!("uid {}", users.owner);
    for words in [
        ["dial", &pid, STEP, "count"].as_slice(),
        &["status", &pid],
        &["watch", &pid],
        &["modules", &pid],
        &["methods", &pid],
        &["off", &pid],
    ] {
        let outcome = users.redial(users.third, words)?;
        ensure_messages(&outcome, 1, &["may not be dialled by this user", &uid, "root"])
            .with_context(|| format!("{words:?}"))?;
    }
    let listed = users.redial(users.third, &["ps", "--json", "--all"])?.ok()?.json()?;
    let row = listed.as_array().and_then(|rows| rows.iter().find(|row| row["pid"] == live.pid));
    ensure!(row.is_some_and(|row| row["agent"] == "refused"), "{row:?}");

    live.host.ask("call 1", "called 1")?;
    ensure!(live.rows(STEP)?[0]["calls"] == 8, "a third user turned a dial");
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

/// Returns the socket of the owner's host, in that user's temporary folder.
fn socket_of(users: &Users, pid: u32) -> Result<PathBuf> {
    let folder = users.home(users.owner).join(format!("redial-{}", users.owner));
    let socket = folder.join(endpoint::socket_name(process::key_of(pid)?));
    ensure!(fs::metadata(&folder)?.permissions().mode() & 0o7777 == 0o700, "{}", folder.display());
    ensure!(fs::metadata(&socket)?.permissions().mode() & 0o7777 == 0o600, "{}", socket.display());
    Ok(socket)
}

/// Tries to connect to a socket as another user, by running this test program with [`connect_here`].
fn connect_as(users: &Users, uid: u32, socket: &Path) -> Result<String> {
    let mut own = Command::new(users.copy(&std::env::current_exe()?));
    own.args(["--exact", "connect_here", "--ignored", "--nocapture"]).env("REDIAL_USERS_SOCKET", socket);
    let outcome = host::run(users.run(uid, own))?.ok()?;
    let line = outcome.stdout.lines().find_map(|line| line.split_once("found: "));
    line.map(|(_, found)| found.to_owned()).with_context(|| outcome.output())
}

#[test]
#[ignore = "run by other tests as another user"]
fn connect_here() -> Result<()> {
    let Some(socket) = std::env::var_os("REDIAL_USERS_SOCKET") else { return Ok(()) };
    let found = match UnixStream::connect(socket) {
        Err(error) => format!("{:?}", error.kind()),
        Ok(mut stream) => {
            // Longer than any answer takes; an admitted client receives nothing first.
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            match stream.read(&mut [0; 64]) {
                Ok(0) => "closed".to_owned(),
                Ok(_) => "spoken to".to_owned(),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    "let in".to_owned()
                }
                Err(error) => format!("{:?}", error.kind()),
            }
        }
    };
    println!("found: {found}");
    Ok(())
}

/// The folder's mode keeps them out. When root opens folder and socket to everyone, the agent still refuses
/// them.
fn refuses_third_user_at_the_socket(runtime: Runtime) -> Result<()> {
    let Some(users) = Users::new("refuses_third_user_at_the_socket", 1, runtime)? else {
        return Ok(());
    };
    let mut live = under_agent::start(users.host(runtime)?)?;
    let socket = socket_of(&users, live.pid)?;
    ensure!(connect_as(&users, users.third, &socket)? == "PermissionDenied");
    ensure!(connect_as(&users, users.owner, &socket)? == "let in");

    fs::set_permissions(users.home(users.owner), Permissions::from_mode(0o755))?;
    fs::set_permissions(socket.parent().context("a folder")?, Permissions::from_mode(0o777))?;
    fs::set_permissions(&socket, Permissions::from_mode(0o666))?;
    for _ in 0..3 {
        ensure!(matches!(connect_as(&users, users.third, &socket)?.as_str(), "closed" | "ConnectionReset"));
    }
    // Not even root trusts a folder that others may write to.
    ensure_messages(&live.redial("status", &[])?, 4, &["runs without the agent"])?;
    fs::set_permissions(socket.parent().context("a folder")?, Permissions::from_mode(0o700))?;
    ensure_messages(&live.redial("status", &[])?, 0, &[])?;
    live.host.ask("call 1", "called 1")?;
    Ok(())
}

/// A third user has created the folder that the owner's agent would use, and serves the socket in it.
fn does_not_trust_folders_of_other_users(runtime: Runtime) -> Result<()> {
    let Some(users) = Users::new("does_not_trust_folders_of_other_users", 2, runtime)? else {
        return Ok(());
    };
    let planted = ForeignFolder(PathBuf::from(format!("/tmp/redial-{}", users.owner)));
    fs::create_dir(&planted.0)?;
    chown(&planted.0, Some(users.third), Some(users.third))?;
    fs::set_permissions(&planted.0, Permissions::from_mode(0o700))?;

    // Without its own temporary folder the agent would use that one.
    let mut command = users.host(runtime)?;
    command.env_remove("TMPDIR");
    let mut host = Host::start(command)?;
    let pid: u32 = host.wait_for("ready")?.parse()?;
    let mut live = LiveHost { host, pid };
    live.host.ask("call 1", "called 1")?;
    let left: Vec<_> = fs::read_dir(&planted.0)?.collect();
    ensure!(left.is_empty(), "the agent used another's folder: {left:?}");

    // The right socket name does not make clients talk to a server of the third user.
    let name = endpoint::socket_name(process::key_of(pid)?);
    let trap = UnixListener::bind(planted.0.join(name))?;
    trap.set_nonblocking(true)?;
    chown(
        planted.0.join(endpoint::socket_name(process::key_of(pid)?)),
        Some(users.third),
        Some(users.third),
    )?;
    ensure_messages(&live.redial("status", &[])?, 4, &["runs without the agent"])?;
    ensure_messages(&live.redial("off", &[])?, 4, &["runs without the agent"])?;
    let caught = trap.accept().map(|_| ()).map_err(|error| error.kind());
    ensure!(caught == Err(ErrorKind::WouldBlock), "a client connected to a third user's server");
    live.host.ask("call 1", "called 1")?;
    live.host.close_input();
    ensure!(live.host.finish()?.code()? == 0);
    Ok(())
}

/// A folder outside the test's own. Dropping it removes the folder.
struct ForeignFolder(PathBuf);

impl Drop for ForeignFolder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
