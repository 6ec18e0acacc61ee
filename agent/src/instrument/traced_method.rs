//! A method as its traced bodies need it.
#![forbid(unsafe_code)]

use super::traced_variables::{CompletionVariables, TracedVariables};
use crate::capture::{CallCondition, CapturePlan};
use crate::probes::trace::async_calls::AsyncLink;
use crate::probes::trace::{AsyncPart, TracedMethod};
use crate::signature::Type;
use redial_protocol::condition::Condition;

/// What a traced body does beyond capturing values.
#[derive(Debug, Default)]
pub struct TracingOptions {
    /// The condition on the calls that it captures.
    pub condition: Option<CallCondition>,
    /// Whether it captures stacks.
    pub stack: bool,
    /// The method's part in an async method.
    pub part: TracedPart,
}

/// A method's part in an async method, as its traced bodies need it.
#[derive(Clone, Debug, Default)]
pub enum TracedPart {
    /// It is not async, or its calls are not followed.
    #[default]
    None,
    /// It starts the calls.
    Starts(&'static AsyncLink),
    /// It is the `MoveNext` that completes the calls; with the type of a variable for the result, if there is one.
    Completes(&'static AsyncLink, Option<Type>),
}

impl TracedPart {
    fn of_method(&self) -> AsyncPart {
        match self {
            TracedPart::None => AsyncPart::None,
            TracedPart::Starts(link) => AsyncPart::Starts(link),
            TracedPart::Completes(link, _) => AsyncPart::Completes(link),
        }
    }

    fn is_same(&self, other: &TracedPart) -> bool {
        match (self, other) {
            (TracedPart::None, TracedPart::None) => true,
            (TracedPart::Starts(one), TracedPart::Starts(other)) => std::ptr::eq(*one, *other),
            (TracedPart::Completes(one, result), TracedPart::Completes(other, other_result)) => {
                std::ptr::eq(*one, *other) && result == other_result
            }
            _ => false,
        }
    }
}

/// A method with the values that its traced bodies capture. They hold its address, so it is never freed.
#[derive(Debug)]
pub struct TracedBody {
    /// The part that helpers use.
    pub method: TracedMethod,
    /// The captured values.
    pub plan: CapturePlan,
    /// The method's part in an async method.
    pub part: TracedPart,
}

impl TracedBody {
    /// Returns the types of its variables, after those of a timed body.
    pub fn variable_types(&self) -> Vec<Type> {
        match &self.part {
            TracedPart::Completes(link, result) => {
                CompletionVariables::of(&self.plan, link.is_class(), result.clone()).into_types()
            }
            TracedPart::None | TracedPart::Starts(_) => TracedVariables::of(&self.plan).into_types(),
        }
    }

    /// Whether it completes async calls that others start.
    pub fn completes(&self) -> Option<&'static AsyncLink> {
        match self.part {
            TracedPart::Completes(link, _) => Some(link),
            TracedPart::None | TracedPart::Starts(_) => None,
        }
    }

    /// Returns the async method whose calls it starts, if they are followed.
    pub fn starts(&self) -> Option<&'static AsyncLink> {
        match self.part {
            TracedPart::Starts(link) => Some(link),
            TracedPart::None | TracedPart::Completes(..) => None,
        }
    }

    /// Returns the condition on its calls, as written.
    pub fn condition(&self) -> Option<&Condition> {
        self.method.condition().map(|condition| &*condition.written)
    }

    /// Whether it was made with these options.
    pub fn has(&self, options: &TracingOptions) -> bool {
        let condition = options.condition.as_ref().map(|condition| &*condition.written);
        self.condition() == condition
            && self.method.captures_stack() == options.stack
            && self.part.is_same(&options.part)
    }

    /// Returns a method with its plan and options; `number` is the plan's.
    pub fn new(number: u32, plan: CapturePlan, options: TracingOptions) -> TracedBody {
        let TracingOptions { condition, stack, part } = options;
        let method = TracedMethod::new(number, plan.places(), plan.captures());
        let method = method.with_condition(condition).with_stack(stack).with_async_part(part.of_method());
        TracedBody { method, plan, part }
    }
}

impl PartialEq for TracedBody {
    fn eq(&self, other: &TracedBody) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for TracedBody {}
