//! Redial's agent: exports only.

pub mod il;
pub mod signature;
