//! Tells which methods the compiler wrote, and not a person.

use super::Catalogue;
use super::bit_set::BitSet;
use crate::ids::MethodIx;

impl Catalogue {
    /// Returns whether the compiler wrote a method. Names decide:
    /// [`redial_text::generated_code::TypeOrigin`].
    pub fn is_generated(&self, method: MethodIx) -> bool {
        self.generated.bits.get(method.0)
    }

    /// Returns the methods that the compiler wrote.
    pub fn generated(&self) -> &BitSet {
        &self.generated.bits
    }
}
