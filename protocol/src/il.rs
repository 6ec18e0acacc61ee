//! A method's IL on the wire: lines with resolved tokens, and the other parts of the body.

use crate::codec::capped;
use crate::limits::{IL_LINES_PER_PAGE, MAX_IL_CLAUSES, MAX_IL_LOCALS, MAX_IL_TARGETS};
use serde::{Deserialize, Serialize};

/// Origin of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IlSource {
    /// The method's original body.
    Original,
    /// The instrumented body that the runtime has.
    Installed,
    /// The instrumented body that the runtime would get. The metadata it needs in its module (a call site,
    /// local variables) may not exist yet.
    Preview,
}

/// Kind of an exception clause (ECMA-335 II.25.4.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IlClauseKind {
    /// Catches exceptions of a class.
    Catch {
        /// Name of the class.
        class: String,
        /// TypeDef, TypeRef or TypeSpec token.
        token: u32,
    },
    /// Filter that ends at the start of the handler.
    Filter {
        /// Offset of its first instruction.
        start: u32,
    },
    /// Runs on every exit.
    Finally,
    /// Runs when an exception of any class leaves the block.
    Fault,
}

/// An exception clause. Offsets are in bytes from the first instruction; ends are exclusive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IlClause {
    /// Kind of the clause.
    pub kind: IlClauseKind,
    /// First protected instruction.
    pub try_start: u32,
    /// End of the protected instructions.
    pub try_end: u32,
    /// First instruction of the handler.
    pub handler_start: u32,
    /// End of the handler.
    pub handler_end: u32,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IlLine {
    /// Offset in bytes from the first instruction.
    pub offset: u32,
    /// Assembler name, such as `ldc.i4.s`.
    pub opcode: String,
    /// Operand in text form, with its token resolved; branch targets are in `targets`.
    pub operand: Option<String>,
    /// The operand's token.
    pub token: Option<u32>,
    /// Branch targets as offsets; a `switch` has several.
    #[serde(deserialize_with = "capped::<_, _, MAX_IL_TARGETS>")]
    pub targets: Vec<u32>,
    /// Whether the instruction belongs to the probe.
    pub inserted: bool,
}

/// Consecutive lines of one body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IlPage {
    /// At most `limits::IL_LINES_PER_PAGE`.
    #[serde(deserialize_with = "capped::<_, _, IL_LINES_PER_PAGE>")]
    pub lines: Vec<IlLine>,
}

/// Parts of a body besides its lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IlBody {
    /// Origin of the body.
    pub source: IlSource,
    /// Maximum stack depth, from the header.
    pub max_stack: u16,
    /// Whether local variables are initialized to zero.
    pub init_locals: bool,
    /// StandAloneSig token of the local variables; 0: none, or not created yet.
    pub local_sig: u32,
    /// Types of the local variables.
    #[serde(deserialize_with = "capped::<_, _, MAX_IL_LOCALS>")]
    pub locals: Vec<String>,
    /// Number of further local variables.
    pub more_locals: u32,
    /// Bytes of code.
    pub code_size: u32,
    /// Exception clauses, inner ones first.
    #[serde(deserialize_with = "capped::<_, _, MAX_IL_CLAUSES>")]
    pub clauses: Vec<IlClause>,
    /// Number of further clauses.
    pub more_clauses: u32,
    /// Lines sent.
    pub lines: u64,
}
