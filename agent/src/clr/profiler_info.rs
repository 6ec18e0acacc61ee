//! `ICorProfilerInfo` and its successors, as far as this runtime answers them.

use super::bindings::{
    COR_PRF_DESKTOP_CLR, COR_PRF_METHOD, COR_PRF_MODULE_COLLECTIBLE, COR_PRF_MODULE_DYNAMIC,
    COR_PRF_REJIT_BLOCK_INLINING, COR_PRF_REJIT_INLINING_CALLBACKS, ICorProfilerInfo, ICorProfilerInfo4,
    ICorProfilerInfo6, ICorProfilerInfo7, ICorProfilerInfo8, ICorProfilerInfo10, ICorProfilerMethodEnum,
    IMetaDataEmit2, IMetaDataImport2,
};
use super::emit::Emitter;
use super::hresult::{
    CORPROF_E_FUNCTION_IS_PARAMETERIZED, CORPROF_E_SUSPENSION_IN_PROGRESS,
    CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER, ClrError, E_NOTIMPL, check,
};
use super::metadata::Import;
use super::text;
use std::time::{Duration, Instant};
use windows_core::{BOOL, HRESULT, IUnknown, Interface, PWSTR};

/// How long a suspension of somebody else's is waited for.
const SUSPENDING: Duration = Duration::from_secs(5);
/// Between two tries.
const PAUSE: Duration = Duration::from_micros(500);
/// `CorOpenFlags::ofRead`.
const OF_READ: u32 = 0;
/// `CorOpenFlags::ofWrite`.
const OF_WRITE: u32 = 1;
/// Longest path or name we read, UTF-16 units.
const NAME_UNITS: usize = 2048;

/// The profiling API, opened by capability: ReJIT (`ICorProfilerInfo4`) must be there, the rest may be.
pub struct ProfilerInfo {
    pub(super) base: ICorProfilerInfo,
    rejit: ICorProfilerInfo4,
    inliners: Option<ICorProfilerInfo6>,
    apply: Option<ICorProfilerInfo7>,
    code: Option<ICorProfilerInfo8>,
    newer: Option<ICorProfilerInfo10>,
}

/// Lets managed code go on when dropped.
struct Resume<'a>(&'a ICorProfilerInfo10);

impl Drop for Resume<'_> {
    fn drop(&mut self) {
        // SAFETY: no pointers; made right after SuspendRuntime succeeded on this thread. It fails only when nothing is
        // suspended.
        let _ = unsafe { self.0.ResumeRuntime() };
    }
}

// SAFETY: the profiling API documents ICorProfilerInfo* as free-threaded; the CLR's implementation keeps no
// per-thread state in the object (profiling overview, "threading").
unsafe impl Send for ProfilerInfo {}
// SAFETY: as above.
unsafe impl Sync for ProfilerInfo {}

/// What `GetModuleInfo2` tells of a module.
#[derive(Clone, Debug)]
pub struct ModuleInfo {
    /// Path of the file; may be empty.
    pub path: String,
    /// `AssemblyID`; None while the parent is unknown (`PROFILER_PARENT_UNKNOWN`).
    pub assembly: Option<usize>,
    /// Reflection.Emit.
    pub dynamic: bool,
    /// In a collectible AssemblyLoadContext or assembly.
    pub collectible: bool,
}

/// Whose code stands at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeAt {
    /// A method's: ModuleID and MethodDef token.
    Method(usize, u32),
    /// A method's without metadata, of this name: one that was made at run time, or a stub of the runtime's.
    Dynamic(String),
}

/// The runtime as it names itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeInfo {
    /// `COR_PRF_DESKTOP_CLR`.
    pub framework: bool,
    /// Major, minor, build, QFE.
    pub version: [u16; 4],
}

impl ProfilerInfo {
    /// Opens the interfaces of the object handed to `Initialize`.
    pub fn open(unknown: &IUnknown) -> Result<ProfilerInfo, ClrError> {
        let missing = |call| move |e: windows_core::Error| ClrError { call, hresult: e.code() };
        Ok(ProfilerInfo {
            base: unknown.cast().map_err(missing("ICorProfilerInfo"))?,
            rejit: unknown.cast().map_err(missing("ICorProfilerInfo4"))?,
            inliners: unknown.cast().ok(),
            apply: unknown.cast().ok(),
            code: unknown.cast().ok(),
            newer: unknown.cast().ok(),
        })
    }

    /// `SetEventMask`. Outside `Initialize` only flags that may change (`COR_PRF_MONITOR_IMMUTABLE` has the others).
    pub fn set_event_mask(&self, events: u32) -> Result<(), ClrError> {
        // SAFETY: no pointers; the runtime refuses flags that may not be set now.
        check("SetEventMask", unsafe { self.base.SetEventMask(events) })
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
    pub fn module_info(&self, module_id: usize) -> Result<ModuleInfo, ClrError> {
        let mut name = vec![0u16; NAME_UNITS];
        let (mut base, mut written, mut assembly, mut flags) = (std::ptr::null_mut(), 0u32, 0usize, 0u32);
        // SAFETY: the buffer has the length given; out pointers are live locals; the caller holds a ModuleID that
        // has loaded and not yet finished unloading.
        let hresult = unsafe {
            self.rejit.GetModuleInfo2(
                module_id,
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

    /// `ICorProfilerInfo3::EnumModules`: ModuleIDs of what is loaded and has not begun to unload. Only after an attach.
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

    /// `ICorProfilerInfo3::GetAppDomainsContainingModule`: AppDomainIDs of the domains that use a module's copy. CoreCLR
    /// 2.1 lists every domain whatever the module.
    pub fn domains_containing(&self, module_id: usize) -> Result<Vec<usize>, ClrError> {
        let mut domains = vec![0usize; 64];
        loop {
            let mut count = 0u32;
            // SAFETY: the buffer has the length given; the caller keeps the module from unloading.
            let hresult = unsafe {
                self.rejit.GetAppDomainsContainingModule(
                    module_id,
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

    /// Precompiled methods of a method's own module that have it inlined (`EnumNgenModuleMethodsInliningThisMethod`):
    /// ModuleIDs and MethodDef tokens, and whether these are all, as far as the runtime tells. After an attach it refuses.
    pub fn precompiled_inliners(&self, module_id: usize, token: u32) -> (Vec<(usize, u32)>, bool) {
        match &self.inliners {
            Some(info) => inliners_in(info, module_id, token).unwrap_or_default(),
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

    /// Whose machine code stands at an address: `GetFunctionFromIP3`, or `GetFunctionFromIP` where there is only that, which
    /// knows no dynamic methods. None of anything that the JIT did not make. The caller keeps modules from unloading.
    pub fn code_at(&self, address: usize) -> Option<CodeAt> {
        let ip = std::ptr::without_provenance::<u8>(address);
        let Some(code) = &self.code else {
            // SAFETY: the runtime looks the address up and does not follow it.
            let function = unsafe { self.base.GetFunctionFromIP(ip) }.ok()?;
            return self.function_info(function).ok().map(|(module, token)| CodeAt::Method(module, token));
        };
        let mut function = 0usize;
        // SAFETY: as above; the out pointer is a live local, and no ReJITID is asked for, which takes no lock.
        unsafe { code.GetFunctionFromIP3(ip, &mut function, std::ptr::null_mut()) }.ok().ok()?;
        // SAFETY: the runtime has just told the FunctionID.
        if !unsafe { code.IsFunctionDynamic(function) }.ok()?.as_bool() {
            return self.function_info(function).ok().map(|(module, token)| CodeAt::Method(module, token));
        }
        let mut name = vec![0u16; NAME_UNITS];
        let (mut module, mut signature, mut bytes, mut written) = (0usize, std::ptr::null_mut(), 0u32, 0u32);
        // SAFETY: the buffer has the length given; out pointers are live locals.
        let hresult = unsafe {
            code.GetDynamicFunctionInfo(
                function,
                &mut module,
                &mut signature,
                &mut bytes,
                name.len() as u32,
                &mut written,
                PWSTR(name.as_mut_ptr()),
            )
        };
        Some(CodeAt::Dynamic(if hresult.is_ok() { text(&name, written) } else { String::new() }))
    }

    /// `GetILFunctionBody`: reads the original body, header and data sections included.
    pub fn il_body<T>(
        &self,
        module_id: usize,
        token: u32,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, ClrError> {
        let (mut header, mut size) = (std::ptr::null_mut::<u8>(), 0u32);
        // SAFETY: out pointers are live locals. The bytes belong to the loaded image and stay as long as the module,
        // which the caller keeps from unloading.
        let bytes = unsafe {
            check(
                "GetILFunctionBody",
                self.base.GetILFunctionBody(module_id, token, &mut header, &mut size),
            )?;
            if header.is_null() {
                return Err(ClrError { call: "GetILFunctionBody", hresult: HRESULT(0x8000_4003_u32 as i32) });
            }
            std::slice::from_raw_parts(header, size as usize)
        };
        Ok(read(bytes))
    }

    /// Read-only metadata of a module. Fails on resource modules and on those being torn down.
    pub fn import(&self, module_id: usize) -> Result<Import, ClrError> {
        let unknown = self.open_metadata(module_id, OF_READ, &IMetaDataImport2::IID)?;
        // SAFETY: the object was asked for as IMetaDataImport2, so the pointer is one; ownership moves.
        Ok(Import::new(unsafe { IMetaDataImport2::from_raw(unknown.into_raw()) }))
    }

    /// Write access to a module's metadata, for tokens the probe needs.
    pub fn emitter(&self, module_id: usize) -> Result<Emitter, ClrError> {
        let unknown = self.open_metadata(module_id, OF_READ | OF_WRITE, &IMetaDataEmit2::IID)?;
        // SAFETY: as in `import`, for IMetaDataEmit2.
        Ok(Emitter::new(unsafe { IMetaDataEmit2::from_raw(unknown.into_raw()) }))
    }

    fn open_metadata(
        &self,
        module_id: usize,
        flags: u32,
        iid: &windows_core::GUID,
    ) -> Result<IUnknown, ClrError> {
        // SAFETY: iid is a live reference; the result is an owned reference.
        unsafe { self.base.GetModuleMetaData(module_id, flags, iid) }
            .map_err(|e| ClrError { call: "GetModuleMetaData", hresult: e.code() })
    }

    /// `ICorProfilerInfo7::ApplyMetaData`, where the runtime has it (elsewhere additions need none).
    pub fn apply_metadata(&self, module_id: usize) -> Result<(), ClrError> {
        match &self.apply {
            // SAFETY: the caller holds a loaded ModuleID.
            Some(apply) => check("ApplyMetaData", unsafe { apply.ApplyMetaData(module_id) }),
            None => Ok(()),
        }
    }

    /// Runs `body` while no managed code runs (`ICorProfilerInfo10::SuspendRuntime`, .NET Core 3.0 and later). From a native
    /// thread that holds no lock of ours; `body` must not wait for any other thread, nor panic.
    pub fn while_suspended<T>(&self, body: impl FnOnce() -> T) -> Result<T, ClrError> {
        let missing = ClrError { call: "SuspendRuntime", hresult: E_NOTIMPL };
        let suspend = self.newer.as_ref().ok_or(missing)?;
        let deadline = Instant::now() + SUSPENDING;
        loop {
            // SAFETY: no pointers; every success is followed by the one ResumeRuntime below.
            match unsafe { suspend.SuspendRuntime() } {
                // A collection has suspended it.
                CORPROF_E_SUSPENSION_IN_PROGRESS if Instant::now() < deadline => std::thread::sleep(PAUSE),
                hresult => break check("SuspendRuntime", hresult)?,
            }
        }
        let resume = Resume(suspend);
        let done = body();
        drop(resume);
        Ok(done)
    }

    /// `RequestReJIT` of a batch. Must come from a native thread that never ran managed code; `ReJITError` may
    /// arrive inside. `modules` and `tokens` have equal length.
    pub fn request_rejit(&self, modules: &[usize], tokens: &[u32]) -> Result<(), ClrError> {
        let count = modules.len().min(tokens.len()) as u32;
        // SAFETY: both arrays hold at least `count` elements and outlive the call.
        check("RequestReJIT", unsafe { self.rejit.RequestReJIT(count, modules.as_ptr(), tokens.as_ptr()) })
    }

    /// Whether [`ProfilerInfo::request_rejit_with_inliners`] is there.
    pub fn knows_inliners(&self) -> bool {
        self.newer.is_some()
    }

    /// Whether the runtime has made a method's descriptor: `GetFunctionFromToken` finds it, or says that it is generic.
    pub fn is_loaded(&self, module_id: usize, token: u32) -> bool {
        // SAFETY: the caller holds a loaded ModuleID; the token is of its MethodDef table.
        match unsafe { self.base.GetFunctionFromToken(module_id, token) } {
            Ok(_) => true,
            Err(e) => e.code() == CORPROF_E_FUNCTION_IS_PARAMETERIZED,
        }
    }

    /// `ICorProfilerInfo10::RequestReJITWithInliners`: as [`ProfilerInfo::request_rejit`], and every method that the runtime
    /// knows to be compiled with one of these in it is recompiled, too; `GetReJITParameters` comes for each. See
    /// `Known::InlinersNotLoaded` for what older runtimes cannot bear.
    pub fn request_rejit_with_inliners(&self, modules: &[usize], tokens: &[u32]) -> Result<(), ClrError> {
        const CALL: &str = "RequestReJITWithInliners";
        let newer = self.newer.as_ref().ok_or(ClrError { call: CALL, hresult: E_NOTIMPL })?;
        let count = modules.len().min(tokens.len()) as u32;
        let flags = (COR_PRF_REJIT_BLOCK_INLINING | COR_PRF_REJIT_INLINING_CALLBACKS) as u32;
        // SAFETY: both arrays hold at least `count` elements and outlive the call.
        check(CALL, unsafe {
            newer.RequestReJITWithInliners(flags, count, modules.as_ptr(), tokens.as_ptr())
        })
    }

    /// `RequestRevert` of a batch: the answer as a whole and one HRESULT a method.
    pub fn request_revert(&self, modules: &[usize], tokens: &[u32]) -> (Result<(), ClrError>, Vec<HRESULT>) {
        let count = modules.len().min(tokens.len());
        let mut status = vec![HRESULT(0); count];
        // SAFETY: the three arrays hold `count` elements and outlive the call.
        let hresult = unsafe {
            self.rejit.RequestRevert(count as u32, modules.as_ptr(), tokens.as_ptr(), status.as_mut_ptr())
        };
        (check("RequestRevert", hresult), status)
    }

    /// Whether native code exists for a version of a function (`GetCodeInfo3`).
    pub fn has_code(&self, function_id: usize, rejit_id: usize) -> bool {
        let mut parts = 0u32;
        // SAFETY: zero infos are asked for; the count is a live local.
        let hresult =
            unsafe { self.rejit.GetCodeInfo3(function_id, rejit_id, 0, &mut parts, std::ptr::null_mut()) };
        hresult.is_ok() && parts > 0
    }
}

/// What `precompiled_inliners` answers; None where the runtime refuses.
fn inliners_in(info: &ICorProfilerInfo6, module_id: usize, token: u32) -> Option<(Vec<(usize, u32)>, bool)> {
    let mut incomplete = BOOL(0);
    let mut found: Option<ICorProfilerMethodEnum> = None;
    // SAFETY: out pointers are live locals; the caller holds a loaded ModuleID; the enumerator is released on drop.
    let hresult = unsafe {
        info.EnumNgenModuleMethodsInliningThisMethod(module_id, module_id, token, &mut incomplete, &mut found)
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
