//! Finds where a compiled async method begins and completes, in the body of its state machine's `MoveNext`.
//!
//! Compilers keep the state of the machine in a field that `MoveNext` reads first: −1 when the call begins.
//! Before the call's task completes, with a result or an exception, −2 is stored in the field. Nothing else
//! distinguishes one `MoveNext` of a call from the next.

use super::{Body, ClauseKind, Instruction, Label, Opcode, Operand};
use std::collections::HashSet;

/// State at the beginning of a call.
pub const BEGINS: i32 = -1;
/// State after the completion of a call.
const COMPLETED: i32 = -2;

/// The state field of a state machine and its places of completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateMachine {
    /// Token that the body itself uses for the state field.
    pub state: u32,
    /// Instructions after the stores that complete a call; at least one.
    pub completes: Vec<Label>,
}

/// Analyses a `MoveNext`; None unless it has the form that the compilers of C# and Visual Basic generate.
pub fn state_machine(body: &Body) -> Option<StateMachine> {
    let code = &body.instructions;
    let first = code.iter().position(|instruction| instruction.opcode != Opcode::NOP)?;
    let state = match (code.get(first)?.opcode, code.get(first + 1)?) {
        (Opcode::LDARG_0, Instruction { opcode: Opcode::LDFLD, operand: Operand::Token(token), .. }) => {
            *token
        }
        _ => return None,
    };
    let targets = targets(body);
    let mut completes = Vec::new();
    for (index, window) in code.windows(3).enumerate() {
        let [this, value, store] = window else { continue };
        let is_store = this.opcode == Opcode::LDARG_0
            && number(value) == Some(COMPLETED)
            && store.opcode == Opcode::STFLD
            && store.operand == Operand::Token(state);
        if !is_store {
            continue;
        }
        let label = |ahead: usize| u32::try_from(index + ahead).map(Label);
        let (Ok(value), Ok(store), Ok(at)) = (label(1), label(2), label(3)) else { return None };
        // A branch to one of these would store another value or complete unseen.
        if [value, store, at].iter().any(|label| targets.contains(label)) || body.at(at).is_none() {
            return None;
        }
        completes.push(at);
    }
    (!completes.is_empty()).then_some(StateMachine { state, completes })
}

/// A call that completes the task of an async call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionCall {
    /// The call instruction.
    pub at: Label,
    /// Token that the body itself uses for the builder's field.
    pub builder: u32,
    /// What the builder gets.
    pub with: CompletionValue,
}

/// The value with which a task completes. It lies on top of the stack at the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionValue {
    /// None.
    Nothing,
    /// A result.
    Result,
    /// An exception.
    Exception,
}

/// Returns the calls that complete the machine's task, one for each of its places of completion; None unless all have the
/// form that compilers generate: the builder's address, perhaps one value, and the call.
pub fn completion_calls(body: &Body, machine: &StateMachine) -> Option<Vec<CompletionCall>> {
    let targets = targets(body);
    machine.completes.iter().map(|label| completion_call(body, &targets, *label)).collect()
}

fn completion_call(body: &Body, targets: &HashSet<Label>, from: Label) -> Option<CompletionCall> {
    let code = &body.instructions;
    let first = from.0 as usize;
    let is_call = |one: &Instruction| matches!(one.opcode, Opcode::CALL | Opcode::CALLVIRT);
    let call = first + code.get(first..)?.iter().position(is_call)?;
    // Nothing else may follow in between, such as a way out or a branch.
    if code.get(first..call)?.iter().any(|one| matches!(one.operand, Operand::Target(_) | Operand::Switch(_)))
    {
        return None;
    }
    let builder = |at: usize| match (code.get(at)?, code.get(at + 1)?) {
        (this, Instruction { opcode: Opcode::LDFLDA, operand: Operand::Token(token), .. })
            if this.opcode == Opcode::LDARG_0 && at >= first =>
        {
            Some(*token)
        }
        _ => None,
    };
    let with_value = call.checked_sub(3).and_then(builder);
    let (builder, has_value) = match with_value {
        Some(token) => (token, true),
        None => (call.checked_sub(2).and_then(builder)?, false),
    };
    let at = Label(u32::try_from(call).ok()?);
    if targets.contains(&at) {
        return None;
    }
    let is_caught = body.clauses.iter().any(|clause| {
        matches!(clause.kind, ClauseKind::Catch { .. } | ClauseKind::Filter { .. })
            && clause.handler.contains(&at)
    });
    let with = match (has_value, is_caught) {
        (true, true) => CompletionValue::Exception,
        (true, false) => CompletionValue::Result,
        (false, false) => CompletionValue::Nothing,
        (false, true) => return None,
    };
    Some(CompletionCall { at, builder, with })
}

/// Returns the number that an instruction pushes.
fn number(instruction: &Instruction) -> Option<i32> {
    match (instruction.opcode, &instruction.operand) {
        (Opcode::LDC_I4_S, Operand::I8(number)) => Some(i32::from(*number)),
        (Opcode::LDC_I4, Operand::I32(number)) => Some(*number),
        _ => None,
    }
}

fn targets(body: &Body) -> HashSet<Label> {
    let mut targets = HashSet::new();
    for instruction in &body.instructions {
        match &instruction.operand {
            Operand::Target(label) => drop(targets.insert(*label)),
            Operand::Switch(labels) => targets.extend(labels.iter().copied()),
            _ => {}
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: u32 = 0x0400_0001;

    fn plain(opcode: Opcode) -> Instruction {
        Instruction::new(opcode, Operand::None)
    }

    fn load(field: u32) -> Vec<Instruction> {
        vec![plain(Opcode::LDARG_0), Instruction::new(Opcode::LDFLD, Operand::Token(field))]
    }

    fn store(number: Instruction, field: u32) -> Vec<Instruction> {
        vec![plain(Opcode::LDARG_0), number, Instruction::new(Opcode::STFLD, Operand::Token(field))]
    }

    fn short(number: i8) -> Instruction {
        Instruction::new(Opcode::LDC_I4_S, Operand::I8(number))
    }

    fn body(parts: Vec<Vec<Instruction>>) -> Body {
        let instructions = parts.concat();
        Body {
            max_stack: 3,
            init_locals: true,
            local_sig: 0,
            instructions,
            clauses: Vec::new(),
            fat_clauses: false,
            old_code_size: 0,
        }
    }

    fn usual() -> Vec<Vec<Instruction>> {
        let long = Instruction::new(Opcode::LDC_I4, Operand::I32(-2));
        vec![
            vec![plain(Opcode::NOP)],
            load(STATE),
            vec![plain(Opcode::STLOC_0)],
            store(short(0), STATE),
            store(short(-2), STATE),
            vec![plain(Opcode::RET)],
            store(long, STATE),
            vec![plain(Opcode::RETHROW)],
        ]
    }

    #[test]
    fn finds_only_stores_of_the_completed_state() {
        let completes = vec![Label(10), Label(14)];
        assert_eq!(state_machine(&body(usual())), Some(StateMachine { state: STATE, completes }));
    }

    #[test]
    fn bodies_of_another_form_are_no_state_machine() {
        let without_store = vec![load(STATE), vec![plain(Opcode::STLOC_0)], store(short(-1), STATE)];
        let another_field = vec![load(STATE), store(short(-2), STATE + 1), vec![plain(Opcode::RET)]];
        let begins_otherwise = vec![vec![plain(Opcode::LDC_I4_0)], load(STATE), store(short(-2), STATE)];
        let ends_there = vec![load(STATE), store(short(-2), STATE)];
        for parts in [vec![], without_store, another_field, begins_otherwise, ends_there] {
            assert_eq!(state_machine(&body(parts.clone())), None, "{parts:?}");
        }
        for target in [8, 9, 10] {
            let mut edited = body(usual());
            edited.instructions.push(Instruction::new(Opcode::BR_S, Operand::Target(Label(target))));
            assert_eq!(state_machine(&edited), None, "a branch to {target}");
        }
    }

    /// A machine that completes with a result, and in a handler with an exception.
    fn completing(between: Vec<Instruction>) -> Body {
        let builder = |value: Option<Opcode>, method: u32| {
            let mut code =
                vec![plain(Opcode::LDARG_0), Instruction::new(Opcode::LDFLDA, Operand::Token(STATE + 1))];
            code.extend(value.map(plain));
            code.push(Instruction::new(Opcode::CALL, Operand::Token(method)));
            code
        };
        let parts = vec![
            load(STATE),
            vec![plain(Opcode::STLOC_0)],
            store(short(-2), STATE),
            builder(Some(Opcode::LDLOC_1), 0x0A00_0002),
            vec![plain(Opcode::RET)],
            store(short(-2), STATE),
            between,
            builder(Some(Opcode::LDLOC_2), 0x0A00_0001),
            vec![plain(Opcode::RET)],
        ];
        let mut body = body(parts);
        let end = Label(body.instructions.len() as u32);
        body.clauses.push(crate::il::Clause {
            kind: ClauseKind::Catch { class: 0x0100_0001 },
            try_region: Label(0)..Label(3),
            handler: Label(11)..end,
        });
        body
    }

    #[test]
    fn finds_the_calls_that_complete_tasks() {
        let clean_up =
            vec![plain(Opcode::LDARG_0), plain(Opcode::LDNULL), plain(Opcode::POP), plain(Opcode::POP)];
        for between in [Vec::new(), clean_up] {
            let body = completing(between.clone());
            let machine = state_machine(&body).expect("a machine");
            let later = between.len() as u32;
            let call = |at, with| CompletionCall { at: Label(at), builder: STATE + 1, with };
            let expected =
                vec![call(9, CompletionValue::Result), call(17 + later, CompletionValue::Exception)];
            assert_eq!(completion_calls(&body, &machine), Some(expected));
        }
        // Nobody knows which call completes the task, or what it gets.
        let branch = vec![Instruction::new(Opcode::BR_S, Operand::Target(Label(0)))];
        let other_call = vec![Instruction::new(Opcode::CALL, Operand::Token(0x0A00_0009))];
        for between in [branch, other_call] {
            let body = completing(between);
            assert_eq!(completion_calls(&body, &state_machine(&body).expect("a machine")), None);
        }
    }
}
