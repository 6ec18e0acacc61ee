//! Attacks on both ends, each in its own folder.

use super::client::try_places;
use super::listener::Listener;
use super::own_uid;
use crate::endpoint::{self, Folder};
use crate::ids::ProcessKey;
use crate::process;
use crate::transport::{BindError, ConnectError};
use std::fs::{self, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A new folder with mode 0700, removed after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("redial-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        set_mode(&path, 0o700);
        Scratch(path)
    }

    fn place(&self) -> Folder {
        self.place_named("redial")
    }

    fn place_named(&self, name: &str) -> Folder {
        Folder { parent: self.0.clone(), name: name.to_owned() }
    }

    /// Creates the folder as an agent does.
    fn create(&self) -> PathBuf {
        let path = self.place().path();
        fs::create_dir(&path).unwrap();
        set_mode(&path, 0o700);
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn me() -> ProcessKey {
    process::own_key().unwrap()
}

/// Returns whether the tests may change file owners; prints a message if not.
fn is_root(what: &str) -> bool {
    let root = own_uid() == 0;
    if !root {
        eprintln!("not run, because only root can: {what}");
    }
    root
}

#[track_caller]
fn check_refused(places: &[Folder], expected: &str) {
    let error = Listener::bind_in(places, me()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

/// Binds in the only folder; dropping the listener closes it.
fn bind(scratch: &Scratch) -> Listener {
    Listener::bind_in(&[scratch.place()], me()).unwrap()
}

#[test]
fn skips_folders_that_others_can_open() {
    let (open, good) = (Scratch::new(), Scratch::new());
    for mode in [0o777, 0o755, 0o1700, 0o500] {
        let path = open.place_named(&format!("{mode:o}")).path();
        fs::create_dir(&path).unwrap();
        set_mode(&path, mode);
        let place = open.place_named(&format!("{mode:o}"));
        check_refused(std::slice::from_ref(&place), &format!("its mode is {mode:04o}, not 0700"));
        let listener = Listener::bind_in(&[place, good.place()], me()).unwrap();
        assert!(Path::new(&listener.name()).starts_with(&good.0));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }
}

#[test]
fn refuses_links_and_files_instead_of_folders() {
    let scratch = Scratch::new();
    let elsewhere = scratch.0.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    set_mode(&elsewhere, 0o700);
    symlink(&elsewhere, scratch.place().path()).unwrap();
    check_refused(&[scratch.place()], "is not a folder");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::write(scratch.0.join("file"), "").unwrap();
    check_refused(&[scratch.place_named("file")], "is not a folder");
    check_refused(&[Folder { parent: scratch.0.join("missing"), name: "x".into() }], "does not exist");
}

#[test]
fn refuses_writable_parents_that_are_not_sticky() {
    let scratch = Scratch::new();
    for mode in [0o777, 0o770] {
        set_mode(&scratch.0, mode);
        check_refused(&[scratch.place()], "others can write in it");
    }
    set_mode(&scratch.0, 0o1777);
    drop(bind(&scratch));
}

#[test]
fn refuses_folders_of_other_users() {
    if !is_root("folders of other users are refused") {
        return;
    }
    let scratch = Scratch::new();
    chown(scratch.create(), Some(12345), None).unwrap();
    check_refused(&[scratch.place()], "it belongs to uid 12345, not to uid 0");
    chown(&scratch.0, Some(12345), None).unwrap();
    check_refused(&[scratch.place()], "it belongs to uid 12345, neither to uid 0 nor to root");
}

#[test]
fn skips_paths_too_long_for_a_socket() {
    let (scratch, long) = (Scratch::new(), Scratch::new());
    let place = long.place_named(&"x".repeat(100));
    check_refused(std::slice::from_ref(&place), "a socket's path has at most 103");
    let listener = Listener::bind_in(&[place, scratch.place()], me()).unwrap();
    assert!(Path::new(&listener.name()).starts_with(&scratch.0));
}

#[test]
fn replaces_only_sockets_that_nobody_serves() {
    let scratch = Scratch::new();
    let path = scratch.create().join(endpoint::socket_name(me()));
    drop(UnixListener::bind(&path).unwrap());
    let listener = bind(&scratch);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    let second = Listener::bind_in(&[scratch.place()], me());
    assert!(matches!(second, Err(BindError::Served { .. })), "{second:?}");
    drop(listener);
    assert!(!path.exists());
}

#[test]
fn foreign_files_are_neither_replaced_nor_removed() {
    let scratch = Scratch::new();
    let path = scratch.create().join(endpoint::socket_name(me()));
    let check = |expected: &str| {
        let error = Listener::bind_in(&[scratch.place()], me()).unwrap_err();
        assert!(matches!(error, BindError::Squatted { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        fs::symlink_metadata(&path).unwrap();
    };
    fs::write(&path, "precious").unwrap();
    check("it is not a socket");
    fs::remove_file(&path).unwrap();
    symlink("/dev/null", &path).unwrap();
    check("it is not a socket");
    fs::remove_file(&path).unwrap();
    if is_root("a socket of another user is refused") {
        drop(UnixListener::bind(&path).unwrap());
        chown(&path, Some(12345), None).unwrap();
        check("it belongs to uid 12345, not to uid 0");
    }
}

#[test]
fn removes_only_its_own_inode() {
    let scratch = Scratch::new();
    let listener = bind(&scratch);
    let path = PathBuf::from(listener.name());
    // Kept, so that the next file does not get its inode number.
    fs::rename(&path, scratch.0.join("ours")).unwrap();
    fs::write(&path, "someone else's").unwrap();
    listener.unlink();
    drop(listener);
    assert_eq!(fs::read_to_string(&path).unwrap(), "someone else's");
}

#[test]
fn sweeps_only_sockets_of_dead_processes() {
    let scratch = Scratch::new();
    let folder = scratch.create();
    let mut child = sleeper();
    let alive = process::key_of(child.id()).unwrap();
    let dead =
        [ProcessKey { pid: alive.pid, start: alive.start + 1 }, ProcessKey { pid: u32::MAX, start: 1 }];
    for key in dead.iter().chain([&alive]) {
        drop(UnixListener::bind(folder.join(endpoint::socket_name(*key))).unwrap());
    }
    // Like a process in another pid namespace that shares the folder: its pid means nothing here, but it serves
    // the socket.
    let elsewhere = folder.join(endpoint::socket_name(ProcessKey { pid: u32::MAX, start: 2 }));
    let served = UnixListener::bind(&elsewhere).unwrap();
    fs::write(folder.join("4294967295-3.sock"), "").unwrap();
    drop(UnixListener::bind(folder.join("007-1.sock")).unwrap());
    let listener = bind(&scratch);
    let mut remaining: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    remaining.sort();
    let mut expected = vec![
        "007-1.sock".to_owned(),
        "4294967295-2.sock".to_owned(),
        "4294967295-3.sock".to_owned(),
        endpoint::socket_name(alive),
        endpoint::socket_name(me()),
    ];
    expected.sort();
    assert_eq!(remaining, expected);
    drop((listener, served));
    end(&mut child);
}

/// Makes a listener that accepts nothing, with a full queue.
fn full_listener(path: &Path) -> (UnixListener, UnixStream) {
    let listener = UnixListener::bind(path).unwrap();
    // SAFETY: listen(2) on an open descriptor; a second call only changes the length of the queue.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let first = UnixStream::connect(path).unwrap();
    (listener, first)
}

#[test]
fn sweep_does_not_wait_for_a_full_queue() {
    let scratch = Scratch::new();
    let name = endpoint::socket_name(ProcessKey { pid: u32::MAX, start: 4 });
    let path = scratch.create().join(name);
    let full = full_listener(&path);
    let (sender, bound) = std::sync::mpsc::channel();
    let place = scratch.place();
    std::thread::spawn(move || sender.send(Listener::bind_in(&[place], me()).is_ok()));
    assert_eq!(bound.recv_timeout(std::time::Duration::from_secs(20)), Ok(true));
    assert!(path.exists(), "a listener with a full queue is not dead");
    drop(full);
}

#[test]
fn children_do_not_inherit_the_endpoint() {
    let scratch = Scratch::new();
    let _listener = bind(&scratch);
    let output = Command::new("ls").args(["-l", "/proc/self/fd"]).stdin(Stdio::null()).output().unwrap();
    let listing = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{listing}");
    assert!(!listing.contains("redial-test"), "{listing}");
    assert!(!listing.contains("socket:"), "{listing}");
}

/// Starts a process that is not an agent.
fn sleeper() -> Child {
    Command::new("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn refuses_a_server_in_another_process() {
    let scratch = Scratch::new();
    let mut child = sleeper();
    let name = endpoint::socket_name(process::key_of(child.id()).unwrap());
    let squatter = UnixListener::bind(scratch.create().join(&name)).unwrap();
    let error = try_places(child.id(), own_uid(), &name, &[scratch.place()]).unwrap_err();
    assert!(matches!(error, ConnectError::WrongServer { .. }), "{error}");
    let expected = format!("is served by process {}", std::process::id());
    assert!(error.to_string().ends_with(&expected), "{error}");
    drop(squatter);
    // A socket that nobody serves is no agent.
    let error = try_places(child.id(), own_uid(), &name, &[scratch.place()]).unwrap_err();
    assert!(matches!(error, ConnectError::NoAgent { .. }), "{error}");
    assert!(error.to_string().contains("where nobody listens"), "{error}");
    end(&mut child);
}

#[test]
fn finds_the_right_server_after_wrong_folders() {
    let (open, missing, good) = (Scratch::new(), Scratch::new(), Scratch::new());
    set_mode(&open.create(), 0o777);
    let listener = bind(&good);
    let name = endpoint::socket_name(me());
    let wrong = [open.place(), missing.place()];
    let error = try_places(std::process::id(), own_uid(), &name, &wrong).unwrap_err();
    let ConnectError::NoAgent { looked_in, .. } = &error else { panic!("{error}") };
    assert!(looked_in[0].contains("its mode is 0777, not 0700"), "{error}");
    assert_eq!(looked_in[1], missing.place().path().join(&name).display().to_string());
    let places = [wrong.as_slice(), &[good.place()]].concat();
    let (_, peer) = try_places(std::process::id(), own_uid(), &name, &places).unwrap();
    assert_eq!(peer.pid, Some(std::process::id()));
    // The same folder is not trusted for a process with another owner.
    let error = try_places(std::process::id(), own_uid() + 1, &name, &[good.place()]).unwrap_err();
    assert!(error.to_string().contains("it belongs to uid"), "{error}");
    drop(listener);
}
