//! Method bodies with a probe.
#![forbid(unsafe_code)]

use super::call_form::{self, CallForm, CallSites};
use super::timed_body::{self, Timing};
use super::tokens::ModuleTokens;
use super::{async_completion, tokens, traced_body, traced_completion};
use crate::il::{self, IlError, Rewritten};
use crate::probes::stack_pages;
use crate::sync::lock;

/// Kind of probe in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Counts calls.
    Count {
        /// Whether the method calls itself last.
        ends_in_itself: bool,
    },
    /// Counts and times calls.
    Time(Timing),
}

impl Probe {
    /// Returns whether the body records beginnings and completions of an async method's calls.
    pub fn is_noted(self) -> bool {
        matches!(self, Probe::Time(timing) if timing.noted_at.is_some())
    }
}

/// Returns the body for the CLR, counting in the slot at `slot_offset`; `sites` are the module's call sites for
/// helpers.
///
/// # Errors
/// If the original cannot take the probe.
pub fn with_probe(
    tokens: &ModuleTokens,
    sites: CallSites,
    slot_offset: usize,
    probe: Probe,
    original: &[u8],
) -> Result<Rewritten, IlError> {
    let ends_in_itself = match probe {
        Probe::Count { ends_in_itself } => ends_in_itself,
        Probe::Time(timing) => {
            let mut wrapper = timed_body::wrapper(slot_offset, sites, timing);
            let token = |ty: &_| tokens.type_token(ty);
            if let Some(traced) = timing.trace.filter(|traced| traced.completes().is_none()) {
                traced_body::add(&mut wrapper, traced, sites, timing, &token);
            }
            if let Some(offset) = timing.noted_at {
                let body = il::decode(original)?;
                if let Some(machine) = il::state_machine(&body) {
                    async_completion::add(&mut wrapper, &machine, offset, sites);
                    let traced = timing.trace.filter(|traced| traced.completes().is_some());
                    if let (Some(traced), Some(calls)) = (traced, il::completion_calls(&body, &machine)) {
                        let parts = (&machine, &calls[..]);
                        traced_completion::add(&mut wrapper, traced, parts, (sites, timing), &token);
                    }
                }
            }
            return il::wrap_body(original, wrapper);
        }
    };
    let own = il::local_sig(original)?;
    // A variable whose address is taken prevents the JIT from turning a last call into a jump.
    let with_local = lock(&tokens.local_sigs).counting(own).filter(|_| !ends_in_itself);
    let inline = with_local.and_then(|with| call_form::inline(slot_offset, sites, with.local, with.token));
    // So does an unmanaged call with a transition, because of the frame it needs.
    let site = match (sites.form, ends_in_itself) {
        (CallForm::Transition, true) => sites.seldom,
        _ => sites.always,
    };
    il::with_prologue(original, inline.unwrap_or_else(|| call_form::calling(slot_offset, site)))
}

/// Returns a counting body as expected before any of it is created, in a module that will have that form. A
/// call site's token is 0, and the probe's variable follows the `locals` of the body, in a signature that does
/// not exist yet. Also returns whether there is such a variable.
///
/// # Errors
/// As [`with_probe`].
pub fn preview(
    form: CallForm,
    ends_in_itself: bool,
    locals: usize,
    original: &[u8],
) -> Result<(Rewritten, bool), IlError> {
    let sites = CallSites { always: 0, seldom: 0, form };
    let has_variable = stack_pages::table().is_some() && tokens::takes_local(locals) && !ends_in_itself;
    let local = u16::try_from(locals).ok().filter(|_| has_variable);
    let inline = local.and_then(|local| call_form::inline(0, sites, local, 0));
    let has_it = inline.is_some();
    Ok((il::with_prologue(original, inline.unwrap_or_else(|| call_form::calling(0, sites.always)))?, has_it))
}
