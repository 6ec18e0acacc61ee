//! Private functions and fields of `libcoreclr.so` of .NET Core 2.1.30, found through its symbol table and one
//! offset. The build id is checked. Their use makes the configuration unsupported.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_void};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSymbol};

use crate::hosting::{Delegate, GetHost};
use crate::unloading::{self, Unloader};

/// The build id of `libcoreclr.so` 2.1.30 for x86-64; the offset below belongs to this build.
const BUILD_ID: [u8; 20] = [
    0x15, 0x1f, 0x13, 0x8a, 0x35, 0xfa, 0xc7, 0x9a, 0x66, 0x5d, 0x2c, 0xcc, 0x70, 0xda, 0xca, 0xf3, 0xba,
    0x91, 0x28, 0x53,
];
/// `SystemDomain::m_pDefaultDomain`.
const DEFAULT_DOMAIN: usize = 0xb38;

const GET_HOST: &str = "GetCLRRuntimeHost";
const INITIALIZE: &str = "PAL_InitializeCoreCLR";
/// `AppDomain::CreateUnmanagedObject(AppDomainCreationHolder<AppDomain>&)`.
const CREATE_OBJECT: &str = "_ZN9AppDomain21CreateUnmanagedObjectER23AppDomainCreationHolderIS_E";
/// `SystemDomain::m_pSystemDomain`.
const SYSTEM_DOMAIN: &str = "_ZN12SystemDomain15m_pSystemDomainE";
/// `SetupThreadNoThrow(HRESULT*)`: returns this thread's `Thread`, creating it if needed.
const SETUP_THREAD: &str = "_Z18SetupThreadNoThrowPi";
/// `Thread::DoADCallBack(AppDomain*, void (*)(void*), void*, DWORD, BOOL)`: runs a function in another domain.
const CALL_BACK: &str = "_ZN6Thread12DoADCallBackEP9AppDomainPFvPvES2_ji";

type CallBack =
    unsafe extern "C" fn(*mut c_void, *mut c_void, unsafe extern "C" fn(*mut c_void), *mut c_void, u32, i32);

/// A domain object of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainObject(*mut c_void);

/// The runtime's library, never unloaded, with the addresses that the host uses.
pub struct Library {
    /// `GetCLRRuntimeHost`.
    pub get_host: GetHost,
    initialize: unsafe extern "C" fn(*const c_char) -> i32,
    create_object: unsafe extern "C" fn(*mut [usize; 8]),
    system_domain: *const *mut c_void,
    setup_thread: unsafe extern "C" fn(*mut i32) -> *mut c_void,
    call_back: CallBack,
    /// Unloads domains.
    pub unloader: Unloader,
}

impl Library {
    /// Loads the library and initialises its platform layer.
    ///
    /// # Errors
    /// When the library is another build, lacks a symbol or cannot be loaded.
    pub fn load(path: &Path) -> Result<Self> {
        let addresses = Addresses::read(path)?;
        use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
        // SAFETY: the library's initialisers are the runtime's own, designed to be loaded by hosts.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }
            .with_context(|| format!("cannot load {}", path.display()))?;
        // SAFETY: the exported function has this signature.
        let get_host = unsafe { *library.get::<GetHost>(GET_HOST.as_bytes())? };
        // The runtime cannot be unloaded.
        std::mem::forget(library);
        let base = (get_host as usize).wrapping_sub(addresses.of(GET_HOST)?);
        let at = |name: &'static str| anyhow::Ok(base.wrapping_add(addresses.of(name)?));
        // SAFETY: addresses of functions of the checked build, cast to their signatures in that build.
        let loaded = unsafe {
            Self {
                get_host,
                initialize: std::mem::transmute::<usize, unsafe extern "C" fn(*const c_char) -> i32>(at(
                    INITIALIZE,
                )?),
                create_object: std::mem::transmute::<usize, unsafe extern "C" fn(*mut [usize; 8])>(at(
                    CREATE_OBJECT,
                )?),
                system_domain: at(SYSTEM_DOMAIN)? as *const *mut c_void,
                setup_thread: std::mem::transmute::<usize, unsafe extern "C" fn(*mut i32) -> *mut c_void>(
                    at(SETUP_THREAD)?,
                ),
                call_back: std::mem::transmute::<usize, CallBack>(at(CALL_BACK)?),
                unloader: Unloader::new(at)?,
            }
        };
        let own = std::env::current_exe()?.into_os_string().into_encoded_bytes();
        let own = CString::new(own)?;
        // SAFETY: a null-terminated path; this is the first call into the runtime, made once.
        let failed = unsafe { (loaded.initialize)(own.as_ptr()) };
        ensure!(failed == 0, "PAL_InitializeCoreCLR answered {failed}");
        Ok(loaded)
    }

    /// Returns the runtime's pointer to its default domain.
    fn default_slot(&self) -> Result<*mut *mut c_void> {
        // SAFETY: a static of the loaded library.
        let system = unsafe { *self.system_domain };
        ensure!(!system.is_null(), "the runtime has not started");
        Ok(system.wrapping_byte_add(DEFAULT_DOMAIN).cast())
    }

    /// Returns the default domain.
    pub fn default_domain(&self) -> Result<DomainObject> {
        // SAFETY: in the checked build the slot is a field of a live SystemDomain.
        let object = unsafe { *self.default_slot()? };
        ensure!(!object.is_null(), "the runtime has no default domain");
        Ok(DomainObject(object))
    }

    /// Creates a domain object and makes it the runtime's default domain while `body` runs.
    pub fn with_new_domain<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<(DomainObject, T)> {
        // The holder's first field is the domain. It survives because the holder's destructor never runs.
        let mut holder = [0_usize; 8];
        // SAFETY: the runtime has started; the holder is large enough and zeroed, as its constructor leaves it.
        unsafe { (self.create_object)(&mut holder) };
        let object = holder[0] as *mut c_void;
        ensure!(!object.is_null(), "AppDomain::CreateUnmanagedObject made no domain");
        let slot = self.default_slot()?;
        // SAFETY: the field belongs to a live SystemDomain; no other thread creates domains here.
        let before = unsafe { std::ptr::replace(slot, object) };
        let result = body();
        // SAFETY: as above.
        unsafe { *slot = before };
        Ok((DomainObject(object), result?))
    }

    /// Runs a delegate inside a domain other than this thread's current one.
    pub fn call_in(&self, domain: DomainObject, delegate: Delegate, argument: i32) -> Result<i32> {
        let mut result = 0;
        // SAFETY: the runtime has started; the HRESULT has a place.
        let thread = unsafe { (self.setup_thread)(&mut result) };
        if thread.is_null() {
            bail!("SetupThreadNoThrow answered 0x{result:08x}");
        }
        let mut entry = DomainCall { delegate, argument, answer: None };
        // SAFETY: `inside` gets `entry`, which outlives the call; the runtime's own callers also pass 1 and 1.
        unsafe { (self.call_back)(thread, domain.0, call_delegate, (&raw mut entry).cast(), 1, 1) };
        entry.answer.context("the runtime did not enter the domain")
    }
}

/// The argument of [`call_delegate`].
struct DomainCall {
    delegate: Delegate,
    argument: i32,
    answer: Option<i32>,
}

/// Runs in the other domain, in preemptive mode, as native callers of a delegate must.
unsafe extern "C" fn call_delegate(entry: *mut c_void) {
    // SAFETY: `call_in` passes its own live value, which nobody else touches meanwhile.
    let entry = unsafe { &mut *entry.cast::<DomainCall>() };
    // SAFETY: the delegate belongs to the domain that the runtime has entered; it throws nothing.
    entry.answer = Some(unsafe { (entry.delegate)(entry.argument) });
}

/// Addresses in the library's file by symbol.
struct Addresses(HashMap<&'static str, usize>);

impl Addresses {
    fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = object::File::parse(&*bytes).with_context(|| format!("no library: {}", path.display()))?;
        ensure!(
            file.build_id()? == Some(BUILD_ID.as_slice()),
            "{} is not the one build of .NET Core 2.1.30 this knows",
            path.display()
        );
        let own = [GET_HOST, INITIALIZE, CREATE_OBJECT, SYSTEM_DOMAIN, SETUP_THREAD, CALL_BACK];
        let wanted: Vec<&'static str> = own.into_iter().chain(unloading::SYMBOLS).collect();
        let mut found = HashMap::new();
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if let Some(name) = wanted.iter().find(|wanted| **wanted == name) {
                found.insert(*name, usize::try_from(symbol.address())?);
            }
        }
        Ok(Self(found))
    }

    fn of(&self, name: &str) -> Result<usize> {
        self.0.get(name).copied().with_context(|| format!("libcoreclr.so has no symbol {name}"))
    }
}
