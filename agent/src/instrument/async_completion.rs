//! The code of a timed `MoveNext` in addition to that of `timed_body`: it records when a call of the async
//! method begins and when it completes.
#![forbid(unsafe_code)]

use super::call_form::{CallSites, call, native};
use crate::il::{BEGINS, BodyWrapper, Insn, Opcode, Operand, StateMachine};
use crate::probes::async_helper;

/// Adds the code to a wrapped body; it records in the run of slots at `offset`, in bytes from the first slot.
pub fn add(wrapper: &mut BodyWrapper, machine: &StateMachine, offset: usize, sites: CallSites) {
    // Like the helpers of `timed_body` except the first: a thread that the collector waits for stops there.
    let report = |helper: usize| {
        let mut code = native(offset);
        code.extend([Insn::LdcI4(0), Insn::ConvI]);
        code.extend(call(helper, sites.seldom));
        code
    };
    let begins = report(async_helper::begin());
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
    before.append(&mut wrapper.before);
    wrapper.before = before;
    wrapper.within = machine.completes.iter().map(|at| (*at, report(async_helper::complete()))).collect();
}
