//! What an object is of.

use super::ProfilerInfo;
use super::hresult::{ClrError, check};

impl ProfilerInfo {
    /// ModuleID and TypeDef token of an object's class; of a generic class, of its definition. Only inside a callback that
    /// passes the object: nothing moves or unloads it meanwhile.
    pub fn class_of(&self, object: usize) -> Result<(usize, u32), ClrError> {
        let (mut module, mut token) = (0usize, 0u32);
        // SAFETY: out pointers are live locals; the object is the caller's contract, and keeps its class loaded.
        unsafe {
            let failed = |e: windows_core::Error| ClrError { call: "GetClassFromObject", hresult: e.code() };
            let class = self.base.GetClassFromObject(object).map_err(failed)?;
            check("GetClassIDInfo", self.base.GetClassIDInfo(class, &mut module, &mut token))?;
        }
        Ok((module, token))
    }
}
