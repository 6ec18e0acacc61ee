//! `ICorProfilerCallback` to `ICorProfilerCallback11`. Every entry with an effect runs within a guard. The others
//! return `S_OK`; the agent's event mask suppresses most of them.
//!
//! The object has no fields: all state is in [`Agent`], so that a callback after `Shutdown` finds the agent
//! switched off.

use crate::agent::{self, Agent};
use crate::attach;
use crate::clr::LoadedModule;
use crate::clr::bindings::*;
use crate::clr::hresult::{CORPROF_E_PROFILER_CANCEL_ACTIVATION, E_FAIL, S_FALSE};
use crate::events::{exception, keep_exception};
use crate::guard::planted::plant;
use crate::guard::{guard, guard_always, silence_panics};
use crate::probes::exception_stack::ExceptionEvent;
use crate::probes::thrown;
use core::ffi::c_void;
use windows_core::{BOOL, Error, GUID, HRESULT, IUnknown, PCWSTR, Ref, Result, implement};

/// The callback object.
#[implement(ICorProfilerCallback11)]
pub struct Callback;

/// Runs `body` on the active agent, within a guard. `callback` is the name for planted faults.
fn with(callback: &str, body: impl FnOnce(&'static Agent)) -> Result<()> {
    guard((), || {
        plant(callback);
        if let Some(agent) = agent::active() {
            body(agent);
        }
    });
    Ok(())
}

/// Like [`with`], for callbacks that must have their effect even after the kill switch. `after_fault` does the least
/// that keeps the host safe if `body` fails.
fn with_always(
    callback: &str,
    body: impl FnOnce(&'static Agent),
    after_fault: impl FnOnce(&'static Agent),
) -> Result<()> {
    let done = guard_always(false, || {
        plant(callback);
        if let Some(agent) = agent::active() {
            body(agent);
        }
        true
    });
    if !done {
        guard_always((), || {
            if let Some(agent) = agent::active() {
                after_fault(agent);
            }
        });
    }
    Ok(())
}

/// Callbacks that the agent neither requests nor needs.
macro_rules! ignored {
    ($($name:ident($($argument:ty),*);)*) => {
        $(fn $name(&self, $(_: $argument),*) -> Result<()> { Ok(()) })*
    };
}

impl ICorProfilerCallback_Impl for Callback_Impl {
    fn Initialize(&self, info: Ref<IUnknown>) -> Result<()> {
        silence_panics();
        guard(Err(Error::from(E_FAIL)), || {
            plant("Initialize");
            match info.as_ref() {
                Some(info) => {
                    agent::start(info).map_err(|_| Error::from(CORPROF_E_PROFILER_CANCEL_ACTIVATION))
                }
                None => Err(Error::from(E_FAIL)),
            }
        })
    }

    fn Shutdown(&self) -> Result<()> {
        with_always("Shutdown", Agent::shutdown, Agent::stop_after_fault)
    }

    fn ModuleLoadFinished(&self, module: usize, status: HRESULT) -> Result<()> {
        if status.is_err() {
            return Ok(());
        }
        with("ModuleLoadFinished", |agent| {
            // SAFETY: the CLR passes a module that has loaded, which cannot unload before this callback returns.
            agent.module_loaded(&unsafe { LoadedModule::in_callback(module) });
        })
    }

    fn ModuleAttachedToAssembly(&self, module: usize, _assembly: usize) -> Result<()> {
        with("ModuleAttachedToAssembly", |agent| {
            // SAFETY: the CLR passes a module that has loaded, which cannot unload before this callback returns.
            agent.module_loaded(&unsafe { LoadedModule::in_callback(module) });
        })
    }

    /// Runs even after the kill switch, because sessions still read metadata.
    fn ModuleUnloadStarted(&self, module: usize) -> Result<()> {
        let forget = |agent: &'static Agent| drop(agent.context.modules.unload(module));
        with_always("ModuleUnloadStarted", |agent| agent.module_unloading(module), forget)
    }

    fn AppDomainCreationStarted(&self, domain: usize) -> Result<()> {
        with("AppDomainCreationStarted", |agent| agent.context.modules.note_domain(domain))
    }

    fn AppDomainCreationFinished(&self, domain: usize, status: HRESULT) -> Result<()> {
        with("AppDomainCreationFinished", |agent| {
            if status.is_ok() { agent.domain_made(domain) } else { agent.domain_gone(domain) }
        })
    }

    fn AppDomainShutdownStarted(&self, domain: usize) -> Result<()> {
        let forget = |agent: &'static Agent| agent.context.modules.forget_domain(domain);
        with_always("AppDomainShutdownStarted", |agent| agent.domain_gone(domain), forget)
    }

    fn JITInlining(&self, caller: usize, callee: usize) -> Result<BOOL> {
        let allowed = guard(true, || {
            plant("JITInlining");
            agent::active().is_none_or(|agent| agent.may_inline(caller, callee))
        });
        Ok(allowed.into())
    }

    fn JITCompilationStarted(&self, function: usize, _safe_to_block: BOOL) -> Result<()> {
        with("JITCompilationStarted", |agent| agent.jit_started(function))
    }

    fn JITCompilationFinished(&self, function: usize, _status: HRESULT, _safe_to_block: BOOL) -> Result<()> {
        with("JITCompilationFinished", |agent| agent.context.inlining.jit_finished(function))
    }

    /// Always accepts precompiled code: ReJIT replaces it for dialled methods.
    fn JITCachedFunctionSearchStarted(&self, _function: usize) -> Result<BOOL> {
        Ok(true.into())
    }

    fn ExceptionThrown(&self, object: usize) -> Result<()> {
        with("ExceptionThrown", |agent| {
            exception(|| ExceptionEvent::Thrown(agent.exception_class(object)));
            keep_exception(object, |inner| agent.exception_class(inner));
            agent.learn_exception_type(object);
            thrown::record_throw(object, |object| agent.exception_class(object));
        })
    }

    fn ExceptionSearchFunctionEnter(&self, function: usize) -> Result<()> {
        with("ExceptionSearchFunctionEnter", |agent| {
            exception(|| ExceptionEvent::GoesOn);
            thrown::record_search(|| agent.context.info.function_info(function).ok());
        })
    }

    fn ExceptionSearchFilterEnter(&self, _function: usize) -> Result<()> {
        with("ExceptionSearchFilterEnter", |_| exception(|| ExceptionEvent::FilterBegins))
    }

    fn ExceptionSearchFilterLeave(&self) -> Result<()> {
        with("ExceptionSearchFilterLeave", |_| exception(|| ExceptionEvent::FilterEnds))
    }

    fn ExceptionUnwindFunctionEnter(&self, _function: usize) -> Result<()> {
        with("ExceptionUnwindFunctionEnter", |_| exception(|| ExceptionEvent::GoesOn))
    }

    fn ExceptionUnwindFinallyEnter(&self, _function: usize) -> Result<()> {
        with("ExceptionUnwindFinallyEnter", |_| exception(|| ExceptionEvent::HandlerBegins))
    }

    fn ExceptionUnwindFinallyLeave(&self) -> Result<()> {
        with("ExceptionUnwindFinallyLeave", |_| exception(|| ExceptionEvent::HandlerEnds))
    }

    fn ExceptionCatcherEnter(&self, _function: usize, object: usize) -> Result<()> {
        with("ExceptionCatcherEnter", |agent| {
            exception(|| ExceptionEvent::Caught(agent.exception_class(object)))
        })
    }

    ignored! {
        AppDomainShutdownFinished(usize, HRESULT);
        AssemblyLoadStarted(usize);
        AssemblyLoadFinished(usize, HRESULT);
        AssemblyUnloadStarted(usize);
        AssemblyUnloadFinished(usize, HRESULT);
        ModuleLoadStarted(usize);
        ModuleUnloadFinished(usize, HRESULT);
        ClassLoadStarted(usize);
        ClassLoadFinished(usize, HRESULT);
        ClassUnloadStarted(usize);
        ClassUnloadFinished(usize, HRESULT);
        FunctionUnloadStarted(usize);
        JITCachedFunctionSearchFinished(usize, COR_PRF_JIT_CACHE);
        JITFunctionPitched(usize);
        ThreadCreated(usize);
        ThreadDestroyed(usize);
        ThreadAssignedToOSThread(usize, u32);
        RemotingClientInvocationStarted();
        RemotingClientSendingMessage(*const GUID, BOOL);
        RemotingClientReceivingReply(*const GUID, BOOL);
        RemotingClientInvocationFinished();
        RemotingServerReceivingMessage(*const GUID, BOOL);
        RemotingServerInvocationStarted();
        RemotingServerInvocationReturned();
        RemotingServerSendingReply(*const GUID, BOOL);
        UnmanagedToManagedTransition(usize, COR_PRF_TRANSITION_REASON);
        ManagedToUnmanagedTransition(usize, COR_PRF_TRANSITION_REASON);
        RuntimeSuspendStarted(COR_PRF_SUSPEND_REASON);
        RuntimeSuspendFinished();
        RuntimeSuspendAborted();
        RuntimeResumeStarted();
        RuntimeResumeFinished();
        RuntimeThreadSuspended(usize);
        RuntimeThreadResumed(usize);
        MovedReferences(u32, *const usize, *const usize, *const u32);
        ObjectAllocated(usize, usize);
        ObjectsAllocatedByClass(u32, *const usize, *const u32);
        ObjectReferences(usize, usize, u32, *const usize);
        RootReferences(u32, *const usize);
        ExceptionSearchFunctionLeave();
        ExceptionSearchCatcherFound(usize);
        ExceptionOSHandlerEnter(usize);
        ExceptionOSHandlerLeave(usize);
        ExceptionUnwindFunctionLeave();
        ExceptionCatcherLeave();
        COMClassicVTableCreated(usize, *const GUID, *const c_void, u32);
        COMClassicVTableDestroyed(usize, *const GUID, *const c_void);
        ExceptionCLRCatcherFound();
        ExceptionCLRCatcherExecute();
    }
}

impl ICorProfilerCallback2_Impl for Callback_Impl {
    ignored! {
        ThreadNameChanged(usize, u32, &PCWSTR);
        GarbageCollectionStarted(i32, *const BOOL, COR_PRF_GC_REASON);
        SurvivingReferences(u32, *const usize, *const u32);
        GarbageCollectionFinished();
        FinalizeableObjectQueued(u32, usize);
        RootReferences2(u32, *const usize, *const COR_PRF_GC_ROOT_KIND, *const COR_PRF_GC_ROOT_FLAGS, *const usize);
        HandleCreated(usize, usize);
        HandleDestroyed(usize);
    }
}

impl ICorProfilerCallback3_Impl for Callback_Impl {
    fn InitializeForAttach(&self, info: Ref<IUnknown>, data: *const c_void, length: u32) -> Result<()> {
        let data = match data.is_null() {
            true => &[][..],
            // SAFETY: the CLR passes the request's client data and its length; the data stays unchanged until this
            // call returns (ICorProfilerCallback3::InitializeForAttach).
            false => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length as usize) },
        };
        silence_panics();
        guard(Err(Error::from(attach::fault())), || {
            plant("InitializeForAttach");
            match info.as_ref() {
                Some(info) => attach::start(info, data).map_err(Error::from),
                None => Err(Error::from(E_FAIL)),
            }
        })
    }

    fn ProfilerAttachComplete(&self) -> Result<()> {
        with_always("ProfilerAttachComplete", attach::complete, Agent::give_up)
    }

    ignored! {
        ProfilerDetachSucceeded();
    }
}

impl ICorProfilerCallback4_Impl for Callback_Impl {
    fn ReJITCompilationStarted(&self, function: usize, rejit: usize, _safe_to_block: BOOL) -> Result<()> {
        with("ReJITCompilationStarted", |agent| {
            agent.context.inlining.compiling(function);
            agent.rejit_started(function, rejit);
        })
    }

    /// Declines with `S_FALSE`; after a failure, old runtimes may ask for ever.
    fn GetReJITParameters(
        &self,
        module: usize,
        method: u32,
        control: Ref<ICorProfilerFunctionControl>,
    ) -> Result<()> {
        let done = guard(false, || {
            plant("GetReJITParameters");
            match (agent::active(), control.as_ref()) {
                (Some(agent), Some(control)) => {
                    // SAFETY: the CLR compiles a method of this module, which cannot unload before this callback
                    // returns.
                    agent.rejit_parameters(&unsafe { LoadedModule::in_callback(module) }, method, control)
                }
                _ => true,
            }
        });
        if done { Ok(()) } else { Err(Error::from(S_FALSE)) }
    }

    fn ReJITCompilationFinished(
        &self,
        function: usize,
        rejit: usize,
        status: HRESULT,
        _safe_to_block: BOOL,
    ) -> Result<()> {
        with("ReJITCompilationFinished", |agent| {
            agent.context.inlining.compiled(function);
            agent.rejit_finished(function, rejit, status);
        })
    }

    fn ReJITError(&self, module: usize, method: u32, _function: usize, status: HRESULT) -> Result<()> {
        with("ReJITError", |agent| agent.rejit_error(module, method, status))
    }

    ignored! {
        MovedReferences2(u32, *const usize, *const usize, *const usize);
        SurvivingReferences2(u32, *const usize, *const usize);
    }
}

impl ICorProfilerCallback5_Impl for Callback_Impl {
    ignored! {
        ConditionalWeakTableElementReferences(u32, *const usize, *const usize, *const usize);
    }
}

impl ICorProfilerCallback6_Impl for Callback_Impl {
    ignored! {
        GetAssemblyReferences(&PCWSTR, Ref<ICorProfilerAssemblyReferenceProvider>);
    }
}

impl ICorProfilerCallback7_Impl for Callback_Impl {
    ignored! {
        ModuleInMemorySymbolsUpdated(usize);
    }
}

impl ICorProfilerCallback8_Impl for Callback_Impl {
    /// A dynamic method has no token; without this callback its compilation would look like the previous method's.
    fn DynamicMethodJITCompilationStarted(
        &self,
        function: usize,
        _safe_to_block: BOOL,
        _header: *const u8,
        _size: u32,
    ) -> Result<()> {
        with("DynamicMethodJITCompilationStarted", |agent| agent.context.inlining.compiling_dynamic(function))
    }

    fn DynamicMethodJITCompilationFinished(
        &self,
        function: usize,
        _status: HRESULT,
        _safe_to_block: BOOL,
    ) -> Result<()> {
        with("DynamicMethodJITCompilationFinished", |agent| agent.context.inlining.compiled(function))
    }
}

impl ICorProfilerCallback9_Impl for Callback_Impl {
    /// Waits even after the kill switch, because sessions still name callers.
    fn DynamicMethodUnloaded(&self, _function: usize) -> Result<()> {
        let wait = |agent: &'static Agent| agent.context.modules.destroy_dynamic_method();
        with_always("DynamicMethodUnloaded", wait, wait)
    }
}

impl ICorProfilerCallback10_Impl for Callback_Impl {
    ignored! {
        EventPipeEventDelivered(
            usize, u32, u32, u32, *const u8, u32, *const u8, *const GUID, *const GUID, usize, u32, *const usize
        );
        EventPipeProviderCreated(usize);
    }
}

impl ICorProfilerCallback11_Impl for Callback_Impl {
    /// The agent changes code, so it must be the main profiler or none.
    fn LoadAsNotificationOnly(&self, notification_only: *mut BOOL) -> Result<()> {
        if !notification_only.is_null() {
            // SAFETY: the CLR passes room for one BOOL; checked for null.
            unsafe { *notification_only = false.into() };
        }
        Ok(())
    }
}
