//! Finds the owners of machine code.

use super::buffers::text;
use super::profiler_info::{NAME_UNITS, ProfilerInfo};
use windows_core::PWSTR;

/// The owner of the machine code at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeAt {
    /// A method: ModuleID and MethodDef token.
    Method(usize, u32),
    /// A method without metadata: one made at run time, or a stub of the runtime.
    Dynamic,
}

impl ProfilerInfo {
    /// Finds the owner of the machine code at an address. Uses `GetFunctionFromIP3`, or `GetFunctionFromIP` on
    /// runtimes without it, which does not find dynamic methods. Returns None for code that the JIT did not make.
    /// The caller keeps modules from unloading, and dynamic methods from being destroyed: the runtime reads the header of the
    /// code that it has found, which the destruction frees.
    pub fn code_at(&self, address: usize) -> Option<CodeAt> {
        let ip = std::ptr::without_provenance::<u8>(address);
        let Some(code) = &self.code else {
            // SAFETY: the runtime looks the address up without following it.
            let function = unsafe { self.base.GetFunctionFromIP(ip) }.ok()?;
            return self.function_info(function).ok().map(|(module, token)| CodeAt::Method(module, token));
        };
        let mut function = 0usize;
        // SAFETY: as above; the out pointer is a live local. Without a ReJITID the call takes no lock.
        unsafe { code.GetFunctionFromIP3(ip, &mut function, std::ptr::null_mut()) }.ok().ok()?;
        // SAFETY: the runtime has just returned the FunctionID. If the method is destroyed meanwhile, the runtime keeps
        // its descriptor for another dynamic method.
        if unsafe { code.IsFunctionDynamic(function) }.ok()?.as_bool() {
            return Some(CodeAt::Dynamic);
        }
        self.function_info(function).ok().map(|(module, token)| CodeAt::Method(module, token))
    }

    /// Returns the name of the dynamic method whose code is at an address; None if there is none any more. The caller
    /// keeps dynamic methods from being destroyed: the runtime frees their names without a lock.
    pub fn dynamic_name_at(&self, address: usize) -> Option<String> {
        let code = self.code.as_ref()?;
        let (ip, mut function) = (std::ptr::without_provenance::<u8>(address), 0usize);
        // SAFETY: as in `code_at`.
        unsafe { code.GetFunctionFromIP3(ip, &mut function, std::ptr::null_mut()) }.ok().ok()?;
        let mut name = vec![0u16; NAME_UNITS];
        let (mut module, mut signature, mut bytes, mut written) = (0usize, std::ptr::null_mut(), 0u32, 0u32);
        // SAFETY: the FunctionID stays valid (the caller's promise); the buffer has the length given; out pointers are
        // live locals. The call fails for a function with metadata.
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
        Some(if hresult.is_ok() { text(&name, written) } else { String::new() })
    }
}
