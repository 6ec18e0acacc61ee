//! A method that a pattern matched, with its metadata.
#![forbid(unsafe_code)]

use crate::clr::metadata::MethodDef;
use crate::eligibility;
use redial_protocol::reason::Reason;
use std::sync::Arc;

/// A method that a pattern matched.
pub struct MatchedMethod<'a> {
    /// MethodDef token.
    pub token: u32,
    /// TypeDef token.
    pub type_token: u32,
    /// Index of that type in the module.
    pub type_place: usize,
    /// Full metadata name of the type (``Ns.Outer`1+Inner``).
    pub type_name: &'a Arc<str>,
    /// Its MethodDef row.
    pub method: &'a MethodDef,
}

impl MatchedMethod<'_> {
    /// Whether the method or its type has type parameters.
    pub fn is_generic(&self) -> bool {
        self.type_name.contains('`') || arity_of(&self.method.signature) > 0
    }

    /// Returns why it has no IL, if it has none; `dynamic`: its module was made with Reflection.Emit.
    pub fn without_body(&self, dynamic: bool) -> Option<Reason> {
        let MethodDef { attributes, impl_flags, rva, .. } = *self.method;
        eligibility::without_body(attributes, impl_flags, rva, dynamic)
    }
}

/// Returns the number of generic parameters that a method's signature declares (ECMA-335 II.23.2.1: GENERIC flag,
/// then the count).
pub fn arity_of(blob: &[u8]) -> u32 {
    match blob {
        [convention, count, ..] if convention & 0x10 != 0 && *count < 0x80 => u32::from(*count),
        _ => 0,
    }
}
