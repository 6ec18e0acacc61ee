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
}
