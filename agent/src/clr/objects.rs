//! Finds the class of an object.

use super::ProfilerInfo;
use super::hresult::{ClrError, check};

impl ProfilerInfo {
    /// Returns the ModuleID and TypeDef token of an object's class (of the definition, if the class is generic).
    /// Call it only inside a callback that passes the object, so that nothing moves or unloads it meanwhile.
    pub fn class_of(&self, object: usize) -> Result<(usize, u32), ClrError> {
        let (mut module, mut token) = (0usize, 0u32);
        // SAFETY: out pointers are live locals; the caller guarantees a valid object, which keeps its class loaded.
        unsafe {
            let failed = |e: windows_core::Error| ClrError { call: "GetClassFromObject", hresult: e.code() };
            let class = self.base.GetClassFromObject(object).map_err(failed)?;
            check("GetClassIDInfo", self.base.GetClassIDInfo(class, &mut module, &mut token))?;
        }
        Ok((module, token))
    }

    /// Returns the offsets within string objects; None if the runtime refuses.
    pub fn string_layout(&self) -> Option<StringLayout> {
        let (mut length, mut units) = (0, 0);
        // SAFETY: out pointers are live locals.
        let hresult = unsafe { self.rejit.GetStringLayout2(&mut length, &mut units) };
        (hresult.is_ok() && length > 0 && units > length).then_some(StringLayout { length, units })
    }
}

/// Offsets within a string object, from `ICorProfilerInfo3::GetStringLayout2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringLayout {
    /// Of the number of UTF-16 units, four bytes.
    pub length: u32,
    /// Of the first unit.
    pub units: u32,
}
