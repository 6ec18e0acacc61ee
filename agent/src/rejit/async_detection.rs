//! Detects whether a method that will be timed is async, and where its calls complete.
#![forbid(unsafe_code)]

use crate::catalogue::Module;
use crate::catalogue::async_methods::AsyncMethod;
use crate::catalogue::matched_method::MatchedMethod;
use crate::catalogue::names::ModuleNames;
use crate::clr::ProfilerInfo;
use crate::clr::attributes::AsyncKind;
use crate::clr::metadata::{Import, MethodDef};
use crate::eligibility;
use crate::il;
use crate::ledger::async_role::AsyncRole;
use crate::probes::completions::Account;
use redial_protocol::diagnostics::UnseenCompletions;
use std::sync::Arc;

/// Returns the async role of a method that is about to be timed, if it has one.
pub fn recognise(
    info: &ProfilerInfo,
    module: &Module,
    (import, names): (&Import, &ModuleNames),
    token: u32,
    method: &MethodDef,
) -> Option<AsyncRole> {
    if eligibility::is_runtime_async(method.impl_flags) {
        return Some(AsyncRole::Unseen(UnseenCompletions::Runtime));
    }
    let all = module.async_methods(import);
    if let Some(one) = all.of(token) {
        let account = account(module, (import, names), one);
        return Some(match (one.kind, account) {
            (AsyncKind::Iterator, _) => AsyncRole::Unseen(UnseenCompletions::Iterator),
            (AsyncKind::Async, Some(account)) => AsyncRole::Starts(account),
            (AsyncKind::Async, None) => AsyncRole::Unseen(UnseenCompletions::NoMachine),
        });
    }
    let one = all.by_move_next(token).filter(|one| one.kind == AsyncKind::Async)?;
    let is_known = |body: &[u8]| il::decode(body).is_ok_and(|body| il::state_machine(&body).is_some());
    let known = info.il_body(import.module(), token, is_known).unwrap_or(false);
    let account = account(module, (import, names), one).filter(|_| known);
    Some(account.map_or(AsyncRole::Unseen(UnseenCompletions::UnknownForm), AsyncRole::Completes))
}

fn account(
    module: &Module,
    (import, names): (&Import, &ModuleNames),
    one: &AsyncMethod,
) -> Option<Arc<Account>> {
    let token = one.move_next?;
    let method = import.method(token).ok()?;
    let type_name = names.type_name(import, method.type_def)?;
    let (type_token, method) = (method.type_def, &method);
    let found = MatchedMethod { token, type_token, type_place: 0, type_name: &type_name, method };
    Some(one.account(token, || names.display(import, &found).full_name(&module.name)))
}
