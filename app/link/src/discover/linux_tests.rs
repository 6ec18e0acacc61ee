//! Tests with real processes of this machine and with fake /proc folders.

use super::*;
use std::process::{Child, Command, Stdio};

#[test]
fn finds_this_process_without_a_runtime() {
    let me = std::process::id();
    let found = find(me).expect("it runs");
    let exe = std::env::current_exe().expect("path");
    assert_eq!(Some(found.name.as_str()), exe.file_name().and_then(|name| name.to_str()));
    assert_eq!((&found.runtime, &found.halted, found.ended), (&RuntimeSearch::None, &None, false));
    assert!(found.command.is_some_and(|command| !command.contains('\0')));
    let summaries = summaries().expect("/proc");
    let seen = summaries.iter().find(|summary| summary.key.pid == me).expect("it is listed");
    assert_eq!(seen.key, process::key_of(me).expect("own key"));
    assert!(has_mapped(me, &exe) && !has_mapped(me, Path::new("/no/such/library.so")));
}

fn inspect(pid: u32) -> Option<Process> {
    let summaries = summaries().expect("/proc");
    let summary = summaries.into_iter().find(|summary| summary.key.pid == pid)?;
    inspect_files(&ProcFolder::of(pid), summary, None)
}

/// A harmless waiting program; reaped on drop.
pub(crate) struct WaitingProgram(Child);

impl WaitingProgram {
    pub(crate) fn start() -> WaitingProgram {
        WaitingProgram(Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat"))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Stops it.
    pub(crate) fn stop(&self) {
        self.signal(libc::SIGSTOP);
        self.wait(libc::WSTOPPED);
    }

    /// Waits for a state change without reaping the process.
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

impl Drop for WaitingProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_zombie_has_ended() {
    let child = WaitingProgram::start();
    let pid = child.pid();
    let alive = inspect(pid).expect("it runs");
    child.signal(libc::SIGKILL);
    child.wait(libc::WEXITED);
    assert!(!runs(pid) && find(pid).is_none());
    let dead = inspect(pid).expect("it is still there");
    assert!(dead.ended && dead.key == alive.key && dead.runtime == RuntimeSearch::None);
    assert_eq!((dead.name.as_str(), dead.halted), ("cat", None));
}

#[test]
fn reports_a_stopped_process() {
    let child = WaitingProgram::start();
    let pid = child.pid();
    assert_eq!(halted(pid), None);
    child.stop();
    assert_eq!(halted(pid), Some(Halt::Signal));
    assert_eq!(inspect(pid).and_then(|one| one.halted), Some(Halt::Signal));
    child.signal(libc::SIGCONT);
    child.wait(libc::WCONTINUED);
    assert_eq!(halted(pid), None);
}

#[test]
fn names_the_debugger_of_a_paused_process() {
    let child = WaitingProgram::start();
    let pid = child.pid();
    // One thread must do all the tracing: this one. SAFETY: ptrace(2) on our own child; SEIZE and INTERRUPT
    // take no memory.
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

/// A fake /proc folder; removed on drop.
struct FakeProc(PathBuf);

impl FakeProc {
    fn new(name: &str) -> FakeProc {
        let folder = std::env::temp_dir().join(format!("redial-proc-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        FakeProc(folder)
    }

    fn file(&self, name: &str, text: &str) -> &FakeProc {
        std::fs::write(self.0.join(name), text).expect("written");
        self
    }

    fn files(&self) -> ProcFolder {
        ProcFolder::below(&self.0)
    }

    /// Inspects the fake process; if its stat file is gone, with the key it had before.
    fn inspect(&self, before: Option<&Process>) -> Option<Process> {
        let stat = self.files().stat();
        let gone = ProcessSummary {
            key: ProcessKey { pid: 7, start: 777 },
            mark: None,
            halted: false,
            ended: false,
        };
        inspect_files(&self.files(), stat.map_or(gone, |stat| summary(7, &stat)), before)
    }
}

impl Drop for FakeProc {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn stat(state: char) -> String {
    format!("7 (shop) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 9 18 777 4096 21")
}

#[test]
fn skips_a_process_that_ends_during_inspection() {
    let fake = FakeProc::new("ends");
    assert!(fake.inspect(None).is_none(), "it ended before its map was opened");
    fake.file("maps", "");
    assert!(fake.inspect(None).is_none(), "it ended before its map was read");
    fake.file("stat", &stat('Z'));
    assert!(fake.inspect(None).is_some_and(|process| process.ended), "it was seen to have ended");
    fake.file("stat", &stat('S')).file("comm", "shop\n");
    let kernel = fake.inspect(None).expect("it runs, with nothing mapped: a thread of the kernel");
    assert_eq!((kernel.name.as_str(), kernel.runtime, kernel.key.start), ("shop", RuntimeSearch::None, 777));
    fake.file("maps", "1-2 r-xp 0 0:0 1 /opt/shop/libcoreclr.so\n");
    assert!(fake.inspect(None).is_some_and(|process| process.may_be_dotnet()));
    let other =
        ProcessSummary { key: ProcessKey { pid: 7, start: 1 }, mark: None, halted: false, ended: false };
    assert!(inspect_files(&fake.files(), other, None).is_none(), "another process has that pid now");
}

#[test]
fn reuses_known_facts_of_the_same_process() {
    let fake = FakeProc::new("known");
    fake.file("stat", &stat('S')).file("maps", "1-2 r-xp 0 0:0 1 /opt/shop/libcoreclr.so\n");
    let first = fake.inspect(None).expect("it runs");
    assert_eq!(first.runtime, RuntimeSearch::Runtime(Runtime::new(RuntimeKind::CoreClr, None)));
    let known = |start| Process {
        key: ProcessKey { pid: 7, start },
        runtime: RuntimeSearch::Runtime(Runtime::new(RuntimeKind::CoreClr, Some("9.0.1"))),
        ..first.clone()
    };
    let again = |before: Process| fake.inspect(Some(&before)).expect("it runs").runtime;
    assert_eq!(again(known(777)), known(777).runtime);
    assert_eq!(again(known(776)), first.runtime, "another process had that pid");
}

#[test]
fn names_come_from_the_program_or_command_line() {
    let fake = FakeProc::new("names");
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
        name(&ProcFolder::of(std::process::id()), &[]),
        file_name(&std::env::current_exe().expect("path")).expect("name")
    );
}
