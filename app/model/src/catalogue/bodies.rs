//! Methods without IL, which cannot be dialled: abstract methods, P/Invokes, and methods whose code the
//! runtime supplies.

use super::Catalogue;
use super::bit_set::BitSet;
use crate::ids::MethodIx;
use redial_protocol::reason::Reason;

impl Catalogue {
    /// Returns why a method has no body; `None` if it has one.
    pub fn without_body(&self, method: MethodIx) -> Option<Reason> {
        let list = &self.bodyless.list;
        let at = list.binary_search_by_key(&method.0, |(method, _)| *method).ok()?;
        list.get(at).map(|(_, reason)| *reason)
    }

    /// Returns the methods without a body as bits.
    pub fn bodyless(&self) -> &BitSet {
        &self.bodyless.bits
    }
}
