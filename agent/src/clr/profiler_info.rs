//! `ICorProfilerInfo` and its successors, as far as the runtime implements them.

use super::bindings::{
    COR_PRF_DESKTOP_CLR, COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS, COR_PRF_METHOD,
    COR_PRF_MODULE_COLLECTIBLE, COR_PRF_MODULE_DYNAMIC, COR_PRF_MONITOR_EXCEPTIONS,
    COR_PRF_REJIT_BLOCK_INLINING, COR_PRF_REJIT_INLINING_CALLBACKS, ICorProfilerInfo, ICorProfilerInfo4,
    ICorProfilerInfo5, ICorProfilerInfo6, ICorProfilerInfo7, ICorProfilerInfo8, ICorProfilerInfo10,
    ICorProfilerMethodEnum, IMetaDataEmit2, IMetaDataImport2,
};
use super::buffers::text;
use super::emit::Emitter;
use super::hresult::{
    CORPROF_E_FUNCTION_IS_PARAMETERIZED, CORPROF_E_SUSPENSION_IN_PROGRESS,
    CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER, ClrError, E_NOTIMPL, check,
};
use super::kept_memory::KeptMemory;
use super::loaded_module::LoadedModule;
use super::metadata::Import;
use crate::sync::long_work;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use windows_core::{BOOL, HRESULT, IUnknown, Interface, PWSTR};

/// How long to wait while something else has suspended the runtime.
const SUSPENSION_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const RETRY_PAUSE: Duration = Duration::from_micros(500);
/// `CorOpenFlags::ofRead`.
const OF_READ: u32 = 0;
/// `CorOpenFlags::ofWrite`.
const OF_WRITE: u32 = 1;
/// Longest path or name we read, UTF-16 units.
pub(super) const NAME_UNITS: usize = 2048;

/// The profiling API, opened by capability: requires ReJIT (`ICorProfilerInfo4`); the other interfaces are
/// optional.
pub struct ProfilerInfo {
    pub(super) base: ICorProfilerInfo,
    pub(super) rejit: ICorProfilerInfo4,
    inliners: Option<ICorProfilerInfo6>,
    apply: Option<ICorProfilerInfo7>,
    pub(super) code: Option<ICorProfilerInfo8>,
    masks: Option<ICorProfilerInfo5>,
    reports_destroyed_methods: AtomicBool,
    newer: Option<ICorProfilerInfo10>,
    /// Counts the requests, for the memory that the CLR keeps for them.
    pub kept: KeptMemory,
}

/// Resumes managed code when dropped.
struct Resume<'a>(&'a ICorProfilerInfo10);

impl Drop for Resume<'_> {
    fn drop(&mut self) {
        // SAFETY: no pointers; made right after SuspendRuntime succeeded on this thread. It fails only when nothing
        // is suspended.
        let _ = unsafe { self.0.ResumeRuntime() };
    }
}

// SAFETY: the profiling API documents ICorProfilerInfo* as free-threaded; the CLR's implementation keeps no
// per-thread state in the object (profiling overview, "threading").
unsafe impl Send for ProfilerInfo {}
// SAFETY: as above.
unsafe impl Sync for ProfilerInfo {}

/// The result of `GetModuleInfo2`.
#[derive(Clone, Debug)]
pub struct ModuleInfo {
    /// Path of the file; may be empty.
    pub path: String,
    /// `AssemblyID`; None while the parent is unknown (`PROFILER_PARENT_UNKNOWN`).
    pub assembly: Option<usize>,
    /// Made with Reflection.Emit.
    pub dynamic: bool,
    /// In a collectible AssemblyLoadContext or assembly.
    pub collectible: bool,
}

/// The runtime's own description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeInfo {
    /// `COR_PRF_DESKTOP_CLR`.
    pub framework: bool,
    /// Major, minor, build, QFE.
    pub version: [u16; 4],
}

/// A method of a loaded module: the module and the MethodDef token.
pub type LoadedMethod<'a> = (&'a LoadedModule<'a>, u32);

impl ProfilerInfo {
    /// Opens the interfaces of the object that the CLR passes to `Initialize`.
    pub fn open(unknown: &IUnknown) -> Result<ProfilerInfo, ClrError> {
        let missing = |call| move |e: windows_core::Error| ClrError { call, hresult: e.code() };
        Ok(ProfilerInfo {
            base: unknown.cast().map_err(missing("ICorProfilerInfo"))?,
            rejit: unknown.cast().map_err(missing("ICorProfilerInfo4"))?,
            inliners: unknown.cast().ok(),
            apply: unknown.cast().ok(),
            code: unknown.cast().ok(),
            masks: unknown.cast().ok(),
            reports_destroyed_methods: AtomicBool::new(false),
            newer: unknown.cast().ok(),
            kept: KeptMemory::default(),
        })
    }

    /// `SetEventMask2`, or `SetEventMask` on runtimes without it. Outside `Initialize`, only flags outside
    /// `COR_PRF_MONITOR_IMMUTABLE` may change. `destroyed_methods`: also report dynamic methods that are destroyed.
    pub fn set_event_mask(&self, events: u32, destroyed_methods: bool) -> Result<(), ClrError> {
        // Nobody may name dynamic methods once their ends are no longer reported.
        self.reports_destroyed_methods.store(false, Ordering::Release);
        let more = if destroyed_methods { COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS as u32 } else { 0 };
        // SAFETY: no pointers; the runtime refuses flags that may not be set now.
        let set = self.masks.as_ref().map(|masks| unsafe { masks.SetEventMask2(events, more) });
        let is_set = set.is_some_and(HRESULT::is_ok);
        self.reports_destroyed_methods.store(destroyed_methods && is_set, Ordering::Release);
        if is_set {
            return Ok(());
        }
        // SAFETY: as above.
        check("SetEventMask", unsafe { self.base.SetEventMask(events) })
    }

    /// Whether the runtime reports exceptions (`GetEventMask`). False if it does not say.
    pub fn reports_exceptions(&self) -> bool {
        // SAFETY: no pointers.
        let events = unsafe { self.base.GetEventMask() };
        events.is_ok_and(|events| events & COR_PRF_MONITOR_EXCEPTIONS as u32 != 0)
    }

    /// Whether the runtime reports dynamic methods that are destroyed.
    pub fn reports_destroyed_methods(&self) -> bool {
        self.reports_destroyed_methods.load(Ordering::Acquire)
    }

    /// `ICorProfilerInfo3::GetRuntimeInformation`.
    pub fn runtime(&self) -> Result<RuntimeInfo, ClrError> {
        let (mut instance, mut kind) = (0u16, 0i32);
        let mut version = [0u16; 4];
        let [major, minor, build, qfe] = &mut version;
        // SAFETY: every out pointer is a live local; a null name buffer of length 0 is allowed.
        let hresult = unsafe {
            self.rejit.GetRuntimeInformation(
                &mut instance,
                &mut kind,
                major,
                minor,
                build,
                qfe,
                0,
                std::ptr::null_mut(),
                PWSTR::null(),
            )
        };
        check("GetRuntimeInformation", hresult)?;
        Ok(RuntimeInfo { framework: kind == COR_PRF_DESKTOP_CLR, version })
    }

    /// `GetModuleInfo2`.
    pub fn module_info(&self, module: &LoadedModule) -> Result<ModuleInfo, ClrError> {
        let mut name = vec![0u16; NAME_UNITS];
        let (mut base, mut written, mut assembly, mut flags) = (std::ptr::null_mut(), 0u32, 0usize, 0u32);
        // SAFETY: the buffer has the length given; out pointers are live locals; `module` is
        // loaded.
        let hresult = unsafe {
            self.rejit.GetModuleInfo2(
                module.id(),
                &mut base,
                name.len() as u32,
                &mut written,
                PWSTR(name.as_mut_ptr()),
                &mut assembly,
                &mut flags,
            )
        };
        check("GetModuleInfo2", hresult)?;
        Ok(ModuleInfo {
            path: text(&name, written),
            assembly: (assembly != 0 && assembly != usize::MAX).then_some(assembly),
            dynamic: flags & COR_PRF_MODULE_DYNAMIC as u32 != 0,
            collectible: flags & COR_PRF_MODULE_COLLECTIBLE as u32 != 0,
        })
    }

    /// `ICorProfilerInfo3::EnumModules`: the ModuleIDs of modules that are loaded and have not begun to unload.
    /// Only after an attach.
    pub fn modules(&self) -> Result<Vec<usize>, ClrError> {
        let failed = |call| move |e: windows_core::Error| ClrError { call, hresult: e.code() };
        // SAFETY: no pointers; the result is an owned reference, released on drop.
        let found = unsafe { self.rejit.EnumModules() }.map_err(failed("EnumModules"))?;
        // SAFETY: as above.
        let count = unsafe { found.GetCount() }.map_err(failed("ICorProfilerModuleEnum::GetCount"))?;
        let mut ids = vec![0usize; count as usize];
        let mut fetched = 0u32;
        // SAFETY: the buffer has the length given; the count is a live local.
        let hresult = unsafe { found.Next(count, ids.as_mut_ptr(), &mut fetched) };
        check("ICorProfilerModuleEnum::Next", hresult)?;
        ids.truncate(fetched as usize);
        Ok(ids)
    }

    /// `GetAssemblyInfo`: simple name and AppDomainID.
    pub fn assembly_info(&self, assembly_id: usize) -> Result<(String, usize), ClrError> {
        let mut name = vec![0u16; NAME_UNITS];
        let (mut written, mut domain, mut module) = (0u32, 0usize, 0usize);
        // SAFETY: as in `module_info`.
        let hresult = unsafe {
            self.base.GetAssemblyInfo(
                assembly_id,
                name.len() as u32,
                &mut written,
                PWSTR(name.as_mut_ptr()),
                &mut domain,
                &mut module,
            )
        };
        check("GetAssemblyInfo", hresult)?;
        Ok((text(&name, written), domain))
    }

    /// `GetAppDomainInfo`: the friendly name. `CORPROF_E_DATAINCOMPLETE` while the domain is being made.
    pub fn domain_name(&self, domain_id: usize) -> Result<String, ClrError> {
        let mut name = vec![0u16; NAME_UNITS];
        let (mut written, mut process) = (0u32, 0usize);
        // SAFETY: as in `module_info`.
        let hresult = unsafe {
            self.base.GetAppDomainInfo(
                domain_id,
                name.len() as u32,
                &mut written,
                PWSTR(name.as_mut_ptr()),
                &mut process,
            )
        };
        check("GetAppDomainInfo", hresult)?;
        Ok(text(&name, written))
    }

    /// `ICorProfilerInfo3::GetAppDomainsContainingModule`: the AppDomainIDs of the domains that use a module's
    /// copy. CoreCLR 2.1 lists every domain, whatever the module.
    pub fn domains_containing(&self, module: &LoadedModule) -> Result<Vec<usize>, ClrError> {
        let mut domains = vec![0usize; 64];
        loop {
            let mut count = 0u32;
            // SAFETY: the buffer has the length given; `module` is loaded.
            let hresult = unsafe {
                self.rejit.GetAppDomainsContainingModule(
                    module.id(),
                    domains.len() as u32,
                    &mut count,
                    domains.as_mut_ptr(),
                )
            };
            check("GetAppDomainsContainingModule", hresult)?;
            let count = count as usize;
            if count <= domains.len() {
                domains.truncate(count);
                return Ok(domains);
            }
            domains.resize(count, 0);
        }
    }

    /// Returns the precompiled methods of a method's own module that have inlined it
    /// (`EnumNgenModuleMethodsInliningThisMethod`), as ModuleIDs and MethodDef tokens, and whether the runtime
    /// considers the list complete. The runtime refuses after an attach.
    pub fn precompiled_inliners(&self, module: &LoadedModule, token: u32) -> (Vec<(usize, u32)>, bool) {
        match &self.inliners {
            Some(info) => inliners_in(info, module, token).unwrap_or_default(),
            None => (Vec::new(), false),
        }
    }

    /// `GetFunctionInfo2` without frame: ModuleID and MethodDef token of a FunctionID.
    pub fn function_info(&self, function_id: usize) -> Result<(usize, u32), ClrError> {
        let (mut class, mut module, mut token, mut args) = (0usize, 0usize, 0u32, 0u32);
        // SAFETY: COR_PRF_FRAME_INFO may be null; no type arguments are asked for.
        let hresult = unsafe {
            self.rejit.GetFunctionInfo2(
                function_id,
                0,
                &mut class,
                &mut module,
                &mut token,
                0,
                &mut args,
                std::ptr::null_mut(),
            )
        };
        check("GetFunctionInfo2", hresult)?;
        Ok((module, token))
    }

    /// `GetILFunctionBody`: reads the original body, including its header and data sections.
    pub fn il_body<T>(
        &self,
        module: &LoadedModule,
        token: u32,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, ClrError> {
        let (mut header, mut size) = (std::ptr::null_mut::<u8>(), 0u32);
        // SAFETY: `module` is loaded; out pointers are live locals. The header and the size describe the method's
        // body in the loaded image, which stays as long as the module; `module` outlives the slice.
        let bytes = unsafe {
            check(
                "GetILFunctionBody",
                self.base.GetILFunctionBody(module.id(), token, &mut header, &mut size),
            )?;
            if header.is_null() {
                return Err(ClrError { call: "GetILFunctionBody", hresult: HRESULT(0x8000_4003_u32 as i32) });
            }
            std::slice::from_raw_parts(header, size as usize)
        };
        Ok(read(bytes))
    }

    /// Opens a module's metadata for reading. Fails for resource modules and modules being torn down.
    pub fn import<'m>(&self, module: &'m LoadedModule<'m>) -> Result<Import<'m>, ClrError> {
        let unknown = self.open_metadata(module, OF_READ, &IMetaDataImport2::IID)?;
        // SAFETY: the call asked for IMetaDataImport2, so the pointer is one; ownership moves.
        Ok(Import::new(module, unsafe { IMetaDataImport2::from_raw(unknown.into_raw()) }))
    }

    /// Opens a module's metadata for writing, to add the tokens that a probe needs.
    pub fn emitter<'m>(&self, module: &'m LoadedModule<'m>) -> Result<Emitter<'m>, ClrError> {
        let unknown = self.open_metadata(module, OF_READ | OF_WRITE, &IMetaDataEmit2::IID)?;
        // SAFETY: as in `import`, for IMetaDataEmit2.
        Ok(Emitter::new(module, unsafe { IMetaDataEmit2::from_raw(unknown.into_raw()) }))
    }

    fn open_metadata(
        &self,
        module: &LoadedModule,
        flags: u32,
        iid: &windows_core::GUID,
    ) -> Result<IUnknown, ClrError> {
        // SAFETY: `module` is loaded; iid is a live reference; the result is an owned reference.
        unsafe { self.base.GetModuleMetaData(module.id(), flags, iid) }
            .map_err(|e| ClrError { call: "GetModuleMetaData", hresult: e.code() })
    }

    /// `ICorProfilerInfo7::ApplyMetaData`, if the runtime has it (on others, additions need no such call).
    pub fn apply_metadata(&self, module: &LoadedModule) -> Result<(), ClrError> {
        long_work();
        match &self.apply {
            // SAFETY: `module` is loaded.
            Some(apply) => check("ApplyMetaData", unsafe { apply.ApplyMetaData(module.id()) }),
            None => Ok(()),
        }
    }

    /// Runs `body` while no managed code runs (`ICorProfilerInfo10::SuspendRuntime`, .NET Core 3.0 and later). Call
    /// it from a native thread that holds none of our locks. `body` must neither wait for another thread nor panic.
    pub fn while_suspended<T>(&self, body: impl FnOnce() -> T) -> Result<T, ClrError> {
        let missing = ClrError { call: "SuspendRuntime", hresult: E_NOTIMPL };
        let suspend = self.newer.as_ref().ok_or(missing)?;
        let deadline = Instant::now() + SUSPENSION_TIMEOUT;
        loop {
            // SAFETY: no pointers; every success is followed by the one ResumeRuntime below.
            match unsafe { suspend.SuspendRuntime() } {
                // A garbage collection has suspended the runtime.
                CORPROF_E_SUSPENSION_IN_PROGRESS if Instant::now() < deadline => {
                    std::thread::sleep(RETRY_PAUSE)
                }
                hresult => break check("SuspendRuntime", hresult)?,
            }
        }
        let resume = Resume(suspend);
        let done = body();
        drop(resume);
        Ok(done)
    }

    /// `RequestReJIT` for a batch. Must come from a native thread that never ran managed code; `ReJITError` may
    /// arrive during the call. `modules` and `tokens` have equal length.
    pub fn request_rejit(&self, methods: &[LoadedMethod]) -> Result<(), ClrError> {
        // `ReJITError` arrives during a request, and takes the ledger's lock.
        long_work();
        let (modules, tokens) = arrays(methods);
        let count = methods.len() as u32;
        // SAFETY: all modules are loaded; both arrays hold `count` elements and outlive the call.
        check("RequestReJIT", unsafe { self.rejit.RequestReJIT(count, modules.as_ptr(), tokens.as_ptr()) })?;
        self.kept.add_requested(methods.len());
        Ok(())
    }

    /// Whether the runtime has [`ProfilerInfo::request_rejit_with_inliners`].
    pub fn knows_inliners(&self) -> bool {
        self.newer.is_some()
    }

    /// Whether the runtime has created a method's descriptor: `GetFunctionFromToken` finds it, or reports that it
    /// is generic.
    pub fn is_loaded(&self, module: &LoadedModule, token: u32) -> bool {
        // SAFETY: `module` is loaded; the token is of its MethodDef table.
        match unsafe { self.base.GetFunctionFromToken(module.id(), token) } {
            Ok(_) => true,
            Err(e) => e.code() == CORPROF_E_FUNCTION_IS_PARAMETERIZED,
        }
    }

    /// `ICorProfilerInfo10::RequestReJITWithInliners`: like [`ProfilerInfo::request_rejit`], but also recompiles
    /// every method that the runtime knows to have inlined one of these; `GetReJITParameters` is called for each.
    /// Crashes older runtimes in the case described at `RuntimeIssue::InlinersNotLoaded`.
    pub fn request_rejit_with_inliners(&self, methods: &[LoadedMethod]) -> Result<(), ClrError> {
        long_work();
        const CALL: &str = "RequestReJITWithInliners";
        let newer = self.newer.as_ref().ok_or(ClrError { call: CALL, hresult: E_NOTIMPL })?;
        let (modules, tokens) = arrays(methods);
        let count = methods.len() as u32;
        let flags = (COR_PRF_REJIT_BLOCK_INLINING | COR_PRF_REJIT_INLINING_CALLBACKS) as u32;
        // SAFETY: all modules are loaded; both arrays hold `count` elements and outlive the call.
        check(CALL, unsafe {
            newer.RequestReJITWithInliners(flags, count, modules.as_ptr(), tokens.as_ptr())
        })?;
        self.kept.add_requested(methods.len());
        Ok(())
    }

    /// `RequestRevert` for a batch: returns the overall result and one HRESULT per method.
    pub fn request_revert(&self, methods: &[LoadedMethod]) -> (Result<(), ClrError>, Vec<HRESULT>) {
        long_work();
        let (modules, tokens) = arrays(methods);
        let count = methods.len();
        let mut status = vec![HRESULT(0); count];
        // SAFETY: all modules are loaded; the three arrays hold `count` elements and outlive the call.
        let hresult = unsafe {
            self.rejit.RequestRevert(count as u32, modules.as_ptr(), tokens.as_ptr(), status.as_mut_ptr())
        };
        if hresult.is_ok() {
            self.kept.add_reverted(status.iter().filter(|one| one.is_ok()).count());
        }
        (check("RequestRevert", hresult), status)
    }

    /// Whether a version of a function has native code (`GetCodeInfo3`). `_module` is the module of the function.
    pub fn has_code(&self, _module: &LoadedModule, function_id: usize, rejit_id: usize) -> bool {
        let mut parts = 0u32;
        // SAFETY: the FunctionID is valid. In `JITCompilationStarted` the running callback proves it. For an open
        // compilation, a callback reported it, and its module is loaded and not collectible; this relies on the
        // compiling thread keeping the types of a generic instance loaded until it finishes. The call asks for zero
        // infos; the count is a live local.
        let hresult =
            unsafe { self.rejit.GetCodeInfo3(function_id, rejit_id, 0, &mut parts, std::ptr::null_mut()) };
        hresult.is_ok() && parts > 0
    }
}

/// The arrays that requests take.
fn arrays(methods: &[LoadedMethod]) -> (Vec<usize>, Vec<u32>) {
    methods.iter().map(|(module, token)| (module.id(), *token)).unzip()
}

/// Implements `precompiled_inliners`; None if the runtime refuses.
fn inliners_in(
    info: &ICorProfilerInfo6,
    module: &LoadedModule,
    token: u32,
) -> Option<(Vec<(usize, u32)>, bool)> {
    let mut incomplete = BOOL(0);
    let mut found: Option<ICorProfilerMethodEnum> = None;
    // SAFETY: out pointers are live locals; `module` is loaded; the enumerator is released on drop.
    let hresult = unsafe {
        info.EnumNgenModuleMethodsInliningThisMethod(
            module.id(),
            module.id(),
            token,
            &mut incomplete,
            &mut found,
        )
    };
    // A module without precompiled code has no such table.
    if hresult == CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER {
        return None;
    }
    let all = !incomplete.as_bool();
    let Some(found) = found.filter(|_| hresult.is_ok()) else { return Some((Vec::new(), all)) };
    // SAFETY: no pointers.
    let count = unsafe { found.GetCount() }.ok()? as usize;
    if count == 0 {
        return Some((Vec::new(), all));
    }
    let mut methods = vec![COR_PRF_METHOD { moduleId: 0, methodId: 0 }; count];
    let mut fetched = 0u32;
    // SAFETY: the buffer has room for `count` methods; the count is a live local.
    unsafe { found.Next(count as u32, methods.as_mut_ptr(), &mut fetched) }.ok().ok()?;
    let named = |method: &COR_PRF_METHOD| (method.moduleId, method.methodId);
    Some((methods.iter().take(fetched as usize).map(named).collect(), all))
}
