//! A method as its traced bodies need it.
#![forbid(unsafe_code)]

use crate::capture::{CallCondition, CapturePlan};
use crate::probes::trace::TracedMethod;
use redial_protocol::condition::Condition;

/// What a traced body does beyond capturing values.
#[derive(Debug, Default)]
pub struct TracingOptions {
    /// The condition on the calls that it captures.
    pub condition: Option<CallCondition>,
    /// Whether it captures stacks.
    pub stack: bool,
}

/// A method with the values that its traced bodies capture. They hold its address, so it is never freed.
#[derive(Debug)]
pub struct TracedBody {
    /// The part that helpers use.
    pub method: TracedMethod,
    /// The captured values.
    pub plan: CapturePlan,
}

impl TracedBody {
    /// Returns the condition on its calls, as written.
    pub fn condition(&self) -> Option<&Condition> {
        self.method.condition().map(|condition| &*condition.written)
    }

    /// Whether it was made with these options.
    pub fn has(&self, options: &TracingOptions) -> bool {
        let condition = options.condition.as_ref().map(|condition| &*condition.written);
        self.condition() == condition && self.method.captures_stack() == options.stack
    }

    /// Returns a method with its plan and options; `number` is the plan's.
    pub fn new(number: u32, plan: CapturePlan, options: TracingOptions) -> TracedBody {
        let TracingOptions { condition, stack } = options;
        let method = TracedMethod::new(number, plan.places(), plan.captures());
        let method = method.with_condition(condition).with_stack(stack);
        TracedBody { method, plan }
    }
}

impl PartialEq for TracedBody {
    fn eq(&self, other: &TracedBody) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for TracedBody {}
