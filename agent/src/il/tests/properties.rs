//! Properties for all bytes and bodies: nothing panics, and encoded bodies decode back unchanged.

use proptest::collection::vec;
use proptest::prelude::*;

use super::support::VOID;
use crate::il::opcodes::{ALL, OperandKind};
use crate::il::verify::{verify, verify_structure};
use crate::il::{
    Body, BodyWrapper, Clause, ClauseKind, Edit, IlError, Insn, Instruction, Label, Landing, Opcode, Operand,
    Prologue, decode, encode, gives_frame_away, with_prologue, wrap_body,
};

fn label(end: u32, inclusive: bool) -> impl Strategy<Value = Label> {
    (0..end + u32::from(inclusive)).prop_map(Label)
}

/// An instruction of a body with this many instructions.
fn instruction(count: u32) -> impl Strategy<Value = Instruction> {
    let operand = move |opcode: Opcode| -> BoxedStrategy<Operand> {
        match opcode.info().operand {
            OperandKind::None => Just(Operand::None).boxed(),
            OperandKind::U8 => any::<u8>().prop_map(Operand::U8).boxed(),
            OperandKind::I8 => any::<i8>().prop_map(Operand::I8).boxed(),
            OperandKind::U16 => any::<u16>().prop_map(Operand::U16).boxed(),
            OperandKind::I32 => any::<i32>().prop_map(Operand::I32).boxed(),
            OperandKind::I64 => any::<i64>().prop_map(Operand::I64).boxed(),
            OperandKind::R4 => any::<u32>().prop_map(Operand::R4).boxed(),
            OperandKind::R8 => any::<u64>().prop_map(Operand::R8).boxed(),
            OperandKind::Token => any::<u32>().prop_map(Operand::Token).boxed(),
            OperandKind::ShortTarget | OperandKind::LongTarget => {
                label(count, false).prop_map(Operand::Target).boxed()
            }
            OperandKind::Switch => vec(label(count, false), 0..6)
                .prop_map(|labels| Operand::Switch(labels.into_boxed_slice()))
                .boxed(),
        }
    };
    // Half of them are short branches, which matter most for a layout.
    let short: Vec<Opcode> = ALL.iter().copied().filter(|opcode| opcode.long_form().is_some()).collect();
    let opcode = prop_oneof![prop::sample::select(ALL), prop::sample::select(short)];
    opcode.prop_flat_map(move |opcode| {
        operand(opcode).prop_map(move |operand| Instruction::new(opcode, operand))
    })
}

fn clause(count: u32) -> impl Strategy<Value = Clause> {
    let bounds = [label(count, true), label(count, true), label(count, true), label(count, true)];
    (0..4, any::<u32>(), label(count, true), bounds).prop_map(|(kind, word, start, mut bounds)| {
        bounds[..2].sort();
        bounds[2..].sort();
        let kind = match kind {
            0 => ClauseKind::Catch { class: word },
            1 => ClauseKind::Filter { start },
            2 => ClauseKind::Finally { unused: word },
            _ => ClauseKind::Fault { unused: word },
        };
        Clause { kind, try_region: bounds[0]..bounds[1], handler: bounds[2]..bounds[3] }
    })
}

fn body() -> impl Strategy<Value = Body> {
    (1_u32..200).prop_flat_map(|count| {
        let instructions = vec(instruction(count), count as usize);
        (instructions, vec(clause(count), 0..24), any::<u16>(), any::<bool>(), any::<u32>(), any::<bool>())
            .prop_map(|(instructions, clauses, max_stack, init_locals, local_sig, fat_clauses)| Body {
                max_stack,
                init_locals,
                local_sig,
                instructions,
                fat_clauses: fat_clauses && !clauses.is_empty(),
                clauses,
                old_code_size: 0,
            })
    })
}

/// Returns which short branches must grow, recomputing everything until nothing changes.
fn grown_naively(body: &Body) -> Vec<bool> {
    let sizes: Vec<usize> = body
        .instructions
        .iter()
        .map(|instruction| {
            let only =
                Body { instructions: vec![retargeted(instruction)], clauses: Vec::new(), ..body.clone() };
            *encode(&only).unwrap().offsets.last().unwrap() as usize
        })
        .collect();
    let mut grown = vec![false; sizes.len()];
    loop {
        let mut offsets = vec![0];
        for (size, grown) in sizes.iter().zip(&grown) {
            offsets.push(offsets.last().unwrap() + size + if *grown { 3 } else { 0 });
        }
        let mut changed = false;
        for (index, instruction) in body.instructions.iter().enumerate() {
            let Operand::Target(target) = instruction.operand else { continue };
            let distance = offsets[target.0 as usize] as i64 - offsets[index + 1] as i64;
            let must = instruction.opcode.long_form().is_some() && i8::try_from(distance).is_err();
            changed |= must && !grown[index];
            grown[index] |= must;
        }
        if !changed {
            return grown;
        }
    }
}

/// Returns the instruction as the only one of a body.
fn retargeted(instruction: &Instruction) -> Instruction {
    let mut alone = instruction.clone();
    match &mut alone.operand {
        Operand::Target(label) => *label = Label(0),
        Operand::Switch(labels) => labels.fill(Label(0)),
        _ => {}
    }
    alone
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300)) {
        let _ = verify(&bytes, &VOID);
        let _ = with_prologue(&bytes, Prologue::new([Insn::LdcI4(1), Insn::Brtrue(1), Insn::Pop], 2));
    }

    #[test]
    fn no_code_panics(code in vec(any::<u8>(), 1..200), section in vec(any::<u8>(), 0..100), fat in any::<bool>()) {
        let mut section = section;
        if let Some(kind) = section.first_mut() {
            *kind = if fat { 0x41 } else { 0x01 };
        }
        let bytes = super::support::fat(&code, &[section]);
        if let Ok(body) = decode(&bytes) {
            let reencoded = encode(&body).unwrap();
            prop_assert_eq!(encode(&decode(&reencoded.bytes).unwrap()).unwrap().bytes, reencoded.bytes);
        }
        let _ = verify(&bytes, &VOID);
    }

    #[test]
    fn encoded_bodies_round_trip(body in body()) {
        let encoded = encode(&body).unwrap();
        let read = decode(&encoded.bytes).unwrap();
        let grown = grown_naively(&body);
        prop_assert_eq!(read.instructions.len(), body.instructions.len());
        for ((read, expected), grown) in read.instructions.iter().zip(&body.instructions).zip(grown) {
            let opcode = if grown { expected.opcode.long_form().unwrap() } else { expected.opcode };
            prop_assert_eq!(read.opcode, opcode);
            prop_assert_eq!(&read.operand, &expected.operand);
        }
        prop_assert_eq!(&read.clauses, &body.clauses);
        prop_assert!(read.fat_clauses || !body.fat_clauses);
        prop_assert_eq!(read.init_locals, body.init_locals);
        prop_assert_eq!(read.local_sig, body.local_sig);
        prop_assert!(read.max_stack >= body.max_stack);
        // The decoded body encodes to the same bytes.
        prop_assert_eq!(encode(&read).unwrap().bytes, encoded.bytes);
    }

    #[test]
    fn a_prologue_only_moves_the_body(body in body(), prologue in 1_usize..40) {
        let original = encode(&body).unwrap();
        let prologue: Vec<_> = (0..prologue).flat_map(|_| [Insn::LdcI8(7), Insn::Pop]).collect();
        let rewritten = with_prologue(&original.bytes, Prologue::new(prologue.clone(), 1)).unwrap();
        let before = decode(&original.bytes).unwrap();
        let after = decode(&rewritten.body).unwrap();
        let moved = prologue.len() as u32;
        prop_assert_eq!(rewritten.map.len(), before.instructions.len());
        prop_assert_eq!(rewritten.map[0], (0, moved / 2 * 10));
        for (after, before) in after.instructions[prologue.len()..].iter().zip(&before.instructions) {
            prop_assert_eq!(after.opcode, before.opcode);
            let shift = |label: &Label| Label(label.0 + moved);
            let operand = match &before.operand {
                Operand::Target(label) => Operand::Target(shift(label)),
                Operand::Switch(labels) => Operand::Switch(labels.iter().map(shift).collect()),
                operand => operand.clone(),
            };
            prop_assert_eq!(&after.operand, &operand);
        }
        for (after, before) in after.clauses.iter().zip(&before.clauses) {
            prop_assert_eq!(after.try_region.start.0, before.try_region.start.0 + moved);
            prop_assert_eq!(after.try_region.end.0, before.try_region.end.0 + moved);
            prop_assert_eq!(after.handler.start.0, before.handler.start.0 + moved);
            prop_assert_eq!(after.handler.end.0, before.handler.end.0 + moved);
        }
        // The structure is as sound or as broken as before.
        prop_assert_eq!(verify_structure(&original.bytes).is_ok(), verify_structure(&rewritten.body).is_ok());
    }

    #[test]
    fn wrapping_only_moves_the_body(body in body(), returns in any::<bool>()) {
        let original = encode(&body).unwrap();
        let mark = || vec![Insn::LdcI8(7), Insn::Pop];
        let result = returns.then_some(1);
        let wrapper = BodyWrapper {
            before: mark(),
            first: mark(),
            fault: mark(),
            after: mark(),
            within: Vec::new(),
            stack: 1,
            result,
            local_sig: 7,
        };
        let rewritten = match wrap_body(&original.bytes, wrapper) {
            Ok(rewritten) => rewritten,
            Err(error) => {
                prop_assert_eq!(error, IlError::NoWayOut);
                prop_assert!(gives_frame_away(&body));
                return Ok(());
            }
        };
        let before = decode(&original.bytes).unwrap();
        let after = decode(&rewritten.body).unwrap();
        prop_assert_eq!(rewritten.map.len(), before.instructions.len());
        let place = |offset: u32| {
            let at = after.instructions.iter().position(|one| one.old_offset == Some(offset)).unwrap();
            Label(at as u32)
        };
        let moved: Vec<Label> = rewritten.map.iter().map(|(_, new)| place(*new)).collect();
        let handler = after.clauses.last().unwrap().handler.clone();
        let to = |label: &Label| moved.get(label.0 as usize).copied().unwrap_or(handler.start);
        for (old, at) in before.instructions.iter().zip(&moved) {
            let new = &after.instructions[at.0 as usize];
            if old.opcode == Opcode::RET {
                let leave = &after.instructions[at.0 as usize + usize::from(returns)];
                prop_assert!(!returns || new.opcode == Opcode::STLOC_S);
                prop_assert_eq!(&leave.operand, &Operand::Target(handler.end));
                continue;
            }
            prop_assert!(new.opcode == old.opcode || old.opcode.long_form() == Some(new.opcode));
            let operand = match &old.operand {
                Operand::Target(label) => Operand::Target(to(label)),
                Operand::Switch(labels) => Operand::Switch(labels.iter().map(to).collect()),
                operand => operand.clone(),
            };
            prop_assert_eq!(&new.operand, &operand);
        }
        prop_assert_eq!(after.clauses.len(), before.clauses.len() + 1);
        for (new, old) in after.clauses.iter().zip(&before.clauses) {
            prop_assert_eq!(&new.try_region, &(to(&old.try_region.start)..to(&old.try_region.end)));
            prop_assert_eq!(&new.handler, &(to(&old.handler.start)..to(&old.handler.end)));
        }
        if verify_structure(&original.bytes).is_ok() {
            verify_structure(&rewritten.body).unwrap();
        }
    }

    #[test]
    fn insertions_anywhere_keep_targets(body in body(), places in vec((any::<u16>(), any::<bool>()), 0..30)) {
        let mut edited = body.clone();
        for (index, instruction) in edited.instructions.iter_mut().enumerate() {
            instruction.old_offset = Some(index as u32); // an id to find it by
        }
        let mut edit = Edit::new();
        let mut inserted = 0;
        for (place, landing) in &places {
            let landing = if *landing { Landing::Inserted } else { Landing::Original };
            let at = Label(u32::from(*place) % (body.end().0 + 1));
            edit.insert_before(at, landing, vec![Insn::LdcI4(9), Insn::Pop]);
            inserted += 2;
        }
        edit.apply(&mut edited).unwrap();
        prop_assert_eq!(edited.instructions.len(), body.instructions.len() + inserted);
        let kept: Vec<_> = edited.instructions.iter().filter(|kept| kept.old_offset.is_some()).collect();
        for (kept, old) in kept.iter().zip(&body.instructions) {
            prop_assert_eq!(kept.opcode, old.opcode);
            let (Operand::Target(new), Operand::Target(old)) = (&kept.operand, &old.operand) else { continue };
            // From the new target, only inserted instructions precede the old one.
            let reached = edited.instructions[new.0 as usize..].iter().find_map(|next| next.old_offset);
            prop_assert_eq!(reached, Some(old.0));
        }
    }
}
