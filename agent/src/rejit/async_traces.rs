//! Plans how calls of async methods are followed to their completion.
#![forbid(unsafe_code)]

use super::enum_types::EnumTypes;
use crate::capture::{CapturePlan, Parameters, PlannedValue};
use crate::catalogue::names::ModuleNames;
use crate::clr::metadata::{Import, MethodDef};
use crate::context::Context;
use crate::il;
use crate::instrument::timed_body;
use crate::instrument::traced_method::TracedPart;
use crate::ledger::async_role::AsyncRole;
use crate::probes::completions::Account;
use crate::probes::trace::async_calls::AsyncLink;
use crate::signature::{Convention, Method, Type, parse_method};
use std::sync::Arc;

/// Offset of a builder's reference if it follows another reference.
const SECOND: u32 = 8;
const THIRD: u32 = 16;

/// Returns the part of the start of an async method that is about to be traced.
pub(super) fn part_of_start(context: &Context, import: &Import, role: Option<&AsyncRole>) -> TracedPart {
    let Some(AsyncRole::Starts(account)) = role else { return TracedPart::None };
    link(context, import, account).map_or(TracedPart::None, TracedPart::Starts)
}

/// Returns the values that complete the calls of an async method, and the part of its `MoveNext`; None for any other method.
pub(super) fn completion(
    context: &Context,
    (import, names, enums): (&Import, &ModuleNames, &EnumTypes<'_>),
    (method, role): (&MethodDef, Option<&AsyncRole>),
) -> Option<(CapturePlan, TracedPart)> {
    let Some(AsyncRole::Completes(account)) = role else { return None };
    let link = link(context, import, account)?;
    let start = import.method(account.method).ok()?;
    let owner = names.generic_parameters(import, start.type_def).len() as u32;
    let result = match promised(&parse_method(&start.signature).ok()?.result) {
        Some(ty) => in_state_machine(ty, owner),
        None => Type::Void,
    };
    let variable = timed_body::variable_type(result.clone());
    let plan = plan_of_result(context, (import, names, enums), method, result);
    Some((plan, TracedPart::Completes(link, variable)))
}

/// Returns the result of the whole call of an async method, if it has one.
pub(super) fn promised_result(
    context: &Context,
    metadata: (&Import, &ModuleNames, &EnumTypes<'_>),
    method: &MethodDef,
) -> Option<Arc<PlannedValue>> {
    let result = promised(&parse_method(&method.signature).ok()?.result)?.clone();
    plan_of_result(context, metadata, method, result).result
}

/// Returns the plan of a method that has nothing but a result.
fn plan_of_result(
    context: &Context,
    (import, names, enums): (&Import, &ModuleNames, &EnumTypes<'_>),
    method: &MethodDef,
    result: Type,
) -> CapturePlan {
    let signature = Method {
        convention: Convention::Default,
        has_this: false,
        explicit_this: false,
        generic: 0,
        result,
        params: vec![],
        fixed: None,
    };
    let of_type = names.generic_parameters(import, method.type_def);
    let type_name = |ty: &_| names.display_signature_type(import, ty, &of_type, &[]);
    let of = Parameters { method: &signature, names: &[], out: &[], this: None };
    CapturePlan::new(of, type_name, |token| enums.get(import, token), &context.settings.capture)
}

/// Returns what the start of an async method and its `MoveNext` have in common; None if the `MoveNext` has another form than
/// compilers generate.
fn link(context: &Context, import: &Import, account: &Account) -> Option<&'static AsyncLink> {
    let is_known = |body: &[u8]| {
        let body = il::decode(body).ok()?;
        il::completion_calls(&body, &il::state_machine(&body)?)
    };
    context.info.il_body(import.module(), account.move_next, is_known).ok()??;
    let machine = import.method(account.move_next).ok()?.type_def;
    let start = import.method(account.method).ok()?;
    let result = parse_method(&start.signature).ok()?.result;
    let names = ModuleNames::default();
    let has_parameters = !names.generic_parameters(import, machine).is_empty();
    let type_name = names.display_signature_type(import, &result, &[], &[]);
    Some(account.link(|| match import.is_value_type(machine) {
        true => of_struct(context.runtime.major, &result, &type_name, has_parameters),
        false => AsyncLink::of_class(),
    }))
}

/// Returns the link of a struct, by the layout of the builder that a result type has. The runtime puts references first, then
/// numbers by falling size, then structs.
fn of_struct(major: u16, result: &Type, type_name: &str, has_parameters: bool) -> AsyncLink {
    let is_value_task = type_name.contains("ValueTask");
    match (result, promised(result)) {
        // `AsyncVoidMethodBuilder` has a `SynchronizationContext` before the builder of a task.
        (Type::Void, _) => AsyncLink::of_struct(Some(SECOND)),
        _ if !is_value_task && type_name.contains("Task") => AsyncLink::of_struct(Some(0)),
        _ if !is_value_task => AsyncLink::of_struct(None),
        _ if major >= 5 => AsyncLink::of_struct(Some(0)),
        // Before .NET 5 the builder of a task is a struct behind the result and two truth values.
        (_, None) => AsyncLink::of_struct(Some(SECOND)),
        (_, Some(_)) if has_parameters => AsyncLink::of_varying_struct(),
        (_, Some(ty)) => match timed_body::variable_type(ty.clone()) {
            Some(Type::Object) => AsyncLink::of_struct(Some(THIRD)),
            Some(Type::I4) => AsyncLink::of_struct(Some(SECOND)),
            Some(Type::I8 | Type::I | Type::R8) => AsyncLink::of_struct(Some(THIRD)),
            _ => AsyncLink::of_varying_struct(),
        },
    }
}

/// Returns the type of a task's result, if it has one.
fn promised(result: &Type) -> Option<&Type> {
    match result {
        Type::Modified { inner, .. } => promised(inner),
        Type::Generic { arguments, .. } => arguments.first(),
        _ => None,
    }
}

/// Returns a type of an async method as its state machine names it: the machine's type parameters are those of the method's
/// owner, then those of the method.
fn in_state_machine(ty: &Type, owner: u32) -> Type {
    let boxed = |ty: &Type| Box::new(in_state_machine(ty, owner));
    match ty {
        Type::MVar(number) => Type::Var(owner.saturating_add(*number)),
        Type::Ptr(to) => Type::Ptr(boxed(to)),
        Type::ByRef(to) => Type::ByRef(boxed(to)),
        Type::SzArray(item) => Type::SzArray(boxed(item)),
        Type::Array { element, rank, sizes, lower_bounds } => Type::Array {
            element: boxed(element),
            rank: *rank,
            sizes: sizes.clone(),
            lower_bounds: lower_bounds.clone(),
        },
        Type::Generic { value_type, token, arguments } => Type::Generic {
            value_type: *value_type,
            token: *token,
            arguments: arguments.iter().map(|ty| in_state_machine(ty, owner)).collect(),
        },
        Type::Modified { required, modifier, inner } => {
            Type::Modified { required: *required, modifier: *modifier, inner: boxed(inner) }
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_methods_follow_those_of_their_owner() {
        let list = |ty| Type::Generic { value_type: false, token: 7, arguments: vec![ty] };
        let pair = |ty| Type::SzArray(Box::new(list(ty)));
        assert_eq!(in_state_machine(&pair(Type::MVar(1)), 2), pair(Type::Var(3)));
        assert_eq!(in_state_machine(&pair(Type::Var(1)), 2), pair(Type::Var(1)));
        assert_eq!(promised(&list(Type::MVar(0))), Some(&Type::MVar(0)));
        assert_eq!(promised(&Type::Class(7)), None);
    }
}
