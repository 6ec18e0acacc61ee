//! The code that a timed `MoveNext` has beside what `timing` puts around it: it notes when a call of the async method begins,
//! and when it completes.
#![forbid(unsafe_code)]

use super::async_leaf;
use super::form::{CallForm, CallSites, call, native};
use crate::il::{Around, BEGINS, Insn, Machine, Opcode, Operand};

/// Adds it to what is put around the body; it notes in the run of slots at `offset`, in bytes from the first slot.
pub fn add(around: &mut Around, machine: &Machine, offset: usize, sites: CallSites) {
    let told = |leaf: usize, site: u32| {
        let mut code = native(offset);
        code.extend([Insn::LdcI4(0), Insn::ConvI]);
        code.extend(call(leaf, site));
        code
    };
    let usual = match sites.form {
        CallForm::Suppressed => sites.always,
        CallForm::Transition => sites.seldom,
    };
    let begins = told(async_leaf::begin(), usual);
    let plain = |opcode| Insn::Any(opcode, Operand::None);
    let mut before = vec![
        plain(Opcode::LDARG_0),
        Insn::Any(Opcode::LDFLD, Operand::Token(machine.state)),
        Insn::LdcI4(BEGINS),
        plain(Opcode::SUB),
        Insn::Brtrue(begins.len()),
    ];
    before.extend(begins);
    // Before the clock of this `MoveNext` itself is read.
    before.append(&mut around.before);
    around.before = before;
    around.within = machine
        .completes
        .iter()
        .map(|one| {
            // In handlers the JIT makes unmanaged calls in ways of their own.
            let site = if one.in_handler { sites.seldom } else { usual };
            (one.at, told(async_leaf::complete(), site))
        })
        .collect();
}
