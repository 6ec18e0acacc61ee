//! Processes of this very machine, and folders that look like those of processes.

use super::*;
use std::process::{Child, Command, Stdio};

#[test]
fn this_very_process_is_found_and_has_no_runtime() {
    let me = std::process::id();
    let found = one(me).expect("it runs");
    let exe = std::env::current_exe().expect("path");
    assert_eq!(Some(found.name.as_str()), exe.file_name().and_then(|name| name.to_str()));
    assert_eq!((&found.runtime, &found.halted, found.ended), (&Found::None, &None, false));
    assert!(found.command.is_some_and(|command| !command.contains('\0')));
    let sights = sights().expect("/proc");
    let seen = sights.iter().find(|sight| sight.key.pid == me).expect("it is listed");
    assert_eq!(seen.key, process::key_of(me).expect("own key"));
    assert!(has_mapped(me, &exe) && !has_mapped(me, Path::new("/no/such/library.so")));
}

fn look(pid: u32) -> Option<Process> {
    let sights = sights().expect("/proc");
    let sight = sights.into_iter().find(|sight| sight.key.pid == pid)?;
    look_into(&Files::of(pid), sight, None)
}

/// A harmless program that waits, reaped when dropped.
pub(crate) struct Waiting(Child);

impl Waiting {
    pub(crate) fn start() -> Waiting {
        Waiting(Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Stops it.
    pub(crate) fn stop(&self) {
        self.signal(libc::SIGSTOP);
        self.wait(libc::WSTOPPED);
    }

    /// Waits for a change of its state without reaping it.
    fn wait(&self, options: i32) {
        // SAFETY: waitid(2) with a zeroed siginfo of our own; WNOWAIT leaves the child to `drop`.
        let waited = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, self.0.id(), &mut info, options | libc::WNOWAIT)
        };
        assert_eq!(waited, 0);
    }

    fn signal(&self, signal: i32) {
        // SAFETY: kill(2) to our own child, which has not been waited for.
        assert_eq!(unsafe { libc::kill(self.0.id() as i32, signal) }, 0);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_child_that_was_not_waited_for_has_ended() {
    let child = Waiting::start();
    let pid = child.pid();
    let alive = look(pid).expect("it runs");
    child.signal(libc::SIGKILL);
    child.wait(libc::WEXITED);
    assert!(!runs(pid) && one(pid).is_none());
    let dead = look(pid).expect("it is still there");
    assert!(dead.ended && dead.key == alive.key && dead.runtime == Found::None);
    assert_eq!((dead.name.as_str(), dead.halted), ("cat", None));
}

#[test]
fn a_stopped_process_says_so() {
    let child = Waiting::start();
    let pid = child.pid();
    assert_eq!(halted(pid), None);
    child.stop();
    assert_eq!(halted(pid), Some(Halt::Signal));
    assert_eq!(look(pid).and_then(|one| one.halted), Some(Halt::Signal));
    child.signal(libc::SIGCONT);
    child.wait(libc::WCONTINUED);
    assert_eq!(halted(pid), None);
}

#[test]
fn a_traced_process_that_is_paused_names_its_debugger() {
    let child = Waiting::start();
    let pid = child.pid();
    // The debugger must be one thread from the first word to the last: this one.
    // SAFETY: ptrace(2) on our own child; SEIZE and INTERRUPT take no memory.
    unsafe {
        let nothing = std::ptr::null_mut::<libc::c_void>();
        let seized = libc::ptrace(libc::PTRACE_SEIZE, pid as i32, nothing, nothing);
        assert_eq!(seized, 0, "{}", io::Error::last_os_error());
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, pid as i32, nothing, nothing), 0);
        let mut status = 0;
        assert_eq!(libc::waitpid(pid as i32, &mut status, libc::__WALL), pid as i32);
    }
    let paused = halted(pid).expect("it is paused");
    assert!(matches!(&paused, Halt::Debugger { pid, .. } if *pid == std::process::id()), "{paused:?}");
    assert!(paused.to_string().contains("debugger"), "{paused}");
}

/// A folder like one of /proc; removed when dropped.
struct Fake(PathBuf);

impl Fake {
    fn new(name: &str) -> Fake {
        let folder = std::env::temp_dir().join(format!("redial-proc-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        Fake(folder)
    }

    fn file(&self, name: &str, text: &str) -> &Fake {
        std::fs::write(self.0.join(name), text).expect("written");
        self
    }

    fn files(&self) -> Files {
        Files::below(&self.0)
    }

    /// As it is seen now; as it was seen before where it is gone.
    fn look(&self, before: Option<&Process>) -> Option<Process> {
        let stat = self.files().stat();
        let gone = Sight { key: ProcessKey { pid: 7, start: 777 }, mark: None, halted: false, ended: false };
        look_into(&self.files(), stat.map_or(gone, |stat| sight(7, &stat)), before)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn stat(state: char) -> String {
    format!("7 (shop) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 9 18 777 4096 21")
}

#[test]
fn a_process_that_ends_while_it_is_looked_at_is_none() {
    let fake = Fake::new("ends");
    assert!(fake.look(None).is_none(), "it ended before its map was opened");
    fake.file("maps", "");
    assert!(fake.look(None).is_none(), "it ended before its map was read");
    fake.file("stat", &stat('Z'));
    assert!(fake.look(None).is_some_and(|process| process.ended), "it was seen to have ended");
    fake.file("stat", &stat('S')).file("comm", "shop\n");
    let kernel = fake.look(None).expect("it runs, with nothing mapped: a thread of the kernel");
    assert_eq!((kernel.name.as_str(), kernel.runtime, kernel.key.start), ("shop", Found::None, 777));
    fake.file("maps", "1-2 r-xp 0 0:0 1 /opt/shop/libcoreclr.so\n");
    assert!(fake.look(None).is_some_and(|process| process.may_be_dotnet()));
    let other = Sight { key: ProcessKey { pid: 7, start: 1 }, mark: None, halted: false, ended: false };
    assert!(look_into(&fake.files(), other, None).is_none(), "another process has that pid now");
}

#[test]
fn what_was_known_of_the_same_process_is_not_asked_again() {
    let fake = Fake::new("known");
    fake.file("stat", &stat('S')).file("maps", "1-2 r-xp 0 0:0 1 /opt/shop/libcoreclr.so\n");
    let first = fake.look(None).expect("it runs");
    assert_eq!(first.runtime, Found::Runtime(Runtime::new(Kind::CoreClr, None)));
    let known = |start| Process {
        key: ProcessKey { pid: 7, start },
        runtime: Found::Runtime(Runtime::new(Kind::CoreClr, Some("9.0.1"))),
        ..first.clone()
    };
    let again = |before: Process| fake.look(Some(&before)).expect("it runs").runtime;
    assert_eq!(again(known(777)), known(777).runtime);
    assert_eq!(again(known(776)), first.runtime, "another process had that pid");
}

#[test]
fn names_are_of_the_program_else_of_what_it_is_called_by() {
    let fake = Fake::new("names");
    let named = |words: &[&str], short: &str| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        name(&fake.file("comm", short).files(), &words)
    };
    assert_eq!(
        named(&["/opt/a-program-of-a-long-name", "x"], "a-program-of-a-\n"),
        "a-program-of-a-long-name"
    );
    assert_eq!(named(&["nginx: master process"], "nginx\n"), "nginx: master process");
    assert_eq!(named(&["-bash"], "bash\n"), "bash");
    assert_eq!(named(&[], "kthreadd\n"), "kthreadd");
    assert_eq!(
        name(&Files::of(std::process::id()), &[]),
        file_name(&std::env::current_exe().expect("path")).expect("name")
    );
}
