//! A method's body with the probe in it.
#![forbid(unsafe_code)]

use super::form::{self, CallForm, CallSites};
use super::timing::{self, Timing};
use super::{completing, stacks, tokens};
use crate::catalogue::Module;
use crate::il::{self, IlError, Rewritten};
use crate::sync::lock;

/// What a body is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It counts.
    Count {
        /// The method calls itself last.
        ends_in_itself: bool,
    },
    /// It counts and times.
    Time(Timing),
}

impl Probe {
    /// Whether calls of an async method are noted that begin and complete in it.
    pub fn is_noted(self) -> bool {
        matches!(self, Probe::Time(timing) if timing.noted_at.is_some())
    }
}

/// The body that the CLR gets, counting in the slot at `slot_offset`; leaves are called as the module's `sites` say.
///
/// # Errors
/// An original that cannot take it.
pub fn with_probe(
    module: &Module,
    sites: CallSites,
    slot_offset: usize,
    probe: Probe,
    original: &[u8],
) -> Result<Rewritten, IlError> {
    let ends_in_itself = match probe {
        Probe::Count { ends_in_itself } => ends_in_itself,
        Probe::Time(timing) => {
            let mut around = timing::around(slot_offset, sites, timing);
            if let Some(offset) = timing.noted_at {
                let machine = il::machine(&il::decode(original)?);
                machine.iter().for_each(|machine| completing::add(&mut around, machine, offset, sites));
            }
            return il::with_code_around(original, around);
        }
    };
    let own = il::local_sig(original)?;
    // A variable whose address is taken keeps the JIT from turning a last call into a jump.
    let with_local = lock(&module.local_sigs).counting(own).filter(|_| !ends_in_itself);
    let inline = with_local.and_then(|with| form::inline(slot_offset, sites, with.local, with.token));
    // So does an unmanaged call with a transition, for the frame it needs.
    let site = match (sites.form, ends_in_itself) {
        (CallForm::Transition, true) => sites.seldom,
        _ => sites.always,
    };
    il::with_prologue(original, inline.unwrap_or_else(|| form::calling(slot_offset, site)))
}

/// A counting body, as it is to be expected before anything of it is made, in a module that will have that form: 0 where a
/// call site's token will be, and a variable of ours after the `locals` that the body has, in a signature that is not there
/// yet. True when there is that variable.
///
/// # Errors
/// As [`with_probe`].
pub fn foreseen(
    form: CallForm,
    ends_in_itself: bool,
    locals: usize,
    original: &[u8],
) -> Result<(Rewritten, bool), IlError> {
    let sites = CallSites { always: 0, seldom: 0, form };
    let has_variable = stacks::table().is_some() && tokens::takes_local(locals) && !ends_in_itself;
    let local = u16::try_from(locals).ok().filter(|_| has_variable);
    let inline = local.and_then(|local| form::inline(0, sites, local, 0));
    let has_it = inline.is_some();
    Ok((il::with_prologue(original, inline.unwrap_or_else(|| form::calling(0, sites.always)))?, has_it))
}
