//! Which methods of a module the compiler made async, and which `MoveNext` does the work of each.
#![forbid(unsafe_code)]

use super::names::ModuleNames;
use crate::clr::attributes::Waits;
use crate::clr::metadata::Import;
use crate::probes::completions::Account;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// An async method.
pub struct AsyncMethod {
    /// Its MethodDef token.
    pub method: u32,
    /// Which kind of one.
    pub waits: Waits,
    /// MethodDef token of its state machine's `MoveNext`; None where there is no such.
    pub move_next: Option<u32>,
    /// Its account, once it or its `MoveNext` was to be timed.
    account: OnceLock<Arc<Account>>,
}

impl AsyncMethod {
    /// Its account; `pattern` means its `MoveNext`, which has that token.
    pub fn account(&self, move_next: u32, pattern: impl FnOnce() -> String) -> Arc<Account> {
        Arc::clone(self.account.get_or_init(|| Account::new(self.method, move_next, &pattern())))
    }
}

/// The async methods of a module.
#[derive(Default)]
pub struct AsyncMethods {
    /// By method.
    methods: HashMap<u32, AsyncMethod>,
    /// The method whose `MoveNext` that is.
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
        let read = |(method, waits, machine): (u32, Waits, String)| {
            let machine = nested.get(plain_name(&machine).as_str());
            let move_next =
                machine.and_then(|machine| import.methods_of(*machine).into_iter().find(is_move_next));
            (method, AsyncMethod { method, waits, move_next, account: OnceLock::new() })
        };
        let methods: HashMap<u32, AsyncMethod> = machines.into_iter().map(read).collect();
        let of_move_next = methods.values().filter_map(|one| Some((one.move_next?, one.method))).collect();
        AsyncMethods { methods, of_move_next }
    }

    /// The async method of this token.
    pub fn of(&self, method: u32) -> Option<&AsyncMethod> {
        self.methods.get(&method)
    }

    /// The one whose `MoveNext` has this token.
    pub fn whose(&self, move_next: u32) -> Option<&AsyncMethod> {
        self.methods.get(self.of_move_next.get(&move_next)?)
    }
}

/// A type's name as an attribute has it, without its assembly and the marks before letters that mean something there.
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
    fn names_in_attributes_are_those_of_metadata() {
        assert_eq!(plain_name("Shop.Cart`1+<Add>d__3`1"), "Shop.Cart`1+<Add>d__3`1");
        assert_eq!(plain_name("A+<I<System-Int32\\,B>-M>d__1"), "A+<I<System-Int32,B>-M>d__1");
        assert_eq!(plain_name("A+<M>d__1, Shop, Version=1.0.0.0"), "A+<M>d__1");
        assert_eq!(plain_name("A\\\\B\\"), "A\\B");
    }
}
