//! The thread that loads a process's catalogue over a session of its own, and looks for modules that were loaded or
//! unloaded since.

use super::outlet::{Gone, Outlet};
use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::{Page, Session};
use crate::model::catalogue::builder::Builder;
use crate::model::connection::PROGRAM;
use crate::model::ids::ConnectionId;
use crate::model::update::{CataloguePart, Told};
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_protocol::message::{Command, Reply};
use redial_protocol::pattern::Pattern;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often modules are asked for once everything is loaded.
const LOOK: Duration = Duration::from_secs(3);
/// Unloaded modules of which the window still shows what was dialled: as many as the agent itself remembers, and twice
/// that until the oldest of them are forgotten together.
const REMEMBERED: usize = 16;
/// New modules asked for one by one; if there are more, everything is asked for.
const SINGLY: usize = 8;

/// What was loaded so far; it outlives sessions, so that a new one with the same agent loads only what is new.
#[derive(Default)]
pub struct Loaded {
    builder: Builder,
    /// Modules seen, with or without methods.
    seen: HashSet<ModuleKey>,
    domains: Vec<DomainRow>,
    /// Modules that were unloaded, oldest first, and are not forgotten.
    unloaded: VecDeque<ModuleKey>,
}

impl Loaded {
    /// Notes modules that were unloaded; what there is to tell of it.
    fn unload(&mut self, gone: Vec<ModuleKey>) -> Vec<Told> {
        self.unloaded.extend(gone.iter().filter(|key| self.builder.has(**key)));
        let mut told = vec![Told::Catalogue(CataloguePart::Unloaded(gone))];
        if self.unloaded.len() > 2 * REMEMBERED {
            let old: Vec<ModuleKey> = self.unloaded.drain(..self.unloaded.len() - REMEMBERED).collect();
            self.builder.forget(&old);
            let order = self.builder.name_order();
            told.push(Told::Catalogue(CataloguePart::Forgotten(old)));
            told.push(Told::Catalogue(CataloguePart::Complete(order)));
        }
        told
    }
}

/// Ends what a loading session waits for (true), or wakes it to look again.
type Interrupt = Arc<Mutex<Option<Box<dyn Fn(bool) + Send>>>>;

/// A loading thread; dropping it ends the thread.
pub struct Loader {
    again: Arc<AtomicBool>,
    /// Called after a flag was set.
    interrupt: Interrupt,
    stop: Arc<AtomicBool>,
}

impl Loader {
    /// Starts loading from the agent in process `pid`.
    pub fn start(pid: u32, connection: ConnectionId, loaded: Arc<Mutex<Loaded>>, outlet: Outlet) -> Loader {
        let loader = Loader { again: Arc::default(), interrupt: Arc::default(), stop: Arc::default() };
        let loading = Loading {
            pid,
            connection,
            outlet,
            again: Arc::clone(&loader.again),
            stop: Arc::clone(&loader.stop),
            interrupt: Arc::clone(&loader.interrupt),
        };
        let outlet = loading.outlet.clone();
        let thread = std::thread::Builder::new().name("catalogue".into());
        if let Err(error) = thread.spawn(move || loading.run(&loaded)) {
            let text = format!("the methods cannot be loaded: no thread could be started: {error}");
            drop(outlet.tell(connection, vec![Told::Notice(text)]));
        }
        loader
    }

    /// Looks for new modules now.
    pub fn again(&self) {
        self.again.store(true, Ordering::Release);
        self.call(false);
    }

    fn call(&self, end: bool) {
        if let Some(interrupt) = &*lock(&self.interrupt) {
            interrupt(end);
        }
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.call(true);
    }
}

struct Loading {
    pid: u32,
    connection: ConnectionId,
    outlet: Outlet,
    again: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    interrupt: Interrupt,
}

/// Why loading ended.
enum End {
    Link(LinkError),
    Gone,
}

impl From<LinkError> for End {
    fn from(error: LinkError) -> End {
        End::Link(error)
    }
}

impl From<Gone> for End {
    fn from(_: Gone) -> End {
        End::Gone
    }
}

impl Loading {
    fn run(&self, loaded: &Mutex<Loaded>) {
        // An earlier session's thread may still be ending: it holds the lock until it has.
        let mut loaded = lock(loaded);
        let end = self.load(&mut loaded);
        *lock(&self.interrupt) = None;
        loaded.builder.abandon();
        match end {
            // The other session of the connection says how it ended.
            Ok(()) | Err(End::Gone | End::Link(LinkError::Interrupted | LinkError::Ended(_))) => {}
            Err(End::Link(LinkError::Closed { .. })) => {}
            Err(End::Link(_)) if self.stop.load(Ordering::Acquire) => {}
            Err(End::Link(error)) => {
                let text = format!("the list of methods is not complete: {error}");
                drop(self.outlet.tell(self.connection, vec![Told::Notice(text)]));
            }
        }
    }

    fn load(&self, loaded: &mut Loaded) -> Result<(), End> {
        let mut session = connect::open(self.pid, PROGRAM)?;
        let (interrupt, wake) = (session.interrupter(), session.waker());
        *lock(&self.interrupt) = Some(Box::new(move |end| if end { interrupt() } else { wake() }));
        let mut first = true;
        while !self.stop.load(Ordering::Acquire) {
            self.again.store(false, Ordering::Release);
            self.look(&mut session, loaded, first)?;
            first = false;
            let until = Instant::now() + LOOK;
            while Instant::now() < until
                && !self.stop.load(Ordering::Acquire)
                && !self.again.load(Ordering::Acquire)
            {
                // Nothing is subscribed to: this ends by the time, a call, or the end of the session.
                session.hear(Some(until))?;
            }
        }
        Ok(())
    }

    /// Asks for modules, and for the methods of those not seen yet.
    fn look(&self, session: &mut Session, loaded: &mut Loaded, first: bool) -> Result<(), End> {
        let Reply::Modules { domains, modules } = session.ask(Command::Modules, &mut |_| {})? else {
            return Err(session.wrong_reply().into());
        };
        let there: HashSet<ModuleKey> = modules.iter().map(|module| module.key).collect();
        let mut gone: Vec<ModuleKey> = loaded.seen.difference(&there).copied().collect();
        gone.sort_unstable_by_key(|key| key.generation);
        let fresh: Vec<&ModuleRow> =
            modules.iter().filter(|module| !loaded.seen.contains(&module.key)).collect();
        let mut told = Vec::new();
        if first || !fresh.is_empty() || loaded.domains != domains {
            loaded.domains.clone_from(&domains);
            let methods = modules.iter().map(|module| u64::from(module.methods)).sum();
            told.push(Told::Catalogue(CataloguePart::Domains { domains, methods }));
        }
        if !gone.is_empty() {
            loaded.seen.retain(|key| there.contains(key));
            told.extend(loaded.unload(gone));
        }
        self.outlet.tell(self.connection, told)?;
        if fresh.is_empty() && !first {
            return Ok(());
        }
        loaded.builder.set_modules(&modules);
        for pattern in patterns(&fresh, first) {
            self.methods(session, loaded, pattern)?;
        }
        loaded.seen = there;
        let order = loaded.builder.name_order();
        self.outlet.tell(self.connection, vec![Told::Catalogue(CataloguePart::Complete(order))])?;
        Ok(())
    }

    fn methods(
        &self,
        session: &mut Session,
        loaded: &mut Loaded,
        pattern: Option<String>,
    ) -> Result<(), End> {
        let command = Command::Methods { pattern, limit: u64::MAX };
        let mut trouble = None;
        let reply = session.ask(command, &mut |page| {
            let Page::Methods(page) = page else { return };
            if trouble.is_some() {
                return;
            }
            match loaded.builder.push(&page) {
                Ok(batches) => {
                    let parts = batches.into_iter().map(|batch| CataloguePart::Batch(Box::new(batch)));
                    let told = parts.map(Told::Catalogue).collect();
                    trouble = self.outlet.tell(self.connection, told).err().map(|_| End::Gone);
                }
                Err(torn) => {
                    let why = torn.to_string();
                    trouble = Some(End::Link(LinkError::Garbled { pid: self.pid, why }));
                }
            }
        })?;
        if let Some(end) = trouble {
            return Err(end);
        }
        let Reply::Methods { .. } = reply else { return Err(session.wrong_reply().into()) };
        let last = loaded.builder.finish().map(|batch| CataloguePart::Batch(Box::new(batch)));
        self.outlet.tell(self.connection, last.into_iter().map(Told::Catalogue).collect())?;
        Ok(())
    }
}

/// What to ask for: everything, or the modules that are new by their names.
fn patterns(fresh: &[&ModuleRow], first: bool) -> Vec<Option<String>> {
    let mut names: Vec<&str> =
        fresh.iter().filter(|module| module.methods > 0).map(|module| module.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let by_name = |name: &&str| {
        let pattern = format!("{name}!*");
        let parsed = Pattern::parse(&pattern).ok()?;
        parsed.matches_assembly(name).then_some(pattern)
    };
    let singly: Vec<Option<String>> = names.iter().map(by_name).collect();
    if first || singly.len() > SINGLY || singly.contains(&None) { vec![None] } else { singly }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::catalogue::builder::tests::module;

    #[test]
    fn modules_unloaded_long_ago_are_forgotten_by_all() {
        use crate::model::catalogue::builder::tests::page;
        let mut loaded = Loaded::default();
        let mut forgotten = Vec::new();
        for index in 1..=100 {
            let row = module(index, "Plugin", "");
            loaded.builder.set_modules(std::slice::from_ref(&row));
            loaded.builder.push(&page(row.key, &[("N.A", "M", "()", 0x0600_0001)])).expect("whole");
            loaded.builder.finish().expect("a batch");
            for told in loaded.unload(vec![row.key]) {
                match told {
                    Told::Catalogue(CataloguePart::Forgotten(keys)) => forgotten.extend(keys),
                    Told::Catalogue(CataloguePart::Complete(order)) => {
                        assert_eq!(order.types.len(), REMEMBERED)
                    }
                    _ => {}
                }
            }
            assert!(loaded.unloaded.len() <= 2 * REMEMBERED);
        }
        let expected: Vec<ModuleKey> =
            (1..=forgotten.len() as u64).map(|index| module(index, "", "").key).collect();
        assert!(forgotten.len() >= 100 - 2 * REMEMBERED && forgotten == expected, "{forgotten:?}");
        assert!(loaded.builder.name_order().types.len() <= 2 * REMEMBERED);
    }

    #[test]
    fn new_modules_are_asked_for_by_name_where_names_will_do() {
        let row = |name: &str| ModuleRow { methods: 3, ..module(1, name, "") };
        let rows = [row("Shop"), row("Shop"), row("Plugin"), ModuleRow { methods: 0, ..row("Empty") }];
        let some: Vec<&ModuleRow> = rows.iter().collect();
        assert_eq!(patterns(&some, true), [None]);
        assert_eq!(patterns(&some, false), [Some("Plugin!*".into()), Some("Shop!*".into())]);
        assert_eq!(patterns(&[&row("My (odd name"), &row("Shop")], false), [None]);
        let many: Vec<ModuleRow> = (0..9).map(|index| row(&format!("M{index}"))).collect();
        assert_eq!(patterns(&many.iter().collect::<Vec<_>>(), false), [None]);
    }
}
