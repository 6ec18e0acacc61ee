//! Who may connect to whom, with real processes of other users and namespaces. Needs root; where that is missing,
//! the tests say on standard error what was not run.
#![cfg(target_os = "linux")]

use redial_protocol::process;
use redial_protocol::transport::{AcceptError, ConnectError, Listener, connect};
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Users without a name or rights of their own, as a service's would be.
const HOST: u32 = 64_001;
const THIRD: u32 = 64_002;

/// This test program where every user can run it, beside a folder that is the host's.
struct Stage {
    folder: PathBuf,
    program: PathBuf,
}

impl Stage {
    /// None when not root.
    fn set(name: &str) -> Option<Stage> {
        let root = process::owner_of(std::process::id()).unwrap().uid == 0;
        if !root {
            eprintln!("not run, because only root can: {name}");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("redial-users-{}-{name}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        let program = folder.join("roles");
        // Another process writes the copy: one forked meanwhile by a test beside this one would inherit our handle
        // on it, and what is open for writing cannot be executed (ETXTBSY).
        let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
        assert!(copied.unwrap().success());
        fs::create_dir(folder.join("tmp")).unwrap();
        chown(folder.join("tmp"), Some(HOST), None).unwrap();
        Some(Stage { folder, program })
    }

    /// A command that plays a role (one of the ignored tests below).
    fn role(&self, role: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--exact", role, "--ignored", "--nocapture"]).env_clear();
        command.env("TMPDIR", self.folder.join("tmp")).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A process that plays a role; it ends when its input does.
struct Player {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Player {
    fn start(mut command: Command) -> Player {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Player { child, input, output }
    }

    /// What follows `mark` on the next line that begins with it. (The test harness writes lines of its own.)
    fn line(&mut self, mark: &str) -> String {
        let mut seen = String::new();
        loop {
            let start = seen.len();
            assert_ne!(self.output.read_line(&mut seen).unwrap(), 0, "ended without {mark}: {seen}");
            if let Some((_, rest)) = seen[start..].split_once(mark) {
                return rest.trim().to_owned();
            }
        }
    }

    fn end(mut self) {
        drop(self.input.take());
        self.output.read_to_end(&mut Vec::new()).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
#[ignore = "a role in the other tests"]
fn role_host() {
    let listener = Listener::bind(process::own_key().unwrap()).unwrap();
    println!("SERVING {}", listener.name());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                match listener.accept() {
                    Ok(connection) => {
                        let user = connection.peer().user.clone();
                        let (_, mut write, _) = connection.split();
                        // A controller that only looks is gone already.
                        let _ = write.write_all(user.as_bytes());
                    }
                    Err(AcceptError::Closed) => return,
                    Err(error) => println!("REFUSED {error}"),
                }
            }
        });
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        listener.close();
    });
}

#[test]
#[ignore = "a role in the other tests"]
fn role_controller() {
    let mut pid = String::new();
    std::io::stdin().read_line(&mut pid).unwrap();
    match connect(pid.trim().parse().unwrap()) {
        Ok(_) => println!("OUTCOME connected"),
        Err(error) => println!("OUTCOME {error}"),
    }
}

#[test]
#[ignore = "a role in the other tests"]
fn role_intruder() {
    let mut path = String::new();
    std::io::stdin().read_line(&mut path).unwrap();
    let mut stream = UnixStream::connect(path.trim()).unwrap();
    let mut answer = Vec::new();
    // Closed by the host at once, with or without a reset.
    let _ = stream.read_to_end(&mut answer);
    println!("OUTCOME {} bytes", answer.len());
}

/// What a role prints when told one line.
fn outcome(command: Command, told: &str) -> String {
    let mut player = Player::start(command);
    writeln!(player.input.as_mut().unwrap(), "{told}").unwrap();
    let outcome = player.line("OUTCOME ");
    player.end();
    outcome
}

/// Connects from this process and returns as whom the host saw it.
fn seen_as(pid: u32) -> String {
    let connection = connect(pid).unwrap();
    assert_eq!(connection.peer().pid, Some(pid));
    let (mut read, _write, _closer) = connection.split();
    let mut user = String::new();
    read.read_to_string(&mut user).unwrap();
    user
}

#[test]
fn another_users_host_admits_that_user_and_root_and_nobody_else() {
    let Some(stage) = Stage::set("users") else { return };
    let mut host = stage.role("role_host");
    host.uid(HOST).gid(HOST);
    let mut host = Player::start(host);
    let path = host.line("SERVING ");
    let expected = stage.folder.join(format!("tmp/redial-{HOST}"));
    assert_eq!(Path::new(&path).parent().unwrap(), expected);
    let pid = host.child.id();

    assert_eq!(seen_as(pid), "0");
    let mut same = stage.role("role_controller");
    same.uid(HOST).gid(HOST);
    assert_eq!(outcome(same, &pid.to_string()), "connected");
    let mut third = stage.role("role_controller");
    third.uid(THIRD).gid(THIRD);
    assert_eq!(
        outcome(third, &pid.to_string()),
        format!(
            "process {pid} may not be connected to: it runs as uid {HOST}, this program as uid {THIRD}; only that \
             user and root may"
        )
    );

    // Even with the folder and the socket thrown open, the host itself refuses by the peer's uid.
    fs::set_permissions(&expected, Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let mut intruder = stage.role("role_intruder");
    intruder.uid(THIRD).gid(THIRD);
    assert_eq!(outcome(intruder, &path), "0 bytes");
    assert_eq!(
        host.line("REFUSED "),
        format!("a connection of uid {THIRD} was refused: only the host's own user and root may connect")
    );
    host.end();
    assert!(!Path::new(&path).exists());
}

#[test]
fn a_host_in_other_namespaces_is_reached_from_outside() {
    let Some(stage) = Stage::set("namespaces") else { return };
    // A pid of its own, and a temporary folder that only it sees.
    let script = r#"mount -t tmpfs none /mnt && exec "$0" "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", script]).arg(&stage.program);
    command.args(["--exact", "role_host", "--ignored", "--nocapture"]).env("TMPDIR", "/mnt");
    command.env_remove("XDG_RUNTIME_DIR").stdin(Stdio::piped()).stdout(Stdio::piped());
    let probe = Command::new("unshare").args(["--pid", "--mount", "--fork", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "not run, because this machine does not let namespaces be made: a host in other namespaces"
        );
        return;
    }
    let mut host = Player::start(command);
    let path = host.line("SERVING ");
    assert!(path.starts_with("/mnt/redial-0/1-"), "{path}");
    assert!(!Path::new(&path).exists(), "{path} is not apart");
    let unshare = host.child.id();
    let children = fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children")).unwrap();
    let outer: u32 = children.trim().parse().unwrap();
    assert_eq!(process::key_of(outer).unwrap().pid, 1);
    assert_eq!(seen_as(outer), "0");
    host.end();
}

#[test]
fn pids_that_are_no_agent_are_told_apart() {
    let error = connect(u32::MAX).unwrap_err();
    assert!(matches!(error, ConnectError::NoSuchProcess { .. }), "{error}");
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let error = connect(child.id()).unwrap_err();
    assert!(matches!(error, ConnectError::NoAgent { .. }), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
}
