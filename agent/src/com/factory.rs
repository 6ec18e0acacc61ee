//! `IClassFactory` for the agent's CLSID.

use super::callback::Callback;
use crate::clr::bindings::{IClassFactory, IClassFactory_Impl, ICorProfilerCallback11};
use crate::clr::hresult::{CLASS_E_CLASSNOTAVAILABLE, CLASS_E_NOAGGREGATION, E_POINTER};
use core::ffi::c_void;
use windows_core::{BOOL, GUID, HRESULT, IUnknown, Interface, Ref, Result, implement};

/// [`redial_protocol::AGENT_CLSID`] as a GUID.
const CLSID: GUID = GUID::from_u128(0x5A0D91E4_7C3B_4E62_9F18_52D1A17E0B6C);

#[implement(IClassFactory)]
struct Factory;

impl IClassFactory_Impl for Factory_Impl {
    fn CreateInstance(
        &self,
        outer: Ref<IUnknown>,
        riid: *const GUID,
        object: *mut *mut c_void,
    ) -> Result<()> {
        if object.is_null() || riid.is_null() {
            return Err(E_POINTER.into());
        }
        if outer.is_some() {
            return Err(CLASS_E_NOAGGREGATION.into());
        }
        let callback: ICorProfilerCallback11 = Callback.into();
        // SAFETY: both pointers were checked; the CLR passes a live IID and room for one pointer (COM contract).
        unsafe { callback.query(riid, object).ok()? };
        // Callbacks may arrive after Shutdown and the last Release (dotnet/coreclr 22176): never free the object.
        std::mem::forget(callback);
        Ok(())
    }

    fn LockServer(&self, _lock: BOOL) -> Result<()> {
        Ok(())
    }
}

/// The body of `DllGetClassObject`.
///
/// # Safety
/// `clsid` and `iid` point to GUIDs and `object` to room for a pointer, or are null (COM contract).
pub unsafe fn class_object(clsid: *const GUID, iid: *const GUID, object: *mut *mut c_void) -> HRESULT {
    if clsid.is_null() || iid.is_null() || object.is_null() {
        return E_POINTER;
    }
    // SAFETY: checked for null above; the caller guarantees the rest.
    unsafe {
        *object = std::ptr::null_mut();
        if *clsid != CLSID {
            return CLASS_E_CLASSNOTAVAILABLE;
        }
        let factory: IClassFactory = Factory.into();
        factory.query(iid, object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clsid_matches_the_protocol() {
        assert_eq!(format!("{{{CLSID:?}}}"), redial_protocol::AGENT_CLSID);
    }
}
