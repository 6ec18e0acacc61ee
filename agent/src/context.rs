//! The parts of the agent that the ReJIT thread and the sessions share. The parts do not know one another here;
//! code that needs several of them gets this struct.
#![forbid(unsafe_code)]

use crate::audit::Audit;
use crate::caller_names::CallerNames;
use crate::catalogue::Modules;
use crate::classes::Classes;
use crate::clr::ProfilerInfo;
use crate::control::Control;
use crate::cost_budget::PublishedBudget;
use crate::events::Exceptions;
use crate::inbox::{Inbox, WorkerActivity};
use crate::inlining::Inlining;
use crate::instrument::Instrumentation;
use crate::launcher_orders::LauncherOrders;
use crate::ledger::Ledger;
use crate::runtime::Runtime;
use crate::standing_orders::StandingOrders;
use crate::startup::Settings;
use crate::thrown_exceptions::ThrownExceptions;
use crate::traces::Traces;
use redial_protocol::ids::ProcessKey;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The shared parts.
///
/// # Lock order
/// A thread that holds one of these locks takes only locks further down:
///
/// 1. a subscription's pass (`server/subscription.rs`);
/// 2. a module's readers ([`crate::clr::LoadedModule`]: only ever tried for writing, so a reader may lock them again),
///    or the active compilations (`inlining/active_compilations.rs`);
/// 3. the ledger ([`crate::ledger::Ledger::lock`]), never held across a call into the CLR: `ReJITError` arrives inside
///    `RequestReJIT` and takes it;
/// 4. a module's signatures ([`crate::instrument::tokens::ModuleTokens::local_sigs`]).
///
/// All other locks are held for a moment, with no other lock taken under them, and none of them under the ledger's,
/// except in these chains:
///
/// - the ledger, then the state of a [`crate::probes::completions::Account`] (`LedgerState::close_account`);
/// - `Inlining::vetoed` (read), then the active compilations, and after those `Inlining::held`
///   (`Inlining::may_inline`);
/// - the active compilations, then the inbox's jobs (`stop` in `ActiveCompilations::wait_for`, which also asks the
///   ledger);
/// - the lock of `condition_setter::set`, then the clock's rate;
/// - the traced methods, then the queue of a stream or the clock's rate (`traces/collector.rs`);
/// - the thrown exceptions, then the names of callers, and after those the queue of a stream
///   (`thrown_exceptions/collector.rs`).
pub struct Context {
    /// The profiling API.
    pub info: ProfilerInfo,
    /// The runtime of this process.
    pub runtime: Runtime,
    /// This process.
    pub process: ProcessKey,
    /// The settings from the environment.
    pub settings: Settings,
    /// Hot Reload may change debug builds here, so the runtime recompiles none of them.
    pub hot_reload: bool,
    /// The loaded AppDomains and modules.
    pub modules: Modules,
    /// Finds the callers of dialled methods.
    pub callers: CallerNames,
    /// The methods that the JIT inlined, and those it must not inline.
    pub inlining: Inlining,
    /// The metadata tokens that probes need, by module.
    pub instrumentation: Instrumentation,
    /// Whether the runtime reports exceptions.
    pub exceptions: Exceptions,
    /// The standing orders, as last published.
    pub orders: StandingOrders,
    /// Tracks whether the launcher's orders matched.
    pub launcher_orders: LauncherOrders,
    /// The dialled copies, with wanted and actual levels.
    pub ledger: Ledger,
    /// The traced methods and their calls.
    pub traces: Traces,
    /// The classes of captured objects.
    pub classes: Classes,
    /// The sessions that ask for thrown exceptions.
    pub thrown_exceptions: ThrownExceptions,
    /// The session that may change dials.
    pub control: Control,
    /// The latest changes, with their users.
    pub audit: Audit,
    /// The cost budget, as last published.
    pub cost_budget: PublishedBudget,
    /// The ReJIT thread's inbox.
    pub inbox: Inbox,
    /// Whether the ReJIT thread is busy.
    pub worker: WorkerActivity,
    /// First changes at module load that took longer than a host thread may wait.
    pub missed_deadlines: AtomicU64,
    stopped: AtomicBool,
}

impl Context {
    /// Makes the parts at the agent's start.
    pub fn new(
        info: ProfilerInfo,
        runtime: Runtime,
        process: ProcessKey,
        settings: Settings,
        hot_reload: bool,
    ) -> Context {
        let traces = Traces::new(settings.max_events);
        Context {
            info,
            runtime,
            process,
            settings,
            hot_reload,
            modules: Modules::default(),
            callers: CallerNames::default(),
            inlining: Inlining::default(),
            instrumentation: Instrumentation::default(),
            exceptions: Exceptions::default(),
            orders: StandingOrders::default(),
            launcher_orders: LauncherOrders::default(),
            ledger: Ledger::default(),
            traces,
            classes: Classes::default(),
            thrown_exceptions: ThrownExceptions::default(),
            control: Control::default(),
            audit: Audit::default(),
            cost_budget: PublishedBudget::default(),
            inbox: Inbox::default(),
            worker: WorkerActivity::default(),
            missed_deadlines: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Whether the agent has shut down.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// From now on the agent only stays out of the way.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}
