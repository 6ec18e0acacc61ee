//! The agent: the state that callbacks and sessions share. One per process, never freed, since callbacks may come
//! after `Shutdown`.
#![forbid(unsafe_code)]

use crate::clr::bindings::ICorProfilerFunctionControl;
use crate::clr::function_control::set_body;
use crate::clr::{ClrError, LoadedModule, ProfilerInfo};
use crate::context::Context;
use crate::events::{self, event_mask, exception_class};
use crate::hot_reload;
use crate::il;
use crate::inbox::{Gate, HANG_THRESHOLD, Job};
use crate::inlining::compilation_stack;
use crate::instrument::instrumented_body::{self, Probe};
use crate::instrument::tokens;
use crate::known_bad::RuntimeIssue;
use crate::ledger::compilations::{RequestedBody, Verdict};
use crate::ledger::request_state::RequestState;
use crate::ledger::turn_off_plan::mark_unrecompilable;
use crate::planner::Orders;
use crate::planted_fault::PlantedFault;
use crate::probes::exception_stack::ExceptionClass;
use crate::probes::{exception_types, thrown, trace};
use crate::rejit::Worker;
use crate::runtime::Runtime;
use crate::server::Server;
use crate::startup::{InertReason, Settings};
use crate::thrown_exceptions::type_names;
use redial_protocol::diagnostics::{AuditAction, AuditedChange};
use redial_protocol::dialset::print_order;
use redial_protocol::ids::{InstanceId, MethodToken, ProcessKey};
use redial_protocol::reason::Reason;
use redial_protocol::unreachable_note;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use windows_core::{HRESULT, IUnknown};

/// Threads that load modules stop waiting once a request has waited this long for compilations to end. Mostly
/// requests take less; if not, the request may be waiting for such a thread.
const MAX_REQUEST_WAIT: Duration = Duration::from_millis(50);
/// Longest wait at shutdown for the ReJIT thread to return from the runtime.
const WORKER_WAIT: Duration = Duration::from_millis(200);
/// How long callbacks that have begun may go on before a runtime with [`RuntimeIssue::FreedCallbacks`] frees their object.
const CALLBACK_WAIT: Duration = Duration::from_millis(20);
/// Number of `ReJITError`s recorded in the audit ring.
const MAX_ERRORS_NOTED: u64 = 16;

static AGENT: OnceLock<&'static Agent> = OnceLock::new();

/// The agent: its parts, and what callbacks do with them.
pub struct Agent {
    /// The parts that the ReJIT thread and the sessions share.
    pub context: &'static Context,
    /// The listener and its sessions.
    pub server: &'static Server,
    rejit_errors: AtomicU64,
}

/// Returns the agent, unless it was never started, is inert, or has shut down.
pub fn active() -> Option<&'static Agent> {
    AGENT.get().copied().filter(|agent| !agent.context.is_stopped())
}

/// Why `Initialize` did not start the agent.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The environment tells the agent to stay inert.
    #[error(transparent)]
    Inert(#[from] InertReason),
    /// The runtime lacks something that the agent needs.
    #[error(transparent)]
    Clr(#[from] ClrError),
    /// The operating system refused.
    #[error("{0}")]
    System(String),
    /// Another agent is already there.
    #[error("another agent is active in this process")]
    Another,
    /// The agent's threads could not be started. It is too late to fail `Initialize`, because the CLR would unload
    /// the library under a thread that may be running. The agent only stays out of the way.
    #[error("the system refused to start the agent's threads")]
    NoThreads,
}

/// Handles `Initialize`: decides whether to be active, sets the event mask and starts the threads. After an error
/// nothing of the agent runs, and the CLR unloads the library.
///
/// # Errors
/// See [`StartError`]; the launcher's mark file gets the same text.
pub fn start(unknown: &IUnknown) -> Result<(), StartError> {
    let settings = Settings::read(|name| std::env::var_os(name));
    let result = settings.map_err(StartError::from).and_then(|settings| start_with(settings, unknown));
    if let Some(mark) = crate::startup::mark(|name| std::env::var_os(name)) {
        crate::startup::leave_mark(&mark, &result);
    }
    match &result {
        // Such processes are to have nothing of ours.
        Ok(_) | Err(StartError::Inert(InertReason::Disabled | InertReason::NotLaunched)) => {}
        Err(error) => unreachable_note::leave(&error.to_string()),
    }
    match result {
        Ok(_) | Err(StartError::NoThreads) => Ok(()),
        Err(e) => Err(e),
    }
}

fn start_with(settings: Settings, unknown: &IUnknown) -> Result<ProcessKey, StartError> {
    if settings.launcher.is_some() && !settings.wanted_below(crate::platform::ancestors()) {
        return Err(InertReason::NotLaunched.into());
    }
    let process = redial_protocol::process::own_key().map_err(|e| StartError::System(e.to_string()))?;
    let (orders, seqs) = match &settings.orders {
        Some(path) => crate::startup::read_orders(path, settings.highest_level())?,
        None => Default::default(),
    };
    let agent = install(settings, process, unknown)?;
    agent.context.orders.publish(&orders, 0);
    agent.context.launcher_orders.begin(crate::startup::mark(|name| std::env::var_os(name)), &orders, &seqs);
    for standing in orders.all() {
        let change = AuditedChange::order(print_order(&standing.order));
        agent.context.audit.note("", "redial run", AuditAction::Changed(change));
    }
    if !agent.start_worker(orders) {
        agent.give_up();
        return Err(StartError::System("the system refused to start the agent's threads".into()));
    }
    // From here on an agent thread runs: nothing below may fail Initialize.
    agent.publish();
    if !agent.start_listening() {
        agent.give_up();
        return Err(StartError::NoThreads);
    }
    Ok(process)
}

/// Makes the agent and sets the event mask, without starting a thread. Call it inside `Initialize` or
/// `InitializeForAttach`. Callbacks find the agent once it is published; until then [`Agent::give_up`] takes
/// everything back.
///
/// # Errors
/// When the runtime lacks something that the agent needs, or another agent is there.
pub(crate) fn install(
    settings: Settings,
    process: ProcessKey,
    unknown: &IUnknown,
) -> Result<&'static Agent, StartError> {
    if AGENT.get().is_some() {
        return Err(StartError::Another);
    }
    let info = ProfilerInfo::open(unknown)?;
    let runtime = Runtime::detect(&info)?;
    let mask = event_mask(&runtime, &settings);
    let hot_reload = runtime.does(RuntimeIssue::EditableIgnored)
        && hot_reload::is_on(runtime.major, |name| std::env::var_os(name));
    let agent: &'static Agent = Box::leak(Box::new(Agent {
        context: Box::leak(Box::new(Context::new(info, runtime, process, settings, hot_reload))),
        server: Box::leak(Box::default()),
        rejit_errors: AtomicU64::new(0),
    }));
    agent.context.info.set_event_mask(mask, true)?;
    Ok(agent)
}

impl Agent {
    /// Starts the ReJIT thread; false if the system refuses.
    pub(crate) fn start_worker(&'static self, orders: Orders) -> bool {
        let context = self.context;
        crate::platform::spawn(c"redial-rejit", move || Worker::new(context, orders).run())
    }

    /// Starts the listener's thread; false if the system refuses.
    pub(crate) fn start_listening(&'static self) -> bool {
        let (context, server) = (self.context, self.server);
        crate::platform::spawn(c"redial-listen", move || crate::server::listen(context, server))
    }

    /// Lets callbacks find the agent, and keeps its library loaded. Call it before the agent's first callback.
    pub(crate) fn publish(&'static self) {
        // The runtime initializes one profiler at a time, and `install` found none.
        let _ = AGENT.set(self);
        crate::platform::pin_library();
        crate::probes::count_helper::prepare();
    }

    /// Gives up starting: from now on the agent only stays out of the way, and its callbacks cost nothing.
    pub(crate) fn give_up(&self) {
        events::silence(&self.context.info, &self.context.runtime, &self.context.settings);
        self.context.ledger.stop();
        self.server.unlink();
        self.context.stop();
    }

    /// `ModuleLoadFinished` and `ModuleAttachedToAssembly`.
    pub fn module_loaded(&self, loaded: &LoadedModule) {
        // The JIT may be loading it, and everything here takes longer on a busy machine.
        self.context.ledger.lock().note_module_load(Instant::now());
        self.add_module(loaded);
        self.context.ledger.lock().note_module_load(Instant::now());
    }

    fn add_module(&self, loaded: &LoadedModule) {
        let Context { info, modules, instrumentation, inbox, .. } = self.context;
        let Some(module) = modules.read(info, loaded, false) else { return };
        let tokens = instrumentation.add(module.key);
        if !module.dynamic && !module.collectible {
            // Nothing reads the module yet. A failure is kept and becomes the reason of a refusal.
            if let Err(e) = tokens::open(info, loaded) {
                let _ = tokens.call_sites.set(Err(e));
            }
        }
        // Code that ran while an earlier module unloaded may have thrown.
        thrown::forget_module(module.id());
        if !modules.publish(&module) {
            instrumentation.forget(module.key);
            return;
        }
        if modules.were_named() {
            self.domains_changed();
        }
        // Matching methods that will be refused count, too, so that `status` shows them even if the module soon
        // unloads. Never wait for a ReJIT thread that hangs inside the runtime.
        let wait =
            self.context.orders.may_match(&module.name) && self.context.worker.busy_for() < HANG_THRESHOLD;
        let gate = wait.then(|| Arc::new(Gate::default()));
        inbox.put(Job::Loaded(module, gate.clone()));
        // The ReJIT thread may wait for a compilation that loads this very module.
        let request_is_stuck = || self.context.inlining.waits_for() >= MAX_REQUEST_WAIT;
        if gate.is_some_and(|gate| !gate.wait(self.context.settings.first_call_wait, request_is_stuck)) {
            self.context.missed_deadlines.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// `AppDomainCreationFinished`.
    pub fn domain_made(&self, domain: usize) {
        self.context.modules.learn_domain(&self.context.info, domain);
        self.domains_changed();
    }

    /// `AppDomainShutdownStarted`, or the creation of a domain failed.
    pub fn domain_gone(&self, domain: usize) {
        self.context.modules.forget_domain(domain);
        self.domains_changed();
    }

    fn domains_changed(&self) {
        if self.context.orders.any() {
            self.context.inbox.request_domain_check();
        }
    }

    /// `ModuleUnloadStarted`.
    pub fn module_unloading(&self, id: usize) {
        self.context.classes.unload(id);
        thrown::forget_module(id);
        if let Some(module) = self.context.modules.unload(id) {
            self.context.inlining.forget(id);
            let lost = self.context.ledger.unload(module.key);
            if !lost.is_empty() {
                self.context.inbox.put(Job::Unloaded(lost));
            }
            self.context.instrumentation.forget(module.key);
        }
    }

    /// `JITCompilationStarted`: original code, for which the runtime does not ask the agent.
    pub fn jit_started(&self, function: usize) {
        let Context { info, modules, ledger, inlining, orders, .. } = self.context;
        inlining.compiling(function);
        if !orders.any() {
            return;
        }
        let Ok((module, token)) = info.function_info(function) else { return };
        let row = ledger.lock().on_and_not_ignored(module, token);
        // Recompiling existing code at a higher tier does not mean that it is called.
        let has_code = || {
            let module = modules.get(module);
            module.and_then(|module| module.while_loaded(|loaded| info.has_code(loaded, function, 0)))
        };
        if let Some(row) = row.filter(|_| has_code() == Some(false)) {
            ledger.lock().note_ignored(row, function);
        }
    }

    /// `JITInlining`. The runtime's caller may itself be inlined; the code belongs to the active compilation.
    pub fn may_inline(&self, caller: usize, callee: usize) -> bool {
        let Ok(callee) = self.context.info.function_info(callee) else { return true };
        let method_of = |function| self.context.info.function_info(function).ok();
        let inliner = compilation_stack::current(method_of).unwrap_or_else(|| method_of(caller));
        self.context.inlining.may_inline(
            callee,
            inliner,
            self.context.runtime.does(RuntimeIssue::InlinedMeanwhile),
        )
    }

    /// `GetReJITParameters`: passes the instrumented body to the CLR. Returns false to decline.
    pub fn rejit_parameters(
        &self,
        module: &LoadedModule,
        token: u32,
        control: &ICorProfilerFunctionControl,
    ) -> bool {
        // Release the ledger's lock before doing anything else.
        let requested = self.context.ledger.lock().requested_body(module.id(), token);
        let (row, slot_offset, probe) = match requested {
            RequestedBody::Body(row, slot_offset, probe) => (row, slot_offset, probe),
            RequestedBody::Original => return true,
            RequestedBody::UnexpectedOriginal => {
                self.context.inbox.request_caller_check();
                return true;
            }
        };
        let failed = match self.instrument(module, token, slot_offset, probe) {
            Err(reason) => Some((reason, 0)),
            Ok(rewritten) => set_body(control, &rewritten.body, &rewritten.map)
                .err()
                .map(|e| (Reason::Hresult, e.hresult.0 as u32)),
        };
        let Some((reason, hresult)) = failed else { return true };
        // The CLR now holds a version with the original IL: the ReJIT thread reverts it.
        self.context.inbox.put(Job::Bad(row, reason, hresult));
        false
    }

    fn instrument(
        &self,
        loaded: &LoadedModule,
        token: u32,
        slot_offset: usize,
        probe: Probe,
    ) -> Result<il::Rewritten, Reason> {
        let Context { info, modules, instrumentation, .. } = self.context;
        let module = modules.get(loaded.id()).ok_or(Reason::Unloaded)?;
        let tokens = instrumentation.tokens(module.key).ok_or(Reason::Unloaded)?;
        let sites = match tokens.call_sites.get() {
            Some(Ok(sites)) => *sites,
            _ => return Err(Reason::Metadata),
        };
        let rewrite =
            |original: &[u8]| instrumented_body::with_probe(&tokens, sites, slot_offset, probe, original);
        let rewritten = info.il_body(loaded, token, rewrite).map_err(|_| Reason::NoBody)?;
        if PlantedFault::WrongIl.is_wanted() {
            return rewritten.and_then(|once| rewrite(&once.body)).map_err(|_| Reason::CannotInsert);
        }
        rewritten.map_err(|_| Reason::CannotInsert)
    }

    /// `ReJITCompilationStarted`.
    pub fn rejit_started(&self, function: usize, rejit: usize) {
        let Ok((module, token)) = self.context.info.function_info(function) else { return };
        let id = InstanceId { function_id: function as u64, rejit_id: rejit as u64 };
        self.context.ledger.lock().started(module, token, id);
    }

    /// `ReJITCompilationFinished`.
    pub fn rejit_finished(&self, function: usize, rejit: usize, status: HRESULT) {
        let Ok((module, token)) = self.context.info.function_info(function) else { return };
        let id = InstanceId { function_id: function as u64, rejit_id: rejit as u64 };
        let verdict =
            self.context.ledger.change(|ledger, now| ledger.finished(module, token, id, status, now));
        if let Verdict::Bad(row) = verdict {
            self.context.inbox.put(Job::Bad(row, Reason::Quarantined, 0));
        }
    }

    /// `ReJITError`; may arrive inside our own `RequestReJIT`.
    pub fn rejit_error(&self, module: usize, token: u32, status: HRESULT) {
        self.context.ledger.change(|ledger, now| {
            if let Some(row) = ledger.find(module, token) {
                ledger.fail(row, RequestState::Failed, Reason::Hresult, status.0 as u32, now);
            }
            mark_unrecompilable(ledger, &HashSet::from([(module, token)]));
        });
        self.context.inbox.request_caller_check();
        // A few entries are enough; a thousand would push everything else out of the ring.
        if self.rejit_errors.fetch_add(1, Ordering::Relaxed) < MAX_ERRORS_NOTED {
            let error = AuditAction::RuntimeError { token: MethodToken(token), hresult: status.0 as u32 };
            self.context.audit.note("", "runtime", error);
        }
        self.context.inlining.allow([(module, token)]);
    }

    /// Returns the class of an exception object.
    pub fn exception_class(&self, object: usize) -> ExceptionClass {
        exception_class(&self.context.info, self.context.modules.generations(), object)
    }

    /// Reads the name of an exception's type, if a condition of a traced method needs it.
    pub fn learn_exception_type(&self, object: usize) {
        if trace::any() && exception_types::are_wanted() {
            let Context { info, modules, .. } = self.context;
            let class = self.exception_class(object);
            exception_types::learn(class, || Some(type_names(info, modules, class)?.display.to_string()));
        }
    }

    /// `Shutdown`: sends sessions the last numbers, within a bounded wait, then silences the agent for good. Once
    /// this returns, no agent thread calls the CLR: the ReJIT thread has ended or is ending (unless it is stuck inside
    /// the runtime), and nothing reads metadata.
    pub fn shutdown(&self) {
        self.context.ledger.stop();
        self.server.wait_for_watchers(self.context.settings.report);
        self.context.launcher_orders.write_suggestions(&self.context.info, &self.context.modules);
        if let Some(launcher) = self.context.settings.launcher {
            crate::startup::remove_orphans(launcher, |name| std::env::var_os(name));
        }
        self.server.unlink();
        let deadline = Instant::now() + WORKER_WAIT;
        while self.context.worker.is_busy() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        // A request that is stuck in the runtime keeps its modules' readers: another wait would be in vain.
        self.context.modules.close(!self.context.worker.is_busy());
        self.context.stop();
        self.end_callbacks();
    }

    /// Stops all work after [`Agent::shutdown`] failed, without waiting for it. Later requests find no module that they
    /// could call the CLR with.
    pub fn stop_after_fault(&self) {
        self.context.ledger.stop();
        self.context.modules.close(false);
        self.context.stop();
        self.end_callbacks();
    }

    /// Lets no thread call the agent once `Shutdown` returns, where the runtime may free the callback object then. A thread
    /// that looked at the event mask before it changed calls within microseconds; the agent cannot see it until then.
    fn end_callbacks(&self) {
        let Context { info, runtime, settings, .. } = self.context;
        if cfg!(unix) && runtime.does(RuntimeIssue::FreedCallbacks) {
            events::silence(info, runtime, settings);
            std::thread::sleep(CALLBACK_WAIT);
        }
    }
}
