//! The code that a timed `MoveNext` has beside what `timing` puts around it: it notes when a call of the async method begins,
//! and when it completes.
#![forbid(unsafe_code)]

use super::async_leaf;
use super::form::{CallSites, call, native};
use crate::il::{Around, BEGINS, Insn, Machine, Opcode, Operand};

/// Adds it to what is put around the body; it notes in the run of slots at `offset`, in bytes from the first slot.
pub fn add(around: &mut Around, machine: &Machine, offset: usize, sites: CallSites) {
    // As the leaves of `timing` but the first: a thread that the collector waits for stops there.
    let told = |leaf: usize| {
        let mut code = native(offset);
        code.extend([Insn::LdcI4(0), Insn::ConvI]);
        code.extend(call(leaf, sites.seldom));
        code
    };
    let begins = told(async_leaf::begin());
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
    around.within = machine.completes.iter().map(|at| (*at, told(async_leaf::complete()))).collect();
}
