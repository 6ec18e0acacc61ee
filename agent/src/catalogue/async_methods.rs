//! Finds the compiler-generated async methods of a module, and the `MoveNext` that does the work of each.
#![forbid(unsafe_code)]

use super::names::ModuleNames;
use crate::clr::attributes::AsyncKind;
use crate::clr::metadata::Import;
use crate::probes::completions::Account;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// An async method.
pub struct AsyncMethod {
    /// Its MethodDef token.
    pub method: u32,
    /// Its kind.
    pub kind: AsyncKind,
    /// MethodDef token of its state machine's `MoveNext`, if it has one.
    pub move_next: Option<u32>,
    /// Its completion counters, once it or its `MoveNext` was dialled at time.
    account: OnceLock<Arc<Account>>,
}

impl AsyncMethod {
    /// Returns its completion counters; `pattern` names its `MoveNext`, which has that token.
    pub fn account(&self, move_next: u32, pattern: impl FnOnce() -> String) -> Arc<Account> {
        Arc::clone(self.account.get_or_init(|| Account::new(self.method, move_next, &pattern())))
    }
}

/// The async methods of a module.
#[derive(Default)]
pub struct AsyncMethods {
    /// By MethodDef token.
    methods: HashMap<u32, AsyncMethod>,
    /// The method of each `MoveNext`.
    of_move_next: HashMap<u32, u32>,
}

impl AsyncMethods {
    /// Reads every attribute of the module once.
    pub fn read(import: &Import) -> AsyncMethods {
        let machines = import.state_machines();
        if machines.is_empty() {
            return AsyncMethods::default();
        }
        let names = ModuleNames::default();
        let name_of = |token| Some((names.type_name(import, token)?, token));
        let nested: HashMap<_, u32> = import
            .type_defs()
            .into_iter()
            .filter_map(name_of)
            .filter(|(name, _)| name.contains('+'))
            .collect();
        let is_move_next = |token: &u32| import.method(*token).is_ok_and(|method| method.name == "MoveNext");
        let read = |(method, kind, machine): (u32, AsyncKind, String)| {
            let machine = nested.get(plain_name(&machine).as_str());
            let move_next =
                machine.and_then(|machine| import.methods_of(*machine).into_iter().find(is_move_next));
            (method, AsyncMethod { method, kind, move_next, account: OnceLock::new() })
        };
        let methods: HashMap<u32, AsyncMethod> = machines.into_iter().map(read).collect();
        let of_move_next = methods.values().filter_map(|one| Some((one.move_next?, one.method))).collect();
        AsyncMethods { methods, of_move_next }
    }

    /// Returns the async method with this token.
    pub fn of(&self, method: u32) -> Option<&AsyncMethod> {
        self.methods.get(&method)
    }

    /// Returns the async method whose `MoveNext` has this token.
    pub fn by_move_next(&self, move_next: u32) -> Option<&AsyncMethod> {
        self.methods.get(self.of_move_next.get(&move_next)?)
    }
}

/// Converts a type name from an attribute: removes the assembly and the escapes before special characters.
fn plain_name(written: &str) -> String {
    let mut plain = String::with_capacity(written.len());
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.extend(letters.next()),
            ',' => break,
            letter => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_attribute_names_to_metadata_names() {
        assert_eq!(plain_name("Shop.Cart`1+<Add>d__3`1"), "Shop.Cart`1+<Add>d__3`1");
        assert_eq!(plain_name("A+<I<System-Int32\\,B>-M>d__1"), "A+<I<System-Int32,B>-M>d__1");
        assert_eq!(plain_name("A+<M>d__1, Shop, Version=1.0.0.0"), "A+<M>d__1");
        assert_eq!(plain_name("A\\\\B\\"), "A\\B");
    }
}
