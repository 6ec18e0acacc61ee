//! Identifies a copy, in callbacks and requests.
#![forbid(unsafe_code)]

/// A copy as callbacks identify it: ModuleID and MethodDef token.
pub type Method = (usize, u32);
