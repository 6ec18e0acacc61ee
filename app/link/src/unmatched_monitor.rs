//! Reports the dials of a launch that match nothing while the program still runs, once its startup modules
//! have loaded.
#![forbid(unsafe_code)]

use super::connect;
use super::error::LinkError;
use super::launch::{self, LaunchNotes, MarkEntry};
use super::session::Session;
use super::unmatched::unmatched;
use redial_model::catalogue::framework::is_framework;
use redial_protocol::catalogue::ModuleRow;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::order::Order;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

const PROGRAM: &str = "redial run";
/// How often to read the agents' marks.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Startup counts as finished when no module has loaded for this long. Also the interval between checks,
/// because each check costs the program time.
const QUIET: Duration = Duration::from_millis(500);
/// Report this long after the first agent appeared even if startup continues: some programs keep loading
/// modules, and the dials may be for programs that the program starts (perhaps after a build).
const REPORT_DEADLINE: Duration = Duration::from_secs(10);
/// The maximum number of dials to get suggestions for; each makes the agent search all names.
const MAX_SUGGESTED: usize = 5;

/// The dials of a launch.
pub struct LaunchDials {
    /// As the user gave them, for messages.
    pub texts: Vec<String>,
    /// The same, as orders.
    pub orders: Vec<Order>,
    /// What messages call a dial: `--dial`.
    pub what: &'static str,
    /// Whether child processes get the agent, too.
    pub children: bool,
}

/// Monitors a launch in a thread. Reports nothing after it is dropped.
pub struct UnmatchedMonitor(Arc<MonitorEnd>);

impl UnmatchedMonitor {
    /// Starts monitoring. Agents note matches in the file `mark`; `say` receives each sentence.
    pub fn begin(
        dials: LaunchDials,
        mark: PathBuf,
        say: impl Fn(String) + Send + 'static,
    ) -> UnmatchedMonitor {
        let over = Arc::new(MonitorEnd::default());
        let theirs = Arc::clone(&over);
        if !dials.orders.is_empty() {
            let look = move || {
                let sentences = sentences(&dials, &mark, &theirs);
                theirs.unless_over(|| sentences.into_iter().for_each(say));
            };
            // Without a thread, the report comes at the program's end.
            drop(std::thread::Builder::new().name("early".into()).spawn(look));
        }
        UnmatchedMonitor(over)
    }
}

impl Drop for UnmatchedMonitor {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

/// Whether the program ended or the monitor was dropped.
#[derive(Default)]
struct MonitorEnd {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl MonitorEnd {
    /// Waits for `time`; returns false if monitoring ended first.
    fn pause(&self, time: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(ended, time, |ended| !*ended);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn unless_over(&self, act: impl FnOnce()) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if !*ended {
            act();
        }
    }
}

/// Returns the report once it is due; empty if all dials match or monitoring ended first.
fn sentences(dials: &LaunchDials, mark: &Path, over: &MonitorEnd) -> Vec<String> {
    let mut first_agent_at = None;
    let mut start = StartupWatch::default();
    while over.pause(CHECK_INTERVAL) {
        let text = std::fs::read_to_string(mark).unwrap_or_default();
        let (marks, noted) = (launch::marks(&text), launch::parse_notes(&text));
        if noted.matched.len() >= dials.orders.len() {
            break;
        }
        let pids: Vec<u32> = marks.iter().filter_map(loaded).collect();
        let Some(first) = pids.first() else { continue };
        let late = first_agent_at.get_or_insert_with(Instant::now).elapsed() >= REPORT_DEADLINE;
        if late || !dials.children && start.is_over(*first) {
            let left = unmatched(&dials.texts, &marks, &asked(&dials.orders, &pids, noted));
            return left.iter().map(|one| one.sentence_while_running(dials.what)).collect();
        }
    }
    Vec::new()
}

fn loaded(mark: &MarkEntry) -> Option<u32> {
    match mark {
        MarkEntry::Loaded(key) => Some(key.pid),
        MarkEntry::Inert(_) => None,
    }
}

/// Watches the startup of a program.
#[derive(Default)]
struct StartupWatch {
    session: Option<Session>,
    loaded: ModuleCount,
    looked: Option<Instant>,
}

impl StartupWatch {
    /// Returns whether the program's startup modules are loaded.
    fn is_over(&mut self, pid: u32) -> bool {
        if self.looked.is_some_and(|looked| looked.elapsed() < QUIET) {
            return false;
        }
        match self.modules(pid) {
            Ok(modules) => {
                let now = *self.looked.insert(Instant::now());
                self.loaded.are_all(&modules, now)
            }
            Err(_) => {
                // The agent may not listen yet.
                self.session = None;
                false
            }
        }
    }

    fn modules(&mut self, pid: u32) -> Result<Vec<ModuleRow>, LinkError> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(connect::open(pid, PROGRAM)?),
        };
        session.forget_answers();
        match session.ask(WireCommand::Modules, &mut |_| {})? {
            Reply::Modules { modules, .. } => Ok(modules),
            _ => Err(session.wrong_reply()),
        }
    }
}

/// The number of modules at the last check, and since when it is unchanged.
#[derive(Default)]
struct ModuleCount(Option<(usize, Instant)>);

impl ModuleCount {
    /// Returns whether startup is finished: the program's own modules are there, and none was added for a
    /// while.
    fn are_all(&mut self, modules: &[ModuleRow], now: Instant) -> bool {
        let same = self.0.filter(|(before, _)| *before == modules.len());
        let (_, since) = *self.0.insert(same.unwrap_or((modules.len(), now)));
        let own = modules.iter().any(|module| !is_framework(&module.name, &module.path));
        own && now.saturating_duration_since(since) >= QUIET
    }
}

/// Asks the processes about the first dials without a noted match. Leaves the rest to the report at the
/// program's end.
fn asked(orders: &[Order], pids: &[u32], mut noted: LaunchNotes) -> LaunchNotes {
    let mut left = (0..orders.len()).filter(|index| !noted.matched.contains(index));
    let asked: Vec<usize> = left.by_ref().take(MAX_SUGGESTED).collect();
    let rest: Vec<usize> = left.collect();
    for pid in pids {
        let Ok(mut session) = connect::open(*pid, PROGRAM) else { continue };
        for index in &asked {
            let Some(order) = orders.get(*index).filter(|_| !noted.matched.contains(index)) else { continue };
            let command = WireCommand::Methods { pattern: Some(order.pattern.clone()), limit: 1 };
            match session.ask(command, &mut |_| {}) {
                Ok(Reply::Methods { matched: 0, suggestions }) => {
                    let known = noted.suggestions.entry(*index).or_default();
                    if known.is_empty() {
                        *known = suggestions;
                    }
                }
                // The pattern matches. Either the match is not noted yet, or the order names an AppDomain
                // that is missing.
                Ok(Reply::Methods { .. }) if order.domain.is_none() => {
                    noted.matched.insert(*index);
                }
                _ => {}
            }
        }
    }
    noted.matched.extend(rest);
    noted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_agent::{facts, serve_many};
    use redial_protocol::ids::ModuleKey;
    use redial_protocol::level::Level;
    use redial_protocol::process;
    use std::sync::mpsc::channel;

    fn module(name: &str) -> ModuleRow {
        ModuleRow {
            key: ModuleKey { module_id: 1, generation: 1 },
            name: name.into(),
            path: format!("/app/{name}.dll"),
            mvid: String::new(),
            assembly: 0,
            domains: vec![1],
            shared: false,
            dynamic: false,
            collectible: false,
            methods: 1,
        }
    }

    #[test]
    fn startup_ends_after_own_modules_and_a_pause() {
        let began = Instant::now();
        let mut loaded = ModuleCount::default();
        let mut at = |ms, names: &[&str]| {
            let modules: Vec<ModuleRow> = names.iter().map(|name| module(name)).collect();
            loaded.are_all(&modules, began + Duration::from_millis(ms))
        };
        let core = "System.Private.CoreLib";
        assert!(!at(0, &[core]));
        assert!(!at(5_000, &[core]), "the host may take its time");
        assert!(!at(5_100, &[core, "Shop"]));
        assert!(!at(5_500, &[core, "Shop"]));
        assert!(!at(5_599, &[core, "Shop", "Plugin"]), "one more came");
        assert!(!at(6_000, &[core, "Shop", "Plugin"]));
        assert!(at(6_099, &[core, "Shop", "Plugin"]));
    }

    /// Writes a mark file that says that this process has an agent and that the first dial matched.
    fn marked() -> PathBuf {
        let me = process::own_key().expect("own key");
        let path = std::env::temp_dir().join(format!("redial-early-{}-{}", me.pid, me.start));
        std::fs::write(&path, format!("loaded {} {}\nmatched 0\n", me.pid, me.start)).expect("a mark");
        path
    }

    fn dials(patterns: &[&str]) -> LaunchDials {
        let orders: Vec<Order> = patterns.iter().map(|pattern| Order::new(*pattern, Level::Count)).collect();
        let texts = patterns.iter().map(|pattern| format!("{pattern}=count")).collect();
        LaunchDials { texts, orders, what: "--dial", children: false }
    }

    #[test]
    fn reports_unmatched_dials_while_the_program_runs() {
        let mark = marked();
        serve_many(
            |_, mut agent| {
                agent.hello(facts(0));
                while let Some(redial_protocol::packet::ControllerPacket::Request(request)) = agent.receive()
                {
                    let reply = match request.command {
                        WireCommand::Modules => {
                            Reply::Modules { domains: vec![], modules: vec![module("Shop")] }
                        }
                        WireCommand::Methods { pattern, limit: 1 } => {
                            let mistyped = pattern.as_deref() == Some("Shop.Crat.*");
                            let suggestions =
                                mistyped.then(|| "Shop.Cart.*".to_owned()).into_iter().collect();
                            Reply::Methods { matched: u64::from(!mistyped), suggestions }
                        }
                        other => panic!("{other:?}"),
                    };
                    agent.reply(request.id, reply);
                }
            },
            |_| {
                let (sender, said) = channel();
                let say = move |text| sender.send(text).expect("the test listens");
                // The first dial was noted, those of `Shop.Order` match without a note, and the last one is
                // beyond the limit.
                let mut patterns = vec!["Shop.Cart.*", "Shop.Crat.*"];
                patterns.extend(["Shop.Order.*"; MAX_SUGGESTED - 1]);
                patterns.push("Shop.Crat.*");
                let dials = dials(&patterns);
                let early = UnmatchedMonitor::begin(dials, mark.clone(), say);
                let reported: Vec<String> = said.iter().collect();
                let expected = "--dial 'Shop.Crat.*=count' matched nothing at startup but still applies to code that loads \
                                later; did you mean 'Shop.Cart.*'?";
                assert_eq!(reported, [expected]);
                drop(early);
            },
        );
        std::fs::remove_file(mark).expect("cleaned");
    }

    #[test]
    fn reports_nothing_after_the_end() {
        let (sender, said) = channel();
        let say = move |text| sender.send(text).expect("the test listens");
        // No agent ever connects.
        let early = UnmatchedMonitor::begin(dials(&["A.B"]), PathBuf::from("/nonexistent/mark"), say);
        drop(early);
        assert_eq!(said.iter().count(), 0, "its thread has ended");
    }
}
