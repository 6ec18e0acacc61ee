//! Our own verifier: whether a written body keeps the rules a JIT compiler relies on.
//!
//! It checks form and control flow, not types: where everything stands ([`form`]), how regions nest and what may cross
//! their bounds ([`regions`], [`flow`]), and the depth of the stack at every place ([`super::maxstack`]).

mod flow;
mod form;
mod regions;

use super::maxstack::{Shapes, StackFault, depths};
use super::{Body, IlError, Label, Opcode, decode};

/// The rule that a body breaks. Labels are instructions, clauses are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Header, code or sections cannot be read; branch targets and clause bounds lie on instructions or are refused
    /// here.
    #[error(transparent)]
    Unreadable(#[from] IlError),
    /// Between the code and the exception table there is something else than zeros up to a multiple of four.
    #[error("the bytes before the exception table are not zeros up to a multiple of four")]
    Padding,
    /// There are bytes behind the last section, or the section's size is not its clauses'.
    #[error("the body has {actual} bytes where its parts need {needed}")]
    Length {
        /// Bytes its parts need.
        needed: usize,
        /// Bytes there are.
        actual: usize,
    },
    /// The stack at some place.
    #[error(transparent)]
    Stack(#[from] StackFault),
    /// The header states less than is needed.
    #[error("the header allows {stated} values on the stack, the code puts {needed} there")]
    MaxStack {
        /// As the header says.
        stated: u16,
        /// As the walk finds.
        needed: u16,
    },
    /// A region without instructions.
    #[error("exception clause {clause} has an empty {region}")]
    EmptyRegion {
        /// The clause.
        clause: u32,
        /// Which region.
        region: &'static str,
    },
    /// Two regions of which neither is inside the other.
    #[error("a region of exception clause {first} overlaps a region of clause {second}")]
    Overlap {
        /// One clause.
        first: u32,
        /// The other (or the same).
        second: u32,
    },
    /// A try region and its handler that are not in the same region.
    #[error("exception clause {clause} has its handler in another region than its try")]
    HandlerElsewhere {
        /// The clause.
        clause: u32,
    },
    /// An outer try region whose clause precedes an inner one's.
    #[error("exception clause {inner} is inside clause {outer} and comes after it")]
    ClauseOrder {
        /// The enclosing clause.
        outer: u32,
        /// The enclosed one.
        inner: u32,
    },
    /// A try region entered with values on the stack.
    #[error("the try region at instruction {at} is entered with {depth} values on the stack")]
    TryStack {
        /// First instruction of the region.
        at: Label,
        /// What is there.
        depth: u16,
    },
    /// The last instruction lets control go on.
    #[error("control goes on behind the last instruction")]
    FallsOffEnd,
    /// Control crosses a region's bound in a way that is not allowed.
    #[error("control goes from instruction {from} ({opcode}) to {to} across the bound of a protected region")]
    Crosses {
        /// Where it comes from.
        from: Label,
        /// The instruction there.
        opcode: Opcode,
        /// Where it goes.
        to: Label,
    },
    /// An instruction in a region where it means nothing.
    #[error("instruction {at} ({opcode}) must not stand in this region")]
    Misplaced {
        /// The instruction.
        at: Label,
        /// Its opcode.
        opcode: Opcode,
    },
    /// A prefix before an instruction that does not take it.
    #[error("instruction {at} ({opcode}) is a prefix of something that does not take it")]
    Prefix {
        /// The prefix.
        at: Label,
        /// Its opcode.
        opcode: Opcode,
    },
    /// A branch, or a region's bound, between a prefix and its instruction.
    #[error("instruction {at} is separated from its prefix by a branch or a region's bound")]
    SplitPrefix {
        /// The prefixed instruction.
        at: Label,
    },
}

/// Checks a whole body, with the depth of the stack at every place.
///
/// # Errors
/// The first rule found broken.
pub fn verify(bytes: &[u8], shapes: &impl Shapes) -> Result<Body, Broken> {
    let (body, regions) = structure(bytes)?;
    let depths = depths(&body, shapes)?;
    if depths.max > body.max_stack {
        return Err(Broken::MaxStack { stated: body.max_stack, needed: depths.max });
    }
    regions.check_entry_depths(&depths)?;
    Ok(body)
}

/// Checks what needs no knowledge of metadata: everything but the stack.
///
/// # Errors
/// The first rule found broken.
pub fn verify_structure(bytes: &[u8]) -> Result<Body, Broken> {
    structure(bytes).map(|(body, _)| body)
}

fn structure(bytes: &[u8]) -> Result<(Body, regions::Regions), Broken> {
    let body = decode(bytes)?;
    form::check(bytes, &body)?;
    let regions = regions::Regions::of(&body)?;
    flow::check(&body, &regions)?;
    Ok((body, regions))
}
