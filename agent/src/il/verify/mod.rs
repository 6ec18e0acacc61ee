//! Redial's own verifier: checks that an encoded body follows the rules that a JIT compiler relies on.
//!
//! It checks form and control flow, not types: the layout ([`form`]), the nesting of regions and the paths
//! across their bounds ([`regions`], [`flow`]), and the stack depth at every instruction ([`super::maxstack`]).

mod flow;
mod form;
mod regions;
mod violation;

pub use violation::Violation;

use super::maxstack::{Shapes, depths};
use super::{Body, decode};

/// Checks a whole body, including the stack depth at every instruction.
///
/// # Errors
/// The first violated rule.
pub fn verify(bytes: &[u8], shapes: &impl Shapes) -> Result<Body, Violation> {
    let (body, regions) = structure(bytes)?;
    let depths = depths(&body, shapes)?;
    if depths.max > body.max_stack {
        return Err(Violation::MaxStack { stated: body.max_stack, needed: depths.max });
    }
    regions.check_entry_depths(&depths)?;
    Ok(body)
}

/// Checks everything that needs no metadata, which is all but the stack.
///
/// # Errors
/// The first violated rule.
pub fn verify_structure(bytes: &[u8]) -> Result<Body, Violation> {
    structure(bytes).map(|(body, _)| body)
}

fn structure(bytes: &[u8]) -> Result<(Body, regions::Regions), Violation> {
    let body = decode(bytes)?;
    form::check(bytes, &body)?;
    let regions = regions::Regions::of(&body)?;
    flow::check(&body, &regions)?;
    Ok((body, regions))
}
