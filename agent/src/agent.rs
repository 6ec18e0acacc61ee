//! The agent as a whole: what callbacks and sessions reach. One per process, leaked, since callbacks may come after
//! `Shutdown`.
#![forbid(unsafe_code)]

use crate::catalogue::{Module, Modules};
use crate::clr::bindings::ICorProfilerFunctionControl;
use crate::clr::function_control::set_body;
use crate::clr::metadata::Import;
use crate::clr::{ClrError, ProfilerInfo};
use crate::events::{Exceptions, event_mask};
use crate::hot_reload;
use crate::il;
use crate::inlining::{Inlining, compiling};
use crate::known_bad::Known;
use crate::launched::Launched;
use crate::planner::{Orders, Published, Standing};
use crate::probes::body::{self, Probe};
use crate::probes::form::{self, CallForm};
use crate::probes::tokens;
use crate::rejit::ledger::{HandOver, Verdict};
use crate::rejit::passengers::cannot_ride;
use crate::rejit::thread::Worker;
use crate::rejit::{AllOff, Gate, Inbox, Job, Ledger};
use crate::runtime::Runtime;
use crate::server::Server;
use crate::startup::{Inert, Settings};
use crate::sync::lock;
use redial_protocol::ids::{InstanceId, ProcessKey};
use redial_protocol::level::Level;
use redial_protocol::message::AuditEntry;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use windows_core::{HRESULT, IUnknown};

/// A ReJIT thread that is at its jobs for this long hangs inside the runtime, as far as anyone can tell.
pub const HANGS: Duration = Duration::from_secs(2);
/// A request that has waited so long for compilations to end is not waited for by those who load modules: mostly it takes
/// less, and else they may be what it waits for.
const STANDOFF: Duration = Duration::from_millis(50);
/// Longest wait at shutdown for the ReJIT thread to come out of the runtime.
const WORKER_WAIT: Duration = Duration::from_millis(200);
/// `ReJITError`s noted in the audit ring.
const MAX_ERRORS_NOTED: u64 = 16;

static AGENT: OnceLock<&'static Agent> = OnceLock::new();

/// Everything the agent knows.
pub struct Agent {
    /// The profiling API.
    pub info: ProfilerInfo,
    /// What this runtime is.
    pub runtime: Runtime,
    /// This process.
    pub process: ProcessKey,
    /// What the environment asked for.
    pub settings: Settings,
    /// What is loaded.
    pub modules: Modules,
    /// Who calls.
    pub callers: crate::callers::Callers,
    /// Copies, wanted and actual.
    pub ledger: Ledger,
    /// Debug builds may be edited here (Hot Reload), and the runtime recompiles none of them.
    pub hot_reload: bool,
    /// What became of the launcher's orders.
    pub launched: Launched,
    /// The ReJIT thread's inbox.
    pub inbox: Inbox,
    /// What the JIT inlined, and what it must not.
    pub inlining: Inlining,
    /// Sessions, control, audit.
    pub server: Server,
    /// Whether the runtime tells of exceptions.
    pub exceptions: Exceptions,
    /// Orders that modules which load are held against; they may be on their way.
    expected: Mutex<Arc<[Arc<Standing>]>>,
    standing: Mutex<Arc<Published>>,
    any_order: AtomicBool,
    /// The ReJIT thread was told to look after passengers, and has not yet.
    pub passengers_told: AtomicBool,
    /// The ReJIT thread was told that domains changed, and has not looked yet.
    pub domains_told: AtomicBool,
    call_form: OnceLock<CallForm>,
    /// First turns at module load that took longer than a host thread may wait.
    pub missed_deadlines: AtomicU64,
    rejit_errors: AtomicU64,
    stopped: AtomicBool,
    /// Since when the ReJIT thread has been at its present jobs, in milliseconds of the agent's clock; 0: idle.
    busy_since: AtomicU64,
}

/// The agent, unless it was never started, is inert, or has shut down.
pub fn active() -> Option<&'static Agent> {
    AGENT.get().copied().filter(|agent| !agent.stopped.load(Ordering::Relaxed))
}

/// Why `Initialize` did not start the agent.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The environment says so.
    #[error(transparent)]
    Inert(#[from] Inert),
    /// The runtime cannot do what we need.
    #[error(transparent)]
    Clr(#[from] ClrError),
    /// The system cannot.
    #[error("{0}")]
    System(String),
    /// There is one.
    #[error("another agent is active in this process")]
    Another,
    /// The threads could not be started. Too late to fail `Initialize` (the CLR would unload the library under the
    /// one that may run); the agent only keeps out of the way.
    #[error("the system refuses to start the agent's threads")]
    NoThreads,
}

/// `Initialize`: decides whether to be active, sets the event mask, starts the threads. On an error nothing of ours
/// runs and the CLR unloads the library.
///
/// # Errors
/// See [`StartError`]; the launcher's mark file says the same.
pub fn start(unknown: &IUnknown) -> Result<(), StartError> {
    let settings = Settings::read(|name| std::env::var_os(name));
    let result = settings.map_err(StartError::from).and_then(|settings| start_with(settings, unknown));
    if let Some(mark) = crate::startup::mark(|name| std::env::var_os(name)) {
        crate::startup::leave_mark(&mark, &result);
    }
    match result {
        Ok(_) | Err(StartError::NoThreads) => Ok(()),
        Err(e) => Err(e),
    }
}

fn start_with(settings: Settings, unknown: &IUnknown) -> Result<ProcessKey, StartError> {
    if settings.launcher.is_some() && !settings.wanted_below(crate::platform::ancestors()) {
        return Err(Inert::NotLaunched.into());
    }
    let process = redial_protocol::process::own_key().map_err(|e| StartError::System(e.to_string()))?;
    let (orders, seqs) = match &settings.orders {
        Some(path) => crate::startup::read_orders(path, settings.max_level.min(Level::OFFERED))?,
        None => Default::default(),
    };
    let agent = install(settings, process, unknown)?;
    agent.publish(&orders, 0);
    agent.launched.begin(crate::startup::mark(|name| std::env::var_os(name)), &orders, &seqs);
    for standing in orders.all() {
        agent.server.audit.note("", "redial run", &standing.order);
    }
    // From here on threads of ours may run: nothing below may fail Initialize.
    if !agent.start_turning(orders) || !agent.start_listening() {
        agent.give_up();
        return Err(StartError::NoThreads);
    }
    Ok(process)
}

/// Makes the agent and sets the event mask; no thread of ours runs yet. Inside `Initialize` or `InitializeForAttach`.
///
/// # Errors
/// When the runtime cannot do what we need, or another agent is there.
pub(crate) fn install(
    settings: Settings,
    process: ProcessKey,
    unknown: &IUnknown,
) -> Result<&'static Agent, StartError> {
    let info = ProfilerInfo::open(unknown)?;
    let runtime = Runtime::detect(&info)?;
    let mask = event_mask(&runtime, &settings);
    let hot_reload = runtime.does(Known::EditableIgnored)
        && hot_reload::is_on(runtime.major, |name| std::env::var_os(name));
    let agent: &'static Agent = Box::leak(Box::new(Agent {
        info,
        runtime,
        process,
        settings,
        modules: Modules::default(),
        callers: Default::default(),
        ledger: Ledger::default(),
        hot_reload,
        launched: Launched::default(),
        inbox: Inbox::default(),
        inlining: Inlining::default(),
        server: Server::default(),
        exceptions: Exceptions::default(),
        expected: Mutex::new(Arc::from([])),
        standing: Mutex::default(),
        any_order: AtomicBool::new(false),
        passengers_told: AtomicBool::new(false),
        domains_told: AtomicBool::new(false),
        call_form: OnceLock::new(),
        missed_deadlines: AtomicU64::new(0),
        rejit_errors: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
        busy_since: AtomicU64::new(0),
    }));
    agent.info.set_event_mask(mask)?;
    if AGENT.set(agent).is_err() {
        return Err(StartError::Another);
    }
    crate::guard::silence_panics();
    crate::platform::pin_library();
    Ok(agent)
}

impl Agent {
    /// The highest level anyone may ask for here.
    pub fn max_level(&self) -> Level {
        Level::OFFERED.min(self.settings.max_level)
    }

    /// Whether a module is the core library.
    pub fn is_core_library(&self, module: &Module) -> bool {
        matches!(module.name.as_str(), "System.Private.CoreLib" | "mscorlib")
            && crate::runtime::CORE_LIBRARIES.iter().any(|file| module.path.ends_with(file))
    }

    /// Starts the ReJIT thread; false when the system refuses.
    pub(crate) fn start_turning(&'static self, orders: Orders) -> bool {
        crate::platform::spawn("redial-rejit", move || Worker::new(self, orders).run())
    }

    /// Starts the listener's thread; false when the system refuses.
    pub(crate) fn start_listening(&'static self) -> bool {
        crate::platform::spawn("redial-listen", move || crate::server::listen(self))
    }

    /// The agent cannot begin its work: it only keeps out of the way from now on.
    pub(crate) fn give_up(&self) {
        self.ledger.stop();
        self.server.unlink();
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// `ModuleLoadFinished` and `ModuleAttachedToAssembly`.
    pub fn module_loaded(&self, id: usize) {
        let Some(module) = self.modules.read(&self.info, id, false) else { return };
        if !module.dynamic && !module.collectible {
            // Nobody reads the module yet. A failure is kept and becomes the reason of a refusal.
            if let Err(e) = tokens::open(self, &module) {
                let _ = module.call_sites.set(Err(e));
            }
        }
        if !self.modules.publish(&module) {
            return;
        }
        if self.modules.were_named() {
            self.domains_changed();
        }
        // Also for what will be refused, so that `status` tells of it however soon it unloads; but nobody waits for a
        // ReJIT thread that hangs inside the runtime.
        let wait = self.may_match(&module.name) && self.worker_busy_for() < HANGS;
        let gate = wait.then(|| Arc::new(Gate::default()));
        self.inbox.put(Job::Loaded(module, gate.clone()));
        // The ReJIT thread may wait for a compilation in which this very module is loaded.
        let stands_off = || self.inlining.waits_for() >= STANDOFF;
        if gate.is_some_and(|gate| !gate.wait(self.settings.first_call_wait, stands_off)) {
            self.missed_deadlines.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The ReJIT thread begins or has done its present jobs.
    pub fn worker_busy(&self, busy: bool) {
        let since = if busy { self.age_ms().max(1) } else { 0 };
        self.busy_since.store(since, Ordering::Relaxed);
    }

    /// How long the ReJIT thread has been at its present jobs.
    pub fn worker_busy_for(&self) -> Duration {
        match self.busy_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => Duration::from_millis(self.age_ms().saturating_sub(since)),
        }
    }

    /// `AppDomainCreationFinished`.
    pub fn domain_made(&self, domain: usize) {
        self.modules.learn_domain(&self.info, domain);
        self.domains_changed();
    }

    /// `AppDomainShutdownStarted`, or a domain that could not be made.
    pub fn domain_gone(&self, domain: usize) {
        self.modules.forget_domain(domain);
        self.domains_changed();
    }

    /// There may be passengers that nobody needs: has the ReJIT thread look, once however many there are.
    pub fn passengers_changed(&self) {
        if !self.passengers_told.swap(true, Ordering::AcqRel) {
            self.inbox.put(Job::Passengers);
        }
    }

    fn domains_changed(&self) {
        // Told once until it is looked at, however many come and go.
        if self.has_orders() && !self.domains_told.swap(true, Ordering::AcqRel) {
            self.inbox.put(Job::DomainsChanged);
        }
    }

    /// `ModuleUnloadStarted`.
    pub fn module_unloading(&self, id: usize) {
        if let Some(module) = self.modules.unload(id) {
            self.inlining.forget(id);
            self.ledger.lose(module.key);
        }
    }

    /// `JITInlining`: the caller may itself be inlined; the code is that of the compilation under way.
    pub fn may_inline(&self, caller: usize, callee: usize) -> bool {
        let Ok(callee) = self.info.function_info(callee) else { return true };
        let method_of = |function| self.info.function_info(function).ok();
        let inliner = compiling::current(method_of).unwrap_or_else(|| method_of(caller));
        self.inlining.may_inline(callee, inliner, self.runtime.does(Known::InlinedMeanwhile))
    }

    /// `GetReJITParameters`: hands the CLR our body. False declines.
    pub fn rejit_parameters(
        &self,
        module_id: usize,
        token: u32,
        control: &ICorProfilerFunctionControl,
    ) -> bool {
        // The ledger's lock is free again before anything else is done.
        let handed = self.ledger.book().hand_over(module_id, token);
        let (row, slot_offset, probe) = match handed {
            HandOver::Body(row, slot_offset, probe) => (row, slot_offset, probe),
            HandOver::Nothing => return true,
            HandOver::Stray => {
                self.passengers_changed();
                return true;
            }
        };
        let failed = match self.instrument(module_id, token, slot_offset, probe) {
            Err(reason) => Some((reason, 0)),
            Ok(rewritten) => set_body(control, &rewritten.body, &rewritten.map)
                .err()
                .map(|e| (Reason::Hresult, e.hresult.0 as u32)),
        };
        let Some((reason, hresult)) = failed else { return true };
        // The CLR now holds a version with the original IL: the ReJIT thread takes it back.
        self.inbox.put(Job::Bad(row, reason, hresult));
        false
    }

    fn instrument(
        &self,
        module_id: usize,
        token: u32,
        slot_offset: usize,
        probe: Probe,
    ) -> Result<il::Rewritten, Reason> {
        let module = self.modules.get(module_id).ok_or(Reason::Unloaded)?;
        let sites = match module.call_sites.get() {
            Some(Ok(sites)) => *sites,
            _ => return Err(Reason::Metadata),
        };
        let rewrite = |original: &[u8]| body::with_probe(&module, sites, slot_offset, probe, original);
        let rewritten = self.info.il_body(module_id, token, rewrite).map_err(|_| Reason::NoBody)?;
        rewritten.map_err(|_| Reason::CannotInsert)
    }

    /// `ReJITCompilationStarted`.
    pub fn rejit_started(&self, function: usize, rejit: usize) {
        let Ok((module, token)) = self.info.function_info(function) else { return };
        let id = InstanceId { function_id: function as u64, rejit_id: rejit as u64 };
        self.ledger.book().started(module, token, id);
    }

    /// `ReJITCompilationFinished`.
    pub fn rejit_finished(&self, function: usize, rejit: usize, status: HRESULT) {
        let Ok((module, token)) = self.info.function_info(function) else { return };
        let id = InstanceId { function_id: function as u64, rejit_id: rejit as u64 };
        let verdict = self.ledger.change(|book, now| book.finished(module, token, id, status, now));
        if let Verdict::Bad(row) = verdict {
            self.inbox.put(Job::Bad(row, Reason::Quarantined, 0));
        }
    }

    /// `ReJITError`; may arrive inside our own `RequestReJIT`.
    pub fn rejit_error(&self, module: usize, token: u32, status: HRESULT) {
        self.ledger.change(|book, now| {
            if let Some(row) = book.find(module, token) {
                book.fail(row, State::Failed, Reason::Hresult, status.0 as u32, now);
            }
            cannot_ride(book, &HashSet::from([(module, token)]));
        });
        self.passengers_changed();
        // A few tell what there is to tell; a thousand would push everything else out of the ring.
        if self.rejit_errors.fetch_add(1, Ordering::Relaxed) < MAX_ERRORS_NOTED {
            let words = crate::clr::hresult::words(status);
            self.server.audit.note_text("", "runtime", format!("ReJITError for 0x{token:08x}: {words}"));
        }
        self.inlining.allow([(module, token)]);
    }

    /// `Shutdown`: sessions get the last numbers, within a bounded wait; then the agent is quiet for good. Once this
    /// returns no thread of ours calls the CLR: the ReJIT thread has ended or ends, and nobody reads metadata.
    pub fn shutdown(&self) {
        self.ledger.stop();
        self.server.say_goodbye(self.settings.report);
        self.launched.say_what_was_meant(self);
        self.server.unlink();
        let deadline = Instant::now() + WORKER_WAIT;
        while self.busy_since.load(Ordering::Relaxed) != 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.modules.close();
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the process ends: nobody may call the CLR any more.
    pub fn ends(&self) -> bool {
        self.ledger.book().stopping()
    }

    /// Makes the orders known to [`Agent::module_loaded`], before anything follows from them.
    pub fn anticipate(&self, orders: &Orders) -> Arc<[Arc<Standing>]> {
        let expected: Arc<[Arc<Standing>]> = Arc::from(orders.tidied());
        self.any_order.store(!expected.is_empty(), Ordering::Release);
        *lock(&self.expected) = Arc::clone(&expected);
        expected
    }

    /// Makes the orders known to sessions that list them, too, after what follows from them is done: so that whoever sees
    /// them gone sees nothing more of them.
    pub fn publish(&self, orders: &Orders, undoable: usize) {
        let published = Arc::new(Published { orders: self.anticipate(orders), undoable });
        let before = std::mem::replace(&mut *lock(&self.standing), published);
        drop(before);
    }

    /// The orders that stand, as published last.
    pub fn published(&self) -> Arc<Published> {
        Arc::clone(&lock(&self.standing))
    }

    /// Whether any order stands, or is on its way.
    pub fn has_orders(&self) -> bool {
        self.any_order.load(Ordering::Acquire)
    }

    fn may_match(&self, assembly: &str) -> bool {
        if !self.has_orders() {
            return false;
        }
        let expected = Arc::clone(&lock(&self.expected));
        expected.iter().any(|standing| standing.pattern.matches_assembly(assembly))
    }

    /// How leaves can be called at best: by whether the core library has the type that the cheap form needs. Looked up at the first
    /// dial: names are found slowly the first time.
    pub fn call_form(&self) -> CallForm {
        *self.call_form.get_or_init(|| {
            let has_it = |module: &Arc<Module>| {
                let find = |import: &Import| import.find_type_def(form::SUPPRESS_NAME).is_some();
                self.is_core_library(module) && module.with_metadata(&self.info, find) == Some(true)
            };
            if self.modules.all().iter().any(has_it) { CallForm::Suppressed } else { CallForm::Transition }
        })
    }

    /// Every dial off, as `what` says, waiting at most `longest` for the ReJIT thread.
    pub fn all_off(&self, what: AuditEntry, longest: Duration) -> Option<AllOff> {
        let (answer, wait) = crossbeam_channel::bounded(1);
        self.inbox.put(Job::AllOff(what, answer));
        wait.recv_timeout(longest).ok()
    }

    /// Milliseconds since the agent started.
    pub fn age_ms(&self) -> u64 {
        self.ledger.now_ms()
    }

    /// Whether `Shutdown` has come.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
