//! Follows the agents of a launched program and keeps the last numbers of each: reports need those of the moment
//! the process ends, when nobody can ask any more.

use crate::link::connect;
use crate::link::discover;
use crate::link::error::LinkError;
use crate::link::launch::{self, Mark};
use crate::link::session::Session;
use crate::model::dials::Dials;
use crate::output::words;
use redial_protocol::message::Command;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PROGRAM: &str = "redial run";
/// Milliseconds between folds while it runs; the last fold comes with the goodbye.
const INTERVAL_MS: u32 = 100;
/// Looks at the mark file begin this often, and slow down.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LAST_PAUSE: Duration = Duration::from_millis(20);
/// How long after the program's end its agents may take to say goodbye (they wait 2 s for a reader).
const GRACE: Duration = Duration::from_secs(3);

/// The last state of one process.
#[derive(Debug)]
pub struct Collected {
    /// Process id.
    pub pid: u32,
    /// Its dials.
    pub dials: Dials,
    reached: bool,
    /// It ran on when the program that was started had ended.
    outlives: bool,
    trouble: Option<String>,
}

impl Collected {
    /// A process nothing is known of yet.
    pub fn new(pid: u32) -> Collected {
        Collected { pid, dials: Dials::default(), reached: true, outlives: false, trouble: None }
    }

    /// Whether its agent answered.
    pub fn was_reached(&self) -> bool {
        self.reached
    }

    /// Whether its numbers are the last ones, and leave nothing out.
    pub fn is_complete(&self) -> bool {
        self.dials.ended() && self.dials.missed_deadlines() == 0
    }

    /// A sentence when its numbers are not the last ones, or leave something out.
    pub fn note(&self) -> Option<String> {
        let pid = self.pid;
        match (&self.trouble, self.reached, self.dials.ended()) {
            (_, true, true) => match self.dials.missed_deadlines() {
                0 => None,
                missed => Some(format!(
                    "process {pid}: first calls may be missing; {} loaded before the agent had looked through",
                    words::count(missed, "module", "modules")
                )),
            },
            (Some(trouble), ..) => Some(format!("process {pid}: {trouble}")),
            (None, false, _) => Some(format!("process {pid} ended before its agent could be reached")),
            (None, true, false) if self.outlives => Some(format!(
                "process {pid} runs on; these are its numbers when the program that was started ended"
            )),
            (None, true, false) => {
                Some(format!("process {pid} ended without a last word; these are the last numbers seen"))
            }
        }
    }
}

/// Follows in threads of its own.
pub struct Collector {
    ended: Arc<AtomicBool>,
    watcher: JoinHandle<Vec<Collected>>,
}

impl Collector {
    /// Follows the child, and every process an agent notes in the mark file.
    pub fn start(child: u32, mark: PathBuf) -> Collector {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let watcher = std::thread::spawn(move || watch(child, &mark, &flag));
        Collector { ended, watcher }
    }

    /// To be called when the child has ended, while the mark file still is there. Waits for goodbyes within a
    /// bound; the processes in the order they appeared.
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
        // The flag first: what was noted before the end is then surely read.
        let last = ended.load(Ordering::SeqCst);
        let mut pids = marked(mark);
        // A mark that could not be written must not cost the report.
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
        Mark::Loaded(key) => Some(key.pid),
        Mark::Inert(_) => None,
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

/// The end of a process is no trouble, it is what is waited for.
fn trouble(error: &LinkError) -> Option<String> {
    match error {
        LinkError::Ended(_) | LinkError::NoProcess(_) => None,
        error => Some(error.to_string()),
    }
}

/// Connects as soon as the endpoint is there; None when the process ended first.
fn reach(pid: u32, ended: &AtomicBool) -> Result<Option<Session>, LinkError> {
    let mut pause = FIRST_PAUSE;
    loop {
        match connect::open(pid, PROGRAM) {
            Ok(session) => return Ok(Some(session)),
            // Not there yet, or not a .NET process to look at any more because it is ending.
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

/// Takes everything in until the goodbye, the end, or (for a process that outlives the child) the child's end;
/// whether it was the last of these.
fn listen(session: &mut Session, dials: &mut Dials, ended: &AtomicBool) -> Result<bool, LinkError> {
    session.tell(Command::Subscribe { pattern: None, interval_ms: INTERVAL_MS })?;
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

/// Leaves the closing to the agent: to be left in the middle of its goodbye looks to it like a reader that never
/// got the last numbers, and it would wait for another.
fn stay(session: &mut Session) {
    let until = Instant::now() + GRACE;
    while let Ok(Some(_)) = session.next(Some(until)) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::message::Event;

    #[test]
    fn each_way_to_end_has_its_note() {
        let mut collected = Collected::new(7);
        assert!(collected.note().is_some_and(|note| note.contains("last numbers seen")));
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
    fn a_child_that_never_loads_the_agent_leaves_nothing() {
        let mark = std::env::temp_dir().join(format!("redial-collect-{}", std::process::id()));
        std::fs::write(&mark, "inert it is not the launched process\n").expect("a mark");
        let mut child = std::process::Command::new("true").spawn().expect("true");
        let collector = Collector::start(child.id(), mark.clone());
        child.wait().expect("ended");
        assert!(collector.finish().is_empty());
        std::fs::remove_file(mark).expect("cleaned");
    }
}
