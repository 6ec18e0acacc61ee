//! Tells, while a launched program runs, which of its dials match nothing: as soon as what it starts with is loaded, and not
//! only at its end.
#![forbid(unsafe_code)]

use super::connect;
use super::error::LinkError;
use super::launch::{self, Mark, Noted};
use super::session::Session;
use super::unmatched::unmatched;
use crate::model::catalogue::framework::is_framework;
use redial_protocol::catalogue::ModuleRow;
use redial_protocol::message::{Command, Reply};
use redial_protocol::order::Order;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

const PROGRAM: &str = "redial run";
/// How often the agents' marks are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// What a program starts with is loaded when nothing more was for so long; no more often is it looked at, which the program
/// pays for.
const QUIET: Duration = Duration::from_millis(500);
/// How long after the first agent came it is told all the same: some programs load something all the time, and what a
/// program starts (a build first, perhaps) may be what the dials are for.
const LATEST: Duration = Duration::from_secs(10);
/// Dials whose meaning is looked for; each costs the agent a look at all names.
const MEANT: usize = 5;

/// The dials of a launch.
pub struct Dials {
    /// As given, for sentences.
    pub texts: Vec<String>,
    /// The same as orders.
    pub orders: Vec<Order>,
    /// What one is given as: `--dial`.
    pub what: &'static str,
    /// Whether programs that the program starts get the agent, too.
    pub children: bool,
}

/// A thread that looks, until this is dropped: nothing is said from then on.
pub struct Early(Arc<Over>);

impl Early {
    /// Begins to look; `mark` is the file in which agents note what matched. Each sentence is given to `say`.
    pub fn begin(dials: Dials, mark: PathBuf, say: impl Fn(String) + Send + 'static) -> Early {
        let over = Arc::new(Over::default());
        let theirs = Arc::clone(&over);
        if !dials.orders.is_empty() {
            let look = move || {
                let sentences = sentences(&dials, &mark, &theirs);
                theirs.unless_over(|| sentences.into_iter().for_each(say));
            };
            // Without a thread it is told at the end.
            drop(std::thread::Builder::new().name("early".into()).spawn(look));
        }
        Early(over)
    }
}

impl Drop for Early {
    fn drop(&mut self) {
        *self.0.is.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.told.notify_all();
    }
}

/// Whether the program has ended, or nobody listens any more.
#[derive(Default)]
struct Over {
    is: Mutex<bool>,
    told: Condvar,
}

impl Over {
    /// Waits; false when it is over before.
    fn pause(&self, time: Duration) -> bool {
        let is = self.is.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.told.wait_timeout_while(is, time, |is| !*is);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn unless_over(&self, act: impl FnOnce()) {
        let is = self.is.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is {
            act();
        }
    }
}

/// What there is to say, once it is time; nothing where all match, or it is over before.
fn sentences(dials: &Dials, mark: &Path, over: &Over) -> Vec<String> {
    let mut came = None;
    let mut start = Start::default();
    while over.pause(LOOK) {
        let text = std::fs::read_to_string(mark).unwrap_or_default();
        let (marks, noted) = (launch::marks(&text), launch::noted(&text));
        if noted.matched.len() >= dials.orders.len() {
            break;
        }
        let pids: Vec<u32> = marks.iter().filter_map(loaded).collect();
        let Some(first) = pids.first() else { continue };
        let late = came.get_or_insert_with(Instant::now).elapsed() >= LATEST;
        if late || !dials.children && start.is_over(*first) {
            let left = unmatched(&dials.texts, &marks, &asked(&dials.orders, &pids, noted));
            return left.iter().map(|one| one.so_far(dials.what)).collect();
        }
    }
    Vec::new()
}

fn loaded(mark: &Mark) -> Option<u32> {
    match mark {
        Mark::Loaded(key) => Some(key.pid),
        Mark::Inert(_) => None,
    }
}

/// The start of a program.
#[derive(Default)]
struct Start {
    session: Option<Session>,
    loaded: Loaded,
    looked: Option<Instant>,
}

impl Start {
    /// Whether what the program starts with is loaded.
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
                // Its agent may not listen yet.
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
        match session.ask(Command::Modules, &mut |_| {})? {
            Reply::Modules { modules, .. } => Ok(modules),
            _ => Err(session.wrong_reply()),
        }
    }
}

/// How many modules were loaded when it was looked last, and since when.
#[derive(Default)]
struct Loaded(Option<(usize, Instant)>);

impl Loaded {
    /// Whether these are all: some are the program's own, and none came for a while.
    fn are_all(&mut self, modules: &[ModuleRow], now: Instant) -> bool {
        let same = self.0.filter(|(before, _)| *before == modules.len());
        let (_, since) = *self.0.insert(same.unwrap_or((modules.len(), now)));
        let own = modules.iter().any(|module| !is_framework(&module.name, &module.path));
        own && now.saturating_duration_since(since) >= QUIET
    }
}

/// What these processes say of the first dials that nothing was noted of; the rest is left for the program's end.
fn asked(orders: &[Order], pids: &[u32], mut noted: Noted) -> Noted {
    let mut left = (0..orders.len()).filter(|index| !noted.matched.contains(index));
    let asked: Vec<usize> = left.by_ref().take(MEANT).collect();
    let rest: Vec<usize> = left.collect();
    for pid in pids {
        let Ok(mut session) = connect::open(*pid, PROGRAM) else { continue };
        for index in &asked {
            let Some(order) = orders.get(*index).filter(|_| !noted.matched.contains(index)) else { continue };
            let command = Command::Methods { pattern: Some(order.pattern.clone()), limit: 1 };
            match session.ask(command, &mut |_| {}) {
                Ok(Reply::Methods { matched: 0, suggestions }) => {
                    let near = noted.near.entry(*index).or_default();
                    if near.is_empty() {
                        *near = suggestions;
                    }
                }
                // It is only not noted yet; or it is for an AppDomain, and not the pattern is wrong.
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
    use crate::link::test_agent::{facts, serve_many};
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
    fn a_start_is_over_when_something_own_is_loaded_and_nothing_more_comes() {
        let began = Instant::now();
        let mut loaded = Loaded::default();
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

    /// A mark file in which this process has an agent, and the first dial matched.
    fn marked() -> PathBuf {
        let me = process::own_key().expect("own key");
        let path = std::env::temp_dir().join(format!("redial-early-{}-{}", me.pid, me.start));
        std::fs::write(&path, format!("loaded {} {}\nmatched 0\n", me.pid, me.start)).expect("a mark");
        path
    }

    fn dials(patterns: &[&str]) -> Dials {
        let orders: Vec<Order> = patterns.iter().map(|pattern| Order::new(*pattern, Level::Count)).collect();
        let texts = patterns.iter().map(|pattern| format!("{pattern}=count")).collect();
        Dials { texts, orders, what: "--dial", children: false }
    }

    #[test]
    fn what_matches_nothing_is_told_while_the_program_runs() {
        let mark = marked();
        serve_many(
            |_, mut agent| {
                agent.hello(facts(0));
                while let Some(redial_protocol::packet::FromController::Request(request)) = agent.receive() {
                    let reply = match request.command {
                        Command::Modules => Reply::Modules { domains: vec![], modules: vec![module("Shop")] },
                        Command::Methods { pattern, limit: 1 } => {
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
                // The first was noted; those of orders match, though that is not noted yet; the last is not asked for.
                let mut patterns = vec!["Shop.Cart.*", "Shop.Crat.*"];
                patterns.extend(["Shop.Order.*"; MEANT - 1]);
                patterns.push("Shop.Crat.*");
                let dials = dials(&patterns);
                let early = Early::begin(dials, mark.clone(), say);
                let told: Vec<String> = said.iter().collect();
                let expected = "--dial 'Shop.Crat.*=count' matched nothing at the start, and stands for what loads later; did you mean \
                                'Shop.Cart.*'?";
                assert_eq!(told, [expected]);
                drop(early);
            },
        );
        std::fs::remove_file(mark).expect("cleaned");
    }

    #[test]
    fn nothing_is_said_of_what_is_over() {
        let (sender, said) = channel();
        let say = move |text| sender.send(text).expect("the test listens");
        // No agent ever comes.
        let early = Early::begin(dials(&["A.B"]), PathBuf::from("/nonexistent/mark"), say);
        drop(early);
        assert_eq!(said.iter().count(), 0, "its thread has ended");
    }
}
