//! How many values are on the stack before each instruction, found by walking the control flow.

use super::opcodes::Flow;
use super::{Body, ClauseKind, Instruction, Label, Opcode, Operand};

/// What a call takes from the stack and puts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallShape {
    /// Arguments, `this`, and the pointer of a `calli`; for `newobj` without the new object.
    pub pops: u16,
    /// 1 for a result (or the new object), else 0.
    pub pushes: u16,
}

/// Knows what lies behind tokens; the one thing about stack depths that a body alone does not say.
pub trait Shapes {
    /// The shape of `call`, `callvirt`, `newobj` or `calli` with this token; `None` when it cannot be resolved.
    fn call(&self, opcode: Opcode, token: u32) -> Option<CallShape>;

    /// Whether the method itself returns a value.
    fn returns_value(&self) -> bool;
}

/// A place where the stack is not as ECMA-335 III.1.7 demands. Labels are instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StackFault {
    /// More is taken than is there.
    #[error("instruction {at} ({opcode}) takes {pops} from a stack of {depth}")]
    Underflow {
        /// The instruction.
        at: Label,
        /// Its opcode.
        opcode: Opcode,
        /// What it takes.
        pops: u32,
        /// What is there.
        depth: u16,
    },
    /// Two ways to one instruction with different depths.
    #[error("instruction {at} is reached with {first} values on the stack and with {second}")]
    Mismatch {
        /// The instruction.
        at: Label,
        /// The depth found first.
        first: u16,
        /// Another.
        second: u16,
    },
    /// Values are left where the method, a filter or a jump ends.
    #[error("instruction {at} ({opcode}) needs exactly {needed} values on the stack and finds {depth}")]
    NotExact {
        /// The instruction.
        at: Label,
        /// Its opcode.
        opcode: Opcode,
        /// How many it needs.
        needed: u16,
        /// How many there are.
        depth: u16,
    },
    /// A call whose token says nothing.
    #[error("instruction {at} calls 0x{token:08x}, which cannot be resolved")]
    Unresolved {
        /// The instruction.
        at: Label,
        /// The token.
        token: u32,
    },
    /// More values than a header can state.
    #[error("instruction {at} puts more than 65,535 values on the stack")]
    TooDeep {
        /// The instruction.
        at: Label,
    },
    /// Control goes on where there is no instruction.
    #[error("instruction {at} is the last, and control goes on behind it")]
    FallsOff {
        /// The instruction.
        at: Label,
    },
}

/// The result of the walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Depths {
    /// Values on the stack before each instruction; `None` where control never comes.
    pub before: Vec<Option<u16>>,
    /// Most values at once: what a header must state at least.
    pub max: u16,
}

/// Walks a body from its entry and from every handler.
///
/// # Errors
/// The first fault found.
pub fn depths(body: &Body, shapes: &impl Shapes) -> Result<Depths, StackFault> {
    let mut walk = Walk { before: vec![None; body.instructions.len()], pending: Vec::new(), max: 0 };
    walk.reach(Label(0), Label(0), 0)?;
    for clause in &body.clauses {
        // A catch handler or a filter begins with the exception on the stack (ECMA-335 III.1.7.5).
        let depth = match clause.kind {
            ClauseKind::Catch { .. } => 1,
            ClauseKind::Filter { start } => {
                walk.reach(start, start, 1)?;
                1
            }
            ClauseKind::Finally { .. } | ClauseKind::Fault { .. } => 0,
        };
        walk.reach(clause.handler.start, clause.handler.start, depth)?;
    }
    while let Some(start) = walk.pending.pop() {
        walk.straight(start, body, shapes)?;
    }
    Ok(Depths { before: walk.before, max: walk.max })
}

struct Walk {
    before: Vec<Option<u16>>,
    /// Instructions whose depth is known and whose effect is not yet followed.
    pending: Vec<Label>,
    max: u16,
}

impl Walk {
    /// Notes the depth at a place; control comes there from `from`. True when it was not known before.
    fn note(&mut self, from: Label, at: Label, depth: u16) -> Result<bool, StackFault> {
        match self.before.get_mut(at.0 as usize) {
            None => Err(StackFault::FallsOff { at: from }),
            Some(Some(first)) if *first == depth => Ok(false),
            Some(Some(first)) => Err(StackFault::Mismatch { at, first: *first, second: depth }),
            Some(unknown) => {
                *unknown = Some(depth);
                self.max = self.max.max(depth);
                Ok(true)
            }
        }
    }

    fn reach(&mut self, from: Label, at: Label, depth: u16) -> Result<(), StackFault> {
        if self.note(from, at, depth)? {
            self.pending.push(at);
        }
        Ok(())
    }

    /// Follows instructions in a row until control does not go to the next one.
    fn straight(&mut self, start: Label, body: &Body, shapes: &impl Shapes) -> Result<(), StackFault> {
        let mut at = start;
        while let (Some(instruction), Some(Some(depth))) =
            (body.at(at), self.before.get(at.0 as usize).copied())
        {
            let next = Label(at.0 + 1);
            let after = effect(at, instruction, depth, shapes)?;
            self.max = self.max.max(after);
            match &instruction.operand {
                Operand::Target(target) => self.reach(at, *target, after)?,
                Operand::Switch(targets) => {
                    for target in targets.iter() {
                        self.reach(at, *target, after)?;
                    }
                }
                _ => {}
            }
            if !goes_on(instruction.opcode) || !self.note(at, next, after)? {
                break;
            }
            at = next;
        }
        Ok(())
    }
}

/// Whether control can go from this instruction to the next.
pub fn goes_on(opcode: Opcode) -> bool {
    match opcode.info().flow {
        Flow::Next | Flow::Conditional | Flow::Call | Flow::Prefix => true,
        Flow::Branch | Flow::Leave | Flow::Return | Flow::Jump | Flow::End => false,
    }
}

/// The depth after an instruction.
fn effect(at: Label, instruction: &Instruction, depth: u16, shapes: &impl Shapes) -> Result<u16, StackFault> {
    let opcode = instruction.opcode;
    let info = opcode.info();
    let exact = |needed: u16| match depth == needed {
        true => Ok(0),
        false => Err(StackFault::NotExact { at, opcode, needed, depth }),
    };
    let (pops, pushes) = match (info.flow, &instruction.operand) {
        (Flow::Call, Operand::Token(token)) => {
            let shape = shapes.call(opcode, *token).ok_or(StackFault::Unresolved { at, token: *token })?;
            (shape.pops, shape.pushes)
        }
        (Flow::Return, _) => return exact(u16::from(shapes.returns_value())),
        (Flow::Jump, _) => return exact(0),
        (Flow::Leave, _) => return Ok(0),
        _ if opcode == Opcode::ENDFILTER => return exact(1),
        _ => (u16::from(info.pops), u16::from(info.pushes)),
    };
    let left =
        depth.checked_sub(pops).ok_or(StackFault::Underflow { at, opcode, pops: u32::from(pops), depth })?;
    left.checked_add(pushes).ok_or(StackFault::TooDeep { at })
}
