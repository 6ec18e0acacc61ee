//! The extended local-variable signatures of a module. A core library gets tens of thousands, which stay until it
//! unloads, so each takes a few bytes: lists of the probe's variables are few, and kept once.
#![forbid(unsafe_code)]

use crate::signature::Type;
use std::collections::HashMap;

/// Key of an extended signature: the StandAloneSig token of the original variables (0 if there are none), and the
/// types of the probe's variables after the first one: in a timed body that of the result, if there is one, then those
/// of a traced body.
pub type LocalSigKey = (u32, Vec<Type>);

/// Local-variable signatures of a module with variables of the probe at the end.
#[derive(Debug, Default)]
pub struct LocalSigs {
    /// Numbers of the lists of further types.
    lists: HashMap<Box<[Type]>, u32>,
    /// By original and list; None where no signature can be made.
    made: HashMap<(u32, u32), Option<SigWithLocal>>,
    /// For each original, one of these that also serves a counting body.
    counting: HashMap<u32, SigWithLocal>,
}

/// A signature with the probe's variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SigWithLocal {
    /// StandAloneSig token.
    pub token: u32,
    /// Number of the first variable of the probe, a native integer.
    pub local: u16,
}

impl LocalSigs {
    /// Returns the signature that replaces an original; None if there is none.
    pub fn get(&self, wanted: &LocalSigKey) -> Option<SigWithLocal> {
        self.find(wanted).flatten()
    }

    /// Whether the signature was made, or cannot be made.
    pub fn is_known(&self, wanted: &LocalSigKey) -> bool {
        self.find(wanted).is_some()
    }

    /// Returns the signature for a counting body; it may contain an unused variable for a result.
    pub fn counting(&self, original: u32) -> Option<SigWithLocal> {
        self.counting.get(&original).copied()
    }

    /// Adds a signature, or that it cannot be made.
    pub fn add(&mut self, (original, further): LocalSigKey, made: Option<SigWithLocal>) {
        if let Some(made) = made.filter(|_| further.iter().all(means_the_same_everywhere)) {
            self.counting.entry(original).or_insert(made);
        }
        let next = u32::try_from(self.lists.len()).unwrap_or(u32::MAX);
        let list = *self.lists.entry(further.into_boxed_slice()).or_insert(next);
        self.made.insert((original, list), made);
    }

    fn find(&self, (original, further): &LocalSigKey) -> Option<Option<SigWithLocal>> {
        let list = self.lists.get(further.as_slice())?;
        self.made.get(&(*original, *list)).copied()
    }
}

/// Returns whether a variable of the type can be added to any method: it needs no type parameters and loads no
/// type that the method could do without.
fn means_the_same_everywhere(ty: &Type) -> bool {
    matches!(ty, Type::I4 | Type::I8 | Type::R4 | Type::R8 | Type::I | Type::Object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{heap_bytes, release_kept_blocks};

    fn sig(token: u32) -> SigWithLocal {
        SigWithLocal { token, local: 3 }
    }

    #[test]
    fn finds_signatures_by_original_and_further_types() {
        let mut sigs = LocalSigs::default();
        let timed = (7, vec![Type::ValueType(5)]);
        sigs.add(timed.clone(), Some(sig(1)));
        assert!(sigs.get(&timed) == Some(sig(1)) && sigs.counting(7).is_none());
        sigs.add((7, vec![Type::I4, Type::Object]), Some(sig(2)));
        sigs.add((7, Vec::new()), Some(sig(3)));
        assert_eq!((sigs.counting(7), sigs.get(&(7, Vec::new()))), (Some(sig(2)), Some(sig(3))));
        sigs.add((8, vec![Type::I4]), None);
        assert!(sigs.is_known(&(8, vec![Type::I4])) && sigs.get(&(8, vec![Type::I4])).is_none());
        assert!(!sigs.is_known(&(9, vec![Type::I4])) && !sigs.is_known(&(7, vec![Type::I8])));
    }

    #[test]
    fn a_signature_takes_few_bytes() {
        const MANY: u32 = 14_000;
        let before = heap_bytes();
        let mut sigs = LocalSigs::default();
        let variables = [Type::I8, Type::I, Type::Object, Type::I, Type::I4];
        for original in 0..MANY {
            let further = variables.iter().cycle().skip(original as usize % 5).take(4).cloned().collect();
            sigs.add((original, further), Some(sig(original + 1)));
        }
        // The smaller tables that the growing ones replaced.
        release_kept_blocks();
        let each = heap_bytes().saturating_sub(before) / MANY as usize;
        assert!(each <= 64, "{each} bytes a signature");
    }
}
