//! Follows the agents of a launched program and keeps the last numbers of each. Reports need the numbers at the end of
//! the process, which nobody can request afterwards.

use redial_link::connect;
use redial_link::discover;
use redial_link::error::LinkError;
use redial_link::launch::{self, MarkEntry};
use redial_link::session::Session;
use redial_model::dials::DialledCopies;
use redial_protocol::message::WireCommand;
use redial_text::words;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PROGRAM: &str = "redial run";
/// Milliseconds between counter snapshots; the last one comes with the goodbye.
const INTERVAL_MS: u32 = 100;
/// The first pause between reads of the mark file; pauses grow up to [`LAST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LAST_PAUSE: Duration = Duration::from_millis(20);
/// How long to wait for the agents' goodbyes after the program's end (agents wait 2 s for a reader).
const GRACE: Duration = Duration::from_secs(3);

/// The last state of one process.
#[derive(Debug)]
pub struct Collected {
    /// Process id.
    pub pid: u32,
    /// Its dials.
    pub dials: DialledCopies,
    reached: bool,
    /// Whether it was still running when the launched program ended.
    outlives: bool,
    trouble: Option<String>,
}

impl Collected {
    /// Starts without numbers.
    pub fn new(pid: u32) -> Collected {
        Collected { pid, dials: DialledCopies::default(), reached: true, outlives: false, trouble: None }
    }

    /// Returns whether its agent answered.
    pub fn was_reached(&self) -> bool {
        self.reached
    }

    /// Returns whether its numbers are final and complete.
    pub fn is_complete(&self) -> bool {
        self.dials.ended() && self.dials.missed_deadlines() == 0
    }

    /// Returns a sentence if its numbers are not final or not complete.
    pub fn note(&self) -> Option<String> {
        let pid = self.pid;
        match (&self.trouble, self.reached, self.dials.ended()) {
            (_, true, true) => match self.dials.missed_deadlines() {
                0 => None,
                missed => Some(format!(
                    "process {pid}: first calls may be missing; {} loaded before the agent had searched them",
                    words::count(missed, "module", "modules")
                )),
            },
            (Some(trouble), ..) => Some(format!("process {pid}: {trouble}")),
            (None, false, _) => Some(format!("process {pid} ended before its agent could be reached")),
            (None, true, false) if self.outlives => Some(format!(
                "process {pid} is still running; these are its numbers when the launched program ended"
            )),
            (None, true, false) => Some(format!(
                "process {pid} ended without a final report; these are the last numbers received"
            )),
        }
    }
}

/// Follows processes in its own threads.
pub struct Collector {
    ended: Arc<AtomicBool>,
    watcher: JoinHandle<Vec<Collected>>,
}

impl Collector {
    /// Follows the child and every process that an agent notes in the mark file.
    pub fn start(child: u32, mark: PathBuf) -> Collector {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let watcher = std::thread::spawn(move || watch(child, &mark, &flag));
        Collector { ended, watcher }
    }

    /// Waits a limited time for goodbyes and returns the processes in the order they appeared. Call this after the
    /// child ended and while the mark file still exists.
    pub fn finish(self) -> Vec<Collected> {
        self.ended.store(true, Ordering::SeqCst);
        self.watcher.join().unwrap_or_default()
    }
}

fn watch(child: u32, mark: &Path, ended: &Arc<AtomicBool>) -> Vec<Collected> {
    let mut followed = BTreeSet::new();
    let mut followers: Vec<JoinHandle<Collected>> = Vec::new();
    let mut pause = FIRST_PAUSE;
    loop {
        // Read the flag first, so that everything noted before the end is read.
        let last = ended.load(Ordering::SeqCst);
        let mut pids = marked(mark);
        // If the mark could not be written, follow the child anyway.
        if pids.is_empty()
            && !last
            && followed.is_empty()
            && redial_protocol::transport::connect(child).is_ok()
        {
            pids.push(child);
        }
        for pid in pids {
            if followed.insert(pid) {
                let ended = Arc::clone(ended);
                followers.push(std::thread::spawn(move || follow(pid, &ended)));
            }
        }
        if last {
            break;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
    followers.into_iter().filter_map(|follower| follower.join().ok()).collect()
}

fn marked(mark: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(mark).unwrap_or_default();
    let pid = |mark| match mark {
        MarkEntry::Loaded(key) => Some(key.pid),
        MarkEntry::Inert(_) => None,
    };
    launch::marks(&text).into_iter().filter_map(pid).collect()
}

fn follow(pid: u32, ended: &AtomicBool) -> Collected {
    let mut collected = Collected::new(pid);
    match reach(pid, ended) {
        Ok(Some(mut session)) => match listen(&mut session, &mut collected.dials, ended) {
            Ok(outlives) => collected.outlives = outlives,
            Err(error) => collected.trouble = trouble(&error),
        },
        Ok(None) => collected.reached = false,
        Err(error) => {
            collected.reached = false;
            collected.trouble = trouble(&error);
        }
    }
    collected
}

/// Returns the error as a sentence, but `None` for the expected end of the process.
fn trouble(error: &LinkError) -> Option<String> {
    match error {
        LinkError::Ended(_) | LinkError::NoProcess(_) => None,
        error => Some(error.to_string()),
    }
}

/// Connects as soon as the endpoint exists; returns `None` if the process ends first.
fn reach(pid: u32, ended: &AtomicBool) -> Result<Option<Session>, LinkError> {
    let mut pause = FIRST_PAUSE;
    loop {
        match connect::open(pid, PROGRAM) {
            Ok(session) => return Ok(Some(session)),
            // The agent is not loaded yet, or the process is ending and no longer looks like .NET.
            Err(LinkError::NoAgent { .. } | LinkError::Unsuitable { .. }) => {}
            Err(LinkError::NoProcess(_) | LinkError::Ended(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        if ended.load(Ordering::SeqCst) {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Receives numbers until the goodbye, the end of the process, or, for a process that outlives the child, the child's
/// end. Returns whether it was the last of these.
fn listen(session: &mut Session, dials: &mut DialledCopies, ended: &AtomicBool) -> Result<bool, LinkError> {
    session.execute(WireCommand::Subscribe { pattern: None, interval_ms: INTERVAL_MS })?;
    let mut until: Option<Instant> = None;
    loop {
        if let Some(event) = session.next(Some(Instant::now() + Duration::from_millis(INTERVAL_MS.into())))? {
            dials.apply(event);
        }
        if dials.ended() {
            stay(session);
            return Ok(false);
        }
        if ended.load(Ordering::SeqCst) {
            let until = *until.get_or_insert_with(|| Instant::now() + GRACE);
            if discover::runs(session.pid()) {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
        }
    }
}

/// Waits for the agent to close the connection. If the reader left during the goodbye, the agent would wait for another
/// reader.
fn stay(session: &mut Session) {
    let until = Instant::now() + GRACE;
    while Instant::now() < until && matches!(session.next(Some(until)), Ok(Some(_))) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::message::Event;

    #[test]
    fn notes_explain_how_a_process_ended() {
        let mut collected = Collected::new(7);
        assert!(collected.note().is_some_and(|note| note.contains("last numbers received")));
        collected.trouble = Some("it closed the connection".into());
        assert_eq!(collected.note().as_deref(), Some("process 7: it closed the connection"));
        collected.trouble = None;
        collected.reached = false;
        assert!(collected.note().is_some_and(|note| note.contains("before its agent could be reached")));
        collected.reached = true;
        collected.dials.apply(Event::Goodbye { missed_deadlines: 0 });
        assert_eq!(collected.note(), None);
        collected.dials.apply(Event::Goodbye { missed_deadlines: 2 });
        assert!(collected.note().is_some_and(|note| note.contains("2 modules loaded")));
    }

    #[test]
    #[cfg(unix)]
    fn collects_nothing_without_an_agent() {
        let mark = std::env::temp_dir().join(format!("redial-collect-{}", std::process::id()));
        std::fs::write(&mark, "inert it is not the launched process\n").expect("a mark");
        let mut child = std::process::Command::new("true").spawn().expect("true");
        let collector = Collector::start(child.id(), mark.clone());
        child.wait().expect("ended");
        assert!(collector.finish().is_empty());
        std::fs::remove_file(mark).expect("cleaned");
    }
}
