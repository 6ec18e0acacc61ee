//! Code that runs once before a method's own first instruction.

use super::bytes::Bytes;
use super::header::Header;
use super::{Clause, ClauseKind, Edit, IlError, Insn, Label, Landing, decode, encode};
use std::ops::Range;

/// Code to run before a method's own first instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prologue {
    /// Instructions. They must leave the stack empty, as they find it.
    pub code: Vec<Insn>,
    /// Maximum stack depth in between.
    pub stack: u16,
    /// StandAloneSig token that replaces the body's; its locals must begin with the body's own.
    pub local_sig: Option<u32>,
    /// Try region in the code, if there is one.
    pub guarded: Option<Guarded>,
}

/// A try region and its finally handler, as ranges of a [`Prologue`]'s code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// Protected instructions; the last one is an [`Insn::Leave`].
    pub try_region: Range<usize>,
    /// Instructions of the handler; the last one is `endfinally`.
    pub handler: Range<usize>,
}

impl Guarded {
    /// Moves both ranges by this many instructions.
    pub fn behind(self, more: usize) -> Guarded {
        let moved = |places: Range<usize>| places.start + more..places.end + more;
        Guarded { try_region: moved(self.try_region), handler: moved(self.handler) }
    }
}

impl Prologue {
    /// Returns a prologue that needs no local variable.
    pub fn new(code: impl Into<Vec<Insn>>, stack: u16) -> Prologue {
        Prologue { code: code.into(), stack, local_sig: None, guarded: None }
    }
}

/// A rewritten method body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The whole body, to be placed at a multiple of four bytes.
    pub body: Vec<u8>,
    /// `(old, new)` code offsets for `COR_IL_MAP`, ascending; see [`super::Encoded::map`].
    pub map: Vec<(u32, u32)>,
}

/// Returns the StandAloneSig token of a body's locals from its header; 0 if there are none.
///
/// # Errors
/// A header that [`decode`] refuses.
pub fn local_sig(original: &[u8]) -> Result<u32, IlError> {
    Ok(Header::read(&mut Bytes::new(original))?.local_sig)
}

/// Returns the bytes of a body's code from its header.
///
/// # Errors
/// A header that [`decode`] refuses.
pub fn code_size(body: &[u8]) -> Result<u32, IlError> {
    Ok(Header::read(&mut Bytes::new(body))?.code_size)
}

/// Inserts a prologue before everything else. A branch back to the start of the method does not run it again.
/// It is in no try region, not even one that starts at the first instruction.
///
/// # Errors
/// A body that [`decode`] refuses or that would become too large.
pub fn with_prologue(original: &[u8], prologue: Prologue) -> Result<Rewritten, IlError> {
    let mut body = decode(original)?;
    let mut edit = Edit::new();
    edit.insert_before(Label(0), Landing::Original, prologue.code);
    edit.apply(&mut body)?;
    if let Some(Guarded { try_region, handler }) = prologue.guarded {
        let labels = |places: Range<usize>| Label(places.start as u32)..Label(places.end as u32);
        let kind = ClauseKind::Finally { unused: 0 };
        // No clause of the method is inside or around it, so its position in the table has no meaning.
        body.clauses.push(Clause { kind, try_region: labels(try_region), handler: labels(handler) });
    }
    body.max_stack = body.max_stack.max(prologue.stack);
    body.local_sig = prologue.local_sig.unwrap_or(body.local_sig);
    let encoded = encode(&body)?;
    Ok(Rewritten { body: encoded.bytes, map: encoded.map })
}
