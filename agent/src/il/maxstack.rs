//! Stack depth before each instruction, computed by following the control flow.

use super::opcodes::Flow;
use super::{Body, ClauseKind, Instruction, Label, Opcode, Operand};

/// Values that a call pops and pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallShape {
    /// Arguments, `this`, and the pointer of a `calli`; for `newobj` without the new object.
    pub pops: u16,
    /// 1 for a result (or the new object), otherwise 0.
    pub pushes: u16,
}

/// Resolves tokens; the only information about stack depths that is not in the body.
pub trait Shapes {
    /// Returns the shape of `call`, `callvirt`, `newobj` or `calli` with this token; `None` if it cannot be
    /// resolved.
    fn call(&self, opcode: Opcode, token: u32) -> Option<CallShape>;

    /// Returns whether the method itself returns a value.
    fn returns_value(&self) -> bool;
}

/// A violation of the stack rules in ECMA-335 III.1.7. Labels are instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StackFault {
    /// An instruction pops more values than the stack has.
    #[error("instruction {at} ({opcode}) takes {pops} from a stack of {depth}")]
    Underflow {
        /// The instruction.
        at: Label,
        /// Its opcode.
        opcode: Opcode,
        /// Values that it pops.
        pops: u32,
        /// Values on the stack.
        depth: u16,
    },
    /// Two paths reach an instruction with different depths.
    #[error("instruction {at} is reached with {first} values on the stack and with {second}")]
    Mismatch {
        /// The instruction.
        at: Label,
        /// Depth of the first path.
        first: u16,
        /// Depth of another path.
        second: u16,
    },
    /// Values remain where the method, a filter or a jump ends.
    #[error("instruction {at} ({opcode}) needs exactly {needed} values on the stack and finds {depth}")]
    NotExact {
        /// The instruction.
        at: Label,
        /// Its opcode.
        opcode: Opcode,
        /// Required number of values.
        needed: u16,
        /// Values on the stack.
        depth: u16,
    },
    /// A call whose token cannot be resolved.
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
    /// Control reaches the end of the code.
    #[error("instruction {at} is the last, and control continues after it")]
    FallsOff {
        /// The instruction.
        at: Label,
    },
}

/// Result of the analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Depths {
    /// Values on the stack before each instruction; `None` for unreachable ones.
    pub before: Vec<Option<u16>>,
    /// Maximum depth; a header must state at least this.
    pub max: u16,
}

/// Follows the control flow of a body from its entry and from every handler.
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
    /// Instructions with a known depth whose effect has not been followed yet.
    pending: Vec<Label>,
    max: u16,
}

impl Walk {
    /// Records the depth at a place that control reaches from `from`. Returns whether it was unknown before.
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

    /// Follows consecutive instructions while control goes to the next one.
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

/// Returns whether control can go from this instruction to the next.
pub fn goes_on(opcode: Opcode) -> bool {
    match opcode.info().flow {
        Flow::Next | Flow::Conditional | Flow::Call | Flow::Prefix => true,
        Flow::Branch | Flow::Leave | Flow::Return | Flow::Jump | Flow::End => false,
    }
}

/// Returns the depth after an instruction.
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
