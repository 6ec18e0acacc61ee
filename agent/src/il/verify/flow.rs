//! Rules about sequences of instructions and about crossing the bounds of regions (ECMA-335 III.1.7.6, III.2,
//! and the instructions of III.3 that end a region).

use super::super::maxstack::goes_on;
use super::super::opcodes::Flow;
use super::super::{Body, Instruction, Label, Opcode, Operand};
use super::regions::{Kind, Regions};
use super::violation::Violation;

pub(super) fn check(body: &Body, regions: &Regions) -> Result<(), Violation> {
    let prefixed = check_prefixes(body, regions)?;
    if body.instructions.last().is_none_or(|last| goes_on(last.opcode)) {
        return Err(Violation::FallsOffEnd);
    }
    for (index, instruction) in body.instructions.iter().enumerate() {
        let from = Label(index as u32);
        check_place(from, instruction, regions)?;
        let edge = |to: Label| {
            if prefixed.get(to.0 as usize) == Some(&true) {
                return Err(Violation::SplitPrefix { at: to });
            }
            check_edge(from, instruction.opcode, to, regions)
        };
        match &instruction.operand {
            Operand::Target(to) => edge(*to)?,
            Operand::Switch(targets) => targets.iter().copied().try_for_each(edge)?,
            _ => {}
        }
        if goes_on(instruction.opcode) {
            check_edge(from, instruction.opcode, Label(from.0 + 1), regions)?;
        }
    }
    Ok(())
}

/// Checks each prefix with its instruction. Returns for each instruction whether a prefix precedes it.
fn check_prefixes(body: &Body, regions: &Regions) -> Result<Vec<bool>, Violation> {
    let mut prefixed = vec![false; body.instructions.len()];
    let mut pending: Vec<(Label, Opcode)> = Vec::new();
    let mut instructions = body.instructions.iter().zip(&mut prefixed).enumerate().peekable();
    while let Some((index, (instruction, prefixed))) = instructions.next() {
        let at = Label(index as u32);
        if let Some((before, _)) = pending.last() {
            *prefixed = true;
            if regions.innermost(*before) != regions.innermost(at) {
                return Err(Violation::SplitPrefix { at });
            }
        }
        let opcode = instruction.opcode;
        if opcode.info().flow == Flow::Prefix {
            pending.push((at, opcode));
            continue;
        }
        let before_ret = instructions.peek().is_some_and(|(_, (next, _))| next.opcode == Opcode::RET);
        for (at, prefix) in pending.drain(..) {
            if !takes(prefix, opcode) || (prefix == Opcode::TAIL && !before_ret) {
                return Err(Violation::Prefix { at, opcode: prefix });
            }
        }
    }
    Ok(prefixed)
}

/// Returns whether an instruction accepts a prefix.
fn takes(prefix: Opcode, next: Opcode) -> bool {
    // ldind.*, stind.*, ldobj, stobj, ldfld, stfld, cpblk, initblk
    let memory = matches!(next.value(), 0x46..=0x57 | 0xDF | 0x71 | 0x81 | 0x7B | 0x7D)
        || matches!(next, Opcode::CPBLK | Opcode::INITBLK);
    match prefix {
        Opcode::UNALIGNED => memory,
        Opcode::VOLATILE => memory || matches!(next, Opcode::LDSFLD | Opcode::STSFLD),
        Opcode::TAIL => matches!(next, Opcode::CALL | Opcode::CALLVIRT | Opcode::CALLI),
        // `call` and `ldftn` for static interface members.
        Opcode::CONSTRAINED => matches!(next, Opcode::CALLVIRT | Opcode::CALL | Opcode::LDFTN),
        Opcode::READONLY => matches!(next, Opcode::LDELEMA | Opcode::CALL | Opcode::CALLVIRT),
        _ => true, // `no.` precedes many instructions, and no runtime checks it
    }
}

/// Checks instructions that are allowed only in some regions.
fn check_place(at: Label, instruction: &Instruction, regions: &Regions) -> Result<(), Violation> {
    let opcode = instruction.opcode;
    let innermost = regions.innermost(at);
    let around = || innermost.and_then(|index| regions.node(index));
    let allowed = match opcode {
        Opcode::RET | Opcode::JMP => innermost.is_none(),
        Opcode::ENDFINALLY => around().is_some_and(|region| region.kind == Kind::Finally),
        Opcode::ENDFILTER => {
            around().is_some_and(|region| region.kind == Kind::Filter && region.end.0 == at.0 + 1)
        }
        Opcode::RETHROW => {
            let mut handlers = regions.outwards(innermost).filter(|(_, region)| region.kind != Kind::Try);
            handlers.next().is_some_and(|(_, region)| region.kind == Kind::Catch)
        }
        _ => true,
    };
    if allowed { Ok(()) } else { Err(Violation::Misplaced { at, opcode }) }
}

/// Checks one path from an instruction to another.
fn check_edge(from: Label, opcode: Opcode, to: Label, regions: &Regions) -> Result<(), Violation> {
    let source = regions.innermost(from);
    let target = regions.innermost(to);
    if source == target {
        return Ok(());
    }
    let leaves = opcode.info().flow == Flow::Leave;
    let crosses = Err(Violation::Crosses { from, opcode, to });
    let common = regions.common(source, target);
    // Outwards: only with `leave`, and not out of filters, finally and fault handlers.
    let mut left = Vec::new();
    for (_, region) in regions.outwards(source).take_while(|(index, _)| Some(*index) != common) {
        match region.kind {
            Kind::Try if leaves => {}
            Kind::Catch if leaves => left.extend(regions.try_of(region.clause)),
            _ => return crosses,
        }
    }
    // Inwards: only to the first instruction of try regions, or back into the try region whose handler is left.
    for (index, region) in regions.outwards(target).take_while(|(index, _)| Some(*index) != common) {
        if region.kind != Kind::Try || (region.start != to && !left.contains(&index)) {
            return crosses;
        }
    }
    Ok(())
}
