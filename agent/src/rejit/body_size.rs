//! Instruments large bodies beforehand, to learn whether the JIT would still optimize them.
#![forbid(unsafe_code)]

use super::row_request::{LONGEST_OFFSET, RowRequest};
use crate::clr::LoadedModule;
use crate::context::Context;
use crate::eligibility::is_optimized;
use crate::il;
use crate::instrument::instrumented_body::with_probe;

/// Whether the JIT optimizes a method, but would not optimize its instrumented body.
pub(super) fn loses_optimization(context: &Context, request: &RowRequest) -> bool {
    if !request.nearly_too_large {
        return false;
    }
    let Some(tokens) = &request.tokens else { return false };
    let Some(Ok(sites)) = tokens.call_sites.get() else { return false };
    let size_of = |original: &[u8]| {
        let rewritten = with_probe(tokens, *sites, LONGEST_OFFSET, request.probe(), original).ok()?;
        il::code_size(&rewritten.body).ok()
    };
    let read = |loaded: &LoadedModule| context.info.il_body(loaded, request.token, size_of).ok();
    let size = request.module.while_loaded(read).flatten().flatten();
    size.is_some_and(|size| !is_optimized(size))
}
