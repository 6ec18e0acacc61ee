//! The thread that loads a process's catalogue in a session of its own and keeps looking for loaded and
//! unloaded modules.

use super::error_text;
use super::update_sender::{ReceiverGone, UpdateSender};
use crate::connect;
use crate::error::LinkError;
use crate::session::{ReplyPage, Session};
use redial_model::catalogue::builder::Builder;
use redial_model::ids::ConnectionId;
use redial_model::update::{CataloguePart, ConnectionUpdate};
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::ids::ModuleKey;
use redial_protocol::limits::MAX_CATALOGUE_METHODS;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::pattern::Pattern;
use redial_text::{programs, words};
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often to list modules once everything is loaded.
const REFRESH_INTERVAL: Duration = Duration::from_secs(3);
/// Unloaded modules kept because their dialled methods are still shown: as many as the agent remembers. The
/// list grows to twice that before the oldest are forgotten together.
const REMEMBERED: usize = 16;
/// Up to this many new modules are requested one by one; if there are more, everything is requested.
const MAX_SINGLE_REQUESTS: usize = 8;

/// The loaded catalogue. It outlives sessions, so that a new session with the same agent loads only new
/// modules.
#[derive(Default)]
pub struct LoadedCatalogue {
    builder: Builder,
    /// Known modules, with or without methods.
    seen: HashSet<ModuleKey>,
    domains: Vec<DomainRow>,
    /// Modules that were unloaded but not yet forgotten, oldest first.
    unloaded: VecDeque<ModuleKey>,
}

impl LoadedCatalogue {
    /// Records unloaded modules; returns the updates to send.
    fn unload(&mut self, gone: Vec<ModuleKey>) -> Vec<ConnectionUpdate> {
        self.unloaded.extend(gone.iter().filter(|key| self.builder.has(**key)));
        let mut updates = vec![ConnectionUpdate::Catalogue(CataloguePart::Unloaded(gone))];
        if self.unloaded.len() > 2 * REMEMBERED {
            let old: Vec<ModuleKey> = self.unloaded.drain(..self.unloaded.len() - REMEMBERED).collect();
            self.builder.forget(&old);
            let order = self.builder.name_order();
            updates.push(ConnectionUpdate::Catalogue(CataloguePart::Forgotten(old)));
            updates.push(ConnectionUpdate::Catalogue(CataloguePart::Complete(order)));
        }
        updates
    }
}

/// Interrupts a loading session (true), or wakes it to look again (false).
type Interrupt = Arc<Mutex<Option<Box<dyn Fn(bool) + Send>>>>;

/// Handle of a loading thread; dropping it ends the thread.
pub struct Loader {
    reload: Arc<AtomicBool>,
    /// Call after setting a flag.
    interrupt: Interrupt,
    stop: Arc<AtomicBool>,
}

impl Loader {
    /// Starts loading from the agent in process `pid`.
    pub fn start(
        pid: u32,
        connection: ConnectionId,
        loaded: Arc<Mutex<LoadedCatalogue>>,
        sender: UpdateSender,
    ) -> Loader {
        let loader = Loader { reload: Arc::default(), interrupt: Arc::default(), stop: Arc::default() };
        let loading = LoadingThread {
            pid,
            connection,
            sender,
            reload: Arc::clone(&loader.reload),
            stop: Arc::clone(&loader.stop),
            interrupt: Arc::clone(&loader.interrupt),
        };
        let sender = loading.sender.clone();
        let thread = std::thread::Builder::new().name("catalogue".into());
        if let Err(error) = thread.spawn(move || loading.run(&loaded)) {
            let text = format!("the methods cannot be loaded: cannot start a thread: {error}");
            drop(sender.report(connection, vec![ConnectionUpdate::Notice(text)]));
        }
        loader
    }

    /// Looks for new modules now.
    pub fn reload(&self) {
        self.reload.store(true, Ordering::Release);
        self.signal(false);
    }

    fn signal(&self, end: bool) {
        if let Some(interrupt) = &*lock(&self.interrupt) {
            interrupt(end);
        }
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.signal(true);
    }
}

struct LoadingThread {
    pid: u32,
    connection: ConnectionId,
    sender: UpdateSender,
    reload: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    interrupt: Interrupt,
}

/// Why loading ended.
enum LoadEnd {
    Link(LinkError),
    Gone,
}

impl From<LinkError> for LoadEnd {
    fn from(error: LinkError) -> LoadEnd {
        LoadEnd::Link(error)
    }
}

impl From<ReceiverGone> for LoadEnd {
    fn from(_: ReceiverGone) -> LoadEnd {
        LoadEnd::Gone
    }
}

impl LoadingThread {
    fn run(&self, loaded: &Mutex<LoadedCatalogue>) {
        // The thread of an earlier session holds the lock until it ends.
        let mut loaded = lock(loaded);
        let end = self.load(&mut loaded);
        *lock(&self.interrupt) = None;
        loaded.builder.abandon();
        match end {
            // The connection's other session reports these.
            Ok(()) | Err(LoadEnd::Gone | LoadEnd::Link(LinkError::Interrupted | LinkError::Ended(_))) => {}
            Err(LoadEnd::Link(LinkError::Closed { .. })) => {}
            Err(LoadEnd::Link(_)) if self.stop.load(Ordering::Acquire) => {}
            Err(LoadEnd::Link(error)) => {
                let text = format!("the method list is incomplete: {}", error_text::sentence(&error));
                drop(self.sender.report(self.connection, vec![ConnectionUpdate::Notice(text)]));
            }
        }
    }

    fn load(&self, loaded: &mut LoadedCatalogue) -> Result<(), LoadEnd> {
        let mut session = connect::open(self.pid, programs::WINDOW)?;
        let (interrupt, wake) = (session.interrupter(), session.waker());
        *lock(&self.interrupt) = Some(Box::new(move |end| if end { interrupt() } else { wake() }));
        let mut first = true;
        while !self.stop.load(Ordering::Acquire) {
            self.reload.store(false, Ordering::Release);
            self.refresh(&mut session, loaded, first)?;
            first = false;
            let until = Instant::now() + REFRESH_INTERVAL;
            while Instant::now() < until
                && !self.stop.load(Ordering::Acquire)
                && !self.reload.load(Ordering::Acquire)
            {
                // Without subscriptions, this returns only at the time limit, after a wake-up, or when the
                // session ends.
                session.next_or_wake(Some(until))?;
            }
        }
        Ok(())
    }

    /// Requests the list of modules, and the methods of new ones.
    fn refresh(
        &self,
        session: &mut Session,
        loaded: &mut LoadedCatalogue,
        first: bool,
    ) -> Result<(), LoadEnd> {
        session.forget_answers();
        let Reply::Modules { domains, modules } = session.ask(WireCommand::Modules, &mut |_| {})? else {
            return Err(session.wrong_reply().into());
        };
        let there: HashSet<ModuleKey> = modules.iter().map(|module| module.key).collect();
        let mut gone: Vec<ModuleKey> = loaded.seen.difference(&there).copied().collect();
        gone.sort_unstable_by_key(|key| key.generation);
        let fresh: Vec<&ModuleRow> =
            modules.iter().filter(|module| !loaded.seen.contains(&module.key)).collect();
        let mut updates = Vec::new();
        if first || !fresh.is_empty() || loaded.domains != domains {
            loaded.domains.clone_from(&domains);
            let methods = modules.iter().map(|module| u64::from(module.methods)).sum();
            updates.push(ConnectionUpdate::Catalogue(CataloguePart::Domains { domains, methods }));
        }
        if !gone.is_empty() {
            loaded.seen.retain(|key| there.contains(key));
            updates.extend(loaded.unload(gone));
        }
        self.sender.report(self.connection, updates)?;
        if fresh.is_empty() && !first {
            return Ok(());
        }
        loaded.builder.set_modules(&modules);
        for pattern in patterns(&fresh, first) {
            self.methods(session, loaded, pattern)?;
        }
        loaded.seen = there;
        let order = loaded.builder.name_order();
        self.sender
            .report(self.connection, vec![ConnectionUpdate::Catalogue(CataloguePart::Complete(order))])?;
        Ok(())
    }

    fn methods(
        &self,
        session: &mut Session,
        loaded: &mut LoadedCatalogue,
        pattern: Option<String>,
    ) -> Result<(), LoadEnd> {
        if loaded.builder.methods() > MAX_CATALOGUE_METHODS {
            // An agent that lists other modules each time never exceeds the limit of one answer.
            let limit = format!("{} methods", words::grouped(MAX_CATALOGUE_METHODS as u64));
            return Err(LinkError::TooMuch { pid: self.pid, limit }.into());
        }
        let command = WireCommand::Methods { pattern, limit: u64::MAX };
        let mut failure = None;
        let reply = session.ask(command, &mut |page| {
            let ReplyPage::Methods(page) = page else { return };
            if failure.is_some() {
                return;
            }
            match loaded.builder.push(&page) {
                Ok(batches) => {
                    let parts = batches.into_iter().map(|batch| CataloguePart::Batch(Box::new(batch)));
                    let updates = parts.map(ConnectionUpdate::Catalogue).collect();
                    failure = self.sender.report(self.connection, updates).err().map(|_| LoadEnd::Gone);
                }
                Err(torn) => {
                    let why = torn.to_string();
                    failure = Some(LoadEnd::Link(LinkError::Garbled { pid: self.pid, why }));
                }
            }
        })?;
        if let Some(end) = failure {
            return Err(end);
        }
        let Reply::Methods { .. } = reply else { return Err(session.wrong_reply().into()) };
        let last = loaded.builder.finish().map(|batch| CataloguePart::Batch(Box::new(batch)));
        self.sender.report(self.connection, last.into_iter().map(ConnectionUpdate::Catalogue).collect())?;
        Ok(())
    }
}

/// Returns the patterns to request: the new modules by name, or everything (`None`).
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
    if first || singly.len() > MAX_SINGLE_REQUESTS || singly.contains(&None) { vec![None] } else { singly }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::module;

    #[test]
    fn forgets_modules_unloaded_long_ago() {
        use redial_model::fixtures::page;
        let mut loaded = LoadedCatalogue::default();
        let mut forgotten = Vec::new();
        for index in 1..=100 {
            let row = module(index, "Plugin", "");
            loaded.builder.set_modules(std::slice::from_ref(&row));
            loaded.builder.push(&page(row.key, &[("N.A", "M", "()", 0x0600_0001)])).expect("whole");
            loaded.builder.finish().expect("a batch");
            for update in loaded.unload(vec![row.key]) {
                match update {
                    ConnectionUpdate::Catalogue(CataloguePart::Forgotten(keys)) => forgotten.extend(keys),
                    ConnectionUpdate::Catalogue(CataloguePart::Complete(order)) => {
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
    fn requests_new_modules_by_name_if_possible() {
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
