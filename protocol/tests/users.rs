//! Access by user, tested with real processes of other users and namespaces. The tests need root; otherwise
//! they report on standard error what was not run.
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

/// Users without a name or special rights, like those of a service.
const HOST: u32 = 64_001;
const THIRD: u32 = 64_002;

/// A copy of this test program that every user can run, beside a folder of the host's user.
struct Sandbox {
    folder: PathBuf,
    program: PathBuf,
}

impl Sandbox {
    /// Sets up the copy; None if not root.
    fn new(name: &str) -> Option<Sandbox> {
        let root = process::owner_of(std::process::id()).unwrap().uid == 0;
        if !root {
            eprintln!("not run, because only root can: {name}");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("redial-users-{}-{name}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        let program = folder.join("roles");
        // Another process writes the copy. A process forked meanwhile by a parallel test would inherit our
        // handle on it, and a file open for writing cannot be executed (ETXTBSY).
        let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status();
        assert!(copied.unwrap().success());
        fs::create_dir(folder.join("tmp")).unwrap();
        chown(folder.join("tmp"), Some(HOST), None).unwrap();
        Some(Sandbox { folder, program })
    }

    /// Returns a command that plays a role (one of the ignored tests below).
    fn role(&self, role: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--exact", role, "--ignored", "--nocapture"]).env_clear();
        command.env("TMPDIR", self.folder.join("tmp")).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A process that plays a role; it ends when its input ends.
struct RoleProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl RoleProcess {
    fn start(mut command: Command) -> RoleProcess {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        RoleProcess { child, input, output }
    }

    /// Returns the text after `mark` on the next line that begins with it. (The test harness also writes
    /// lines.)
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
                        // A controller that only checks access has already disconnected.
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
    // The host closes at once, with or without a reset.
    let _ = stream.read_to_end(&mut answer);
    println!("OUTCOME {} bytes", answer.len());
}

/// Returns the outcome that a role prints for one line of input.
fn outcome(command: Command, input: &str) -> String {
    let mut process = RoleProcess::start(command);
    writeln!(process.input.as_mut().unwrap(), "{input}").unwrap();
    let outcome = process.line("OUTCOME ");
    process.end();
    outcome
}

/// Connects from this process and returns the user that the host saw.
fn seen_as(pid: u32) -> String {
    let connection = connect(pid).unwrap();
    assert_eq!(connection.peer().pid, Some(pid));
    let (mut read, _write, _closer) = connection.split();
    let mut user = String::new();
    read.read_to_string(&mut user).unwrap();
    user
}

#[test]
fn host_admits_only_its_own_user_and_root() {
    let Some(sandbox) = Sandbox::new("users") else { return };
    let mut host = sandbox.role("role_host");
    host.uid(HOST).gid(HOST);
    let mut host = RoleProcess::start(host);
    let path = host.line("SERVING ");
    let expected = sandbox.folder.join(format!("tmp/redial-{HOST}"));
    assert_eq!(Path::new(&path).parent().unwrap(), expected);
    let pid = host.child.id();

    assert_eq!(seen_as(pid), "0");
    let mut same = sandbox.role("role_controller");
    same.uid(HOST).gid(HOST);
    assert_eq!(outcome(same, &pid.to_string()), "connected");
    let mut third = sandbox.role("role_controller");
    third.uid(THIRD).gid(THIRD);
    assert_eq!(
        outcome(third, &pid.to_string()),
        format!(
            "access to process {pid} is denied: it runs as uid {HOST}, this program as uid {THIRD}; only that \
             user and root may connect"
        )
    );

    // Even with folder and socket open to all, the host itself refuses by the peer's uid.
    fs::set_permissions(&expected, Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let mut intruder = sandbox.role("role_intruder");
    intruder.uid(THIRD).gid(THIRD);
    assert_eq!(outcome(intruder, &path), "0 bytes");
    assert_eq!(
        host.line("REFUSED "),
        format!("a connection from uid {THIRD} was refused: only the host's user and root may connect")
    );
    host.end();
    assert!(!Path::new(&path).exists());
}

#[test]
fn reaches_a_host_in_other_namespaces() {
    let Some(sandbox) = Sandbox::new("namespaces") else { return };
    // Its own pid namespace, and a temporary folder that only it sees.
    let script = r#"mount -t tmpfs none /mnt && exec "$0" "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", script]).arg(&sandbox.program);
    command.args(["--exact", "role_host", "--ignored", "--nocapture"]).env("TMPDIR", "/mnt");
    command.env_remove("XDG_RUNTIME_DIR").stdin(Stdio::piped()).stdout(Stdio::piped());
    let probe = Command::new("unshare").args(["--pid", "--mount", "--fork", "true"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("not run, because this machine does not allow new namespaces: a host in other namespaces");
        return;
    }
    let mut host = RoleProcess::start(command);
    let path = host.line("SERVING ");
    assert!(path.starts_with("/mnt/redial-0/1-"), "{path}");
    assert!(!Path::new(&path).exists(), "{path} is visible outside");
    let unshare = host.child.id();
    let children = fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children")).unwrap();
    let outer: u32 = children.trim().parse().unwrap();
    assert_eq!(process::key_of(outer).unwrap().pid, 1);
    assert_eq!(seen_as(outer), "0");
    host.end();
}

#[test]
fn distinguishes_missing_processes_from_missing_agents() {
    let error = connect(u32::MAX).unwrap_err();
    assert!(matches!(error, ConnectError::NoSuchProcess { .. }), "{error}");
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let error = connect(child.id()).unwrap_err();
    assert!(matches!(error, ConnectError::NoAgent { .. }), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
}
