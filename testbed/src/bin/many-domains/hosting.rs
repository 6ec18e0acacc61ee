//! The part of CoreCLR 2.1's public hosting interface that the host uses: `ICLRRuntimeHost4` of `mscoree.h`.

use std::ffi::c_void;

use anyhow::{Result, bail};

/// `IID_ICLRRuntimeHost4`, as the bytes of a GUID in memory.
pub const HOST_ID: [u8; 16] =
    [0x66, 0xD3, 0xF6, 0x64, 0xC2, 0xD7, 0x1F, 0x4F, 0xB4, 0xB2, 0xE8, 0x16, 0x0C, 0xAC, 0x43, 0xAF];
/// The runtime's own authentication key for `Authenticate` (a constant of `mscoree.idl`).
const KEY: u64 = 0x01C6_CA6F_9402_5800;
/// `APPDOMAIN_ENABLE_PLATFORM_SPECIFIC_APPS`, `APPDOMAIN_ENABLE_PINVOKE_AND_CLASSIC_COMINTEROP`,
/// `APPDOMAIN_ENABLE_ASSEMBLY_LOADFILE` and `APPDOMAIN_DISABLE_TRANSPARENCY_ENFORCEMENT`, which
/// `coreclr_initialize` sets too.
const DOMAIN_FLAGS: u32 = 0x40 | 0x10 | 0x80 | 0x100;

/// `GetCLRRuntimeHost` of `libcoreclr.so`.
pub type GetHost = unsafe extern "C" fn(interface: *const [u8; 16], host: *mut *mut c_void) -> i32;
/// A managed `static int METHOD(int)`, called from native code.
pub type Delegate = unsafe extern "C" fn(i32) -> i32;
/// A function that is never called, so its signature does not matter.
type Unused = *const c_void;
type Wide = *const u16;

/// The interface's methods in vtable order.
#[repr(C)]
struct Methods {
    query_interface: Unused,
    add_ref: Unused,
    release: Unused,
    start: unsafe extern "C" fn(*mut c_void) -> i32,
    stop: unsafe extern "C" fn(*mut c_void) -> i32,
    set_host_control: Unused,
    get_clr_control: Unused,
    unload_app_domain: Unused,
    execute_in_app_domain: Unused,
    get_current_app_domain_id: Unused,
    execute_application: Unused,
    execute_in_default_app_domain: Unused,
    #[allow(clippy::type_complexity)] // signature of the interface
    create_app_domain_with_manager: unsafe extern "C" fn(
        *mut c_void,
        Wide,
        u32,
        Wide,
        Wide,
        i32,
        *const Wide,
        *const Wide,
        *mut u32,
    ) -> i32,
    create_delegate: unsafe extern "C" fn(*mut c_void, u32, Wide, Wide, Wide, *mut Option<Delegate>) -> i32,
    authenticate: unsafe extern "C" fn(*mut c_void, u64) -> i32,
    register_mac_eh_port: Unused,
    set_startup_flags: unsafe extern "C" fn(*mut c_void, u32) -> i32,
    dll_get_activation_factory: Unused,
    execute_assembly: Unused,
    unload_app_domain_2: unsafe extern "C" fn(*mut c_void, u32, i32, *mut i32) -> i32,
}

/// A host object. Each one creates at most one domain. Host objects are never released; they live as long as
/// the process.
#[derive(Clone, Copy)]
pub struct Host(*mut c_void);

impl Host {
    /// Creates and authenticates a host object.
    ///
    /// # Safety
    /// `get` is `GetCLRRuntimeHost` of a runtime with an initialised platform layer.
    pub unsafe fn new(get: GetHost) -> Result<Self> {
        let mut object = std::ptr::null_mut();
        // SAFETY: both pointers refer to live values of the types that the function expects.
        check("GetCLRRuntimeHost", unsafe { get(&HOST_ID, &mut object) })?;
        if object.is_null() {
            bail!("GetCLRRuntimeHost gave no object");
        }
        let host = Self(object);
        // SAFETY: the object implements ICLRRuntimeHost4, the requested interface.
        check("Authenticate", unsafe { (host.methods().authenticate)(object, KEY) })?;
        Ok(host)
    }

    fn methods(&self) -> &Methods {
        // SAFETY: a COM object starts with a pointer to its methods, which live as long as the library.
        unsafe { &**self.0.cast::<*const Methods>() }
    }

    /// Starts the runtime, or increments its start count.
    pub fn start(&self, first: bool) -> Result<()> {
        if first {
            // SAFETY: a live ICLRRuntimeHost4; 0 selects the non-concurrent workstation collector.
            check("SetStartupFlags", unsafe { (self.methods().set_startup_flags)(self.0, 0) })?;
        }
        // SAFETY: a live ICLRRuntimeHost4.
        check("Start", unsafe { (self.methods().start)(self.0) })
    }

    /// Calls `CreateAppDomainWithManager` without a manager, which names the default domain. Returns the
    /// domain's id.
    pub fn create_domain(&self, name: &str, properties: &[(&str, String)]) -> Result<u32> {
        let name = wide(name);
        let keys: Vec<_> = properties.iter().map(|(key, _)| wide(key)).collect();
        let values: Vec<_> = properties.iter().map(|(_, value)| wide(value)).collect();
        let key_pointers: Vec<Wide> = keys.iter().map(|key| key.as_ptr()).collect();
        let value_pointers: Vec<Wide> = values.iter().map(|value| value.as_ptr()).collect();
        let mut id = 0;
        // SAFETY: the null-terminated strings and the arrays of the given length live during the call, which
        // copies them.
        let result = unsafe {
            (self.methods().create_app_domain_with_manager)(
                self.0,
                name.as_ptr(),
                DOMAIN_FLAGS,
                std::ptr::null(),
                std::ptr::null(),
                properties.len() as i32,
                key_pointers.as_ptr(),
                value_pointers.as_ptr(),
                &mut id,
            )
        };
        check("CreateAppDomainWithManager", result).map(|()| id)
    }

    /// Returns a native entry point of `static int METHOD(int)` in the domain of this host object.
    pub fn delegate(&self, domain: u32, assembly: &str, class: &str, method: &str) -> Result<Delegate> {
        let (assembly, class, name) = (wide(assembly), wide(class), wide(method));
        let mut delegate = None;
        // SAFETY: the null-terminated strings live during the call, and the result has a place.
        let result = unsafe {
            (self.methods().create_delegate)(
                self.0,
                domain,
                assembly.as_ptr(),
                class.as_ptr(),
                name.as_ptr(),
                &mut delegate,
            )
        };
        check(&format!("CreateDelegate for {method}"), result)?;
        delegate.ok_or_else(|| anyhow::anyhow!("CreateDelegate for {method} gave none"))
    }

    /// Unloads the default domain, which shuts the runtime down.
    pub fn unload_default(&self, domain: u32) -> Result<()> {
        let mut code = 0;
        // SAFETY: a live ICLRRuntimeHost4 and a place for the exit code.
        check("UnloadAppDomain2", unsafe {
            (self.methods().unload_app_domain_2)(self.0, domain, 1, &mut code)
        })
    }

    /// Decrements the runtime's start count.
    pub fn stop(&self) -> Result<()> {
        // SAFETY: a live ICLRRuntimeHost4 that was started.
        check("Stop", unsafe { (self.methods().stop)(self.0) })
    }
}

fn check(what: &str, result: i32) -> Result<()> {
    if result < 0 {
        bail!("{what} answered 0x{result:08x}");
    }
    Ok(())
}

/// Returns null-terminated UTF-16.
fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}
