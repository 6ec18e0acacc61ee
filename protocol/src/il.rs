//! A method's IL as it travels: lines with their tokens resolved, and what stands around them.

use crate::codec::capped;
use crate::limits::{IL_LINES_PER_PAGE, MAX_IL_CLAUSES, MAX_IL_LOCALS, MAX_IL_TARGETS};
use serde::{Deserialize, Serialize};

/// Which body it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IlSource {
    /// The method's own.
    Original,
    /// The instrumented one that the runtime has of us.
    HandedOver,
    /// The instrumented one that the runtime would get. What it needs in its module's metadata (a call site, local
    /// variables) may not be there yet.
    WouldBe,
}

/// What kind of clause it is (ECMA-335 II.25.4.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IlClauseKind {
    /// An exception of a class.
    Catch {
        /// Its name.
        class: String,
        /// TypeDef, TypeRef or TypeSpec token.
        token: u32,
    },
    /// A filter, up to where the handler begins.
    Filter {
        /// Offset of its first instruction.
        start: u32,
    },
    /// Every way out.
    Finally,
    /// An exception of any class, on its way out.
    Fault,
}

/// An exception clause. Offsets in bytes from the first instruction; ends are exclusive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IlClause {
    /// What makes its handler run.
    pub kind: IlClauseKind,
    /// First protected instruction.
    pub try_start: u32,
    /// After the last.
    pub try_end: u32,
    /// First instruction of the handler.
    pub handler_start: u32,
    /// After the last.
    pub handler_end: u32,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IlLine {
    /// Offset in bytes from the first.
    pub offset: u32,
    /// The assembler name, as in `ldc.i4.s`.
    pub opcode: String,
    /// Its operand in words, a token resolved; branch targets stand in `targets`.
    pub operand: Option<String>,
    /// The operand's token.
    pub token: Option<u32>,
    /// Offsets that it branches to; several of a `switch`.
    #[serde(deserialize_with = "capped::<_, _, MAX_IL_TARGETS>")]
    pub targets: Vec<u32>,
    /// Whether it is the probe's.
    pub inserted: bool,
}

/// Lines of one body, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IlPage {
    /// At most `limits::IL_LINES_PER_PAGE`.
    #[serde(deserialize_with = "capped::<_, _, IL_LINES_PER_PAGE>")]
    pub lines: Vec<IlLine>,
}

/// What stands around the lines of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IlBody {
    /// Which body it is.
    pub source: IlSource,
    /// Most values on the stack at once, as its header says.
    pub max_stack: u16,
    /// Whether its local variables start as zero.
    pub init_locals: bool,
    /// StandAloneSig token of the local variables; 0: none, or not made yet.
    pub local_sig: u32,
    /// Types of the local variables.
    #[serde(deserialize_with = "capped::<_, _, MAX_IL_LOCALS>")]
    pub locals: Vec<String>,
    /// Local variables beyond those.
    pub more_locals: u32,
    /// Bytes of code.
    pub code_size: u32,
    /// Its clauses, inner ones first.
    #[serde(deserialize_with = "capped::<_, _, MAX_IL_CLAUSES>")]
    pub clauses: Vec<IlClause>,
    /// Clauses beyond those.
    pub more_clauses: u32,
    /// Lines sent.
    pub lines: u64,
}
